"""Drawing activity: what happened in each period above, to which note it happened below."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from amem_integrations.plots import text
from amem_integrations.plots.activity import KINDS, ActivityData, ActivityRow
from amem_integrations.plots.draw_common import axis, figure
from amem_integrations.plots.libraries import library
from amem_integrations.plots.palette import COLOURS

_ROW, _TOP, _BOTTOM, _BARS, _GAP, _LEAST = 17, 110, 80, 130, 24, 120
_LABEL = 44
_TICKS = 7
_PATTERNS = ("", "/", "x", ".")
_SHADES = ((0.0, "#E3EEF9"), (0.35, "#8DBDE0"), (0.7, "#2F7EBC"), (1.0, "#08306B"))
_DAYS = ("day", "week", "30 days", "year")


def draw(data: ActivityData, title: str, subtitle: str) -> Any:
    """A Plotly figure; there is at least one row."""
    go = library("plotly.graph_objects")
    cells = max(_LEAST, _ROW * len(data.rows_of))
    whole = cells + _GAP + _BARS
    split = cells / whole
    places = list(range(len(data.periods)))
    drawn = figure(
        title,
        subtitle,
        _TOP + whole + _BOTTOM,
        margin={"l": 310, "r": 130, "t": _TOP, "b": _BOTTOM},
        barmode="stack",
        bargap=0.1,
        legend={"x": 1.01, "y": 1.0, "traceorder": "normal"},
        xaxis=_time_axis(data),
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
            look = {"shape": pattern, "size": 6, "fgcolor": "#FFFFFF", "bgcolor": colour}
            drawn.add_trace(
                go.Bar(
                    x=places,
                    y=data.sums[kind],
                    name=kind,
                    yaxis="y2",
                    marker={"color": colour, "pattern": {**look, "solidity": 0.25}},
                )
            )
    drawn.add_trace(_cells(go, data, places, split, whole))
    return drawn


def _time_axis(data: ActivityData) -> dict[str, Any]:
    step = -(-len(data.periods) // _TICKS)
    ticks = list(range(0, len(data.periods), step))
    a_period = data.period if data.period[0].isdigit() else f"one {data.period}"
    return axis(
        range=[-0.5, len(data.periods) - 0.5],
        showgrid=False,
        anchor="y",
        tickvals=ticks,
        ticktext=[_begins(data.periods[tick], data.period, "<br>") for tick in ticks],
        tickangle=0,
        tickfont={"size": 11},
        title={"text": f"a column is {a_period}, from the time shown (UTC)", "font": {"size": 12}},
    )


def _cells(go: Any, data: ActivityData, places: Sequence[int], split: float, whole: int) -> Any:
    counts = [
        [sum(row.cells[at].values()) if at in row.cells else None for at in places]
        for row in data.rows_of
    ]
    most = max((each for row in counts for each in row if each), default=1)
    return go.Heatmap(
        x=list(places),
        y=list(range(len(data.rows_of))),
        z=counts,
        zmin=1,
        zmax=max(2, most),
        xgap=1,
        ygap=1,
        colorscale=_SHADES,
        hoverongaps=False,
        hoverinfo="text",
        text=[[_box(data, row, at) for at in places] for row in data.rows_of],
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


def _begins(moment: datetime, period: str, between: str) -> str:
    if period in _DAYS:
        return f"{moment:%Y-%m-%d}"
    time = f"{moment:%H:%M:%S}" if period in ("second", "10 seconds") else f"{moment:%H:%M}"
    return f"{time}{between}{moment:%Y-%m-%d}"


def _box(data: ActivityData, row: ActivityRow, at: int) -> str:
    cell = row.cells.get(at)
    if cell is None:
        return ""
    counts = ", ".join(f"{kind} {cell[kind]}" for kind in KINDS if cell.get(kind))
    return text.hover(row.content, ((_begins(data.periods[at], data.period, " "), counts),))
