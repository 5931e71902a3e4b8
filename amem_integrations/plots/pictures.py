"""The four pictures of a memory: its notes are read, made into data, and drawn."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from amem_integrations.core.engine import Vector
from amem_integrations.core.filters import Not, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import DEFAULT, Namespace, as_namespace
from amem_integrations.core.note import Note, Revision, Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.operations import NamespaceLike, NoteLike, address_of, require
from amem_integrations.plots.activity import activity_data, draw_activity
from amem_integrations.plots.embedding import (
    PAGE,
    Method,
    draw_map,
    map_data,
    vectors_before_and_after,
)
from amem_integrations.plots.graph import draw_graph, graph_data
from amem_integrations.plots.groups import By
from amem_integrations.plots.picture import Picture, empty_figure
from amem_integrations.plots.text import line, many
from amem_integrations.plots.trajectories import draw_trajectory, trajectory_data
from amem_integrations.revisions.entry import Entry, entry_of, records_of
from amem_integrations.stores.read import notes_by_id, recent, revisions

MOST = 20_000
"""Notes read for one picture; of a larger namespace, the newest."""
_NOTHING = "There are no notes in this namespace yet."


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
    _check_limit(limit)
    notes = memory.perform(lambda _, io: notes_of(io, home))
    data = graph_data(notes, by=by, limit=limit)
    title = f"Notes and links of {_name(home)}"
    remarks = _remarks(memory, home, len(notes), len(data.nodes), "the best linked")
    if not data.nodes:
        return Picture(empty_figure(title, _NOTHING), title, data, data.rows, remarks)
    groups = "clusters of links" if by == "cluster" else f"{by}s"
    subtitle = (
        f"{_count(len(data.nodes), data.total)}, {many(len(data.edges), 'link')}; colours and "
        f"shapes are {groups}"
    )
    return Picture(draw_graph(data, title, subtitle), title, data, data.rows, remarks)


def embedding_map(
    memory: AgenticMemory,
    namespace: NamespaceLike = DEFAULT,
    *,
    method: Method = "pca",
    by: By = "cluster",
    evolution: bool = True,
    limit: int = 1000,
) -> Picture:
    """Draw where notes lie in the embedder's space, before and after evolution (paper's figure).

    Before: each note as its present text was first understood, taken from its revisions and
    embedded again; this asks the embedder, and changes nothing. After: the stored vectors. The
    silhouette of the groups, in the embedder's space and by cosine, says how tight they are.

    Args:
        memory: the memory.
        namespace: one label or several.
        method: "pca" or "tsne".
        by: "cluster" is k-means on each state by itself; or "tag", "speaker", "session", "tier".
        evolution: False shows only the notes as they are now.
        limit: how many notes at most, the newest.

    Raises:
        InvalidInputError: a value is not allowed.
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
    notes, before, after = memory.perform(lambda _, io: _read_vectors(io, home, evolution, limit))
    data = map_data(notes, before, after, method=method, by=by, limit=limit)
    title = f"Embedding map of {_name(home)}"
    remarks = _remarks(memory, home, len(notes), min(len(notes), limit), "the newest")
    if data.method != method:
        remarks += ("t-SNE needs five different vectors; this is PCA.",)
    if not data.after.points:
        return Picture(empty_figure(title, _NOTHING), title, data, data.rows, remarks)
    moved = sum(point.moved > 0 for point in data.after.points)
    ringed = (
        f", {moved:,} changed by evolution (ringed)" if moved else ", none changed by evolution"
    )
    subtitle = (
        f"{_count(len(data.after.points), len(notes))}{ringed if evolution else ''}; "
        f"{'PCA' if data.method == 'pca' else 't-SNE'}; colours and shapes are "
        f"{'k-means clusters' if by == 'cluster' else f'{by}s'}"
    )
    figure = draw_map(data, title, subtitle, evolution=evolution)
    return Picture(figure, title, data, data.rows, remarks)


def activity_heatmap(
    memory: AgenticMemory,
    namespace: NamespaceLike = DEFAULT,
    *,
    used: Mapping[str, Iterable[datetime]] | None = None,
    limit: int = 40,
) -> Picture:
    """Draw when notes were made, evolved, changed and used: notes by time, in UTC.

    Args:
        memory: the memory.
        namespace: one label or several.
        used: by note id, when it was used, if you keep track of that; a note itself keeps its last
            use only.
        limit: how many notes have a row at most, the most active ones; the bars count all.

    Raises:
        InvalidInputError: a value is not allowed.
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
    entries = memory.perform(lambda _, io: _read_entries(io, home))
    data = activity_data(entries, used=used, limit=limit)
    title = f"Activity in {_name(home)}"
    remarks = _remarks(memory, home, len(entries), len(data.rows_of), "the most active")
    if not data.rows_of:
        return Picture(empty_figure(title, _NOTHING), title, data, data.rows, remarks)
    totals = {kind: sum(counts) for kind, counts in data.sums.items()}
    counts = ", ".join(f"{kind} {total:,}" for kind, total in totals.items() if total)
    figure = draw_activity(data, title, f"{_count(len(data.rows_of), data.total)}; {counts}")
    return Picture(figure, title, data, data.rows, remarks)


def trajectory(
    memory: AgenticMemory,
    note: NoteLike,
    *,
    namespace: NamespaceLike | None = None,
    limit: int = 40,
) -> Picture:
    """Draw one note's versions in order: what changed, when, and because of which note.

    Args:
        memory: the memory.
        note: the note, or its id.
        namespace: where an id is looked up.
        limit: how many versions at most, the newest.

    Raises:
        NoteNotFoundError: there is no such note in the namespace.
        InvalidInputError: a value is not allowed.
        StoreError: the store cannot be read.
        ModuleNotFoundError: the extra `plots` is not installed.

    Examples:
        >>> from amem_integrations.plots import trajectory
        >>> note = memory.add("Bea runs the bakery on Mill Road")
        >>> _ = memory.add("The bakery on Mill Road sells rye bread")
        >>> [step.kind for step in trajectory(memory, note).data.steps]
        ['created', 'formed', 'evolved']
    """
    note_id, home = address_of(note, namespace)
    _check_limit(limit)
    stored, history, others = memory.perform(lambda _, io: _read_history(io, note_id, home))
    data = trajectory_data(stored, history, others, limit=limit)
    title = f"How a note came about: “{line(stored.content, 60)}”"
    remarks: tuple[str, ...] = ()
    if len(data.steps) < data.total:
        remarks = (f"The newest {len(data.steps)} of {data.total} versions are shown.",)
    subtitle = f"{many(data.total, 'version')}, in the order in which they came about (UTC)"
    figure = draw_trajectory(data, title, subtitle)
    return Picture(figure, title, data, data.rows, remarks)


async def notes_of(io: IO, namespace: Namespace) -> list[Note]:
    """Return the notes of a namespace, the newest first, with the links they made; no archived."""
    return await recent(io, namespace, limit=MOST, where=Not(match("status", str(Status.ARCHIVED))))


async def entries_of(io: IO, notes: Sequence[Note]) -> list[Entry]:
    """Return the notes with their histories."""
    entries: list[Entry] = []
    for start in range(0, len(notes), PAGE):
        page = notes[start : start + PAGE]
        records = await records_of(io, [note.id for note in page])
        entries += [entry_of(note, records[note.id]) for note in page]
    return entries


async def _read_entries(io: IO, home: Namespace) -> list[Entry]:
    return await entries_of(io, await notes_of(io, home))


async def _read_vectors(
    io: IO, home: Namespace, evolution: bool, limit: int
) -> tuple[list[Note], Mapping[str, Vector], Mapping[str, Vector]]:
    notes = await notes_of(io, home)
    shown = notes[:limit]
    entries = await entries_of(io, shown) if evolution else [Entry(note) for note in shown]
    return notes, *await vectors_before_and_after(io, entries)


async def _read_history(
    io: IO, note_id: str, home: Namespace
) -> tuple[Note, list[Revision], dict[str, str]]:
    note = await require(io, note_id, home)
    history = await revisions(io, note)
    others = await notes_by_id(io, sorted(Entry(note, tuple(history)).references))
    contents = {id: other.content for id, other in others.items() if other.namespace == home}
    return note, history, contents


def _check_limit(limit: int) -> None:
    if limit < 1:
        raise InvalidInputError(f"limit is at least 1; got {limit}.")


def _name(home: Namespace) -> str:
    return line("/".join(home), 60)


def _count(shown: int, total: int) -> str:
    return many(shown, "note") if shown == total else f"{shown:,} of {many(total, 'note')}"


def _remarks(
    memory: AgenticMemory, home: Namespace, read: int, shown: int, which: str
) -> tuple[str, ...]:
    remarks: list[str] = []
    if read >= MOST:
        total = memory.count(home)
        remarks.append(f"The namespace has {total:,} notes; the newest {read:,} were read.")
    if shown < read:
        remarks.append(f"{shown:,} of {read:,} notes are shown: {which}. `limit` sets how many.")
    return tuple(remarks)
