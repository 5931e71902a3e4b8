"""Health: how a memory is doing, in figures, each with what it means and when to worry.

Of a namespace there is a full report, of a whole memory there are counts. The table of figures
is in `figures`; here they are measured, and shown. Ours, not the paper's.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from amem_integrations.admin.check import DAMAGED
from amem_integrations.admin.figures import Figure, Told, figures
from amem_integrations.admin.vitals import Vitals
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note
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


@dataclass(frozen=True, eq=False)
class Health(Mapping[str, float]):
    """How a memory, or one namespace of it, is doing: names to numbers.

    Among them are the notes by status (those that occur), the figures that could be measured, and
    the events. `pandas.DataFrame([dict(health)])` has a column for each; as text it is a report.

    Attributes:
        namespace: None for the whole memory, of which there are no figures.
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
        """The figures that are beyond what they should be."""
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

    def __str__(self) -> str:
        lines = ["all namespaces" if self.namespace is None else "/".join(self.namespace)]
        lines += [str(each) for each in self.figures]
        rest = self.events if self.figures else {**self.counts, **self.events}
        lines += [f"  {name:<16} {count:>16,}" for name, count in rest.items()]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Lenses:
    """What the notes are looked at through; see `Vitals`."""

    same: Callable[[Note], Hashable]
    covers: Callable[[str], bool]


async def measure(
    io: IO, namespace: Namespace, policy: Policy, ledger: Ledger, lenses: Lenses, *, kept: bool
) -> Health:
    """The full report of a namespace; reads all its notes and their histories, page by page.

    kept: whether the memory looks after its notes by itself. Raises StoreError.
    """
    vitals = Vitals(io.now(), policy, lenses.same, lenses.covers)
    counts: dict[str, int] = {}
    unreadable = 0
    after: str | None = None
    while page := await io.engine.scroll(within(namespace), limit=_PAGE, after=after):
        records = await records_of(io, [point.id for point in page])
        for point in page:
            try:
                note = note_from(point)
                vitals.see(entry_of(note, records[note.id]))
            except DAMAGED:
                unreadable += 1
            else:
                counts[str(note.status)] = counts.get(str(note.status), 0) + 1
        after = page[-1].id
        # Whoever else is on the loop has a turn.
        await io.sleep(0)
    looked = await read_progress(io, namespace)
    told = Told(
        counts=dict(sorted(counts.items())),
        unreadable=unreadable,
        proposals=await io.engine.count(waiting(namespace)),
        uncounted=await count_since(io, namespace, looked.uses),
        echo=await _echo(io, namespace, policy),
        usage=(await read_usage(io, ledger, namespace, None)).total,
        looked_after=kept or looked.done is not None,
    )
    return Health(namespace, told.counts, ledger.events(), figures(vitals, told, policy))


async def _echo(io: IO, namespace: Namespace, policy: Policy) -> float | None:
    """The index; None without links, or where one of the notes it is taken from is damaged."""
    try:
        clusters, links = await clusters_of(io, namespace, policy)
    except StoreError:
        raise
    except DAMAGED:
        return None
    return echo_index(clusters, links) if links else None
