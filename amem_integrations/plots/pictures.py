"""The four pictures, each from a memory: read, made into data, drawn."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import DEFAULT, Namespace, as_namespace
from amem_integrations.core.note import Note, Revision
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.operations import NamespaceLike, NoteLike, address, require
from amem_integrations.plots import (
    draw_activity,
    draw_common,
    draw_graph,
    draw_map,
    draw_trajectory,
    reading,
)
from amem_integrations.plots.activity import activity_data
from amem_integrations.plots.embedding import Method, map_data
from amem_integrations.plots.graph import graph_data
from amem_integrations.plots.groups import By
from amem_integrations.plots.picture import Picture
from amem_integrations.plots.text import line, many
from amem_integrations.plots.trajectories import trajectory_data
from amem_integrations.revisions.entry import Entry
from amem_integrations.stores.read import notes_by_id, revisions

_NOTHING = "There are no notes in this namespace yet."
_GROUPED = {
    "cluster": "clusters of links",
    "tag": "tags",
    "speaker": "speakers",
    "session": "sessions",
    "tier": "tiers",
}


def note_graph(
    memory: AgenticMemory,
    namespace: NamespaceLike = DEFAULT,
    *,
    by: By = "cluster",
    limit: int = 1000,
) -> Picture:
    """The notes of a namespace and their links; a link is as wide as it weighs.

    Args:
        memory: whose notes they are.
        namespace: one label or several.
        by: what colours stand for: "cluster" (communities of links), "tag", "speaker", "session" or
            "tier".
        limit: how many notes at most, the best linked ones; `remarks` says when some are left out.

    Raises:
        InvalidInputError: a value cannot be used.
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
    _check_limit(limit)
    notes = memory.perform(lambda _, io: reading.notes_of(io, home))
    data = graph_data(notes, by=by, limit=limit)
    title = f"Notes and links of {_name(home)}"
    remarks = _remarks(memory, home, len(notes), len(data.nodes), "the best linked")
    if not data.nodes:
        return Picture(draw_common.empty(title, _NOTHING), title, data, data.rows, remarks)
    said = f"{_shown(len(data.nodes), data.total)}, {many(len(data.edges), 'link')}"
    drawn = draw_graph.draw(data, title, f"{said}; colours and shapes are {_GROUPED[by]}")
    return Picture(drawn, title, data, data.rows, remarks)


def embedding_map(
    memory: AgenticMemory,
    namespace: NamespaceLike = DEFAULT,
    *,
    method: Method = "pca",
    by: By = "cluster",
    evolution: bool = True,
    limit: int = 1000,
) -> Picture:
    """Where the notes lie in the embedder's space, before and after evolution (the paper's figure).

    Before: each note as its present text was first understood, told from its revisions and embedded
    again; this asks the embedder, and changes nothing. After: the stored vectors. The silhouette of
    the groups, in the embedder's space and by cosine, says how tight they are.

    Args:
        memory: whose notes they are.
        namespace: one label or several.
        method: "pca" or "tsne".
        by: "cluster" is k-means on each state by itself; or "tag", "speaker", "session", "tier".
        evolution: False shows only the notes as they are now.
        limit: how many notes at most, the newest.

    Raises:
        InvalidInputError: a value cannot be used.
        StoreError: the store cannot be read.
        ModelError: the embedder gives no usable vectors; its own errors pass through.
        ModuleNotFoundError: the extra `plots` is not installed.

    Examples:
        >>> from amem_integrations.plots import embedding_map
        >>> _ = memory.add("Bea runs the bakery on Mill Road")
        >>> _ = memory.add("The bakery on Mill Road sells rye bread")
        >>> picture = embedding_map(memory, by="tier")
        >>> [point.moved > 0 for point in picture.data.after.points]  # the older one evolved
        [False, True]
    """
    home = as_namespace(namespace)
    _check_limit(limit)
    notes, vectors = memory.perform(lambda _, io: _vectors(io, home, evolution, limit))
    data = map_data(notes, vectors.before, vectors.after, method=method, by=by, limit=limit)
    title = f"Embedding map of {_name(home)}"
    remarks = _remarks(memory, home, len(notes), min(len(notes), limit), "the newest")
    if data.method != method:
        remarks += ("t-SNE needs five different vectors; this is PCA.",)
    if not data.after.points:
        return Picture(draw_common.empty(title, _NOTHING), title, data, data.rows, remarks)
    moved = sum(point.moved > 0 for point in data.after.points)
    said = _shown(len(data.after.points), len(notes))
    if evolution:
        said += (
            f", {moved:,} changed by evolution (ringed)" if moved else ", none changed by evolution"
        )
    kind = "k-means clusters" if by == "cluster" else _GROUPED[by]
    axes = "PCA" if data.method == "pca" else "t-SNE"
    drawn = draw_map.draw(
        data, title, f"{said}; {axes}; colours and shapes are {kind}", evolution=evolution
    )
    return Picture(drawn, title, data, data.rows, remarks)


async def _vectors(
    io: IO, home: Namespace, evolution: bool, limit: int
) -> tuple[list[Note], reading.Vectors]:
    notes = await reading.notes_of(io, home)
    shown = notes[:limit]
    entries = await reading.entries_of(io, shown) if evolution else [Entry(note) for note in shown]
    return notes, await reading.vectors_before_and_after(io, entries)


def activity_heatmap(
    memory: AgenticMemory,
    namespace: NamespaceLike = DEFAULT,
    *,
    used: Mapping[str, Iterable[datetime]] | None = None,
    limit: int = 40,
) -> Picture:
    """When notes were made, evolved, changed and used: notes by time, in UTC.

    Args:
        memory: whose notes they are.
        namespace: one label or several.
        used: by note id, when it was used, if you keep track of that; a note itself keeps its last
            use only.
        limit: how many notes have a row at most, the most active ones; the bars count all.

    Raises:
        InvalidInputError: a value cannot be used.
        StoreError: the store cannot be read.
        ModuleNotFoundError: the extra `plots` is not installed.

    Examples:
        >>> from amem_integrations.plots import activity_heatmap
        >>> _ = memory.add_many(["Tea is served at four", "The tram leaves at nine"])
        >>> picture = activity_heatmap(memory)
        >>> sum(picture.data.sums["created"])
        2
    """
    home = as_namespace(namespace)
    _check_limit(limit)
    entries = memory.perform(lambda _, io: _entries(io, home))
    data = activity_data(entries, used=used, limit=limit)
    title = f"Activity in {_name(home)}"
    remarks = _remarks(memory, home, len(entries), len(data.rows_of), "the most active")
    if not data.rows_of:
        return Picture(draw_common.empty(title, _NOTHING), title, data, data.rows, remarks)
    counts = ", ".join(f"{kind} {sum(each):,}" for kind, each in data.sums.items() if any(each))
    drawn = draw_activity.draw(data, title, f"{_shown(len(data.rows_of), data.total)}; {counts}")
    return Picture(drawn, title, data, data.rows, remarks)


async def _entries(io: IO, home: Namespace) -> list[Entry]:
    return await reading.entries_of(io, await reading.notes_of(io, home))


def trajectory(
    memory: AgenticMemory,
    note: NoteLike,
    *,
    namespace: NamespaceLike | None = None,
    limit: int = 40,
) -> Picture:
    """One note's versions in order: what changed, when, and because of which note.

    Args:
        memory: whose note it is.
        note: the note, or its id.
        namespace: where an id is looked up.
        limit: how many versions at most, the newest.

    Raises:
        NoteNotFoundError: there is no such note in the namespace.
        InvalidInputError: a value cannot be used.
        StoreError: the store cannot be read.
        ModuleNotFoundError: the extra `plots` is not installed.

    Examples:
        >>> from amem_integrations.plots import trajectory
        >>> note = memory.add("Bea runs the bakery on Mill Road")
        >>> _ = memory.add("The bakery on Mill Road sells rye bread")
        >>> [step.kind for step in trajectory(memory, note).data.steps]
        ['created', 'formed', 'evolved']
    """
    note_id, home = address(note, namespace)
    _check_limit(limit)
    held, history, others = memory.perform(lambda _, io: _history(io, note_id, home))
    data = trajectory_data(held, history, others, limit=limit)
    title = f"How a note came about: “{line(held.content, 60)}”"
    remarks = (
        (f"The newest {len(data.steps)} of {data.total} versions are shown.",)
        if len(data.steps) < data.total
        else ()
    )
    said = f"{many(data.total, 'version')}, in the order in which they came about (UTC)"
    return Picture(draw_trajectory.draw(data, title, said), title, data, data.rows, remarks)


async def _history(
    io: IO, note_id: str, home: Namespace
) -> tuple[Note, list[Revision], dict[str, str]]:
    held = await require(io, note_id, home)
    history = await revisions(io, held)
    named = sorted(Entry(held, tuple(history)).references)
    others = await notes_by_id(io, named)
    return held, history, {id: n.content for id, n in others.items() if n.namespace == home}


def _check_limit(limit: int) -> None:
    if limit < 1:
        raise InvalidInputError(f"limit is at least 1; got {limit}.")


def _name(home: Namespace) -> str:
    return line("/".join(home), 60)


def _shown(shown: int, total: int) -> str:
    return many(shown, "note") if shown == total else f"{shown:,} of {many(total, 'note')}"


def _remarks(
    memory: AgenticMemory, home: Namespace, read: int, shown: int, which: str
) -> tuple[str, ...]:
    remarks: list[str] = []
    if read >= reading.MOST:
        remarks.append(
            f"The namespace has {memory.count(home):,} notes; the newest {read:,} were read."
        )
    if shown < read:
        remarks.append(f"{shown:,} of {read:,} notes are shown: {which}. `limit` sets how many.")
    return tuple(remarks)
