"""What a chat memory and a memory block do with an AgenticMemory: take notes, and recall.

Neither ever fails the turn: what goes wrong is logged without content and counted, and notes that
could not be written wait for the next write. Both show as spans in LlamaIndex's observability.
"""

import logging
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from llama_index_instrumentation import get_dispatcher

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Hit, check_content
from amem_integrations.errors import InvalidInputError, StoreError, loggable
from amem_integrations.llama_index.forms import Form
from amem_integrations.llama_index.source import Source
from amem_integrations.memory.attachments import Captioning, Enclosed, Said, captioned
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.pipeline import Formation, Wiring
from amem_integrations.recall.prompt import shown_in

_LOG = logging.getLogger(__name__)
_dispatcher = get_dispatcher(__name__)

Ingest: TypeAlias = Literal["background", "await", "manual"]
INGESTS: Mapping[Ingest, Formation] = {
    "background": "background",
    "await": "inline",
    "manual": "off",
}

MAX_WAITING = 1000

# Engines put their question where a template, or a message of the history, says "{query_str}".
# In a JSON string the escape means the same and is no placeholder.
_PLACEHOLDER = re.compile(r"\{(?=\w+\})")


class AMemNotes:
    """The notes of one namespace, as a chat memory uses them.

    events: how often something was skipped or failed; the memory's `health` has them too.
    """

    def __init__(
        self,
        source: Source,
        namespace: Namespace,
        *,
        ingest: Ingest,
        top_k: int,
        hops: int,
        min_relevance: float | None = None,
        waiting: list[dict[str, Any]] | None = None,
        captioning: Captioning | None = None,
    ) -> None:
        self.source = source
        self.namespace = namespace
        self.events: Counter[str] = Counter()
        self.waiting = waiting or []
        """Notes that could not be written yet, as `add_many` takes them."""
        self._formation = INGESTS[ingest]
        self._top_k = top_k
        self._hops = hops
        self._min_relevance = min_relevance
        self._captioning = captioning
        self._lock = threading.Lock()
        self._shown: tuple[str, list[Hit]] = ("", [])

    @_dispatcher.span
    async def recall(
        self,
        form: Form,
        question: str,
        *,
        token_budget: int,
        count_tokens: Callable[[str], int],
        filter: Mapping[str, Any] | None = None,
    ) -> str:
        """What the notes say to the question, as fenced data for a prompt; "" for nothing.

        Asks no model. On failure "", logged and counted.
        """
        if not question.strip() or token_budget <= 0:
            return ""
        try:
            core = await self.source.opened(form)
            hits: list[Hit] = await form.call(
                core,
                "search",
                question,
                namespace=self.namespace,
                k=self._top_k,
                hops=self._hops,
                filter=filter,
                min_relevance=self._min_relevance,
            )
        except Exception as error:
            self._failed("recall", error)
            return ""
        packed = AgenticMemory.pack(
            hits, token_budget, count_tokens=lambda text: count_tokens(_harmless(text))
        )
        # Whoever keeps notes by their use wants to know what comes of these.
        self._shown = (question, shown_in(hits, packed) if core.options.lifecycle else [])
        packed = _harmless(packed)
        await shown(form, core, self.namespace, hits, packed)
        return packed

    async def replied(self, form: Form, reply: str, session: str | None) -> None:
        """Report which of the notes shown last a reply made use of; on failure logged, counted.

        What the turn recalled and cost so far goes into the log, in numbers.
        """
        (question, hits), self._shown = self._shown, ("", [])
        if question and self.source.core is not None and _LOG.isEnabledFor(logging.INFO):
            _LOG.info("%s", self.source.core.last_recall(self.namespace))
        if not hits:
            return
        try:
            core = await self.source.opened(form)
            await form.call(
                core, "feedback_from_reply", hits, reply, query=question, session=session
            )
        except Exception as error:
            self._failed("feedback", error)

    @_dispatcher.span
    async def ingest(self, form: Form, said: list[Said]) -> None:
        """Write notes, those that wait from earlier first; what fails waits for the next time.

        said: each with a `key`, so that writing it again is harmless.
        """
        said = [each for each in said if self._can_be_stored(*each)]
        plain = [item for item, _ in said if item["content"].strip()]
        batch, error = self._take(plain), None
        # What a cancelled call leaves undone waits, too; writing it again is harmless.
        left = batch
        try:
            batch = [*batch[: len(batch) - len(plain)], *await self._captioned(form, said, plain)]
            if batch:
                left, error = await self._write(form, batch)
        finally:
            self._put_back(left)
        if error is not None:
            self._failed("ingest", error)

    async def _captioned(
        self, form: Form, said: list[Said], plain: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """What was said with captions, if there is anything to caption; else as it is, `plain`."""
        if not any(enclosed for _, enclosed in said):
            return plain

        async def ask(wiring: Wiring, io: IO) -> list[dict[str, Any]]:
            return await captioned(io, wiring.settings.ledger.count, self._captioning, said)

        try:
            return await form.call(await self.source.opened(form), "perform", ask)
        except Exception as error:
            self._failed("caption", error)
            return plain

    async def _write(
        self, form: Form, batch: list[dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], Exception | None]:
        """What was not written and shall wait, and why something was not."""
        error = await self._tried(form, batch)
        if error is None or len(batch) == 1:
            written = error is None or isinstance(error, InvalidInputError)
            return [] if written else batch, error
        if isinstance(error, StoreError):
            return batch, error
        # One that is always refused must not hold up the others. If the latest is refused, too,
        # it is more likely that nothing can be written now.
        left: list[dict[str, Any]] = []
        for each in (batch[-1], *batch[:-1]):
            refused = await self._tried(form, [each])
            if refused is None or isinstance(refused, InvalidInputError):
                continue
            if each is batch[-1]:
                return batch, refused
            left.append(each)
        return left, error

    async def _tried(self, form: Form, items: list[dict[str, Any]]) -> Exception | None:
        try:
            core = await self.source.opened(form)
            await form.call(
                core, "add_many", items, namespace=self.namespace, formation=self._formation
            )
        except Exception as error:
            return error
        return None

    def forget_waiting(self) -> None:
        with self._lock:
            self.waiting = []

    def _take(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        with self._lock:
            batch, self.waiting = [*self.waiting, *items], []
            return batch

    def _put_back(self, batch: list[dict[str, Any]]) -> None:
        with self._lock:
            kept = [*batch, *self.waiting]
            self.waiting = kept[-MAX_WAITING:]
        for _ in kept[:-MAX_WAITING]:
            self._count("ingest.dropped")

    def _can_be_stored(self, item: dict[str, Any], enclosed: Sequence[Enclosed]) -> bool:
        if enclosed and not item["content"].strip():
            return True
        try:
            check_content(item["content"])
        except InvalidInputError as error:
            self._failed("ingest", error)
            return False
        return True

    def _failed(self, what: str, error: Exception) -> None:
        _LOG.warning("%s failed (%s); the turn goes on.", what.capitalize(), loggable(error))
        _LOG.debug("Why.", exc_info=error)
        self._count(f"{what}.failed")

    def _count(self, event: str) -> None:
        self.events[event] += 1
        if self.source.core is not None:
            self.source.core.admin.count_event(f"llama_index.{event}")


async def shown(
    form: Form, core: AgenticMemory, namespace: Namespace, hits: Sequence[Hit], packed: str
) -> None:
    """Have `AgenticMemory.last_recall` tell how these hits went into a prompt."""

    async def tell(wiring: Wiring, io: IO) -> None:
        wiring.recalls.shown(namespace, hits, packed)

    await form.call(core, "perform", tell)


def _harmless(packed: str) -> str:
    return _PLACEHOLDER.sub(r"\\u007b", packed)
