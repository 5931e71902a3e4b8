"""AMemMemory: LlamaIndex's `Memory`, with linked, evolving long-term memory beside the chat.

The chat itself is kept as `Memory` keeps it. This says when a message becomes a note, when notes
are recalled, and what travels when the object is serialised; `notes` does the rest.
"""

import os
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Self, cast

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock, InsertMethod
from llama_index.core.memory.memory import DEFAULT_TOKEN_LIMIT
from llama_index.core.storage.chat_store.base_db import MessageStatus

from amem_integrations.core.namespace import fixed_namespace
from amem_integrations.core.note import make_note
from amem_integrations.llama_index import chat_stores, serialising
from amem_integrations.llama_index.conversation import Conversation, Scope
from amem_integrations.llama_index.forms import AWAITED, NOW
from amem_integrations.llama_index.inserting import PLACINGS, Placing
from amem_integrations.llama_index.notes import INGESTS, AMemNotes, Ingest
from amem_integrations.llama_index.source import Source, choose
from amem_integrations.llama_index.utterances import SPEAKERS
from amem_integrations.memory.attachments import Captioner, Captioning, captioning_of
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.operations import NamespaceLike, NoteLike
from amem_integrations.memory.options import check_choice
from amem_integrations.recall.options import check_relevance
from amem_integrations.recall.search import check_counts
from amem_integrations.revisions.forget import Forgotten

SCOPES = ("user", "session")

_STORE_ARGUMENTS = (
    "chat_store",
    "async_database_uri",
    "async_engine",
    "table_name",
    "db_schema",
)


class AMemMemory(Conversation):
    """A chat memory whose messages become notes, recalled in every later session of a user.

    Made by `from_defaults`. Each user and assistant message becomes a note once, when it is put.
    Reading recalls what the notes say to the last user message, once a turn, without a model call.
    A memory that fails never fails the turn; `events` and the memory's `health` count it.

    Attributes:
        namespace: the user.
        top_k: how many notes are recalled, at most.
        hops: how many links are followed.
        min_relevance: as for `AgenticMemory.search`.
        ingest: when notes are formed.
        roles: whose messages become notes.
        scope: "user" or "session".
        max_tokens: what recalled notes may take of the prompt, at most.
        placing: where they go, see `insert_method`.

    Examples:
        >>> from llama_index.core.llms import ChatMessage
        >>> from amem_integrations.llama_index import AMemMemory
        >>> monday = AMemMemory.from_defaults(core=memory, namespace="calvin")
        >>> monday.put(ChatMessage(role="user", content="My dog is called Rex."))
        >>> tuesday = AMemMemory.from_defaults(core=memory, namespace="calvin")
        >>> tuesday.put(ChatMessage(role="user", content="What is my dog called?"))
        >>> "My dog is called Rex." in tuesday.get()[0].content
        True
        >>> tuesday.flush(timeout=30), tuesday.events  # notes are formed, nothing went wrong
        (True, {})
        >>> tuesday.forget().notes  # what Calvin said, in every session
        2
        >>> tuesday.close()
    """

    @classmethod
    def class_name(cls) -> str:
        return "AMemMemory"

    @classmethod
    def from_defaults(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls,
        *,
        core: AgenticMemory | None = None,
        namespace: NamespaceLike | None = None,
        session_id: str | None = None,
        llm: Any = None,
        embed_model: Any = None,
        location: str | os.PathLike[str] | None = None,
        top_k: int = 5,
        hops: int = 1,
        min_relevance: float | None = None,
        ingest: Ingest = "background",
        roles: Sequence[str] = SPEAKERS,
        scope: Scope = "user",
        max_tokens: int = 1000,
        insert_method: InsertMethod | Placing = "auto",
        memory_blocks: list[BaseMemoryBlock[Any]] | None = None,
        chat_history: list[ChatMessage] | None = None,
        captioner: Captioner | Captioning | None = None,
        token_limit: int = DEFAULT_TOKEN_LIMIT,
        **kwargs: Any,
    ) -> Self:
        """A memory of one session of one user.

        Args:
            core: the AgenticMemory that holds the notes; without one, `location`, `llm` and
                `embed_model` open one.
            namespace: the user. Without one, notes are private to this object.
            session_id: the conversation. An utterance is known by its session, its words, and how
                often they were said in the chat before, so that a history may be handed over again.
                A new conversation under an old id, without its chat, may thus repeat old notes.
            llm: the LLM that forms notes, where there is no `core`; by default the one set in
                LlamaIndex's `Settings`.
            embed_model: the embedding model, likewise.
            location: as for `AgenticMemory`.
            top_k: how many notes are recalled, at most.
            hops: how many links are followed.
            min_relevance: as for `AgenticMemory.search`.
            ingest: "background" forms notes in a thread, "await" before `put` returns, "manual"
                when `flush` is called. In each case the text is stored when it is put.
            roles: whose messages become notes.
            scope: "session" recalls this session's only.
            max_tokens: what recalled notes may take of the prompt, at most.
            insert_method: "system", "user" (with the user's question), or "auto": into the chat's
                system message if it has one, else with the question; so no prompt gets a second
                system message, and the beginning of a long chat stays the same from turn to turn.
            memory_blocks: LlamaIndex's, beside the notes.
            chat_history: messages to begin with.
            captioner: describes the images, audio and files of a message in words; a
                function of an `Attachment`, or a `Captioning`. `put` waits for it. Without one they
                are only counted, in the note's metadata.
            token_limit: of the whole prompt.
            **kwargs: what LlamaIndex's `Memory.from_defaults` takes besides. Without a chat store
                or database, the chat is kept in the process and travels with this object.

        Raises:
            InvalidInputError: an argument cannot be used.
            StoreError: the memory cannot be opened.
            ModelUnavailableError: the model or embedder cannot be had.

        Examples:
            >>> from llama_index.core.llms import ChatMessage
            >>> from amem_integrations.llama_index import AMemMemory
            >>> said = [ChatMessage(role="user", content="My dog is called Rex.")]
            >>> chat = AMemMemory.from_defaults(core=memory, namespace="calvin", chat_history=said)
            >>> [message.content for message in chat.get_all()], memory.count("calvin")
            (['My dog is called Rex.'], 1)
        """
        check_choice("ingest", ingest, tuple(INGESTS))
        check_choice("scope", scope, SCOPES)
        check_counts(top_k=top_k, hops=hops, max_tokens=max_tokens)
        check_relevance(min_relevance)
        for role in roles:
            check_choice("roles", role, SPEAKERS)
        placing = insert_method.value if isinstance(insert_method, InsertMethod) else insert_method
        check_choice("insert_method", placing, PLACINGS)
        own: dict[str, Any] = {
            "namespace": fixed_namespace(
                ("private", uuid.uuid4().hex) if namespace is None else namespace
            ),
            "top_k": top_k,
            "hops": hops,
            "min_relevance": min_relevance,
            "ingest": ingest,
            "roles": tuple(roles),
            "scope": scope,
            "max_tokens": max_tokens,
            "placing": placing,
        }
        # Refuses a session that no note can have, before anything is said in it.
        make_note("-", namespace=own["namespace"], now=datetime.now(UTC), session=session_id)
        store = {name: kwargs.pop(name) for name in _STORE_ARGUMENTS if name in kwargs}
        memory = cls._made(
            choose(core, location, llm, embed_model),
            own,
            session_id=session_id,
            memory_blocks=memory_blocks,
            insert_method=InsertMethod.USER if placing == "user" else InsertMethod.SYSTEM,
            token_limit=token_limit,
            chat_store=chat_stores.chat_store(**store),
            captioning=captioning_of(captioner),
            **kwargs,
        )
        if chat_history:
            memory.set(chat_history)
        return memory

    @classmethod
    def _made(
        cls,
        source: Source,
        own: Mapping[str, Any],
        waiting: list[dict[str, Any]] | None = None,
        captioning: Captioning | None = None,
        **chat: Any,
    ) -> Self:
        """own: the fields that `Memory` does not have. chat: arguments of its from_defaults."""
        memory = cast("Self", super().from_defaults(**chat))  # pyright: ignore[reportUnknownMemberType]
        for name, value in own.items():
            setattr(memory, name, value)
        memory._notes = AMemNotes(
            source,
            memory.namespace,
            ingest=memory.ingest,
            top_k=memory.top_k,
            hops=memory.hops,
            min_relevance=memory.min_relevance,
            waiting=waiting,
            captioning=captioning,
        )
        return memory

    # -- what LlamaIndex calls --------------------------------------------------------------

    def get(self, input: str | ChatMessage | None = None, **block_kwargs: Any) -> list[ChatMessage]:
        """The chat, with what the notes say to the user's question; each message a copy."""
        return self._drive(self._get(NOW, input, block_kwargs))

    async def aget(
        self, input: str | ChatMessage | None = None, **block_kwargs: Any
    ) -> list[ChatMessage]:
        """`get`, awaited."""
        return await self._get(AWAITED, input, block_kwargs)

    def get_all(self, status: MessageStatus | None = None) -> list[ChatMessage]:
        """The chat alone."""
        return self._drive(self.aget_all(status))

    def put(self, message: ChatMessage) -> None:
        """Add a message to the chat, and remember it."""
        self._drive(self._put(NOW, [message]))

    async def aput(self, message: ChatMessage) -> None:
        """`put`, awaited."""
        await self._put(AWAITED, [message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages to the chat, and remember them."""
        self._drive(self._put(NOW, messages))

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """`put_messages`, awaited."""
        await self._put(AWAITED, messages)

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the chat; what of it was not said before, by its content, is remembered."""
        self._drive(self._set(NOW, messages))

    async def aset(self, messages: list[ChatMessage]) -> None:
        """`set`, awaited."""
        await self._set(AWAITED, messages)

    def reset(self) -> None:
        """Clear the chat. The notes stay; `forget` removes those."""
        self._drive(self.areset())

    async def areset(self, status: MessageStatus | None = None) -> None:
        """`reset`, awaited."""
        await self._reset(status)

    # -- what is beyond LlamaIndex's interface ----------------------------------------------

    @property
    def events(self) -> Mapping[str, int]:
        """How often a note was not written, or a recall failed, in this object."""
        return dict(self._notes.events)

    def flush(self, timeout: float | None = None) -> bool:
        """Write the notes that wait, form those that are raw, put everything on disk.

        A note whose model failed is tried again in the background, when its time has come.

        Args:
            timeout: seconds to wait, at most; None for as long as it takes.

        Returns:
            False if notes were still waiting after that time.

        Raises:
            StoreError: the store cannot be written.
        """
        return self._drive(self._flush(NOW, timeout))

    async def aflush(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - as in flush
        """`flush`, awaited."""
        return await self._flush(AWAITED, timeout)

    def forget(self, note: NoteLike | None = None) -> Forgotten:
        """Remove a note and what it caused; without one, all that `scope` covers.

        The chat stays; `reset` clears it.

        Args:
            note: the note, or its id; None for all.

        Raises:
            InvalidInputError: this can be no note.
            StoreError: it could not be removed.
        """
        return self._drive(self._forget(NOW, note))

    async def aforget(self, note: NoteLike | None = None) -> Forgotten:
        """`forget`, awaited."""
        return await self._forget(AWAITED, note)

    def close(self) -> None:
        """Write the notes that wait, and close the AgenticMemory if this object opened it."""
        self._drive(self._close(NOW))

    async def aclose(self) -> None:
        """`close`, awaited."""
        await self._close(AWAITED)

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """What is needed to go on elsewhere, JSON-native: settings, session, where the notes are.

        Left out are keys, model objects, and memory blocks, which `from_dict` takes again. The URI
        of a chat database travels as it is, password included.

        Args:
            **kwargs: not used.
        """
        return serialising.dumped(self, self._notes, blocks=len(self._blocks))

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """The memory that `to_dict` described; it connects on first use.

        Args:
            data: what `to_dict` gave.
            **kwargs: core, llm, embed_model, chat_store and memory_blocks, in place of what is
                found; and captioner, which does not travel.
        """
        return cls._made(**serialising.arguments(data, **kwargs))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        # Workflows copy their state for an edit; the chat must not go on in two copies.
        return self
