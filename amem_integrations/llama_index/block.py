"""AMemMemoryBlock: notes as one block of a `Memory` that its user composes.

LlamaIndex's `Memory` reads it at every turn, and writes to it what leaves the short-term queue,
unless `accept_short_term_memory` is False.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Self, cast

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.utils import get_tokenizer  # pyright: ignore[reportUnknownVariableType]
from pydantic import ConfigDict, PrivateAttr, ValidationError

from amem_integrations.core.namespace import Namespace, fixed_namespace
from amem_integrations.core.note import make_note
from amem_integrations.errors import InvalidInputError
from amem_integrations.llama_index.conversation import Scope
from amem_integrations.llama_index.messages import SPEAKERS, Session, last_question, spoken_in
from amem_integrations.llama_index.notes import AMemNotes, Ingest
from amem_integrations.llama_index.source import Source, choose_source, restore_source
from amem_integrations.memory.attachments import Captioner, Captioning, Item, captioning_of
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.turns import Remember
from amem_integrations.memory.wiring import NamespaceLike
from amem_integrations.recall.prompt import shortened
from amem_integrations.recall.search import check_counts


class AMemMemoryBlock(BaseMemoryBlock[str]):
    """A memory block that remembers what is put into it, and recalls for the last user message.

    It loses no message and fails no turn; `events` counts the errors.

    Args:
        core: the AgenticMemory that holds the notes.
        namespace: the user.
        captioner: as for `AMemMemory`; it is not pickled with the block.
        **fields: the other attributes, and `accept_short_term_memory`, as for any block.

    Attributes:
        name: as for any block. By default it names the namespace, so that the blocks of two
            namespaces stand side by side.
        priority: as for any block. A block of priority 0 is never truncated; one of another loses
            whole notes, the least relevant first.
        top_k: how many notes are recalled, at most; 0 for none.
        hops: how many links are followed.
        min_relevance: as for `AgenticMemory.search`.
        max_tokens: the most tokens of recalled notes.
        ingest: as for `AMemMemory`.
        remember: as for `AMemMemory`.
        scope: likewise; in the scope of a session, a block that is not told of any recalls nothing.

    Raises:
        InvalidInputError: an argument cannot be used.

    Examples:
        >>> import asyncio
        >>> from llama_index.core.llms import ChatMessage
        >>> from amem_integrations.llama_index import AMemMemoryBlock
        >>> block = AMemMemoryBlock(memory, namespace="calvin", name="known", max_tokens=500)
        >>> said = ChatMessage(role="user", content="My dog is called Rex.")
        >>> asyncio.run(block.aput([said]))
        >>> question = ChatMessage(role="user", content="What is my dog called?")
        >>> "Rex" in asyncio.run(block.aget([question])), block.events
        (True, {})
    """

    # A misspelt field would be ignored.
    model_config = ConfigDict(extra="forbid")

    name: str = ""
    priority: int = 1
    namespace: tuple[str, ...]
    top_k: int = 5
    hops: int = 1
    min_relevance: float | None = None
    max_tokens: int = 1000
    ingest: Ingest = "background"
    remember: Remember = "both"
    scope: Scope = "user"

    _notes: AMemNotes = PrivateAttr()
    _tokenize: Callable[[str], list[Any]] = PrivateAttr()

    def __init__(
        self,
        core: AgenticMemory,
        *,
        namespace: NamespaceLike,
        captioner: Captioner | Captioning | None = None,
        **fields: Any,
    ) -> None:
        fields["namespace"] = fixed_namespace(namespace)
        if not fields.get("name"):
            fields["name"] = _name_of(fields["namespace"])
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise InvalidInputError(str(error)) from error
        check_counts(top_k=self.top_k, hops=self.hops, max_tokens=self.max_tokens)
        self._connect(choose_source(core, None, None, None), [], captioning_of(captioner))

    def _connect(
        self,
        source: Source,
        waiting: list[Item],
        captioning: Captioning | None = None,
    ) -> None:
        # LlamaIndex reads its tokenizer from a file at first use; later a loop may be running.
        self._tokenize = cast("Callable[[str], list[Any]]", get_tokenizer())
        self._notes = AMemNotes(source, self, waiting=waiting, captioning=captioning)

    @property
    def events(self) -> Mapping[str, int]:
        """How often writing or recalling failed in this object, by kind."""
        return dict(self._notes.events)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        session = block_kwargs.get("session_id")
        if self.scope == "session" and not self._is_valid(session):
            return ""
        return await self._notes.recall(
            self._notes.source.aperform,
            last_question(messages or []),
            token_budget=self.max_tokens,
            count_tokens=self._count_tokens,
            filter={"session": session} if self.scope == "session" else None,
        )

    async def aput(
        self,
        messages: list[ChatMessage],
        from_short_term_memory: bool = False,
        session_id: str | None = None,
    ) -> None:
        """Remember what was said in these messages, without changing them."""
        if self.accept_short_term_memory or not from_short_term_memory:
            await self._remember(messages, session_id)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self._remember(messages, None)

    async def _remember(self, messages: list[ChatMessage], session: str | None) -> None:
        new = Session(session, key_prefix="block").add(spoken_in(messages, SPEAKERS))
        known = session if self._is_valid(session) else None
        utterances = [({**item, "session": known}, enclosed) for item, enclosed in new]
        await self._notes.ingest(self._notes.source.aperform, utterances)

    def _is_valid(self, session: str | None) -> bool:
        """Whether a note can be of this session."""
        if session is None:
            return False
        try:
            make_note("-", namespace=self.namespace, now=datetime.now(UTC), session=session)
        except InvalidInputError:
            return False
        return True

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the content without its least relevant notes; None when none is left."""
        if not content:
            return None
        return shortened(content, tokens_to_truncate, count_tokens=self._count_tokens) or None

    def __reduce__(self) -> tuple[Any, ...]:
        # LlamaIndex's Memory drops all blocks if one cannot be pickled.
        notes = self._notes
        return type(self)._rebuilt, (self.model_dump(), notes.source.place, notes.waiting)

    @classmethod
    def _rebuilt(cls, fields: dict[str, Any], place: dict[str, Any], waiting: list[Item]) -> Self:
        block = cls.__new__(cls)
        super(AMemMemoryBlock, block).__init__(**fields)
        block._connect(restore_source(place), waiting)
        return block

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self

    def _count_tokens(self, text: str) -> int:
        return len(self._tokenize(text))


def _name_of(namespace: Namespace) -> str:
    """Return a name that can be a tag in a prompt, and ends no other."""
    plain = re.sub(r"\W+", "_", "_".join(namespace)).strip("_")
    return f"amem_{plain}" if plain else "amem"
