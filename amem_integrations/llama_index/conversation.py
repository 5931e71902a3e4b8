"""A chat and the notes taken of it: each thing a memory does, as one coroutine over a form.

`memory` gives them LlamaIndex's methods, sync and async. The chat itself is left to LlamaIndex's
`Memory`; `notes` talks to the AgenticMemory.
"""

import threading
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any, Literal, TypeVar

from llama_index.core.base.llms.types import ChatMessage, ContentBlock, MessageRole, TextBlock
from llama_index.core.memory import BaseMemoryBlock, Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from pydantic import PrivateAttr

from amem_integrations.core.io import run
from amem_integrations.llama_index.chat_stores import InProcessChatStore
from amem_integrations.llama_index.forms import Form, block_on, loop_is_running
from amem_integrations.llama_index.inserting import Placing, inserted
from amem_integrations.llama_index.notes import AMemNotes, Ingest
from amem_integrations.llama_index.utterances import (
    SPEAKERS,
    Numbered,
    Session,
    last_question,
    utterances,
)
from amem_integrations.memory.attachments import Said
from amem_integrations.memory.operations import NoteLike
from amem_integrations.revisions.forget import Forgotten

Scope = Literal["user", "session"]
T = TypeVar("T")

_asked: ContextVar[bool] = ContextVar("asked", default=False)
"""Whether the memory is read for a question that is not in the chat yet."""


class Conversation(Memory):
    """One session of one user. The fields are the arguments of `AMemMemory.from_defaults`."""

    namespace: tuple[str, ...] = ()
    top_k: int = 5
    hops: int = 1
    min_relevance: float | None = None
    ingest: Ingest = "background"
    roles: tuple[str, ...] = SPEAKERS
    scope: Scope = "user"
    max_tokens: int = 1000
    placing: Placing = "auto"

    _notes: AMemNotes = PrivateAttr()
    _session: Session | None = PrivateAttr(default=None)
    _turn: int = PrivateAttr(default=0)
    _recalled: tuple[tuple[int, str], list[ContentBlock]] | None = PrivateAttr(default=None)
    _managing: Any = PrivateAttr(default_factory=threading.Lock)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @property
    def _blocks(self) -> list[BaseMemoryBlock[Any]]:
        """The caller's own memory blocks."""
        return self.memory_blocks  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    def _drive(self, operation: Coroutine[Any, Any, T]) -> T:
        in_process = isinstance(self.sql_store, InProcessChatStore)
        return run(operation) if in_process and not self._blocks else block_on(operation)

    async def _get(
        self, form: Form, input: str | ChatMessage | None, block_kwargs: dict[str, Any]
    ) -> list[ChatMessage]:
        given = input.content if isinstance(input, ChatMessage) else input
        history = await self.sql_store.get_messages(self.session_id)
        messages = history
        if self._blocks:
            token = _asked.set(bool(given))
            try:
                messages = await super().aget(given, **block_kwargs)
            finally:
                _asked.reset(token)
        question = given if given and given.strip() else last_question(history)
        recalled = await self._recall(form, question, history, messages)
        return inserted(messages, recalled, self.placing, asked=bool(given))

    def _insert_memory_content(
        self,
        chat_history: list[ChatMessage],
        memory_content: list[ContentBlock],
        chat_message_data: list[ChatMessage],
    ) -> list[ChatMessage]:
        """What the caller's blocks say goes where the notes go."""
        if self.placing == "auto":
            messages = [*chat_message_data, *chat_history]
            return inserted(messages, memory_content, self.placing, asked=_asked.get())
        return super()._insert_memory_content(chat_history, memory_content, chat_message_data)

    async def _recall(
        self,
        form: Form,
        question: str,
        history: list[ChatMessage],
        messages: list[ChatMessage],
    ) -> list[ContentBlock]:
        turn, recalled = (self._turn, question), self._recalled
        if recalled is None or recalled[0] != turn:
            session = await self._known_session()
            # What the chat shows anyway is not recalled.
            shown = session.keys(utterances(history, self.roles))
            where: dict[str, Any] = {"key": {"$nin": shown}}
            if self.scope == "session":
                where["session"] = self.session_id
            used = sum(map(self._estimate_token_count, messages))
            text = await self._notes.recall(
                form,
                question,
                token_budget=min(self.max_tokens, self.token_limit - used),
                count_tokens=self._estimate_token_count,
                filter=where,
            )
            self._recalled = recalled = turn, self._rendered(text)
        return [block.model_copy() for block in recalled[1]]

    def _rendered(self, text: str) -> list[ContentBlock]:
        if not text:
            return []
        notes = [("notes", [TextBlock(text=text)])]
        return self.memory_blocks_template.format_messages(memory_blocks=notes)[0].blocks

    async def _put(self, form: Form, messages: list[ChatMessage]) -> None:
        if not messages:
            return
        session = await self._known_session()
        await self.sql_store.add_messages(self.session_id, messages, MessageStatus.ACTIVE)
        said = session.say(utterances(messages, self.roles))
        if any(message.role == MessageRole.USER for message in messages):
            self._turn += 1
        # Before the queue is looked after: a block of the caller's may raise there.
        await self._notes.ingest(form, [self._item(each) for each in said])
        for each in utterances(messages, ("assistant",)):
            if each.text.strip():
                await self._notes.replied(form, each.text, self.session_id)
        await self._manage_queue()

    async def _set(self, form: Form, messages: list[ChatMessage]) -> None:
        session = await self._known_session()
        await super().aset(messages)
        new = session.compare(utterances(messages, self.roles))
        self._turn += 1
        await self._notes.ingest(form, [self._item(each) for each in new])

    async def _reset(self, status: MessageStatus | None) -> None:
        # What was said stays said: a repetition is a note of its own.
        await self._known_session()
        await super().areset(status)
        self._turn += 1

    async def _flush(self, form: Form, timeout: float | None) -> bool:  # noqa: ASYNC109
        await self._notes.ingest(form, [])
        core = await self._notes.source.opened(form)
        # Wakes whoever forms notes in the background, also where nothing else does.
        await form.call(core, "add_many", [], namespace=self.namespace, formation="background")
        return await form.call(core, "flush", timeout) and not self._notes.waiting

    async def _forget(self, form: Form, note: NoteLike | None) -> Forgotten:
        try:
            return await self._forgotten(form, note)
        finally:
            # What was recalled meanwhile is not shown again.
            self._turn += 1

    async def _forgotten(self, form: Form, note: NoteLike | None) -> Forgotten:
        core = await self._notes.source.opened(form)
        if note is not None:
            return await form.call(core, "forget", note, namespace=self.namespace)
        self._notes.forget_waiting()
        if self.scope == "user":
            return await form.call(core.admin, "forget_namespace", self.namespace)
        mine = {"session": self.session_id}
        return await form.call(core.admin, "forget_where", mine, namespace=self.namespace)

    async def _close(self, form: Form) -> None:
        await self._notes.ingest(form, [])
        if self._notes.source.owned and self._notes.source.core is not None:
            await form.call(self._notes.source.core, "close")

    async def _manage_queue(self) -> None:
        # Two at once would archive the same messages twice; the next put catches up.
        if self._managing.acquire(blocking=False):
            try:
                managing = super()._manage_queue()
                # It gathers what its blocks do, even if there are none, and that takes a loop.
                await managing if loop_is_running() else block_on(managing)
            finally:
                self._managing.release()

    async def _known_session(self) -> Session:
        """The session with all that was said in it so far, as the chat store has it."""
        if self._session is None:
            history = await self.sql_store.get_messages(self.session_id, status=None)
            session = Session(self.session_id)
            session.say(utterances(history, self.roles))
            with self._lock:
                self._session = self._session or session
        return self._session

    def _item(self, each: Numbered) -> Said:
        return each.utterance.said(key=each.key, session=self.session_id, sequence=each.sequence)
