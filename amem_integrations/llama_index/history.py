"""The chat history as a queue: how many tokens it has, and which messages leave it.

In place of LlamaIndex's own, which counts no tool calls, thinking or citations, archives system
messages, and hands out the objects of a chat store. What is counted and cut is pure.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from llama_index.core.base.llms.types import (
    ChatMessage,
    CitableBlock,
    CitationBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.memory import BaseMemoryBlock, Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from pydantic import PrivateAttr

from amem_integrations.llama_index.chat_store import InProcessChatStore, SQLChatStore
from amem_integrations.llama_index.messages import INSTRUCTIONS, begins_turn

Content: TypeAlias = str | ChatMessage | Sequence[Any]
"""A text, a message, or a list of messages or content blocks."""


def count_tokens(
    content: Content, count: Callable[[str], int], estimates: Mapping[str, int]
) -> int:
    """Return the tokens of `content`.

    count: those of a text. estimates: those of other blocks, by type, such as "image".
    """
    if isinstance(content, str):
        return count(content)
    if isinstance(content, ChatMessage):
        about = content.additional_kwargs
        return (count(str(about)) if about else 0) + count_tokens(content.blocks, count, estimates)
    return sum(_count_part(part, count, estimates) for part in content)


def _count_part(part: Any, count: Callable[[str], int], estimates: Mapping[str, int]) -> int:
    match part:
        case ChatMessage():
            return count_tokens(part, count, estimates)
        case TextBlock():
            return count(part.text)
        case ThinkingBlock():
            return count(part.content or "")
        case ToolCallBlock():
            return count(part.model_dump_json())
        case CitableBlock():
            return count_tokens(part.content, count, estimates)
        case CitationBlock():
            return count_tokens([part.cited_content], count, estimates)
        case _:
            return estimates.get(part.block_type, 0)


def count_overflow(
    messages: Sequence[ChatMessage], sizes: Sequence[int], room: int, least: int
) -> int:
    """Return how many of the oldest messages must leave a queue that has room for `room` tokens.

    Whole turns leave, at least `least` tokens at once, so that the queue is not cut at each
    message. The last turn stays, however long it is. sizes: the tokens of each message.
    """
    excess = sum(sizes) - room
    number = gone = 0
    if excess > 0:
        for at, (message, size) in enumerate(zip(messages, sizes, strict=True)):
            if begins_turn(message):
                number = at
                if gone >= max(excess, least):
                    break
            gone += size
    return number


class ChatHistory(Memory):
    """LlamaIndex's `Memory` with a queue that is counted whole, and copies of its messages."""

    _managing: Any = PrivateAttr(default_factory=threading.Lock)
    _unmanaged: bool = PrivateAttr(default=False)

    @property
    def _blocks(self) -> list[BaseMemoryBlock[Any]]:
        """The caller's own memory blocks."""
        return self.memory_blocks  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    @property
    def _tokenizer(self) -> Callable[[str], list[Any]]:
        return self.tokenizer_fn  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    async def _manage_queue(self) -> None:
        # Two at once would archive the same messages twice. Whoever comes second leaves its
        # message to the first.
        self._unmanaged = True
        while self._unmanaged and self._managing.acquire(blocking=False):
            try:
                self._unmanaged = False
                await self._archive_overflow()
            finally:
                self._managing.release()

    async def _archive_overflow(self) -> None:
        queue = await self._messages(MessageStatus.ACTIVE)
        room = int(self.token_limit * self.chat_history_token_ratio)
        if isinstance(self.sql_store, InProcessChatStore | SQLChatStore):
            # These do not archive instructions; other stores archive whatever is oldest.
            room -= self._estimate_token_count([each for each in queue if _instructs(each)])
            queue = [message for message in queue if not _instructs(message)]
        sizes = [self._estimate_token_count(message) for message in queue]
        number = count_overflow(queue, sizes, room, self.token_flush_size)
        if not number:
            return
        archived = await self.sql_store.archive_oldest_messages(self.session_id, number)
        if self._blocks:
            flushed = self._copies(archived)
            await asyncio.gather(
                *(
                    block.aput(flushed, from_short_term_memory=True, session_id=self.session_id)
                    for block in self._blocks
                )
            )

    def _estimate_token_count(self, message_or_blocks: Content) -> int:
        estimates = {
            "image": self.image_token_size_estimate,
            "audio": self.audio_token_size_estimate,
            "video": self.video_token_size_estimate,
            "document": self.document_token_size_estimate,
        }
        return count_tokens(message_or_blocks, lambda text: len(self._tokenizer(text)), estimates)

    async def _messages(self, status: MessageStatus | None) -> list[ChatMessage]:
        return self._copies(await self.sql_store.get_messages(self.session_id, status=status))

    def _copies(self, messages: list[ChatMessage]) -> list[ChatMessage]:
        """Return messages of which a change does not reach the chat store, nor the caller's."""
        if isinstance(self.sql_store, InProcessChatStore | SQLAlchemyChatStore):
            # They write and read JSON.
            return messages
        return [message.model_copy(deep=True) for message in messages]


def _instructs(message: ChatMessage) -> bool:
    return message.role.value in INSTRUCTIONS
