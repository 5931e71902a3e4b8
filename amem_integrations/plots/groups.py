"""Which group each note is in, by what is on it or by what it is linked to."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from amem_integrations.core.note import Note
from amem_integrations.errors import InvalidInputError
from amem_integrations.plots.libraries import library
from amem_integrations.plots.palette import OTHERS
from amem_integrations.plots.text import line

By: TypeAlias = Literal["cluster", "tag", "speaker", "session", "tier"]
BYS = ("cluster", "tag", "speaker", "session", "tier")
_NAME = 28
_MISSING = {"tag": "no tag", "speaker": "no speaker", "session": "no session"}


def check_by(by: object) -> None:
    if by not in BYS:
        raise InvalidInputError(f"Notes are grouped by {', '.join(map(repr, BYS))}; got by={by!r}.")


def named_groups(notes: Sequence[Note], by: By) -> dict[str, str]:
    """The group of each note by a field; of its tags, by the one that most of the notes have."""
    if by == "tier":
        return {note.id: str(note.tier) for note in notes}
    missing = _MISSING[by]
    if by == "speaker":
        return {note.id: line(note.speaker or missing, _NAME) for note in notes}
    if by == "session":
        return {note.id: line(note.session or missing, _NAME) for note in notes}
    counts = _tags(notes)
    return {note.id: line(_widest(note.tags, counts) or missing, _NAME) for note in notes}


def linked_groups(notes: Sequence[Note], edges: Iterable[tuple[str, str, float]]) -> dict[str, str]:
    """The community of each note in the graph of weighted links (Louvain); `others` without one."""
    networkx = library("networkx")
    graph: Any = networkx.Graph()
    graph.add_weighted_edges_from(edges)
    communities: list[set[str]] = (
        networkx.community.louvain_communities(graph, seed=0) if graph else []
    )
    ranked = sorted(communities, key=lambda ids: (-len(ids), min(ids)))
    found = {id: place for place, ids in enumerate(ranked) for id in ids}
    names = cluster_names(notes, found)
    return {note.id: names[found[note.id]] if note.id in found else OTHERS for note in notes}


def cluster_names(notes: Sequence[Note], cluster: Mapping[str, int]) -> dict[int, str]:
    """A name for each cluster: its number and the tag that most of its notes have."""
    tags: dict[int, Counter[str]] = {}
    for note in notes:
        if note.id in cluster:
            tags.setdefault(cluster[note.id], Counter()).update(dict.fromkeys(note.tags, 1))
    return {
        place: f"{place + 1}: {line(_most(counts), _NAME)}" if counts else f"cluster {place + 1}"
        for place, counts in tags.items()
    }


def _tags(notes: Iterable[Note]) -> Counter[str]:
    return Counter(tag for note in notes for tag in dict.fromkeys(note.tags))


def _widest(tags: Iterable[str], counts: Mapping[str, int]) -> str | None:
    return max(sorted(tags), key=lambda tag: counts[tag], default=None)


def _most(counts: Counter[str]) -> str:
    return min(counts, key=lambda tag: (-counts[tag], tag))
