"""The graph of a namespace as shapes to put into an SVG: pure, but for the layout's library."""

from collections import Counter
from dataclasses import dataclass

from amem_integrations.core.note import CONTRADICTS
from amem_integrations.plots.graph import (
    FEW,
    GraphData,
    GraphEdge,
    GraphNode,
    Places,
    labelled,
    place_nodes,
)
from amem_integrations.plots.groups import look
from amem_integrations.plots.text import line

WIDTH = 1000.0
_SIDE, _TOP, _UNIT = 110.0, 40.0, 300.0
_LABEL = 26
_LABEL_ROOM = (190.0, 22.0)
_MOST_LABELS = 30


@dataclass(frozen=True, slots=True)
class Dot:
    """A note. label: the text beside it, "" if there is no room. links: how many are drawn."""

    node: GraphNode
    x: float
    y: float
    size: float
    colour: str
    symbol: str
    label: str
    links: int


@dataclass(frozen=True, slots=True)
class Stroke:
    """A link, as wide as it weighs; against: the notes contradict each other."""

    start: tuple[float, float]
    end: tuple[float, float]
    width: float
    against: bool
    text: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A graph in a frame of WIDTH by `height`.

    dots: the best linked first. legend: colour, symbol and number of notes of each group.
    total: how many notes there are.
    """

    dots: list[Dot]
    strokes: list[Stroke]
    legend: dict[str, tuple[str, str, int]]
    height: float
    total: int


def draw_graph(data: GraphData) -> Drawing:
    """The shapes of a graph. Raises ModuleNotFoundError without networkx."""
    places, height = _framed(place_nodes(data))
    looks = look(data.groups)
    links = Counter(id for edge in data.edges for id in (edge.source, edge.to))
    named = labelled(data.nodes, places, _LABEL_ROOM, _MOST_LABELS)
    least = 5.0 if len(data.nodes) <= FEW else 3.0
    dots = [
        Dot(
            node,
            *places[node.id],
            least + min(8.0, 1.8 * node.strength**0.5),
            *looks[node.group],
            label=line(node.content, _LABEL) if node.id in named else "",
            links=links[node.id],
        )
        for node in data.nodes
    ]
    strokes = [_stroke(edge, places) for edge in data.edges]
    notes = Counter(node.group for node in data.nodes)
    legend = {group: (*looks[group], notes[group]) for group in data.groups if notes[group]}
    return Drawing(dots, strokes, legend, height, data.total)


def _framed(places: Places) -> tuple[dict[str, tuple[float, float]], float]:
    """The places in the frame, from its top left corner, and how high that has to be."""
    if not places:
        return {}, 2 * _TOP
    ups = [y for _, y in places.values()]
    across = (WIDTH - 2 * _SIDE) / 2
    framed = {
        id: (round(WIDTH / 2 + across * x, 1), round(_TOP + _UNIT * (max(ups) - y), 1))
        for id, (x, y) in places.items()
    }
    return framed, round(2 * _TOP + _UNIT * (max(ups) - min(ups)), 1)


def _stroke(edge: GraphEdge, places: Places) -> Stroke:
    about = f"{edge.kind}, weight {edge.weight:.2f}"
    return Stroke(
        places[edge.source],
        places[edge.to],
        width=round(0.6 + 3.4 * edge.weight**2, 2),
        against=edge.kind == CONTRADICTS,
        text=f"{about}: {edge.reason}" if edge.reason else about,
    )
