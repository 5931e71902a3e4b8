"""The embedding map: where notes lie before and after evolution, and in which group.

Groups are judged in the space of the embedder, by cosine; only the picture has two dimensions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from amem_integrations.core.engine import Vector
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import DEFAULT, Namespace, as_namespace
from amem_integrations.core.note import Note
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.wiring import NamespaceLike
from amem_integrations.plots import text
from amem_integrations.plots.groups import (
    COLOURS,
    OTHERS,
    By,
    check_by,
    cluster_names,
    legend,
    look,
    named_groups,
)
from amem_integrations.plots.picture import INK, PAPER, Picture, bare_axis, library, new_figure
from amem_integrations.plots.records import (
    check_limit,
    empty_picture,
    entries_of,
    namespace_name,
    notes_of,
    remarks_of,
    shown_of,
    vectors_before_and_after,
)
from amem_integrations.revisions.entry import Entry

Method: TypeAlias = Literal["pca", "tsne"]
METHODS = ("pca", "tsne")
_FEWEST_FOR_TSNE = 5
_PERPLEXITY = 30
_LIMITED = ("sklearn.cluster", "sklearn.manifold", "scipy.optimize")
_GAP, _FEW = 0.03, 300


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A note at (x, y), in no unit. moved: 1 - cosine between its two vectors."""

    id: str
    content: str
    context: str
    group: str
    x: float
    y: float
    moved: float


@dataclass(frozen=True, slots=True)
class MapState:
    """All notes at one time. silhouette: of the groups, in [-1, 1]; None with too few of them."""

    points: tuple[MapPoint, ...]
    silhouette: float | None


@dataclass(frozen=True, slots=True)
class MapData:
    """Both states over the same axes, and the groups in the order of a legend.

    Attributes:
        before: all notes as they were first understood.
        after: all notes as they are.
        groups: their names.
        method: the one that was used; PCA replaces t-SNE for fewer than five different vectors.
        total: how many notes have vectors.
    """

    before: MapState
    after: MapState
    groups: tuple[str, ...]
    method: Method
    total: int

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A mapping for each note, with its place and group in both states."""
        return [
            {
                "id": new.id,
                "content": new.content,
                "context": new.context,
                "moved": new.moved,
                "group before": old.group,
                "x before": old.x,
                "y before": old.y,
                "group": new.group,
                "x": new.x,
                "y": new.y,
            }
            for old, new in zip(self.before.points, self.after.points, strict=True)
        ]


def map_data(
    notes: Sequence[Note],
    before: Mapping[str, Vector],
    after: Mapping[str, Vector],
    *,
    method: Method = "pca",
    by: By = "cluster",
    limit: int = 1000,
) -> MapData:
    """Return both states of the `notes` that have two vectors; of more than `limit`, the first.

    Args:
        notes: the notes to show.
        before: a vector by note id.
        after: likewise.
        method: "pca" or "tsne".
        by: "cluster" is k-means on each state by itself, with the one k in 2–7 whose mean
            silhouette over both is highest, so that neither is favoured; clusters of the two are
            paired by the notes that they share. "tag", "speaker", "session", "tier" are the same
            groups in both.
        limit: how many notes, at most.

    Raises:
        InvalidInputError: a value is not allowed.
        ModuleNotFoundError: the extra `plots` is not installed.

    Examples:
        >>> from amem_integrations.plots import map_data
        >>> notes = memory.add_many(["Tea is served at four", "The tram leaves at nine"])
        >>> vectors = {notes[0].id: [1.0, 0.0], notes[1].id: [0.0, 1.0]}
        >>> data = map_data(notes, vectors, vectors, by="session")
        >>> data.method, data.total, data.after.points[0].moved
        ('pca', 2, 0.0)
    """
    check_by(by)
    if method not in METHODS:
        raise InvalidInputError(f"method is one of 'pca', 'tsne'; got {method!r}.")
    placed = [note for note in notes if note.id in before and note.id in after]
    shown = placed[:limit]
    if not shown:
        return MapData(MapState((), None), MapState((), None), (), "pca", 0)
    # So little is quicker on one thread; only libraries that are loaded by then are limited.
    for name in _LIMITED:
        library(name)
    with library("threadpoolctl").threadpool_limits(1):
        return _map(shown, before, after, method, by, len(placed))


def _map(
    shown: Sequence[Note],
    before: Mapping[str, Vector],
    after: Mapping[str, Vector],
    method: Method,
    by: By,
    total: int,
) -> MapData:
    numpy = library("numpy")
    normalize = library("sklearn.preprocessing").normalize
    old, new = (normalize([vectors[note.id] for note in shown]) for vectors in (before, after))
    moved = numpy.clip(1.0 - (old * new).sum(axis=1), 0.0, 2.0)
    moved[(old == new).all(axis=1)] = 0.0
    used, places = _projected(numpy.vstack([old, new]), method)
    if by == "cluster":
        labels_old, labels_new = _clusters(old, new)
        ids = (note.id for note in shown)
        names = cluster_names(shown, dict(zip(ids, labels_new, strict=True)))
        groups_old, groups_new = (
            [names.get(label, f"cluster {label + 1}") for label in labels]
            for labels in (labels_old, labels_new)
        )
    else:
        named = named_groups(shown, by)
        groups_old = groups_new = [named[note.id] for note in shown]
    groups = legend(groups_new + groups_old)

    def state(vectors: Any, labels: Sequence[str], at: Any) -> MapState:
        points = tuple(
            MapPoint(
                id=note.id,
                content=note.content,
                context=note.context,
                group=label if label in groups else OTHERS,
                x=float(x),
                y=float(y),
                moved=float(distance),
            )
            for note, label, (x, y), distance in zip(shown, labels, at, moved, strict=True)
        )
        return MapState(points, _silhouette(vectors, labels))

    half = len(shown)
    return MapData(
        state(old, groups_old, places[:half]),
        state(new, groups_new, places[half:]),
        groups,
        used,
        total,
    )


def _projected(rows: Any, method: Method) -> tuple[Method, Any]:
    """Return two dimensions for all rows at once; equal rows get the same place."""
    numpy = library("numpy")
    distinct, inverse = numpy.unique(rows, axis=0, return_inverse=True)
    if method == "tsne" and len(distinct) >= _FEWEST_FOR_TSNE:
        tsne = library("sklearn.manifold").TSNE(
            perplexity=min(_PERPLEXITY, (len(distinct) - 1) / 3),
            init="random" if distinct.shape[1] < 2 else "pca",
            random_state=0,
        )
        return "tsne", tsne.fit_transform(distinct)[inverse.ravel()]
    places = numpy.zeros((len(distinct), 2))
    kept = min(2, len(distinct) - 1, distinct.shape[1])
    if kept:
        pca = library("sklearn.decomposition").PCA(kept, svd_solver="full")
        places[:, :kept] = pca.fit_transform(distinct)
    return "pca", places[inverse.ravel()]


def _clusters(old: Any, new: Any) -> tuple[list[int], list[int]]:
    """Return k-means labels of both states with one k, the same where most notes are the same."""
    unique = library("numpy").unique
    distinct = min(len(unique(rows, axis=0)) for rows in (old, new))
    k_means = library("sklearn.cluster").KMeans
    best: tuple[float, Any] = (float("-inf"), None)
    for k in range(2, min(len(COLOURS), distinct - 1) + 1):
        labels = [k_means(k, n_init=4, random_state=0).fit_predict(rows) for rows in (old, new)]
        pairs = zip((old, new), labels, strict=True)
        score = sum(_silhouette(rows, groups) or 0.0 for rows, groups in pairs)
        if score > best[0]:
            best = (score, labels)
    if best[1] is None:
        return [0] * len(old), [0] * len(new)
    return _matched(*best[1])


def _matched(old: Any, new: Any) -> tuple[list[int], list[int]]:
    """Number the newer clusters by size, and the older ones as those that share most notes."""
    numpy = library("numpy")
    shared = library("sklearn.metrics").confusion_matrix(old, new)
    rank = numpy.argsort(numpy.argsort(-shared.sum(axis=0), kind="stable"))
    _, partner = library("scipy.optimize").linear_sum_assignment(shared, maximize=True)
    return rank[partner[old]].tolist(), rank[new].tolist()


def _silhouette(rows: Any, labels: Sequence[Any]) -> float | None:
    """Return the mean silhouette by cosine; None unless there are 2 to n - 1 groups."""
    if not 2 <= len(set(labels)) < len(rows):
        return None
    score = library("sklearn.metrics").silhouette_score(rows, list(labels), metric="cosine")
    return float(score)


def draw_map(data: MapData, title: str, subtitle: str, *, evolution: bool) -> Any:
    """Return a Plotly figure with both states side by side; without `evolution`, the newer one.

    Notes that evolution moved have a ring.
    """
    panels = [("as first understood", data.before)] if evolution else []
    panels.append(("as stored now", data.after))
    scores = ["–" if s.silhouette is None else f"{s.silhouette:.3f}" for _, s in panels]
    figure = new_figure(
        title, subtitle, 640, hovermode="closest", margin={"l": 30, "r": 30, "t": 130, "b": 30}
    ).set_subplots(
        cols=len(panels),
        horizontal_spacing=_GAP,
        subplot_titles=[
            f"<b>{name}</b>, silhouette {score}"
            for (name, _), score in zip(panels, scores, strict=True)
        ],
    )
    points = [point for _, state in panels for point in state.points]
    frame = {"mirror": True, "showline": True}
    figure.update_xaxes({**bare_axis([point.x for point in points]), **frame})
    figure.update_yaxes({**bare_axis([point.y for point in points]), **frame})
    few = len(data.after.points) <= _FEW
    ring = 1.8 if few else 0.8
    for column, (_, state) in enumerate(panels, start=1):
        for group, (colour, symbol) in look(data.groups).items():
            points = [point for point in state.points if point.group == group]
            figure.add_scatter(
                # A group without notes in this state stays in the legend.
                x=[point.x for point in points] or [None],
                y=[point.y for point in points] or [None],
                row=1,
                col=column,
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
                hovertext=[_box(point) for point in points],
                name=text.escaped(group),
                legendgroup=text.escaped(group),
                showlegend=column == len(panels),
            )
    return figure


def _box(point: MapPoint) -> str:
    rows = (("context", point.context), ("moved", f"{point.moved:.3f}"))
    return text.hover(point.content, rows)


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
        >>> len(picture.data.after.points)
        2
    """
    home = as_namespace(namespace)
    check_limit(limit)
    notes, before, after = memory.perform(lambda _, io: _read_vectors(io, home, evolution, limit))
    data = map_data(notes, before, after, method=method, by=by, limit=limit)
    title = f"Embedding map of {namespace_name(home)}"
    remarks = remarks_of(memory, home, len(notes), min(len(notes), limit), "the newest")
    if data.method != method:
        remarks += ("t-SNE needs five different vectors; this is PCA.",)
    if not data.after.points:
        return empty_picture(title, data)
    moved = sum(point.moved > 0 for point in data.after.points)
    ringed = (
        f", {moved:,} changed by evolution (ringed)" if moved else ", none changed by evolution"
    )
    subtitle = (
        f"{shown_of(len(data.after.points), len(notes))}{ringed if evolution else ''}; "
        f"{'PCA' if data.method == 'pca' else 't-SNE'}; colours and shapes are "
        f"{'k-means clusters' if by == 'cluster' else f'{by}s'}"
    )
    figure = draw_map(data, title, subtitle, evolution=evolution)
    return Picture(figure, title, data, data.rows, remarks)


async def _read_vectors(
    io: IO, home: Namespace, evolution: bool, limit: int
) -> tuple[list[Note], Mapping[str, Vector], Mapping[str, Vector]]:
    notes = await notes_of(io, home)
    shown = notes[:limit]
    entries = await entries_of(io, shown) if evolution else [Entry(note) for note in shown]
    return notes, *await vectors_before_and_after(io, entries)
