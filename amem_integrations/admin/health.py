"""Health: how a memory is doing, in figures, each with what it means and when to worry.

A namespace has a full report, a whole memory has counts. `metrics` adds up the notes. Ours, not
the paper's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from amem_integrations.admin.check import DAMAGED
from amem_integrations.admin.metrics import Metrics
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.usage import Ledger
from amem_integrations.errors import StoreError
from amem_integrations.lifecycle.co_use import clusters_of, echo_index
from amem_integrations.lifecycle.maintenance import read_progress
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.revisions.entry import entry_of, records_of
from amem_integrations.revisions.proposals import waiting
from amem_integrations.stores.codec import note_from, within
from amem_integrations.stores.usage import read_usage
from amem_integrations.stores.uses import count_since

_PAGE = 256
_FEW = 10
"""Formed notes below which missing links are no worry: the notes may be about anything."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a namespace.

    Attributes:
        name: what it is called.
        value: None if there is nothing to measure it by.
        unit: what it is counted in; a share lies in [0, 1].
        meaning: in one line.
        under: the value below which to worry; None: a low value is no worry.
        over: the value above which to worry; None: a high value is no worry.

    Examples:
        >>> _ = memory.add("Tea is served at four")
        >>> figure = memory.admin.health("default").figure("parked")
        >>> figure.value, figure.worry, figure.when, figure.shown
        (0, False, 'over 0', '0 notes')
    """

    name: str
    value: float | None
    unit: str
    meaning: str
    under: float | None = None
    over: float | None = None

    @property
    def worry(self) -> bool:
        """Whether the value is out of its bounds."""
        if self.value is None:
            return False
        low = self.under is not None and self.value < self.under
        return low or (self.over is not None and self.value > self.over)

    @property
    def when(self) -> str:
        """When to worry, in words; empty for a figure without bounds."""
        bounds = (("under", self.under), ("over", self.over))
        return " or ".join(f"{side} {bound:,g}" for side, bound in bounds if bound is not None)

    @property
    def shown(self) -> str:
        """The value with its unit, for people."""
        if self.value is None:
            return "-"
        number = f"{self.value:,}" if isinstance(self.value, int) else f"{self.value:,.2f}"
        return number if self.unit == "share" else f"{number} {self.unit}"

    def __str__(self) -> str:
        worry = f" (worry {self.when})" if self.when else ""
        return (
            f"{'!' if self.worry else ' '} {self.name:<16} {self.shown:>16}  {self.meaning}{worry}"
        )


@dataclass(frozen=True, eq=False)
class Health(Mapping[str, float]):
    """How a memory, or one namespace of it, is doing: names to numbers.

    It maps statuses that occur, figures that could be measured, and events to their numbers.
    `pandas.DataFrame([dict(health)])` has a column for each; as text it is a report.

    Attributes:
        namespace: None for the whole memory, which has no figures.
        counts: notes by status.
        events: what was dropped, failed or redone, in any namespace, since this memory was opened.
        figures: in the order in which they are shown.

    Examples:
        >>> _ = memory.add_many(["Tea is served at four", "The tram leaves at nine"])
        >>> health = memory.admin.health("default")
        >>> health["formed"], health.counts
        (2, {'formed': 2})
        >>> [figure.name for figure in health.worries]
        []
        >>> health.as_dict()["namespace"]
        ['default']
    """

    namespace: Namespace | None
    counts: Mapping[str, int]
    events: Mapping[str, int]
    figures: tuple[Figure, ...] = ()

    @cached_property
    def _numbers(self) -> dict[str, float]:
        measured = {each.name: each.value for each in self.figures if each.value is not None}
        return {**measured, **self.counts, **self.events}

    def __getitem__(self, name: str) -> float:
        return self._numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def worries(self) -> tuple[Figure, ...]:
        """The figures that are out of their bounds."""
        return tuple(each for each in self.figures if each.worry)

    def figure(self, name: str) -> Figure:
        """The figure of that name.

        Args:
            name: one of those in `figures`.

        Raises:
            KeyError: there is none.
        """
        return {each.name: each for each in self.figures}[name]

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON has it; `figures` is a list of rows, for a DataFrame too."""
        rows = [asdict(each) | {"when": each.when, "worry": each.worry} for each in self.figures]
        return {
            "namespace": None if self.namespace is None else list(self.namespace),
            "counts": dict(self.counts),
            "events": dict(self.events),
            "figures": rows,
            "worries": [each.name for each in self.worries],
        }

    @property
    def summary(self) -> Mapping[str, str]:
        """What is fine, what waits, what is wrong and what grows, in words; only of a namespace."""
        if not self.figures:
            return {}
        found = {each.name: each.value or 0 for each in self.figures}
        links = f", with {found['links_per_note']:.1f} links each" if found["formed"] else ""
        waits = [f"{found[name]:,} {what}" for name, what in _WAITING.items() if found[name]]
        wrong = [f"{each.name} is {each.shown}: {each.meaning}" for each in self.worries]
        tokens = (
            f"; {found['tokens_per_note']:,.0f} tokens a note" if found["calls_per_note"] else ""
        )
        return {
            "fine": f"{found['formed']:,} of {found['notes']:,} notes are formed{links}",
            "waiting": ", ".join(waits) or "nothing",
            "wrong": "\n".join(wrong) or "nothing",
            "growing": f"{found['new']:,} notes {self.figure('new').meaning}{tokens}",
        }

    @property
    def table(self) -> str:
        """Every figure, what it means and its limit; "!" marks those beyond it."""
        lines = [str(each) for each in self.figures]
        rest = self.events if self.figures else {**self.counts, **self.events}
        return "\n".join([*lines, *(f"  {name:<16} {count:>16,}" for name, count in rest.items())])

    def __str__(self) -> str:
        if not self.figures:
            return f"all namespaces\n{self.table}"
        shown = (
            f"{name + ':':<9}{text.replace(chr(10), chr(10) + ' ' * 9)}"
            for name, text in self.summary.items()
        )
        return "\n".join(["/".join(self.namespace or ()), *shown])


async def measure(io: IO, namespace: Namespace, ledger: Ledger, metrics: Metrics) -> Health:
    """The full report of a namespace; reads all its notes and their histories, page by page.

    metrics: empty ones. Raises StoreError.
    """
    after: str | None = None
    while page := await io.engine.scroll(within(namespace), limit=_PAGE, after=after):
        records = await records_of(io, [point.id for point in page])
        for point in page:
            try:
                metrics.add(entry_of(note_from(point), records[point.id]))
            except DAMAGED:
                metrics.unreadable += 1
        after = page[-1].id
        # Let other tasks of the event loop run.
        await io.sleep(0)
    progress = await read_progress(io, namespace)
    metrics.maintained |= progress.done is not None
    metrics.proposals = await io.engine.count(waiting(namespace))
    metrics.uncounted = await count_since(io, namespace, progress.uses)
    metrics.echo = await _echo(io, namespace, metrics.policy)
    metrics.usage = (await read_usage(io, ledger, namespace, None)).total
    counts = dict(sorted(metrics.counts.items()))
    return Health(namespace, counts, ledger.events(), figures(metrics))


async def _echo(io: IO, namespace: Namespace, policy: Policy) -> float | None:
    """The echo index; None without links, or if a note that it needs is damaged."""
    try:
        clusters, links = await clusters_of(io, namespace, policy)
    except StoreError:
        raise
    except DAMAGED:
        return None
    return echo_index(clusters, links) if links else None


def figures(metrics: Metrics) -> tuple[Figure, ...]:
    """Every figure with its unit, what it means and when to worry.

    Bounds that assume maintenance, reported uses or more than a few notes apply only with them.
    """
    policy = metrics.policy
    under = {"stability": 0.7, "consistency": 0.8, "transparency": 1.0, "traceability": 1.0}
    over = {**_OVER, "echo": policy.max_echo}
    if metrics.maintained:
        under["confidence"] = 0.2
        if policy.max_short_notes is not None:
            over["short"] = policy.max_short_notes
    if metrics.clean + metrics.conflicting:
        under["activity"], over["idle_mid"] = 0.02, 0.5
    if len(metrics.formed) >= _FEW:
        under["links_per_note"] = over["orphans"] = 0.5
    days = {"active": policy.active_within.days, "idle": policy.idle_after.days}
    return tuple(
        Figure(
            name,
            metrics.value(name),
            unit,
            meaning.format(**days),
            under=under.get(name),
            over=over.get(name),
        )
        for name, unit, meaning in _FIGURES
    )


_WAITING = {
    "raw": "to be formed",
    "parked": "given up",
    "audited": "under audit",
    "quarantined": "under audit, out of recall",
    "contested": "contested",
    "proposals": "changes to approve",
}
"""What waits for a worker or a person."""

_FIGURES = (
    # What is stored.
    ("notes", "notes", "all that are stored"),
    ("new", "notes", "made in {active} days"),
    ("unreadable", "notes", "damaged; see check() and repair()"),
    ("formed", "notes", "understood and linked"),
    ("plain", "notes", "kept as they are, not to be formed"),
    ("skipped", "notes", "turns that say nothing new: context of others, not recalled"),
    ("archived", "notes", "set aside; restore() brings back"),
    ("short", "notes", "believed for days unless confirmed"),
    ("mid", "notes", "believed for weeks"),
    ("long", "notes", "believed for years"),
    # What waits for a worker or a person.
    ("raw", "notes", "wait to be formed; resume() does it now"),
    ("oldest_wait", "hours", "how long the oldest of them waits"),
    ("parked", "notes", "given up after failures; see retry()"),
    ("audited", "notes", "open audits: behind others until resolve(); see audits()"),
    ("quarantined", "notes", "open audits: out of recall until resolve(); see audits()"),
    ("outdated", "notes", "no longer so: behind what took their place, and found for their time"),
    ("contested", "notes", "another note says otherwise, and nobody settled it; see resolve()"),
    ("proposals", "changes", "wait because who proposed them is believed less; see proposals()"),
    ("uncounted", "reports", "of use that are not in these figures yet; maintain() counts them"),
    # How notes are linked.
    ("links_per_note", "links", "a note; few leave little to follow from a hit"),
    ("orphans", "share", "share of the formed notes without a link either way"),
    ("echo", "share", "share of link weight inside clusters of like notes, less what chance gives"),
    (
        "duplicates",
        "share",
        "share of the notes near-identical to another; consolidate() merges what it can",
    ),
    ("foreign_script", "share", "share of the notes in a script that the embedder does not know"),
    # How notes are believed and used.
    ("confidence", "share", "how far notes are believed, on average"),
    ("activity", "share", "share of the notes used in {active} days"),
    ("idle_mid", "share", "share of the mid notes neither confirmed nor used in {idle} days"),
    ("stability", "share", "share of the mid and long notes not revised in {active} days"),
    ("plasticity", "share", "share of the notes made in {active} days that changed an older one"),
    ("consistency", "share", "share of the uses that did not contradict what is so"),
    (
        "transparency",
        "share",
        "share of the changes with cause, before and after; see check() and repair()",
    ),
    (
        "traceability",
        "share",
        "share of the conflicts whose other note is there; see check() and repair()",
    ),
    # What models cost.
    ("calls_per_note", "calls", "of the model, for each note that is stored"),
    ("tokens_per_note", "tokens", "read and written by the model, for each note"),
    ("seconds_per_note", "seconds", "waited for the model, for each note"),
)
_OVER = {
    "unreadable": 0,
    "oldest_wait": 1.0,
    "parked": 0,
    "audited": 0,
    "quarantined": 0,
    "contested": 20,
    "proposals": 20,
    "uncounted": 1000,
    "duplicates": 0.1,
    "foreign_script": 0.05,
    "plasticity": 0.9,
    "calls_per_note": 4,
    "tokens_per_note": 10_000,
    "seconds_per_note": 30,
}
"""The values above which to worry."""
