"""The notes of a chat memory or a memory block: writing what was said, and recalling.

Neither ever fails the turn: errors are logged without content and counted, and notes that could not
be written wait for the next write. Both show as spans in LlamaIndex's observability.

Each coroutine takes `perform`, one of the two forms of its source.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from llama_index_instrumentation import get_dispatcher

from amem_integrations.core.hit import Hit
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import check_content, note_id
from amem_integrations.errors import InvalidInputError, StoreError, loggable
from amem_integrations.formation.pipeline import Formation
from amem_integrations.lifecycle.feedback import feedback_from_reply
from amem_integrations.llama_index.source import Perform, Source
from amem_integrations.memory.attachments import Captioning, Enclosed, Item, Utterance, caption
from amem_integrations.memory.search import find
from amem_integrations.memory.turns import Remember, remember_turns
from amem_integrations.memory.wiring import Wiring
from amem_integrations.recall.prompt import pack, shown_in
from amem_integrations.recall.turns import TurnRecalls

_LOG = logging.getLogger(__name__)
_dispatcher = get_dispatcher(__name__)

Ingest: TypeAlias = Literal["background", "await", "manual"]
INGESTS: Mapping[Ingest, Formation] = {
    "background": "background",
    "await": "inline",
    "manual": "off",
}

MAX_WAITING = 1000

MAX_TURN = 20_000
"""The most characters of a turn that are remembered: its beginning, and its end."""
_END = 5_000
_CUT = "\n[…]\n"


class Settings(Protocol):
    """What a chat memory and a memory block both say of their notes."""

    namespace: Namespace
    ingest: Ingest
    remember: Remember
    top_k: int
    hops: int
    min_relevance: float | None


class AMemNotes:
    """The notes of one namespace.

    events: how often something was skipped or failed; the memory's `health` counts them too.
    """

    def __init__(
        self,
        source: Source,
        settings: Settings,
        *,
        waiting: list[Item] | None = None,
        captioning: Captioning | None = None,
    ) -> None:
        self.source = source
        self.namespace = settings.namespace
        self.events: Counter[str] = Counter()
        self.waiting = waiting or []
        """Notes that could not be written yet, as `add_many` takes them."""
        self._formation: Formation = INGESTS[settings.ingest]
        self._remember: Remember = settings.remember
        self._recall: dict[str, Any] = {
            "k": settings.top_k,
            "hops": settings.hops,
            "min_relevance": settings.min_relevance,
        }
        self._captioning = captioning
        self._lock = threading.Lock()
        self._shown: tuple[str, list[Hit]] = ("", [])
        self._turns: TurnRecalls[str] = TurnRecalls()

    async def recalled(self, perform: Perform, turn: Hashable) -> str | None:
        """Return what `recall` gave for this turn; None if notes of it went since."""

        async def look(wiring: Wiring, io: IO) -> str | None:
            return await self._turns.get(io, self.namespace, None, turn)

        try:
            return await perform(look)
        except Exception as error:
            self._fail("recall", error)
            return ""

    @_dispatcher.span
    async def recall(
        self,
        perform: Perform,
        question: str,
        *,
        token_budget: int,
        count_tokens: Callable[[str], int],
        filter: Mapping[str, Any] | None = None,
        turn: Hashable = None,
    ) -> str:
        """Return the notes that answer the question, as fenced data for a prompt; "" for none.

        turn: for which `recalled` gives the same again; None for none.
        """
        if not question.strip() or token_budget <= 0:
            return ""

        async def search(wiring: Wiring, io: IO) -> str:
            io.caches.add(self.drop)
            drops = io.caches.drops
            hits = await find(
                wiring, io, question, namespace=self.namespace, filter=filter, **self._recall
            )
            packed = pack(hits, token_budget, count_tokens=count_tokens)
            shown = shown_in(hits, packed)
            # Only a memory with a policy learns from the use of its notes.
            learns = wiring.policy is not None and drops == io.caches.drops
            self._shown = question, shown if learns else []
            wiring.recalls.shown(self.namespace, hits, packed)
            if turn is not None:
                self._turns.keep(io.caches, drops, self.namespace, None, turn, shown, packed)
            return packed

        try:
            return await perform(search)
        except Exception as error:
            self._fail("recall", error)
            return ""

    async def replied(self, perform: Perform, reply: str, session: str | None) -> None:
        """Report which of the notes shown last a reply used, and log the turn's recall."""
        (question, hits), self._shown = self._shown, ("", [])
        if question and self.source.core is not None and _LOG.isEnabledFor(logging.INFO):
            _LOG.info("%s", self.source.core.last_recall(self.namespace))
        if not hits:
            return

        async def report(wiring: Wiring, io: IO) -> None:
            await feedback_from_reply(io, self.namespace, hits, reply, question, session)

        try:
            await perform(report)
        except Exception as error:
            self._fail("feedback", error)

    @_dispatcher.span
    async def ingest(self, perform: Perform, utterances: list[Utterance]) -> None:
        """Write notes, those that wait from earlier first; what fails waits for the next time.

        utterances: each with a `key`, so that writing it again is harmless.
        """
        utterances = [
            (self._bounded(item), enclosed)
            for item, enclosed in utterances
            if self._can_be_stored(item, enclosed)
        ]
        plain = [item for item, _ in utterances if item["content"].strip()]
        batch, error = self._take(plain), None
        # What a cancelled call leaves undone waits, too.
        left = batch
        try:
            captioned = await self._caption(perform, utterances, plain)
            batch = [*batch[: len(batch) - len(plain)], *captioned]
            if batch:
                left, error = await self._write(perform, batch)
        finally:
            self._put_back(left)
        if error is not None:
            self._fail("ingest", error)

    async def _caption(
        self, perform: Perform, utterances: list[Utterance], plain: list[Item]
    ) -> list[Item]:
        """Return the items with captions; `plain` if there is nothing to caption."""
        if not any(enclosed for _, enclosed in utterances):
            return plain

        async def ask(wiring: Wiring, io: IO) -> list[Item]:
            return await caption(io, wiring.settings.ledger.count, self._captioning, utterances)

        try:
            return await perform(ask)
        except Exception as error:
            self._fail("caption", error)
            return plain

    async def _write(
        self, perform: Perform, batch: list[Item]
    ) -> tuple[list[Item], Exception | None]:
        """Return what was not written and shall wait, and why something was not."""
        error = await self._try(perform, batch)
        if error is None or len(batch) == 1:
            done = error is None or isinstance(error, InvalidInputError)
            return [] if done else batch, error
        if isinstance(error, StoreError):
            return batch, error
        # One that is always refused must not hold up the others. If the latest is refused, too,
        # it is more likely that nothing can be written now.
        left: list[Item] = []
        for item in (batch[-1], *batch[:-1]):
            refused = await self._try(perform, [item])
            if refused is None or isinstance(refused, InvalidInputError):
                continue
            if item is batch[-1]:
                return batch, refused
            left.append(item)
        return left, error

    async def _try(self, perform: Perform, items: list[Item]) -> Exception | None:
        async def write(wiring: Wiring, io: IO) -> None:
            io.caches.add(self.drop)
            await remember_turns(wiring, io, items, self.namespace, self._formation, self._remember)

        try:
            await perform(write)
        except Exception as error:
            return error
        return None

    def forget_waiting(self) -> None:
        with self._lock:
            self.waiting = []

    def drop(self, namespace: Namespace, ids: Collection[str] = ()) -> None:
        """Drop what is kept of notes that went, so that no later write brings them back."""
        if namespace != self.namespace:
            return
        with self._lock:
            self._shown = "", []
            left = [item for item in self.waiting if ids]
            self.waiting = [item for item in left if note_id(namespace, item["key"]) not in ids]

    def _take(self, items: list[Item]) -> list[Item]:
        with self._lock:
            batch, self.waiting = [*self.waiting, *items], []
            return batch

    def _put_back(self, batch: list[Item]) -> None:
        with self._lock:
            waiting = [*batch, *self.waiting]
            self.waiting = waiting[-MAX_WAITING:]
        for _ in waiting[:-MAX_WAITING]:
            self._count("ingest.dropped")

    def _bounded(self, item: Item) -> Item:
        text = item["content"]
        if len(text) <= MAX_TURN:
            return item
        self._count("ingest.shortened")
        beginning = text[: MAX_TURN - _END - len(_CUT)]
        return {**item, "content": beginning + _CUT + text[-_END:]}

    def _can_be_stored(self, item: Item, enclosed: Sequence[Enclosed]) -> bool:
        if enclosed and not item["content"].strip():
            return True
        try:
            check_content(item["content"])
        except InvalidInputError as error:
            self._fail("ingest", error)
            return False
        return True

    def _fail(self, what: str, error: Exception) -> None:
        _LOG.warning("%s failed (%s); the turn goes on.", what.capitalize(), loggable(error))
        _LOG.debug("Why.", exc_info=error)
        self._count(f"{what}.failed")

    def _count(self, event: str) -> None:
        self.events[event] += 1
        if self.source.core is not None:
            self.source.core.admin.count_event(f"llama_index.{event}")
