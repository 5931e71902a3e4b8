"""Drawing the note graph: notes placed by their links, links as wide as they weigh."""

from collections.abc import Mapping, Sequence
from typing import Any

from amem_integrations.core.note import CONTRADICTS
from amem_integrations.plots import text
from amem_integrations.plots.draw_common import bare, figure
from amem_integrations.plots.graph import GraphData, GraphEdge, GraphNode
from amem_integrations.plots.layout import FEW, Places, placed
from amem_integrations.plots.libraries import library
from amem_integrations.plots.palette import COLOURS, FAINT, OTHERS, PAPER, look

_WIDTHS = ((0.25, 0.6), (0.5, 1.4), (0.75, 2.6), (1.0, 4.2))
"""Up to which weight a link is how wide, in pixels: a trace has one width."""
_EDGE = "#A9B2BA"
_AGAINST = COLOURS[5]
_NAMED = 24
_SIDE = {1: "top", -1: "bottom"}
_ROOM = (0.5, 0.07)
"""How far apart labels are, across and up, where the linked notes take 2 by 2."""


def draw(data: GraphData, title: str, subtitle: str) -> Any:
    """A Plotly figure of the graph; it has at least one node."""
    places = placed(data)
    xs, ys = zip(*places.values(), strict=True)
    drawn = figure(
        title,
        subtitle,
        760,
        xaxis=bare(xs, _ROOM[0] / 3),
        yaxis=bare(ys),
        hovermode="closest",
        dragmode="pan",
    )
    go = library("plotly.graph_objects")
    few = len(data.nodes) <= FEW
    lower = 0.0
    for upper, width in _WIDTHS:
        for against in (False, True):
            edges = [
                edge
                for edge in data.edges
                if lower < edge.weight <= upper and (edge.kind == CONTRADICTS) is against
            ]
            if edges:
                name = f"{lower:.2f}–{upper:.2f}{', contradicts' if against else ''}"
                drawn.add_trace(
                    _lines(go, edges, places, name, width if few else width / 2, against=against)
                )
        lower = upper
    if data.edges:
        drawn.add_trace(_middles(go, data, places))
    sides = _sides(data, places)
    named = _labelled(data, places, sides)
    size = 9 if few else 5
    for group, (colour, symbol) in look(data.groups).items():
        nodes = [node for node in data.nodes if node.group == group]
        if nodes:
            drawn.add_trace(_notes(go, group, nodes, places, colour, symbol, sides, named, size))
    return drawn


def _lines(
    go: Any,
    edges: Sequence[GraphEdge],
    places: Places,
    name: str,
    width: float,
    *,
    against: bool,
) -> Any:
    xs: list[float | None] = []
    ys: list[float | None] = []
    for edge in edges:
        (x0, y0), (x1, y1) = places[edge.source], places[edge.to]
        xs += [x0, x1, None]
        ys += [y0, y1, None]
    return go.Scatter(
        x=xs,
        y=ys,
        mode="lines",
        line={
            "width": width,
            "color": _AGAINST if against else _EDGE,
            "dash": "dash" if against else "solid",
        },
        zorder=-2,
        hoverinfo="skip",
        name=name,
        legendgroup="links",
        legendgrouptitle={"text": "link weight", "font": {"color": FAINT}},
    )


def _middles(go: Any, data: GraphData, places: Places) -> Any:
    """What a link says, in the middle of it: a line has no box of its own."""
    contents = {node.id: node.content for node in data.nodes}
    middle = [
        [(a + b) / 2 for a, b in zip(places[edge.source], places[edge.to], strict=True)]
        for edge in data.edges
    ]
    return go.Scatter(
        x=[x for x, _ in middle],
        y=[y for _, y in middle],
        mode="markers",
        marker={"size": 8, "color": _EDGE, "opacity": 0},
        hoverinfo="text",
        hovertext=[
            text.hover(
                f"{edge.kind}, weight {edge.weight:.2f}",
                (
                    ("from", text.line(contents[edge.source], 90)),
                    ("to", text.line(contents[edge.to], 90)),
                    ("because", edge.reason),
                ),
            )
            for edge in data.edges
        ],
        showlegend=False,
    )


def _notes(
    go: Any,
    group: str,
    nodes: Sequence[GraphNode],
    places: Places,
    colour: str,
    symbol: str,
    sides: Mapping[str, int],
    named: set[str],
    size: int,
) -> Any:
    return go.Scatter(
        x=[places[node.id][0] for node in nodes],
        y=[places[node.id][1] for node in nodes],
        mode="markers+text",
        zorder=-1 if group == OTHERS else 0,
        marker={
            "size": [size + min(14.0, 3 * node.strength**0.5) for node in nodes],
            "opacity": 1,
            "color": colour,
            "symbol": symbol,
            "line": {"width": 1, "color": PAPER},
        },
        text=[text.label(node.content) if node.id in named else "" for node in nodes],
        textposition=[f"{_SIDE[sides[node.id]]} center" for node in nodes],
        textfont={"size": 11, "shadow": f"0 0 3px {PAPER}, 0 0 3px {PAPER}, 0 0 2px {PAPER}"},
        hoverinfo="text",
        hovertext=[
            text.hover(
                node.content,
                (
                    ("context", node.context),
                    ("tags", ", ".join(node.tags)),
                    ("status", node.status + (", evolved" if node.evolved else "")),
                    ("confidence", f"{node.confidence:.2f}"),
                ),
            )
            for node in nodes
        ],
        name=f"{text.escaped(group)} ({len(nodes)})",
        legendgroup="notes",
        legendgrouptitle={"text": "notes", "font": {"color": FAINT}},
    )


def _sides(data: GraphData, places: Places) -> dict[str, int]:
    """Where each note's text stands: above it, 1, or below, -1, where its links lead up."""
    up = dict.fromkeys(places, 0.0)
    for edge in data.edges:
        rise = places[edge.to][1] - places[edge.source][1]
        up[edge.source] += rise
        up[edge.to] -= rise
    return {id: -1 if rise > 0 else 1 for id, rise in up.items()}


def _labelled(data: GraphData, places: Places, sides: Mapping[str, int]) -> set[str]:
    """Which notes have their text beside them: the best linked, as far as there is room."""
    taken: dict[str, tuple[float, float]] = {}
    for node in sorted(data.nodes, key=lambda node: -node.strength):
        x, y = places[node.id]
        y += _ROOM[1] / 2 * sides[node.id]
        clear = all(abs(x - a) > _ROOM[0] or abs(y - b) > _ROOM[1] for a, b in taken.values())
        if clear:
            taken[node.id] = (x, y)
        if len(taken) == _NAMED:
            break
    return set(taken)
