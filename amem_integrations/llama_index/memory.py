"""AMemMemory: LlamaIndex's `Memory`, with linked, evolving long-term memory beside the chat.

Here it is made, serialised and restored; `conversation` has its methods.
"""

import logging
import os
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock, InsertMethod, Memory
from llama_index.core.memory.memory import DEFAULT_FLUSH_SIZE, DEFAULT_TOKEN_LIMIT
from llama_index.core.prompts import RichPromptTemplate
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore
from llama_index.core.utils import get_tokenizer  # pyright: ignore[reportUnknownVariableType]

from amem_integrations.core.namespace import fixed_namespace
from amem_integrations.core.note import make_note
from amem_integrations.llama_index.chat_store import (
    InProcessChatStore,
    dump_chat_store,
    load_chat_store,
    open_chat_store,
)
from amem_integrations.llama_index.conversation import Conversation, Scope
from amem_integrations.llama_index.messages import PLACEMENTS, Placement
from amem_integrations.llama_index.notes import INGESTS, AMemNotes, Ingest
from amem_integrations.llama_index.source import Source, choose_source, restore_source
from amem_integrations.memory.attachments import Captioner, Captioning, captioning_of
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.options import check_choice
from amem_integrations.memory.turns import REMEMBER, Remember
from amem_integrations.memory.wiring import NamespaceLike
from amem_integrations.recall.search import check_counts
from amem_integrations.recall.signals import check_relevance

_LOG = logging.getLogger(__name__)

SCOPES = ("user", "session")

_STORE_ARGUMENTS = ("chat_store", "async_database_uri", "async_engine", "table_name", "db_schema")
# The fields that are serialised: ours, and those of LlamaIndex's `Memory`.
_OWN = tuple(name for name in Conversation.model_fields if name not in Memory.model_fields)
_CHAT = (
    "session_id",
    "token_limit",
    "token_flush_size",
    "chat_history_token_ratio",
    "image_token_size_estimate",
    "audio_token_size_estimate",
    "video_token_size_estimate",
    "document_token_size_estimate",
)


class AMemMemory(Conversation):
    """A chat memory whose messages become notes, recalled in every later session of a user.

    Made by `from_defaults`, or by itself with the same arguments. What a message says that is new
    becomes a note once, when it is put. Reading recalls the notes for the last user message, once a
    turn, without a model call. A memory that fails never fails the turn; `events` and the memory's
    `health` count it. Its fields are the arguments of `from_defaults`, of which `insert_method` is
    the field `placement` and `chat_store` is `sql_store`.

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
        remember: Remember = "both",
        scope: Scope = "user",
        max_tokens: int = 1000,
        insert_method: InsertMethod | Placement = "auto",
        memory_blocks: list[BaseMemoryBlock[Any]] | None = None,
        chat_history: list[ChatMessage] | None = None,
        captioner: Captioner | Captioning | None = None,
        token_limit: int = DEFAULT_TOKEN_LIMIT,
        **kwargs: Any,
    ) -> Self:
        """Make a memory of one session of one user.

        Args:
            core: the AgenticMemory that holds the notes; without one, `location`, `llm` and
                `embed_model` open one.
            namespace: the user. Without one, notes are private to this object.
            session_id: the conversation. A note's key is made of its session, its text, and how
                often that was said before, so a history may be handed over again. A new chat under
                an old id may thus repeat old notes.
            llm: the LLM that forms notes, without `core`; by default that of LlamaIndex's
                `Settings`.
            embed_model: the embedding model, likewise.
            location: as for `AgenticMemory`.
            top_k: how many notes are recalled, at most; 0 for none.
            hops: how many links are followed.
            min_relevance: as for `AgenticMemory.search`.
            ingest: "background" forms notes in a thread, "await" before `put` returns, "manual"
                when `flush` is called. The text is stored when it is put in each case.
            remember: "both": what the user said and what the replies added, as
                `AgenticMemory.add_turn` decides; "user": without the replies; "all": each message.
            scope: "session" recalls the notes of this session only.
            max_tokens: the most tokens of recalled notes.
            insert_method: "user": the notes stand with the user's question; "system": in the system
                message, which ReActAgent and CodeActAgent drop. Of `memory_blocks`, what LlamaIndex
                says of it holds. "auto": the notes with the question, those in the system message.
            memory_blocks: LlamaIndex's, beside the notes.
            chat_history: messages to begin with.
            captioner: describes the images, audio and files of a message; a function of an
                `Attachment`, or a `Captioning`. `put` waits for it. Without one they are only
                counted in the metadata.
            token_limit: of the whole prompt.
            **kwargs: other arguments of LlamaIndex's `Memory.from_defaults`. Without a chat store
                or database, the chat is kept in the process and serialised with this object.

        Raises:
            InvalidInputError: an argument is invalid.
            StoreError: the memory cannot be opened.
            ModelUnavailableError: the model or embedder is not available.

        Examples:
            >>> from llama_index.core.llms import ChatMessage
            >>> from amem_integrations.llama_index import AMemMemory
            >>> said = [ChatMessage(role="user", content="My dog is called Rex.")]
            >>> chat = AMemMemory.from_defaults(core=memory, namespace="calvin", chat_history=said)
            >>> [message.content for message in chat.get_all()], memory.count("calvin")
            (['My dog is called Rex.'], 1)
        """
        store = {name: kwargs.pop(name) for name in _STORE_ARGUMENTS if name in kwargs}
        # As LlamaIndex's `from_defaults`; its constructor flushes less of a small chat at once.
        least = kwargs.setdefault("token_flush_size", DEFAULT_FLUSH_SIZE)
        if least > token_limit:
            kwargs["token_flush_size"] = int(token_limit * 0.7)
        memory = cls(
            core,
            location=location,
            llm=llm,
            embed_model=embed_model,
            captioner=captioner,
            namespace=namespace,
            session_id=session_id,
            top_k=top_k,
            hops=hops,
            min_relevance=min_relevance,
            ingest=ingest,
            remember=remember,
            scope=scope,
            max_tokens=max_tokens,
            insert_method=insert_method,
            memory_blocks=memory_blocks,
            token_limit=token_limit,
            sql_store=open_chat_store(**store),
            **kwargs,
        )
        if chat_history:
            memory.set(chat_history)
        return memory

    def __init__(
        self,
        core: AgenticMemory | Source | None = None,
        *,
        location: str | os.PathLike[str] | None = None,
        llm: Any = None,
        embed_model: Any = None,
        captioner: Captioner | Captioning | None = None,
        **fields: Any,
    ) -> None:
        unknown = fields.keys() - type(self).model_fields
        if unknown:
            raise TypeError(f"AMemMemory has no argument {', '.join(sorted(unknown))}.")
        given = {name: value for name, value in fields.items() if value is not None}
        fields = {name: Conversation.model_fields[name].default for name in _OWN} | given
        placement = given.get("insert_method", fields["placement"])
        if isinstance(placement, InsertMethod):
            placement = placement.value
        if fields["namespace"] == ():
            fields["namespace"] = ("private", uuid.uuid4().hex)
        fields["namespace"] = fixed_namespace(fields["namespace"])
        _check(fields, placement)
        fields["placement"] = placement
        fields["insert_method"] = InsertMethod.USER if placement == "user" else InsertMethod.SYSTEM
        fields.setdefault("token_limit", DEFAULT_TOKEN_LIMIT)
        fields.setdefault("sql_store", InProcessChatStore())
        super().__init__(**fields)  # pyright: ignore[reportUnknownMemberType]
        self._source = (
            core if isinstance(core, Source) else choose_source(core, location, llm, embed_model)
        )
        self._notes = AMemNotes(self._source, self, captioning=captioning_of(captioner))

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Return what is needed to go on elsewhere, JSON-native: settings, session, address.

        Keys, model objects, memory blocks and a tokenizer of one's own are left out; `from_dict`
        takes them again. The URI of a chat database is included as it is, with its password.

        Args:
            **kwargs: not used.
        """
        if self._blocks:
            _LOG.warning(
                "%d memory blocks are not serialised with the memory; give memory_blocks= to "
                "from_dict.",
                len(self._blocks),
            )
        if self._tokenizer is not get_tokenizer():
            _LOG.warning(
                "The tokenizer is not serialised with the memory; give tokenizer_fn= to from_dict."
            )
        own = {name: getattr(self, name) for name in _OWN}
        return {
            "class_name": self.class_name(),
            "own": {**own, "namespace": list(self.namespace)},
            "chat": {name: getattr(self, name) for name in _CHAT},
            "template": self.memory_blocks_template.template_str,
            "chat_store": dump_chat_store(self.sql_store, self.session_id),
            "place": self._source.place,
            "waiting": self._notes.waiting,
        }

    @classmethod
    def from_dict(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls,
        data: dict[str, Any],
        *,
        core: AgenticMemory | None = None,
        llm: Any = None,
        embed_model: Any = None,
        chat_store: AsyncDBChatStore | None = None,
        memory_blocks: list[BaseMemoryBlock[Any]] | None = None,
        captioner: Captioner | Captioning | None = None,
        tokenizer_fn: Callable[[str], list[Any]] | None = None,
    ) -> Self:
        """Make the memory that `to_dict` described; it connects on first use.

        Args:
            data: what `to_dict` returned.
            core: in place of the memory at its address.
            llm: the LLM that forms notes, if the memory must be opened.
            embed_model: the embedding model, likewise.
            chat_store: in place of the one described.
            memory_blocks: LlamaIndex's, beside the notes.
            captioner: as for `from_defaults`.
            tokenizer_fn: in place of LlamaIndex's default.
        """
        own, chat = data["own"], data["chat"]
        memory = cls(
            restore_source(data["place"], llm, embed_model) if core is None else core,
            captioner=captioner,
            **{**own, **chat},
            memory_blocks_template=RichPromptTemplate(data["template"]),
            memory_blocks=memory_blocks,
            sql_store=chat_store or load_chat_store(data["chat_store"], chat["session_id"]),
            tokenizer_fn=tokenizer_fn,
        )
        memory._notes.waiting = list(data["waiting"])
        return memory

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        # Workflows copy their state for an edit; the chat must not go on in two copies.
        return self


def _check(fields: Mapping[str, Any], placement: object) -> None:
    check_choice("ingest", fields["ingest"], tuple(INGESTS))
    check_choice("scope", fields["scope"], SCOPES)
    check_choice("remember", fields["remember"], REMEMBER)
    check_choice("insert_method", placement, PLACEMENTS)
    check_counts(**{name: fields[name] for name in ("top_k", "hops", "max_tokens")})
    check_relevance(fields["min_relevance"])
    # Refuses a session that no note can have, before anything is said in it.
    session = fields.get("session_id")
    make_note("-", namespace=fields["namespace"], now=datetime.now(UTC), session=session)
