"""What all pictures have in common: fonts, margins, a title with a line under it."""

from collections.abc import Sequence
from typing import Any

from amem_integrations.plots.libraries import library
from amem_integrations.plots.palette import FAINT, FONT, INK, PAPER
from amem_integrations.plots.text import escaped

WIDTH = 1100
_GRID = "#E4E8EC"


def figure(title: str, subtitle: str, height: int, **layout: Any) -> Any:
    """An empty figure; title and subtitle are plain text."""
    settings: dict[str, Any] = {
        "title": {
            "text": escaped(title),
            "subtitle": {"text": escaped(subtitle), "font": {"size": 14, "color": FAINT}},
            "font": {"size": 22},
            "x": 0.02,
            "xanchor": "left",
            "y": 1 - 26 / height,
            "yanchor": "top",
        },
        "font": {"family": FONT, "size": 13, "color": INK},
        "width": WIDTH,
        "height": height,
        "margin": {"l": 30, "r": 30, "t": 100, "b": 40},
        "paper_bgcolor": PAPER,
        "plot_bgcolor": PAPER,
        "hoverlabel": {"align": "left", "bgcolor": PAPER, "font": {"color": INK, "size": 12}},
        "legend": {"itemsizing": "trace", "font": {"size": 12}, "tracegroupgap": 8},
        "template": "none",
    }
    return library("plotly.graph_objects").Figure(layout={**settings, **layout})


def empty(title: str, message: str) -> Any:
    """A figure that says why there is nothing to see."""
    drawn = figure(title, "", 300, xaxis={"visible": False}, yaxis={"visible": False})
    drawn.add_annotation(
        text=escaped(message), x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False
    )
    return drawn


def axis(**settings: Any) -> dict[str, Any]:
    """An axis with faint lines."""
    return {"gridcolor": _GRID, "zeroline": False, "linecolor": _GRID, **settings}


def bare(values: Sequence[float], room: float = 0.08) -> dict[str, Any]:
    """An axis whose numbers mean nothing: without ticks, with room on either side of the values.

    room: as a share of what lies between the lowest and the highest.
    """
    low, high = min(values), max(values)
    room = (high - low) * room or 1.0
    return axis(
        showgrid=False, showticklabels=False, showline=False, range=[low - room, high + room]
    )
