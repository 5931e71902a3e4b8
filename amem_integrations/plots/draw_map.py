"""Drawing the embedding map: before and after evolution side by side, over the same axes."""

from typing import Any

from amem_integrations.plots import text
from amem_integrations.plots.draw_common import bare, figure
from amem_integrations.plots.embedding import MapData, MapState
from amem_integrations.plots.libraries import library
from amem_integrations.plots.palette import INK, OTHERS, PAPER, look

_GAP = 0.03
_FEW = 300


def draw(data: MapData, title: str, subtitle: str, *, evolution: bool) -> Any:
    """A Plotly figure; with `evolution` two panels, else the notes as they are stored now."""
    panels = [("as first understood", data.before)] if evolution else []
    panels.append(("as stored now", data.after))
    points = [point for _, state in panels for point in state.points]
    horizontal = bare([point.x for point in points])
    vertical = bare([point.y for point in points])
    drawn = figure(
        title, subtitle, 640, hovermode="closest", margin={"l": 30, "r": 30, "t": 130, "b": 30}
    )
    width = (1 - _GAP * (len(panels) - 1)) / len(panels)
    for place, (name, state) in enumerate(panels):
        suffix = "" if place == 0 else str(place + 1)
        start = place * (width + _GAP)
        frame = {"mirror": True, "showline": True}
        drawn.update_layout(
            {
                f"xaxis{suffix}": {
                    **horizontal,
                    **frame,
                    "domain": [start, start + width],
                    "anchor": f"y{suffix}",
                },
                f"yaxis{suffix}": {**vertical, **frame, "anchor": f"x{suffix}"},
            }
        )
        drawn.add_annotation(
            text=f"<b>{name}</b>, silhouette {_score(state)}",
            x=start + width / 2,
            y=1.0,
            xref="paper",
            yref="paper",
            xanchor="center",
            yanchor="bottom",
            showarrow=False,
            font={"size": 14},
        )
        for trace in _traces(data, state, suffix, place == len(panels) - 1):
            drawn.add_trace(trace)
    return drawn


def _score(state: MapState) -> str:
    return "–" if state.silhouette is None else f"{state.silhouette:.3f}"


def _traces(data: MapData, state: MapState, suffix: str, legend: bool) -> list[Any]:
    go = library("plotly.graph_objects")
    traces: list[Any] = []
    few = len(state.points) <= _FEW
    ring = 1.8 if few else 0.8
    for group, (colour, symbol) in look(data.groups).items():
        points = [point for point in state.points if point.group == group]
        traces.append(
            go.Scatter(
                x=[point.x for point in points] or [None],
                y=[point.y for point in points] or [None],
                xaxis=f"x{suffix}",
                yaxis=f"y{suffix}",
                mode="markers",
                zorder=-1 if group == OTHERS else 0,
                marker={
                    "size": 9 if few else 6,
                    "opacity": 0.9,
                    "color": colour,
                    "symbol": symbol,
                    "line": {
                        "width": [ring if point.moved else 0.5 for point in points],
                        "color": [INK if point.moved else PAPER for point in points],
                    },
                },
                hoverinfo="text",
                hovertext=[
                    text.hover(
                        point.content,
                        (("context", point.context), ("moved", f"{point.moved:.3f}")),
                    )
                    for point in points
                ],
                name=text.escaped(group),
                legendgroup=text.escaped(group),
                showlegend=legend,
            )
        )
    return traces
