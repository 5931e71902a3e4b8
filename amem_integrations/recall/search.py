"""Search: a question in, the notes that answer it out, each with why it was found.

The query becomes a vector and terms; one batch asks the engine for each signal's own list;
`rank` makes one ranking of them; the best notes are read; `expand` follows their links.
No model is called on this path. `memory` calls `search`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from amem_integrations.errors import InvalidInputError
from amem_integrations.namespace import Namespace
from amem_integrations.note import Hit, Note
from amem_integrations.ports import IO, Query, SparseVector, Vector
from amem_integrations.recall.expand import expand, place
from amem_integrations.recall.options import DEFAULT_OPTIONS, RecallOptions
from amem_integrations.recall.rank import Ranked, Signal, fuse
from amem_integrations.recall.scope import Scope, scope_of
from amem_integrations.store.schema import within

# A query longer than this is embedded by its beginning; all of its words are still matched.
MAX_EMBEDDED_CHARS = 4000

_MIN_DEPTH = 32
_COUNTED_DEPTH = 1000
_PAGE = 256

# From which spread a list tells notes apart: cosines, and BM25 scores (a rare word is worth 3–6).
_DENSE_UNIT = 0.3
_SPARSE_UNIT = 1.0


async def search(
    io: IO,
    query: str,
    *,
    namespace: Namespace,
    k: int = 10,
    hops: int = 1,
    filter: Mapping[Any, Any] | None = None,
    at: datetime | None = None,
    options: RecallOptions = DEFAULT_OPTIONS,
) -> list[Hit]:
    """The `k` best notes of exactly this namespace, best first; fewer if fewer are there.

    hops: how many links may be followed from the best notes; 0 for none.
    filter: see `store.filter_language`. Archived and quarantined notes are left out unless
        the filter tests `status`. Linked notes must meet the filter too.
    at: as of then: notes that occurred later are left out, as are notes without
        `occurred_at` that were created later. A naive datetime is taken as UTC.
    Each hit's note carries the links that it made itself.
    Raises InvalidInputError for a blank query or a negative number, InvalidFilterError, and
    whatever the embedder or the store raises.
    """
    query = _readable(query)
    check_counts(k=k, hops=hops)
    scope = scope_of(namespace, filter, at)
    if k == 0:
        return []
    vector = await io.embed_query(query[:MAX_EMBEDDED_CHARS])
    terms = io.sparse.query(query)
    known: dict[str, Note | None] = {}
    depth = max(_MIN_DEPTH, 2 * k)
    while True:
        total = None
        if depth > _COUNTED_DEPTH:
            total = await io.engine.count(scope.where)
            depth = min(depth, total)
        if depth == 0:
            return []
        signals = await _signals(io, scope, vector, terms, depth, options)
        ranked = fuse(signals)
        hits = await _best(io, scope, ranked, k, known)
        complete = depth == total or all(len(signal.scores) < depth for signal in signals)
        if len(hits) == k or complete:
            break
        # Short of notes although a list was cut: not all that was read met the filter.
        depth *= 4
    if not (hops and hits and options.damping):
        return sorted(hits, key=place)
    by_id = {found.id: found for found in ranked}
    return await expand(io, scope, hits, by_id, vector, k=k, hops=hops, options=options)


def _readable(query: object) -> str:
    """The query without outer blanks; what is not valid Unicode becomes "?"."""
    if not isinstance(query, str) or not query.strip():
        raise InvalidInputError("The query is empty or blank; say what to look for.")
    return query.strip().encode("utf-8", "replace").decode()


def check_counts(**counts: object) -> None:
    for name, count in counts.items():
        if not isinstance(count, int) or count < 0:
            raise InvalidInputError(f"{name} is a whole number, 0 or more; got {count!r}.")


async def _signals(
    io: IO,
    scope: Scope,
    vector: Vector,
    terms: SparseVector,
    depth: int,
    options: RecallOptions,
) -> list[Signal]:
    """Each signal's own list of at most `depth` notes, in one round trip."""
    queries: dict[tuple[str, float, float], Query] = {}
    if options.dense:
        queries["dense", options.dense, _DENSE_UNIT] = Query(vector, scope.where, depth)
    if options.sparse and terms.indices:
        # IDF over the namespace, so that nobody else's notes move a score.
        queries["sparse", options.sparse, _SPARSE_UNIT] = Query(
            terms, scope.where, depth, corpus=within(scope.namespace)
        )
    if not queries:
        return []
    lists = await io.engine.query(list(queries.values()))
    return [
        Signal(name, {scored.id: scored.score for scored in found}, weight, unit)
        for (name, weight, unit), found in zip(queries, lists, strict=True)
    ]


async def _best(
    io: IO, scope: Scope, ranked: list[Ranked], k: int, known: dict[str, Note | None]
) -> list[Hit]:
    """The first `k` of `ranked` that may be returned; `known` keeps what was read already."""
    hits: list[Hit] = []
    start = 0
    while len(hits) < k and start < len(ranked):
        missing = k - len(hits)
        if start:
            # Reading a long list must not hold up everything else on the loop.
            await io.sleep(0)
            missing = max(missing, _MIN_DEPTH)
        page = ranked[start : start + min(missing, _PAGE)]
        start += len(page)
        unread = [found.id for found in page if found.id not in known]
        known.update(dict.fromkeys(unread))
        known.update(await scope.load(io, unread))
        for found in page:
            note = known[found.id]
            if note is not None:
                hits.append(Hit(note, found.score, found.why))
    return hits[:k]
