"""Groups of notes, by a field or by links, and the colour and shape of each group.

The colours are those of Okabe and Ito (Color Universal Design, 2008), which colour-blind people
can tell apart; olive replaces their yellow, which is too pale on white.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from amem_integrations.core.note import Note
from amem_integrations.errors import InvalidInputError
from amem_integrations.plots.picture import library
from amem_integrations.plots.text import line

By: TypeAlias = Literal["cluster", "tag", "speaker", "session", "tier"]
BYS = ("cluster", "tag", "speaker", "session", "tier")
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8A7A00")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "pentagon", "star", "hexagon")
REST_COLOUR = "#B4BBC2"
OTHERS = "others"
_NAME = 28


def check_by(by: object) -> None:
    """Raise InvalidInputError if notes cannot be grouped by `by`."""
    if by not in BYS:
        raise InvalidInputError(f"Notes are grouped by {', '.join(map(repr, BYS))}; got by={by!r}.")


def look(groups: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """Return the colour and symbol of each group; `others` and groups past the palette are grey."""
    own = [group for group in groups if group != OTHERS]
    looks = dict(zip(own, zip(COLOURS, SYMBOLS, strict=True), strict=False))
    return {group: looks.get(group, (REST_COLOUR, "circle")) for group in groups}


def legend(groups: Iterable[str]) -> tuple[str, ...]:
    """Return the groups that get a colour, the largest first, then `others` if any are left."""
    counts = Counter(groups)
    rest = counts.pop(OTHERS, 0)
    ranked = sorted(counts, key=lambda group: (-counts[group], group))
    kept = ranked[: len(COLOURS)]
    return (*kept, OTHERS) if rest or len(ranked) > len(kept) else tuple(kept)


def named_groups(notes: Sequence[Note], by: By) -> dict[str, str]:
    """Return the group of each note by a field; of its tags, the most common one counts."""
    counts = Counter(tag for note in notes for tag in set(note.tags))

    def name(note: Note) -> str:
        match by:
            case "tier":
                return str(note.tier)
            case "tag":
                value = max(sorted(note.tags), key=counts.__getitem__, default=None)
            case "speaker":
                value = note.speaker
            case _:
                value = note.session
        return line(value or f"no {by}", _NAME)

    return {note.id: name(note) for note in notes}


def linked_groups(notes: Sequence[Note], edges: Iterable[tuple[str, str, float]]) -> dict[str, str]:
    """Return each note's Louvain community among weighted links; `others` if it has no link."""
    networkx = library("networkx")
    graph: Any = networkx.Graph()
    graph.add_weighted_edges_from(edges)
    communities: list[set[str]] = (
        networkx.community.louvain_communities(graph, seed=0) if graph else []
    )
    ranked = sorted(communities, key=lambda ids: (-len(ids), min(ids)))
    cluster = {id: place for place, ids in enumerate(ranked) for id in ids}
    names = cluster_names(notes, cluster)
    return {note.id: names[cluster[note.id]] if note.id in cluster else OTHERS for note in notes}


def cluster_names(notes: Sequence[Note], cluster: Mapping[str, int]) -> dict[int, str]:
    """Return a name for each cluster: its number and the tag that most of its notes have."""
    tags: dict[int, Counter[str]] = {}
    for note in notes:
        if note.id in cluster:
            tags.setdefault(cluster[note.id], Counter()).update(set(note.tags))
    names: dict[int, str] = {}
    for place, counts in tags.items():
        tag = min(counts, key=lambda tag: (-counts[tag], tag), default=None)
        names[place] = f"cluster {place + 1}" if tag is None else f"{place + 1}: {line(tag, _NAME)}"
    return names
