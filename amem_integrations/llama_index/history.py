"""The chat history as a queue: how many tokens it has, and how many messages must leave it.

Pure, and in place of LlamaIndex's own counts, in which tool calls, thinking and citations are
nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from llama_index.core.base.llms.types import (
    ChatMessage,
    CitableBlock,
    CitationBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)

from amem_integrations.llama_index.messages import begins_turn

Content: TypeAlias = str | ChatMessage | Sequence[Any]
"""A text, a message, or a list of messages or content blocks."""

INSTRUCTIONS = (MessageRole.SYSTEM.value, MessageRole.DEVELOPER.value)
"""The roles of messages that do not leave the chat when it is full."""


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
