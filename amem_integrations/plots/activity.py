"""Activity: how often each note was made, changed and used, period by period."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import DEFAULT, Namespace, as_namespace
from amem_integrations.core.note import Note
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.wiring import NamespaceLike
from amem_integrations.plots import text
from amem_integrations.plots.groups import COLOURS
from amem_integrations.plots.picture import Picture, axis, new_figure
from amem_integrations.plots.records import (
    check_limit,
    empty_picture,
    entries_of,
    namespace_name,
    notes_of,
    remarks_of,
    shown_of,
)
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
_MILLISECOND = timedelta(milliseconds=1)
_ORIGIN = datetime(2024, 1, 1, tzinfo=UTC)  # a Monday, so that weeks begin on one
_ROW, _TOP, _BOTTOM, _BARS, _GAP, _LEAST = 17, 110, 80, 130, 24, 120
_LABEL = 44
_PATTERNS = ("", "/", "x", ".")
_SHADES = ((0.0, "#E3EEF9"), (0.35, "#8DBDE0"), (0.7, "#2F7EBC"), (1.0, "#08306B"))


@dataclass(frozen=True, slots=True)
class ActivityRow:
    """A note, and how often each kind of event happened to it, by period."""

    id: str
    content: str
    cells: Mapping[int, Mapping[str, int]]

    @property
    def total(self) -> int:
        return sum(sum(cell.values()) for cell in self.cells.values())


@dataclass(frozen=True, slots=True)
class ActivityData:
    """Rows in the order in which notes were made, and the periods (UTC).

    Attributes:
        rows_of: a note each, with how often each kind of event happened in which period.
        periods: when each begins.
        period: the length of one, such as "day".
        sums: for each kind, how often in each period, over all notes, shown or not.
        total: how many notes there are.
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


def activity_data(entries: Sequence[Entry], *, limit: int = 40) -> ActivityData:
    """Return what happened to each note and when; of more than `limit` notes, the most active.

    Args:
        entries: notes, each with its revisions.
        limit: how many notes have a row, at most.

    Examples:
        >>> from amem_integrations.revisions.entry import Entry
        >>> from amem_integrations.plots import activity_data
        >>> data = activity_data([Entry(memory.add("Tea is served at four"))])
        >>> data.total, sum(data.sums["created"])
        (1, 1)
    """
    events = {entry.note.id: list(_events(entry)) for entry in entries}
    times = [moment for happened in events.values() for _, moment in happened]
    if not times:
        return ActivityData((), (), "day", dict.fromkeys(KINDS, ()), 0)
    span = max(times) - min(times)
    fitting = (name for name, length in PERIODS.items() if span / length < _COLUMNS)
    period = next(fitting, "year")
    length = PERIODS[period]
    first, last = ((moment - _ORIGIN) // length for moment in (min(times), max(times)))
    sums = {kind: [0] * (last - first + 1) for kind in KINDS}
    rows: list[tuple[Note, ActivityRow]] = []
    for entry in entries:
        cells: dict[int, Counter[str]] = {}
        for kind, moment in events[entry.note.id]:
            place = (moment - _ORIGIN) // length - first
            cells.setdefault(place, Counter())[kind] += 1
            sums[kind][place] += 1
        rows.append((entry.note, ActivityRow(entry.note.id, entry.note.content, cells)))
    rows.sort(key=lambda row: (-row[1].total, -row[0].created_at.timestamp()))
    shown = sorted(rows[:limit], key=lambda row: row[0].created_at)
    return ActivityData(
        tuple(row for _, row in shown),
        tuple(_ORIGIN + place * length for place in range(first, last + 1)),
        period,
        {kind: tuple(counts) for kind, counts in sums.items()},
        len(entries),
    )


def _events(entry: Entry) -> Iterator[tuple[str, datetime]]:
    """Yield what happened to a note; of its uses, the last, and those that contradicted it."""
    yield "created", entry.note.created_at
    for revision in entry.revisions:
        # Being formed is part of being created.
        if revision.kind != "formed":
            yield "evolved" if revision.kind == "evolved" else "changed", revision.at
    life = entry.note.life
    for moment in life.conflicts if life.used_at is None else {*life.conflicts, life.used_at}:
        yield "used", moment


def draw_activity(data: ActivityData, title: str, subtitle: str) -> Any:
    """Return a Plotly figure of data with at least one row: bars by kind above, cells below."""
    cells = max(_LEAST, _ROW * len(data.rows_of))
    whole = cells + _GAP + _BARS
    split = cells / whole
    length = PERIODS[data.period]
    # Plotly knows no zones.
    first, last = (moment.replace(tzinfo=None) for moment in (data.periods[0], data.periods[-1]))
    width = length / _MILLISECOND
    columns: dict[str, Any] = {"x0": first, "dx": width}
    a_period = data.period if data.period[0].isdigit() else f"one {data.period}"
    figure = new_figure(
        title,
        subtitle,
        _TOP + whole + _BOTTOM,
        margin={"l": 310, "r": 130, "t": _TOP, "b": _BOTTOM},
        barmode="stack",
        legend={"x": 1.01, "y": 1.0, "traceorder": "normal"},
        xaxis=axis(
            type="date",
            range=[first - length / 2, last + length / 2],
            showgrid=False,
            anchor="y",
            title={"text": f"a column is {a_period}, from its time (UTC)", "font": {"size": 12}},
        ),
        yaxis=axis(
            domain=[0, split],
            range=[len(data.rows_of) - 0.5, -0.5],
            showgrid=False,
            tickvals=list(range(len(data.rows_of))),
            ticktext=[text.label(row.content, _LABEL) for row in data.rows_of],
            tickfont={"size": 11},
            ticks="",
        ),
        yaxis2=axis(
            domain=[split + _GAP / whole, 1],
            rangemode="tozero",
            nticks=4,
            title={"text": "events of all notes", "standoff": 6, "font": {"size": 12}},
        ),
    )
    for kind, colour, pattern in zip(KINDS, COLOURS, _PATTERNS, strict=False):
        if any(data.sums[kind]):
            fill = {"shape": pattern, "size": 6, "fgcolor": "#FFFFFF", "bgcolor": colour}
            figure.add_bar(
                **columns,
                width=width * 0.9,
                y=data.sums[kind],
                name=kind,
                yaxis="y2",
                marker={"color": colour, "pattern": {**fill, "solidity": 0.25}},
            )
    counts = [
        [
            sum(row.cells[place].values()) if place in row.cells else None
            for place in range(len(data.periods))
        ]
        for row in data.rows_of
    ]
    most = max((count for row in counts for count in row if count), default=1)
    return figure.add_heatmap(
        **columns,
        y=list(range(len(data.rows_of))),
        z=counts,
        zmin=1,
        zmax=max(2, most),
        xgap=1,
        ygap=1,
        colorscale=_SHADES,
        hoverongaps=False,
        hoverinfo="text",
        text=[
            [_box(row, place, moment) for place, moment in enumerate(data.periods)]
            for row in data.rows_of
        ],
        colorbar={
            "title": {"text": "events"},
            "len": 150,
            "lenmode": "pixels",
            "y": split,
            "yanchor": "top",
            "x": 1.01,
            "thickness": 14,
            "tickformat": "d",
            "dtick": max(1, most // 5),
            "tick0": 1,
        },
    )


def _box(row: ActivityRow, place: int, moment: datetime) -> str:
    cell = row.cells.get(place)
    if cell is None:
        return ""
    counts = ", ".join(f"{kind} {cell[kind]}" for kind in KINDS if cell.get(kind))
    return text.hover(row.content, ((f"{moment:%Y-%m-%d %H:%M:%S}", counts),))


def activity_heatmap(
    memory: AgenticMemory,
    namespace: NamespaceLike = DEFAULT,
    *,
    limit: int = 40,
) -> Picture:
    """Draw when notes were made, evolved, changed and used: notes by time, in UTC.

    Args:
        memory: the memory.
        namespace: one label or several.
        limit: how many notes have a row at most, the most active ones; the bars count all.

    Raises:
        InvalidInputError: a value is not allowed.
        StoreError: the store cannot be read.
        ModuleNotFoundError: the extra `plots` is not installed.

    Examples:
        >>> from amem_integrations.plots import activity_heatmap
        >>> _ = memory.add_many(["Tea is served at four", "The tram leaves at nine"])
        >>> picture = activity_heatmap(memory)
        >>> sum(picture.data.sums["created"])
        2
    """
    home = as_namespace(namespace)
    check_limit(limit)
    entries = memory.perform(lambda _, io: _read_entries(io, home))
    data = activity_data(entries, limit=limit)
    title = f"Activity in {namespace_name(home)}"
    remarks = remarks_of(memory, home, len(entries), len(data.rows_of), "the most active")
    if not data.rows_of:
        return empty_picture(title, data)
    totals = {kind: sum(counts) for kind, counts in data.sums.items()}
    counts = ", ".join(f"{kind} {total:,}" for kind, total in totals.items() if total)
    figure = draw_activity(data, title, f"{shown_of(len(data.rows_of), data.total)}; {counts}")
    return Picture(figure, title, data, data.rows, remarks)


async def _read_entries(io: IO, home: Namespace) -> list[Entry]:
    return await entries_of(io, await notes_of(io, home))
