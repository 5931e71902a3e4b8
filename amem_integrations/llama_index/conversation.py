"""A chat and its notes: the methods of `AMemMemory`, each in a sync and an async form.

`perform` is one of the two forms of the source. The chat is kept by LlamaIndex's `Memory`; `notes`
talks to the AgenticMemory.
"""

import threading
from collections.abc import Coroutine, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any, Literal, TypeVar

from llama_index.core.base.llms.types import ChatMessage, ContentBlock, TextBlock
from llama_index.core.storage.chat_store.base_db import MessageStatus
from pydantic import PrivateAttr

from amem_integrations.core.io import IO, Forms, async_form, run, sync_form
from amem_integrations.llama_index.chat_store import (
    InProcessChatStore,
    block_on,
)
from amem_integrations.llama_index.history import ChatHistory
from amem_integrations.llama_index.messages import (
    SPEAKERS,
    Placement,
    Question,
    Session,
    begins_turn,
    insert_notes,
    last_question,
    question_in,
    spoken_in,
)
from amem_integrations.llama_index.notes import AMemNotes, Ingest
from amem_integrations.llama_index.source import Perform, Source
from amem_integrations.memory import operations
from amem_integrations.memory.turns import Remember
from amem_integrations.memory.wiring import NoteLike, Wiring, address_of
from amem_integrations.revisions.forget import Forgotten

T = TypeVar("T")
Scope = Literal["user", "session"]

_asked: ContextVar[bool] = ContextVar("asked", default=False)
"""Whether the memory is read for a question that is not in the chat yet."""

_BEFORE = "initial_token_count"


class Conversation(ChatHistory, Forms):
    """One session of one user. The fields are the arguments of `AMemMemory.from_defaults`."""

    namespace: tuple[str, ...] = ()
    top_k: int = 5
    hops: int = 1
    min_relevance: float | None = None
    ingest: Ingest = "background"
    remember: Remember = "both"
    scope: Scope = "user"
    max_tokens: int = 1000
    placement: Placement = "auto"

    _source: Source = PrivateAttr()
    _notes: AMemNotes = PrivateAttr()
    _session: Session | None = PrivateAttr(default=None)
    _turn: int = PrivateAttr(default=0)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @property
    def _sync(self) -> Perform:
        return self._source.perform

    @property
    def _async(self) -> Perform:
        return self._source.aperform

    def _run(self, operation: Coroutine[Any, Any, T]) -> T:
        in_process = isinstance(self.sql_store, InProcessChatStore)
        return run(operation) if in_process and not self._blocks else block_on(operation)

    @property
    def events(self) -> Mapping[str, int]:
        """How often writing or recalling failed in this object, by kind."""
        return dict(self._notes.events)

    @sync_form
    async def get(
        self, perform: Perform, input: Question | None = None, **block_kwargs: Any
    ) -> list[ChatMessage]:
        """Return a copy of the chat with the notes that answer the user's question."""
        given = question_in(input)
        messages = history = await self._messages(MessageStatus.ACTIVE)
        if self._blocks:
            token = _asked.set(bool(given))
            try:
                messages = await super().aget(given or None, **block_kwargs)
            finally:
                _asked.reset(token)
        recalled = await self._recall(
            perform,
            given or last_question(history),
            history,
            # Chat engines say how long the messages are that they put before these.
            self._estimate_token_count(messages) + int(block_kwargs.get(_BEFORE) or 0),
        )
        return insert_notes(
            messages,
            recalled,
            self.placement,
            asked=bool(given),
        )

    aget = async_form(get)  # pyright: ignore[reportAssignmentType]

    @sync_form
    async def get_all(self, _: Perform, status: MessageStatus | None = None) -> list[ChatMessage]:
        """Return the chat alone."""
        return await self._messages(status)

    aget_all = async_form(get_all)  # pyright: ignore[reportAssignmentType]

    def put(self, message: ChatMessage) -> None:
        """Add a message to the chat, and remember it."""
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """`put`, awaited."""
        await self.aput_messages([message])

    @sync_form
    async def put_messages(self, perform: Perform, messages: list[ChatMessage]) -> None:
        """Add messages to the chat, and remember them."""
        if not messages:
            return
        session = await self._known_session()
        await self.sql_store.add_messages(self.session_id, self._copies(messages))
        new = session.add(spoken_in(messages, SPEAKERS))
        if any(map(begins_turn, messages)):
            self._turn += 1
        # Before the queue is managed: a block of the caller may raise there.
        await self._notes.ingest(perform, new)
        for reply in spoken_in(messages, ("assistant",)):
            if reply.text.strip():
                await self._notes.replied(perform, reply.text, self.session_id)
        await self._manage_queue()

    aput_messages = async_form(put_messages)  # pyright: ignore[reportAssignmentType]

    @sync_form
    async def set(self, perform: Perform, messages: list[ChatMessage]) -> None:
        """Replace the chat, and remember what was not said in it before, by content."""
        session = await self._known_session()
        await self.sql_store.set_messages(self.session_id, self._copies(messages))
        self._turn += 1
        await self._notes.ingest(perform, session.add_unknown(spoken_in(messages, SPEAKERS)))

    aset = async_form(set)  # noqa: A003  # pyright: ignore[reportAssignmentType]

    @sync_form
    async def reset(self, _: Perform, status: MessageStatus | None = None) -> None:
        """Clear the chat. The notes stay; `forget` removes those."""
        # What was said before stays known: a repetition is a note of its own.
        await self._known_session()
        await self.sql_store.delete_messages(self.session_id, status=status)
        self._turn += 1

    areset = async_form(reset)  # pyright: ignore[reportAssignmentType]

    @sync_form
    async def flush(self, perform: Perform, timeout: float | None = None) -> bool:  # noqa: ASYNC109
        """Write the notes that wait, form those that are raw, put everything on disk.

        A note whose model failed is tried again in the background, when it is due.

        Args:
            timeout: seconds to wait, at most; None for as long as it takes.

        Returns:
            False if notes were still waiting after that time.

        Raises:
            StoreError: the store cannot be written.
        """
        await self._notes.ingest(perform, [])

        async def flush(wiring: Wiring, io: IO) -> bool:
            # Nothing else may form notes in the background.
            wiring.wake()
            return await io.run_blocking(partial(self._source.open().flush, timeout))

        return await perform(flush) and not self._notes.waiting

    aflush = async_form(flush)

    @sync_form
    async def forget(self, perform: Perform, note: NoteLike | None = None) -> Forgotten:
        """Remove a note and what it caused; without one, all that `scope` covers.

        The chat stays; `reset` clears it.

        Args:
            note: the note, or its id; None for all.

        Raises:
            InvalidInputError: the note is invalid.
            StoreError: it could not be removed.
        """

        async def forget(wiring: Wiring, io: IO) -> Forgotten:
            admin = self._source.open().admin
            if note is not None:
                target = address_of(note, self.namespace)
                return await operations.forget(wiring, io, *target)
            self._notes.forget_waiting()
            if self.scope == "user":
                return await io.run_blocking(partial(admin.forget_namespace, self.namespace))
            of_session = {"session": self.session_id}
            return await io.run_blocking(
                partial(admin.forget_where, of_session, namespace=self.namespace)
            )

        return await perform(forget)

    aforget = async_form(forget)

    def close(self) -> None:
        """Write the notes that wait, and close the AgenticMemory if this object opened it."""
        self._run(self._notes.ingest(self._sync, []))
        if self._source.owned and self._source.core is not None:
            self._source.core.close()

    async def aclose(self) -> None:
        """`close`, awaited."""
        await self._notes.ingest(self._async, [])
        if self._source.owned and self._source.core is not None:
            await self._source.core.aclose()

    def _insert_memory_content(
        self,
        chat_history: list[ChatMessage],
        memory_content: list[ContentBlock],
        chat_message_data: list[ChatMessage],
    ) -> list[ChatMessage]:
        """Put in what the caller's blocks say: as LlamaIndex does, but not into a turn before."""
        messages = self._copies([*chat_message_data, *chat_history])
        if self.placement == "user":
            return insert_notes(messages, memory_content, "user", asked=_asked.get())
        return super()._insert_memory_content(messages, memory_content, [])

    async def _recall(
        self,
        perform: Perform,
        question: str,
        history: list[ChatMessage],
        used: int,
    ) -> list[ContentBlock]:
        turn = self._turn, question
        text = await self._notes.recalled(perform, turn)
        if text is None:
            session = await self._known_session()
            # Notes that the chat shows anyway are skipped.
            shown = session.keys(spoken_in(history, SPEAKERS))
            where: dict[str, Any] = {
                "key": {"$nin": shown},
                "$not": {"source_id": {"$in": shown}},
            }
            if self.scope == "session":
                where["session"] = self.session_id
            text = await self._notes.recall(
                perform,
                question,
                token_budget=min(self.max_tokens, self.token_limit - used),
                count_tokens=self._estimate_token_count,
                filter=where,
                turn=turn,
            )
        return self._render(text)

    def _render(self, text: str) -> list[ContentBlock]:
        if not text:
            return []
        notes = [("notes", [TextBlock(text=text)])]
        return self.memory_blocks_template.format_messages(memory_blocks=notes)[0].blocks

    async def _known_session(self) -> Session:
        """Return the session with all that was said in it so far, as the chat store has it."""
        if self._session is None:
            history = await self.sql_store.get_messages(self.session_id, status=None)
            session = Session(self.session_id)
            session.add(spoken_in(history, SPEAKERS))
            with self._lock:
                self._session = self._session or session
        return self._session
