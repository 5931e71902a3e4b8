"""Co-use links, between notes that are used together and that nobody linked; and the echo index.

The index says how far links keep to notes that are alike anyway. Where it is high, `maintain` makes
more co-use links. An extension of the paper.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from math import hypot, sqrt

from amem_integrations.core.engine import Vector
from amem_integrations.core.filters import match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Link
from amem_integrations.core.status import SHOWN
from amem_integrations.lifecycle.confidence import current_link
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.tenure import occasion
from amem_integrations.revisions.change import ROUNDS, back_off, change_notes, revised
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import load
from amem_integrations.stores.uses import Use, queries_of, uses_of

CO_USE = "co-use"
"""The kind of a link between notes that are used together."""
_FULL = 6
"""In how many sessions notes must have been used together for a co-use link of weight 1."""
_MOST_OF_A_USE = 20
_MOST_QUERIES = 16
_BATCH = 64
_SAMPLE = 512
_MOST_CLUSTERS = 16
_ITERATIONS = 20

Pair = tuple[str, str]


async def link_co_used(
    io: IO,
    namespace: Namespace,
    uses: Sequence[Use],
    policy: Policy,
    analyst: str,
    *,
    sessions: int | None = None,
    is_wanted: Callable[[Pair], bool] = lambda pair: True,
) -> int:
    """Link the pairs of `uses` that were used together in enough sessions; returns how many.

    sessions: how many are enough, in place of the policy's. The later note makes the link.
    """
    needed = policy.co_use_sessions if sessions is None else sessions
    pairs = sorted(
        pair for pair in {pair for use in uses for pair in _pairs(use)} if is_wanted(pair)
    )
    made = 0
    for start in range(0, len(pairs), _BATCH):
        chunk = pairs[start : start + _BATCH]
        logs: dict[Pair, list[Use]] = {}
        for use in await uses_of(io, namespace, sorted({id for pair in chunk for id in pair})):
            for pair in _pairs(use):
                logs.setdefault(pair, []).append(use)
        for pair in chunk:
            log = logs.get(pair, [])
            count = len({occasion(use.session, use.at) for use in log})
            if count >= needed:
                weight = round(co_use_weight(count, await queries_of(io, log[-_MOST_QUERIES:])), 4)
                if weight >= policy.min_link_weight:
                    made += await _link(io, namespace, pair, weight, count, analyst)
    return made


def _pairs(use: Use) -> Iterable[Pair]:
    return combinations(sorted(use.notes)[:_MOST_OF_A_USE], 2) if use.outcome == "used" else ()


async def _link(
    io: IO, namespace: Namespace, pair: Pair, weight: float, count: int, analyst: str
) -> bool:
    reason = f"used together in {count} sessions"
    for tried in range(ROUNDS):
        await back_off(io, tried)
        notes = (await load(io, pair, namespace)).values()
        if len(notes) < 2 or any(note.status not in SHOWN for note in notes):
            return False
        if any(link.to in pair for note in notes for link in note.outgoing):
            return False
        earlier, later = sorted(notes, key=lambda note: (note.created_at, note.id))
        now = io.now()
        link = Link(later.id, earlier.id, reason, now, CO_USE, weight)
        after = later.evolve(links=(*later.outgoing, link))
        after = revised(later, after, "co-used", later.id, now, analyst, reason=reason)
        if await change_notes(io, [(later, after)]):
            return True
    return False


def divergence(queries: Sequence[Vector]) -> float:
    """Return 1 - the mean cosine of any two of the questions; 0 for fewer than two."""
    units = [[x / length for x in query] for query in queries if (length := hypot(*query)) > 0]
    pairs = list(combinations(units, 2))
    if not pairs:
        return 0.0
    return 1 - sum(sum(map(float.__mul__, a, b)) for a, b in pairs) / len(pairs)


def co_use_weight(sessions: int, queries: Sequence[Vector]) -> float:
    """Return the weight of a link between notes used together in so many sessions.

    It is 0, and no link, if the questions have nothing in common.
    """
    return max(0.0, min(1.0, sessions / _FULL) * (1 - divergence(queries)))


# -- the echo index --------------------------------------------------------------------------


async def clusters_of(
    io: IO, namespace: Namespace, policy: Policy
) -> tuple[dict[str, int], list[Link]]:
    """Return the clusters of some hundred notes and of those that they link to, and these links.

    Clusters come from the vectors alone, so that links are compared with what they did not make.
    """
    where = within(namespace, match("status", *SHOWN))
    sample = [point.id for point in await io.engine.scroll(where, limit=_SAMPLE, fields=("kind",))]
    now = io.now()
    notes = await load(io, sample, namespace)
    links = [current_link(link, now, policy) for note in notes.values() for link in note.outgoing]
    ids = list(dict.fromkeys([*sample, *(link.to for link in links)]))[: 4 * _SAMPLE]
    points = [point for point in await io.engine.get(ids, vectors=True) if point.dense]
    found = clusters([list(point.dense[0]) for point in points])
    return {point.id: cluster for point, cluster in zip(points, found, strict=True)}, links


def echo_index(clusters: Mapping[str, int], links: Iterable[Link]) -> float:
    """Return the share of link weight inside clusters, less what chance gives.

    Chance is the sum of the squares of the clusters' shares in all ends of links (Newman's
    modularity). 0 without links, and where everything is one cluster.
    """
    inside = whole = 0.0
    weights: dict[int, float] = {}
    for link in links:
        if link.source in clusters and link.to in clusters:
            ends = clusters[link.source], clusters[link.to]
            whole += link.weight
            inside += link.weight * (ends[0] == ends[1])
            for cluster in ends:
                weights[cluster] = weights.get(cluster, 0.0) + link.weight / 2
    if not whole:
        return 0.0
    return inside / whole - sum((weight / whole) ** 2 for weight in weights.values())


def clusters(vectors: Sequence[Vector]) -> list[int]:
    """Return the number of a cluster for each vector, by k-means of cosines; the same each time.

    k is the root of half their number, 16 at most.
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
    for _ in range(_ITERATIONS):
        for cluster in range(count):
            members = points[labels == cluster]
            if len(members):
                centre = members.mean(axis=0)
                centres[cluster] = centre / max(float(np.linalg.norm(centre)), 1e-12)
        before, labels = labels, np.argmax(points @ centres.T, axis=1)
        if np.array_equal(before, labels):
            break
    return [int(label) for label in labels]
