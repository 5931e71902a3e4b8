"""The note graph as data: which notes and links are shown, and in which group each note is."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from amem_integrations.core.note import Link, Note
from amem_integrations.plots.groups import By, check_by, linked_groups, named_groups
from amem_integrations.plots.palette import OTHERS, legend


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A note. group: one of `GraphData.groups`; strength: the sum of its links' weights."""

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
    """A link between two notes that are shown; weight in (0, 1]."""

    source: str
    to: str
    weight: float
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class GraphData:
    """Nodes, edges, and the groups in the order of a legend.

    Attributes:
        nodes: a note each.
        edges: a link each.
        groups: their names.
        total: notes there are.

    Examples:
        >>> from amem_integrations.plots import graph_data
        >>> data = graph_data([memory.add("Tea is served at four", speaker="Ada")], by="speaker")
        >>> [(node.content, node.group) for node in data.nodes], data.edges
        ([('Tea is served at four', 'Ada')], ())
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
    """The graph of `notes` and the links among them; of more than `limit`, the best linked.

    Args:
        notes: what is to be shown.
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
    present = {note.id for note in notes}
    links = [link for note in notes for link in note.outgoing if link.to in present]
    strength = _strengths(present, links)
    ranked = sorted(notes, key=lambda note: (-strength[note.id], -note.created_at.timestamp()))
    shown = ranked[:limit]
    ids = {note.id for note in shown}
    kept = [link for link in links if link.source in ids and link.to in ids]
    group = (
        linked_groups(shown, ((link.source, link.to, link.weight) for link in kept))
        if by == "cluster"
        else named_groups(shown, by)
    )
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


def _strengths(ids: set[str], links: Sequence[Link]) -> dict[str, float]:
    strength = dict.fromkeys(ids, 0.0)
    for link in links:
        strength[link.source] += link.weight
        strength[link.to] += link.weight
    return strength
