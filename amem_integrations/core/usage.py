"""What happened, counted: model calls, tokens, failures, whatever was dropped or retried.

No content is kept: names of events and numbers only. `stores.usage` keeps what the model
calls took beyond the process; the events are those of this process.
"""

import json
import threading
import uuid
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.values import estimate_tokens


@dataclass(frozen=True, slots=True)
class Usage:
    """Model calls and what they took; such figures can be added up.

    Attributes:
        calls: questions put to a model.
        failures: those that it did not answer.
        retries: those that had been put before, because of a failure or an answer that could not be
            read.
        tokens_in: of the prompts.
        tokens_out: of the answers.
        estimated: how many of these tokens are an estimate, as the model told nothing.
        seconds: wall time spent waiting, summed over the calls.

    Examples:
        >>> from amem_integrations.core.usage import Usage
        >>> (Usage(calls=1, tokens_in=700) + Usage(calls=2, tokens_in=1300)).tokens_in
        2000
    """

    calls: int = 0
    failures: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    estimated: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return self._with(other, 1)

    def __sub__(self, other: "Usage") -> "Usage":
        return self._with(other, -1)

    def _with(self, other: "Usage", sign: int) -> "Usage":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Usage(*(one + sign * two for one, two in pairs))


Entries: TypeAlias = Mapping[tuple[str, str], Usage]
"""What was used, by step and mode."""


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What model calls took: in total, by step and by mode of formation.

    Attributes:
        total: all of it.
        by_step: "construct", "link", "evolve", "fuse", "batch" and "segment", those that occurred.
        by_mode: "staged", "fused" and "batched", likewise.

    Examples:
        >>> from amem_integrations import AgenticMemory
        >>> from amem_integrations.testing import ScriptedChatModel
        >>> model = ScriptedChatModel([{"keywords": ["tea"], "tags": ["house"], "context": "Tea."}])
        >>> with AgenticMemory(model=model) as memory:
        ...     _ = memory.add("Tea is served at four")
        ...     report = memory.usage()
        >>> report.total.calls, list(report.by_step), list(report.by_mode)
        (1, ['fuse'], ['fused'])
    """

    total: Usage
    by_step: Mapping[str, Usage]
    by_mode: Mapping[str, Usage]


def report(tables: Iterable[Entries]) -> UsageReport:
    """The sum of several tables."""
    total, by_step, by_mode = Usage(), dict[str, Usage](), dict[str, Usage]()
    for table in tables:
        for (step, mode), usage in table.items():
            total += usage
            by_step[step] = by_step.get(step, Usage()) + usage
            by_mode[mode] = by_mode.get(mode, Usage()) + usage
    return UsageReport(total, by_step, by_mode)


@dataclass(frozen=True, slots=True)
class Record:
    """What one namespace used in the hour that begins at `hour`, as this process knows it.

    stored: the part that has been written to the store before. opened: as in an account.
    """

    namespace: Namespace
    hour: datetime
    entries: Entries
    stored: Entries
    opened: int

    @property
    def calls(self) -> int:
        return sum(usage.calls for usage in self.entries.values())


@dataclass(slots=True)
class _Page:
    entries: dict[tuple[str, str], Usage] = field(default_factory=dict[tuple[str, str], Usage])
    stored: Entries = field(default_factory=dict[tuple[str, str], Usage])


@dataclass(slots=True, weakref_slot=True)
class Tally:
    """What happened in one namespace since somebody began to watch it."""

    formed: int = 0
    usage: Usage = Usage()


class Ledger:
    """Counters shared by every operation of one memory; safe to use from any thread.

    now: the time, never going back; it decides to which hour a call belongs.
    """

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.writer = uuid.uuid4().hex
        """What tells the records of this ledger from those of others."""
        self._now = now
        self._lock = threading.Lock()
        self._events: Counter[str] = Counter()
        self._pages: dict[tuple[Namespace, datetime], _Page] = {}
        self._forgotten: Counter[Namespace] = Counter()
        self._watched: weakref.WeakValueDictionary[Namespace, Tally] = weakref.WeakValueDictionary()
        self._waiting = 0

    def count(self, event: str, n: int = 1) -> None:
        if n:
            with self._lock:
                self._events[event] += n

    def events(self) -> Mapping[str, int]:
        with self._lock:
            return dict(self._events)

    def account(self, namespace: Namespace, mode: str, *, again: bool = False) -> "Account":
        """Where the calls of a formation are entered; void once the namespace is forgotten.

        again: whether the formation had been tried before.
        """
        with self._lock:
            return Account(self, namespace, mode, again, self._forgotten[namespace])

    def enter(self, account: "Account", step: str, mode: str, usage: Usage) -> None:
        with self._lock:
            if account.opened != self._forgotten[account.namespace]:
                return
            page = self._pages.setdefault((account.namespace, hour(self._now())), _Page())
            key = (step, mode)
            page.entries[key] = page.entries.get(key, Usage()) + usage
            self._waiting += 1
            if tally := self._watched.get(account.namespace):
                tally.usage += usage

    def formed(self, namespace: Namespace) -> None:
        """One more note of the namespace was formed."""
        with self._lock:
            if tally := self._watched.get(namespace):
                tally.formed += 1

    def watch(self, namespace: Namespace) -> Tally:
        """What happens in the namespace from now on, for as long as it is held and not replaced."""
        tally = Tally()
        with self._lock:
            self._watched[namespace] = tally
        return tally

    def forget(self, namespace: Namespace) -> None:
        """Drop what a namespace used, calls still under way included."""
        with self._lock:
            self._forgotten[namespace] += 1
            self._watched.pop(namespace, None)
            for key in [key for key in self._pages if key[0] == namespace]:
                del self._pages[key]

    def records(self) -> list[Record]:
        """Everything that is known here, stored or not."""
        with self._lock:
            return [
                Record(namespace, hour, dict(page.entries), page.stored, self._forgotten[namespace])
                for (namespace, hour), page in self._pages.items()
            ]

    def unsaved(self) -> list[Record]:
        """The records that hold more than the store does."""
        return [record for record in self.records() if record.entries != record.stored]

    def due(self, every: int) -> bool:
        """Whether `every` calls were made since this last was so."""
        with self._lock:
            if self._waiting < every:
                return False
            self._waiting = 0
            return True

    def saved(self, record: Record) -> bool:
        """The store has it; False if it should not, being forgotten meanwhile.

        A record of an hour that is over is kept in the store alone.
        """
        with self._lock:
            if record.opened != self._forgotten[record.namespace]:
                return False
            page = self._pages.get((record.namespace, record.hour))
            if page is not None:
                page.stored = record.entries
                if record.hour < hour(self._now()) and page.entries == page.stored:
                    del self._pages[record.namespace, record.hour]
            return True

    def erased(self, record: Record) -> None:
        """What the store had of it was removed there, so it no longer counts."""
        with self._lock:
            page = self._pages.get((record.namespace, record.hour))
            if page is None or page.stored is not record.stored:
                return
            for key, usage in record.stored.items():
                page.entries[key] -= usage
                if not page.entries[key].calls:
                    del page.entries[key]
            page.stored = {}


@dataclass(frozen=True, slots=True)
class Account:
    """Where the model calls of one namespace are entered.

    opened: how often the namespace had been forgotten by then.
    """

    ledger: Ledger
    namespace: Namespace
    mode: str
    again: bool
    opened: int

    def answered(self, request: ChatRequest, reply: ChatReply) -> None:
        """A call that was answered. What the model did not report is estimated."""
        guess_in = 0 if reply.tokens_in else _estimate(request)
        text = reply.text
        if not text and reply.data is not None:
            text = json.dumps(reply.data, ensure_ascii=False, default=str)
        guess_out = 0 if reply.tokens_out else estimate_tokens(text)
        self._enter(
            request,
            Usage(
                calls=1,
                tokens_in=reply.tokens_in or guess_in,
                tokens_out=reply.tokens_out or guess_out,
                estimated=guess_in + guess_out,
                seconds=reply.seconds,
            ),
        )

    def failed(self, request: ChatRequest, seconds: float, *, read: bool) -> None:
        """A call that was not. read: whether the model has probably read the question."""
        guess = _estimate(request) if read else 0
        usage = Usage(calls=1, failures=1, tokens_in=guess, estimated=guess, seconds=seconds)
        self._enter(request, usage)

    def _enter(self, request: ChatRequest, usage: Usage) -> None:
        retry = Usage(retries=int(self.again or request.again))
        mode = "batched" if request.step == "batch" else self.mode
        self.ledger.enter(self, request.step, mode, usage + retry)


def _estimate(request: ChatRequest) -> int:
    return sum(estimate_tokens(message.content) for message in request.messages)


def hour(moment: datetime) -> datetime:
    """The beginning of the hour, in UTC."""
    at = moment.astimezone(UTC)
    return at - timedelta(minutes=at.minute, seconds=at.second, microseconds=at.microsecond)
