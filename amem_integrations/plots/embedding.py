"""The embedding map as data: where each note lies, before and after evolution, and in what group.

Groups are judged in the space of the embedder, by cosine; only the picture has two dimensions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from amem_integrations.core.io import Vector
from amem_integrations.core.note import Note
from amem_integrations.errors import InvalidInputError
from amem_integrations.plots.groups import By, check_by, cluster_names, named_groups
from amem_integrations.plots.libraries import library
from amem_integrations.plots.palette import COLOURS, OTHERS, legend

Method: TypeAlias = Literal["pca", "tsne"]
METHODS = ("pca", "tsne")
_FEWEST_FOR_TSNE = 5
_PERPLEXITY = 30
_LIMITED = ("sklearn.cluster", "sklearn.manifold", "scipy.optimize")


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
        method: the one that was used; t-SNE makes no map of fewer than five different vectors, and
            PCA takes its place.
        total: notes with vectors that there are.

    Examples:
        >>> from amem_integrations.plots import map_data
        >>> note = memory.add("Tea is served at four")
        >>> data = map_data([note], {note.id: [1.0, 0.0]}, {note.id: [0.0, 1.0]}, by="tier")
        >>> data.groups, data.rows[0]["moved"]
        (('short',), 1.0)
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
    """Both states of those `notes` that have a vector in each; of more than `limit`, the first.

    Args:
        notes: what is to be shown.
        before: a vector by note id.
        after: likewise.
        method: "pca" or "tsne".
        by: "cluster" is k-means on each state by itself, with the one k in 2–7 whose mean
            silhouette over both is highest, so that neither is favoured; clusters of the two are
            paired by the notes that they share. "tag", "speaker", "session", "tier" are the same
            groups in both.
        limit: how many notes, at most.

    Raises:
        InvalidInputError: a value cannot be used.
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
    # So little is quicker on one thread: on a busy machine several mostly wait for each other.
    # Only what is loaded by then is limited.
    for name in _LIMITED:
        library(name)
    with library("threadpoolctl").threadpool_limits(1):
        return _mapped(shown, before, after, method, by, len(placed))


def _mapped(
    shown: Sequence[Note],
    before: Mapping[str, Vector],
    after: Mapping[str, Vector],
    method: Method,
    by: By,
    total: int,
) -> MapData:
    numpy = library("numpy")
    old, new = (_unit(numpy, [each[note.id] for note in shown]) for each in (before, after))
    moved = numpy.clip(1.0 - (old * new).sum(axis=1), 0.0, 2.0)
    moved[(old == new).all(axis=1)] = 0.0
    used, places = _projected(numpy, numpy.vstack([old, new]), method)
    if by == "cluster":
        labels_old, labels_new = _clusters(numpy, old, new)
        names = cluster_names(
            shown, dict(zip((note.id for note in shown), labels_new, strict=True))
        )
        groups_old, groups_new = (
            [names.get(label, f"cluster {label + 1}") for label in labels]
            for labels in (labels_old, labels_new)
        )
    else:
        named = named_groups(shown, by)
        groups_old = groups_new = [named[note.id] for note in shown]
    groups = legend(groups_new + groups_old)
    states = [
        MapState(
            tuple(
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
            ),
            _silhouette(vectors, labels),
        )
        for vectors, labels, at in (
            (old, groups_old, places[: len(shown)]),
            (new, groups_new, places[len(shown) :]),
        )
    ]
    return MapData(states[0], states[1], groups, used, total)


def _unit(numpy: Any, vectors: Sequence[Vector]) -> Any:
    rows = numpy.asarray(vectors, dtype=numpy.float64)
    length = numpy.linalg.norm(rows, axis=1, keepdims=True)
    return rows / numpy.where(length > 0, length, 1.0)


def _projected(numpy: Any, rows: Any, method: Method) -> tuple[Method, Any]:
    """Two dimensions for all rows at once; equal rows get the same place."""
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


def _clusters(numpy: Any, old: Any, new: Any) -> tuple[list[int], list[int]]:
    """k-means labels of both states with one k; the same number where most notes are the same."""
    distinct = min(len(numpy.unique(each, axis=0)) for each in (old, new))
    best: tuple[float, Any, Any] | None = None
    for k in range(2, min(len(COLOURS), distinct - 1) + 1):
        labels = [_k_means(each, k) for each in (old, new)]
        scores = [_silhouette(*pair) or 0.0 for pair in zip((old, new), labels, strict=True)]
        if best is None or sum(scores) > best[0]:
            best = (sum(scores), *labels)
    if best is None:
        return [0] * len(old), [0] * len(new)
    return _matched(numpy, best[1], best[2])


def _k_means(rows: Any, k: int) -> Any:
    return library("sklearn.cluster").KMeans(k, n_init=4, random_state=0).fit_predict(rows)


def _matched(numpy: Any, old: Any, new: Any) -> tuple[list[int], list[int]]:
    """Numbers by size in the newer state; in the older, those that share most notes."""
    k = int(max(old.max(), new.max())) + 1
    shared = numpy.zeros((k, k), dtype=int)
    numpy.add.at(shared, (old, new), 1)
    rank = numpy.empty(k, dtype=int)
    rank[numpy.argsort(-shared.sum(axis=0), kind="stable")] = numpy.arange(k)
    theirs, ours = library("scipy.optimize").linear_sum_assignment(shared, maximize=True)
    partner = numpy.empty(k, dtype=int)
    partner[theirs] = ours
    return rank[partner[old]].tolist(), rank[new].tolist()


def _silhouette(rows: Any, labels: Sequence[Any]) -> float | None:
    """The mean silhouette by cosine; None unless there are 2 to n - 1 groups."""
    if not 2 <= len(set(labels)) < len(rows):
        return None
    score = library("sklearn.metrics").silhouette_score(rows, list(labels), metric="cosine")
    return float(score)
