"""The cocoon index: how far links keep to notes that are alike anyway.

Clusters come from the vectors alone, so that links are held against something they did not
make. `maintain` looks for bridges when the index is high. An extension of the paper.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

from amem_integrations.core.filters import match
from amem_integrations.core.io import IO, Vector
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Link
from amem_integrations.lifecycle.consensus import SHOWN
from amem_integrations.lifecycle.link_decay import faded
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import load

_SAMPLE = 512
_MOST_CLUSTERS = 16
_ROUNDS = 20


async def clusters_of(
    io: IO, namespace: Namespace, policy: Policy
) -> tuple[dict[str, int], list[Link]]:
    """The clusters of some hundred notes and of those that they link to, and these links."""
    where = within(namespace, match("status", *SHOWN))
    sample = [point.id for point in await io.engine.scroll(where, limit=_SAMPLE, fields=("kind",))]
    now = io.now()
    notes = await load(io, sample, namespace)
    links = [faded(link, now, policy) for note in notes.values() for link in note.outgoing]
    ids = list(dict.fromkeys([*sample, *(link.to for link in links)]))[: 4 * _SAMPLE]
    points = [point for point in await io.engine.get(ids, vectors=True) if point.dense]
    found = clusters([list(point.dense[0]) for point in points])
    return {point.id: each for point, each in zip(points, found, strict=True)}, links


def cocoon(clusters: Mapping[str, int], links: Iterable[Link]) -> float:
    """The share of link weight inside clusters, less what chance gives.

    Chance: the sum of the squares of the clusters' shares in all ends of links (Newman's
    modularity). 0 without links, and where everything is one cluster.
    """
    inside = whole = 0.0
    weights: dict[int, float] = {}
    for link in links:
        if link.source in clusters and link.to in clusters:
            one, other = clusters[link.source], clusters[link.to]
            whole += link.weight
            inside += link.weight * (one == other)
            for each in (one, other):
                weights[each] = weights.get(each, 0.0) + link.weight / 2
    if not whole:
        return 0.0
    return inside / whole - sum((weight / whole) ** 2 for weight in weights.values())


def clusters(vectors: Sequence[Vector]) -> list[int]:
    """A number for each vector, the same for those of a cluster: k-means by cosine.

    k grows with the root of half their number, to 16 at most. The same each time.
    """
    import numpy as np

    if len(vectors) < 2:
        return [0] * len(vectors)
    points = np.asarray(vectors, dtype=np.float32)
    points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
    count = max(2, min(_MOST_CLUSTERS, round(sqrt(len(vectors) / 2))))
    # From the first, each next centre is the point that is farthest from those before.
    chosen = [0]
    nearness = points @ points[0]
    while len(chosen) < count:
        chosen.append(int(np.argmin(nearness)))
        nearness = np.maximum(nearness, points @ points[chosen[-1]])
    centres = points[chosen]
    labels = np.argmax(points @ centres.T, axis=1)
    for _ in range(_ROUNDS):
        for each in range(count):
            members = points[labels == each]
            if len(members):
                centre = members.mean(axis=0)
                centres[each] = centre / max(float(np.linalg.norm(centre)), 1e-12)
        again = np.argmax(points @ centres.T, axis=1)
        if np.array_equal(again, labels):
            break
        labels = again
    return [int(each) for each in labels]
