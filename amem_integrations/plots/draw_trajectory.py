"""Drawing a trajectory: a line of versions from top to bottom, each beside what it changed."""

from collections.abc import Iterator, Mapping
from typing import Any

from amem_integrations.plots import text
from amem_integrations.plots.draw_common import figure
from amem_integrations.plots.libraries import library
from amem_integrations.plots.palette import COLOURS, FAINT, REST_COLOUR, SYMBOLS
from amem_integrations.plots.trajectories import FieldChange, Step, TrajectoryData

_LINE, _PAD, _TOP, _BOTTOM = 17, 22, 110, 30
_WIDTH = 118
_KINDS = ("created", "formed", "evolved", "updated", "retracted", "reverted")
_LOOK: Mapping[str, tuple[str, str]] = {
    kind: (COLOURS[place], SYMBOLS[place]) for place, kind in enumerate(_KINDS)
}


def draw(data: TrajectoryData, title: str, subtitle: str) -> Any:
    """A Plotly figure; there is at least one step."""
    go = library("plotly.graph_objects")
    blocks = [list(_lines(step)) for step in data.steps]
    tops: list[float] = []
    y = 0.0
    for block in blocks:
        tops.append(y + _LINE / 2)
        y += _LINE * len(block) + _PAD
    drawn = figure(
        title,
        subtitle,
        int(_TOP + _BOTTOM + y),
        margin={"l": 20, "r": 20, "t": _TOP, "b": _BOTTOM},
        xaxis={"visible": False, "range": [0, 100], "fixedrange": True},
        yaxis={"visible": False, "range": [y, 0], "fixedrange": True},
        hovermode="closest",
        legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"},
    )
    drawn.add_trace(
        go.Scatter(
            x=[9.0] * len(tops),
            y=tops,
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            line={"color": "#C5CCD3", "width": 2},
        )
    )
    for kind in dict.fromkeys(step.kind for step in data.steps):
        colour, symbol = _LOOK.get(kind, (REST_COLOUR, "x"))
        chosen = [
            (step, top) for step, top in zip(data.steps, tops, strict=True) if step.kind == kind
        ]
        drawn.add_trace(
            go.Scatter(
                x=[9.0] * len(chosen),
                y=[top for _, top in chosen],
                mode="markers",
                marker={
                    "size": 15,
                    "color": colour,
                    "symbol": symbol,
                    "line": {"width": 1.5, "color": "#FFFFFF"},
                },
                hoverinfo="text",
                hovertext=[_box(step) for step, _ in chosen],
                name=text.escaped(kind),
            )
        )
    for step, block, top in zip(data.steps, blocks, tops, strict=True):
        drawn.add_annotation(
            x=7.8,
            y=top - _LINE / 2,
            xanchor="right",
            yanchor="top",
            align="right",
            showarrow=False,
            text=f"<b>version {step.version}</b><br><span style='color:{FAINT}'>"
            f"{step.at:%Y-%m-%d}<br>{step.at:%H:%M:%S}</span>",
            font={"size": 12},
        )
        drawn.add_annotation(
            x=10.5,
            y=top - _LINE / 2,
            xanchor="left",
            yanchor="top",
            align="left",
            showarrow=False,
            text="<br>".join(block),
            font={"size": 13},
        )
    return drawn


def _lines(step: Step) -> Iterator[str]:
    """What stands beside a version: why it came, then a line for each field; at least three."""
    lines = [_why(step), *(shown for change in step.changes for shown in _change(change))]
    if step.reason:
        lines.insert(1, f"<i>{text.label(step.reason, _WIDTH)}</i>")
    yield from lines
    yield from [""] * (3 - len(lines))


def _why(step: Step) -> str:
    if step.kind == "created":
        return "<b>created</b>"
    cause = f" because of “{text.label(step.cause_text, 70)}”" if step.cause_text else ""
    by = (
        f" <span style='color:{FAINT}'>by {text.label(step.analyst, 30)}</span>"
        if step.analyst
        else ""
    )
    return f"<b>{text.escaped(step.kind)}</b>{cause}{by}"


def _change(change: FieldChange) -> Iterator[str]:
    name = f"<span style='color:{FAINT}'>{text.escaped(change.name)}</span> "
    if change.added or change.removed:
        for sign, terms in (("+", change.added), ("−", change.removed)):
            if terms:
                shown = " · ".join(text.line(term, 48) for term in terms)
                yield f"{name}<b>{sign}</b> {text.label(shown, _WIDTH - 12)}"
    elif change.name == "status":
        yield f"{name}{text.label(change.before)} → {text.label(change.after)}"
    elif change.before != change.after:
        if change.before:
            yield f"{name}<b>−</b> {text.label(change.before, _WIDTH - 12)}"
        yield f"{name}<b>+</b> {text.label(change.after, _WIDTH - 12) or '(empty)'}"


def _box(step: Step) -> str:
    rows = [("because of", step.cause_text), ("reason", step.reason)]
    rows += [(change.name, change.after) for change in step.changes]
    return text.hover(f"version {step.version}: {step.kind}", rows)
