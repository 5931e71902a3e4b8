"""Growth with the number of notes: retrieval, what a note takes, and what one more costs.

Draws the report of `evaluation.scaling`, as plain data; the command line puts them together.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from amem_integrations.plots.draw_common import axis, figure
from amem_integrations.plots.libraries import library
from amem_integrations.plots.palette import INK, look
from amem_integrations.plots.picture import Picture

_HEIGHT = 640
_TITLE = "Growth with the number of notes"
_PANELS = ("retrieval, p50 to p95, ms", "on disk, kB a note", "one more note, ms")
_DOMAINS = ((0.0, 0.27), (0.365, 0.635), (0.73, 1.0))
_STEPS = ("store", "construct", "candidates", "link", "evolve", "commit")


def growth(report: Mapping[str, Any]) -> Picture:
    """Three panels over the number of notes, all scales logarithmic.

    report: what `evaluation.scaling.scale` returns.
    """
    rows: Sequence[Mapping[str, Any]] = report["rows"]
    names = tuple(dict.fromkeys(row["storage"] for row in rows))
    styles = look(names)
    exponents: Mapping[str, float | None] = report["growth"]
    growing = ", ".join(f"{n} n^{b:.2f}" for n, b in exponents.items() if b is not None)
    drawn = figure(
        _TITLE,
        f"Fitted growth of the median: {growing}" if growing else "",
        _HEIGHT,
        margin={"l": 60, "r": 30, "t": 130, "b": 130},
        legend={"orientation": "h", "y": -0.2, "x": 0},
        **_axes(sorted({row["size"] for row in rows})),
    )
    for name in names:
        own = [row for row in rows if row["storage"] == name]
        colour, symbol = styles[name]
        sizes = [row["size"] for row in own]
        milliseconds = [row["microseconds"]["p50"] / 1e3 for row in own]
        spread = [(row["microseconds"]["p95"] - row["microseconds"]["p50"]) / 1e3 for row in own]
        _line(drawn, name, sizes, milliseconds, "", colour, symbol, error=spread)
        kilobytes = [row["disk"] / row["size"] / 1e3 for row in own]
        _line(drawn, name, sizes, kilobytes, "2", colour, symbol, shown=False)
    written: Sequence[Mapping[str, Any]] = report["writing"]
    for step, (colour, symbol) in look(_STEPS).items() if written else ():
        took = [each["milliseconds"][step] for each in written]
        sizes = [each["size"] for each in written]
        _line(drawn, f"writing: {step}", sizes, took, "3", colour, symbol, dash="dot")
    missing: Mapping[str, str] = report["missing"]
    remarks = tuple(f"{name} is not shown: {why}." for name, why in missing.items())
    return Picture(drawn, _TITLE, report, [_flat(row) for row in rows], remarks)


def _axes(sizes: Sequence[int]) -> dict[str, Any]:
    found: dict[str, Any] = {"annotations": []}
    for place, (title, domain) in enumerate(zip(_PANELS, _DOMAINS, strict=True), start=1):
        number = "" if place == 1 else str(place)
        ticks = {"tickvals": sizes, "ticktext": [f"{size:,}" for size in sizes]}
        found[f"xaxis{number}"] = axis(
            type="log", domain=domain, anchor=f"y{number}", title={"text": "notes"}, **ticks
        )
        found[f"yaxis{number}"] = axis(type="log", anchor=f"x{number}", dtick=1)
        found["annotations"].append(
            {
                "text": title,
                "x": domain[0],
                "y": 1.04,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": 14, "color": INK},
            }
        )
    return found


def _line(
    drawn: Any,
    name: str,
    x: Sequence[float],
    y: Sequence[float],
    panel: str,
    colour: str,
    symbol: str,
    *,
    error: Sequence[float] | None = None,
    shown: bool = True,
    dash: str = "solid",
) -> None:
    drawn.add_trace(
        library("plotly.graph_objects").Scatter(
            x=x,
            y=y,
            name=name,
            legendgroup=name,
            showlegend=shown,
            mode="lines+markers",
            line={"color": colour, "width": 2, "dash": dash},
            marker={"color": colour, "symbol": symbol, "size": 9},
            error_y={} if error is None else _upwards(error),
            xaxis=f"x{panel}",
            yaxis=f"y{panel}",
            hovertemplate="%{y:.3g} at %{x:,} notes<extra>" + name + "</extra>",
        )
    )


def _upwards(error: Sequence[float]) -> dict[str, Any]:
    none = [0.0] * len(error)
    return {"type": "data", "array": list(error), "arrayminus": none, "thickness": 1, "width": 3}


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    took = row["microseconds"]
    return {
        "storage": row["storage"],
        "notes": row["size"],
        "retrieval p50, ms": round(took["p50"] / 1e3, 3),
        "retrieval p95, ms": round(took["p95"] / 1e3, 3),
        "memory, MB": None if row["memory"] is None else round(row["memory"] / 1e6, 2),
        "disk, MB": round(row["disk"] / 1e6, 2),
    }
