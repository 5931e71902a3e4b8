"""The note graph: its data, the places of its notes, and its drawing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from amem_integrations.core.namespace import DEFAULT, as_namespace
from amem_integrations.core.note import CONTRADICTS, Note
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.wiring import NamespaceLike
from amem_integrations.plots import text
from amem_integrations.plots.groups import (
    COLOURS,
    OTHERS,
    By,
    check_by,
    legend,
    linked_groups,
    look,
    named_groups,
)
from amem_integrations.plots.picture import FAINT, PAPER, Picture, bare_axis, library, new_figure
from amem_integrations.plots.records import (
    check_limit,
    empty_picture,
    namespace_name,
    notes_of,
    remarks_of,
    shown_of,
)

Places: TypeAlias = Mapping[str, tuple[float, float]]

FEW = 300
"""Up to how many notes a graph is drawn with care; a larger one is crowded anyway."""
_NAMED_ALONE = 12
_WIDTHS = ((0.25, 0.6), (0.5, 1.4), (0.75, 2.6), (1.0, 4.2))
"""The greatest weight of a link, and its width in pixels: a trace has one width."""
_EDGE, _AGAINST = "#A9B2BA", COLOURS[5]
_MOST_LABELS = 24
_ROOM = (0.5, 0.07)
"""The distance between labels, across and up, where the linked notes take 2 by 2."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A note. group: one of `GraphData.groups`; strength: the sum of the weights of its links."""

    id: str
    content: str
    context: str
    tags: tuple[str, ...]
    status: str
    confidence: float
    group: str
    strength: float
    evolved: bool


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A link between two shown notes; weight in (0, 1]."""

    source: str
    to: str
    weight: float
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class GraphData:
    """Nodes, edges, and the groups in the order of a legend.

    Attributes:
        nodes: a note each, the best linked first.
        edges: a link each.
        groups: their names.
        total: how many notes there are.
    """

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    groups: tuple[str, ...]
    total: int

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A mapping for each note, with the ids it is linked to."""
        linked: dict[str, list[str]] = {node.id: [] for node in self.nodes}
        for edge in self.edges:
            linked[edge.source].append(edge.to)
            linked[edge.to].append(edge.source)
        return [
            {**asdict(node), "tags": ", ".join(node.tags), "links": ", ".join(linked[node.id])}
            for node in self.nodes
        ]


def graph_data(notes: Sequence[Note], *, by: By = "cluster", limit: int = 1000) -> GraphData:
    """Return the graph of `notes` and the links among them; of too many, the best linked.

    Args:
        notes: the notes to show.
        by: group notes by "cluster" of links (Louvain's communities), "tag", "speaker", "session"
            or "tier".
        limit: how many notes, at most.

    Raises:
        InvalidInputError: there is no such grouping.
        ModuleNotFoundError: the extra `plots` is not installed.

    Examples:
        >>> from amem_integrations.plots import graph_data
        >>> _ = memory.add("A cache would fix the slow product page", session="s1")
        >>> _ = memory.add("Then a cache for the product page", session="s1")
        >>> data = graph_data(memory.recent(), by="session")
        >>> data.groups, [edge.kind for edge in data.edges]
        (('s1',), ['shared-words'])
    """
    check_by(by)
    strength = {note.id: 0.0 for note in notes}
    links = [link for note in notes for link in note.outgoing if link.to in strength]
    for link in links:
        strength[link.source] += link.weight
        strength[link.to] += link.weight
    ranked = sorted(notes, key=lambda note: (-strength[note.id], -note.created_at.timestamp()))
    shown = ranked[:limit]
    ids = {note.id for note in shown}
    kept = [link for link in links if link.source in ids and link.to in ids]
    if by == "cluster":
        group = linked_groups(shown, ((link.source, link.to, link.weight) for link in kept))
    else:
        group = named_groups(shown, by)
    groups = legend(group.values())
    return GraphData(
        tuple(
            GraphNode(
                id=note.id,
                content=note.content,
                context=note.context,
                tags=note.tags,
                status=str(note.status),
                confidence=note.confidence,
                group=group[note.id] if group[note.id] in groups else OTHERS,
                strength=strength[note.id],
                evolved=note.revision is not None and note.revision.kind == "evolved",
            )
            for note in shown
        ),
        tuple(
            GraphEdge(link.source, link.to, link.weight, link.kind, link.reason) for link in kept
        ),
        groups,
        len(notes),
    )


def place_nodes(data: GraphData) -> Places:
    """Return where each note stands: linked notes within [-1, 1] both ways, the others below -1.

    The same graph always gets the same places. Raises ModuleNotFoundError without networkx.
    """
    networkx = library("networkx")
    graph: Any = networkx.Graph()
    for edge in data.edges:
        graph.add_edge(edge.source, edge.to, weight=0.2 + edge.weight)
    places: dict[str, tuple[float, float]] = {}
    if graph:
        layout: Any = networkx.forceatlas2_layout(
            graph,
            seed=0,
            max_iter=200 if len(graph) <= FEW else 150,
            weight="weight",
            scaling_ratio=2.0,
            strong_gravity=True,
        )
        for id, (x, y) in networkx.rescale_layout_dict(layout).items():
            places[id] = (float(x), float(y))
    alone = [node.id for node in data.nodes if node.id not in places]
    # A few have room for their labels.
    across = 4 if len(alone) <= _NAMED_ALONE else max(12, int(len(alone) ** 0.5 * 3))
    for place, id in enumerate(alone):
        places[id] = (-1 + 2 * (place % across) / (across - 1), -1.25 - 0.12 * (place // across))
    return places


def draw_graph(data: GraphData, title: str, subtitle: str) -> Any:
    """Return a Plotly figure of a graph with at least one node."""
    places = place_nodes(data)
    xs, ys = zip(*places.values(), strict=True)
    figure = new_figure(
        title,
        subtitle,
        760,
        xaxis=bare_axis(xs, _ROOM[0] / 3),
        yaxis=bare_axis(ys),
        hovermode="closest",
        dragmode="pan",
    )
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
                _draw_links(figure, edges, places, name, width if few else width / 2)
        lower = upper
    if data.edges:
        _draw_link_boxes(figure, data, places)
    named = labelled(data.nodes, places, _ROOM, _MOST_LABELS)
    for group, (colour, symbol) in look(data.groups).items():
        nodes = [node for node in data.nodes if node.group == group]
        if nodes:
            sizes = [(9 if few else 5) + min(14.0, 3 * node.strength**0.5) for node in nodes]
            figure.add_scatter(
                x=[places[node.id][0] for node in nodes],
                y=[places[node.id][1] for node in nodes],
                mode="markers+text",
                zorder=-1 if group == OTHERS else 0,
                marker={
                    "size": sizes,
                    "opacity": 1,
                    "color": colour,
                    "symbol": symbol,
                    "line": {"width": 1, "color": PAPER},
                },
                text=[text.label(node.content) if node.id in named else "" for node in nodes],
                textposition="top center",
                textfont={
                    "size": 11,
                    "shadow": f"0 0 3px {PAPER}, 0 0 3px {PAPER}, 0 0 2px {PAPER}",
                },
                hoverinfo="text",
                hovertext=[_note_box(node) for node in nodes],
                name=f"{text.escaped(group)} ({len(nodes)})",
                legendgroup="notes",
                legendgrouptitle={"text": "notes", "font": {"color": FAINT}},
            )
    return figure


def _draw_links(
    figure: Any, edges: Sequence[GraphEdge], places: Places, name: str, width: float
) -> None:
    """Draw links of one kind and width. A contradiction is dashed."""
    against = edges[0].kind == CONTRADICTS
    lines = [(places[edge.source], places[edge.to], (None, None)) for edge in edges]
    figure.add_scatter(
        x=[x for line in lines for x, _ in line],
        y=[y for line in lines for _, y in line],
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


def _draw_link_boxes(figure: Any, data: GraphData, places: Places) -> None:
    """Put the text of each link in its middle: a line has no box of its own."""
    contents = {node.id: text.line(node.content, 90) for node in data.nodes}
    middles = [
        [(a + b) / 2 for a, b in zip(places[edge.source], places[edge.to], strict=True)]
        for edge in data.edges
    ]
    figure.add_scatter(
        x=[x for x, _ in middles],
        y=[y for _, y in middles],
        mode="markers",
        marker={"size": 8, "color": _EDGE, "opacity": 0},
        hoverinfo="text",
        hovertext=[
            text.hover(
                f"{edge.kind}, weight {edge.weight:.2f}",
                (
                    ("from", contents[edge.source]),
                    ("to", contents[edge.to]),
                    ("because", edge.reason),
                ),
            )
            for edge in data.edges
        ],
        showlegend=False,
    )


def _note_box(node: GraphNode) -> str:
    return text.hover(
        node.content,
        (
            ("context", node.context),
            ("tags", ", ".join(node.tags)),
            ("status", node.status + (", evolved" if node.evolved else "")),
            ("confidence", f"{node.confidence:.2f}"),
        ),
    )


def labelled(
    nodes: Iterable[GraphNode], places: Places, room: tuple[float, float], most: int
) -> set[str]:
    """Return the ids of the first `most` notes whose labels have room, across and up."""
    taken: dict[str, tuple[float, float]] = {}
    wide, high = room
    for node in nodes:
        x, y = places[node.id]
        if all(abs(x - a) > wide or abs(y - b) > high for a, b in taken.values()):
            taken[node.id] = (x, y)
        if len(taken) == most:
            break
    return set(taken)


def note_graph(
    memory: AgenticMemory,
    namespace: NamespaceLike = DEFAULT,
    *,
    by: By = "cluster",
    limit: int = 1000,
) -> Picture:
    """Draw the notes of a namespace and their links; the width of a link is its weight.

    Args:
        memory: the memory.
        namespace: one label or several.
        by: what colours stand for: "cluster" (communities of links), "tag", "speaker", "session" or
            "tier".
        limit: how many notes at most, the best linked ones; `remarks` says when some are left out.

    Raises:
        InvalidInputError: a value is not allowed.
        StoreError: the store cannot be read.
        ModuleNotFoundError: the extra `plots` is not installed.

    Examples:
        >>> from amem_integrations.plots import note_graph
        >>> _ = memory.add("A cache would fix the slow product page", session="s1", speaker="Ada")
        >>> _ = memory.add("Then a cache for the product page", session="s1", speaker="Bea")
        >>> picture = note_graph(memory, by="speaker")
        >>> picture.data.groups, len(picture.data.edges)
        (('Ada', 'Bea'), 1)
    """
    home = as_namespace(namespace)
    check_limit(limit)
    notes = memory.perform(lambda _, io: notes_of(io, home))
    data = graph_data(notes, by=by, limit=limit)
    title = f"Notes and links of {namespace_name(home)}"
    remarks = remarks_of(memory, home, len(notes), len(data.nodes), "the best linked")
    if not data.nodes:
        return empty_picture(title, data)
    groups = "clusters of links" if by == "cluster" else f"{by}s"
    links = text.many(len(data.edges), "link")
    shown = shown_of(len(data.nodes), data.total)
    subtitle = f"{shown}, {links}; colours and shapes are {groups}"
    return Picture(draw_graph(data, title, subtitle), title, data, data.rows, remarks)
