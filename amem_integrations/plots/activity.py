"""Activity as data: how often each note was made, changed and used, period by period."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from amem_integrations.core.note import Note, as_utc
from amem_integrations.revisions.entry import Entry

KINDS = ("created", "evolved", "changed", "used")
"""created: stored; evolved: by another note; changed: in any other way; used: in a prompt."""
PERIODS: Mapping[str, timedelta] = {
    "second": timedelta(seconds=1),
    "10 seconds": timedelta(seconds=10),
    "minute": timedelta(minutes=1),
    "10 minutes": timedelta(minutes=10),
    "hour": timedelta(hours=1),
    "6 hours": timedelta(hours=6),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "30 days": timedelta(days=30),
    "year": timedelta(days=365),
}
_COLUMNS = 60
_ORIGIN = datetime(2024, 1, 1, tzinfo=UTC)  # a Monday, so that weeks begin on one


@dataclass(frozen=True, slots=True)
class ActivityRow:
    """A note and what happened to it: for each period it was active in, how often by kind."""

    id: str
    content: str
    cells: Mapping[int, Mapping[str, int]]

    @property
    def total(self) -> int:
        return sum(sum(cell.values()) for cell in self.cells.values())


@dataclass(frozen=True, slots=True)
class ActivityData:
    """Rows in the order in which notes were made, and where each period begins (UTC).

    Attributes:
        rows_of: a note each, with how often what happened to it in which period.
        periods: when each begins.
        period: the length of one, such as "day".
        sums: for each kind, of all notes, shown or not, how often in each period.
        total: notes there are.

    Examples:
        >>> from amem_integrations.revisions.entry import Entry
        >>> from amem_integrations.plots import activity_data
        >>> data = activity_data([Entry(memory.add("Tea is served at four"))])
        >>> [(row["content"], row["created"]) for row in data.rows]
        [('Tea is served at four', 1)]
    """

    rows_of: tuple[ActivityRow, ...]
    periods: tuple[datetime, ...]
    period: str
    sums: Mapping[str, tuple[int, ...]]
    total: int

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A mapping for each note and period in which something happened to it."""
        return [
            {
                "id": row.id,
                "content": row.content,
                "from": self.periods[place].isoformat(),
                **{kind: cell.get(kind, 0) for kind in KINDS},
            }
            for row in self.rows_of
            for place, cell in sorted(row.cells.items())
        ]


def activity_data(
    entries: Sequence[Entry],
    *,
    used: Mapping[str, Iterable[datetime]] | None = None,
    limit: int = 40,
) -> ActivityData:
    """What happened to each note when; of more than `limit` notes, the most active.

    Args:
        entries: notes, each with its revisions.
        used: by note id, when it was used, besides what the notes themselves keep of that: their
            last use, and those that contradicted them lately.
        limit: how many notes have a row, at most.

    Examples:
        >>> from amem_integrations.revisions.entry import Entry
        >>> from amem_integrations.plots import activity_data
        >>> note = memory.add("Tea is served at four")
        >>> data = activity_data([Entry(note)], used={note.id: [note.created_at]})
        >>> data.total, sum(data.sums["used"])
        (1, 1)
    """
    used = used or {}
    events = {entry.note.id: list(_events(entry, used.get(entry.note.id, ()))) for entry in entries}
    times = [moment for happened in events.values() for _, moment in happened]
    if not times:
        return ActivityData((), (), "day", dict.fromkeys(KINDS, ()), 0)
    period = _period(min(times), max(times))
    first, last = (_index(moment, PERIODS[period]) for moment in (min(times), max(times)))
    sums = {kind: [0] * (last - first + 1) for kind in KINDS}
    rows: list[tuple[Note, ActivityRow]] = []
    for entry in entries:
        cells: dict[int, Counter[str]] = {}
        for kind, moment in events[entry.note.id]:
            place = _index(moment, PERIODS[period]) - first
            cells.setdefault(place, Counter())[kind] += 1
            sums[kind][place] += 1
        rows.append((entry.note, ActivityRow(entry.note.id, entry.note.content, cells)))
    rows.sort(key=lambda row: (-row[1].total, -row[0].created_at.timestamp()))
    shown = sorted(rows[:limit], key=lambda row: row[0].created_at)
    return ActivityData(
        tuple(row for _, row in shown),
        tuple(_ORIGIN + place * PERIODS[period] for place in range(first, last + 1)),
        period,
        {kind: tuple(counts) for kind, counts in sums.items()},
        len(entries),
    )


def _events(entry: Entry, used: Iterable[datetime]) -> Iterator[tuple[str, datetime]]:
    yield "created", entry.note.created_at
    for revision in entry.revisions:
        # To be formed is part of coming about, and says nothing more than `created`.
        if revision.kind != "formed":
            yield "evolved" if revision.kind == "evolved" else "changed", revision.at
    for moment in sorted({*_kept_uses(entry.note), *map(as_utc, used)}):
        yield "used", moment


def _kept_uses(note: Note) -> tuple[datetime, ...]:
    """What a note keeps of its uses: the last one, and conflicting ones that nothing settled."""
    last = note.life.used_at
    return note.life.conflicts if last is None else (*note.life.conflicts, last)


def _period(first: datetime, last: datetime) -> str:
    fitting = (name for name, length in PERIODS.items() if (last - first) / length < _COLUMNS)
    return next(fitting, "year")


def _index(moment: datetime, length: timedelta) -> int:
    return (moment - _ORIGIN) // length
