"""The engine over qdrant-client, written once as operations over a `call`.

How a call reaches a server or local mode is in `transport`; `client` puts the two together.

A write is known to have arrived by a token kept in the payload field `write`, since a server
does not say which points a conditional upsert left alone. The field is not part of a point.

Commits on a cluster, where each shard has several replicas and any node may die:

- Writes have the ordering `medium`. It sends all writes of a shard through one replica that is
  alive, and another takes over when that dies. `strong` would wait for a fixed one.
- What a commit expects, and whether it arrived, is read by `quorum`: more than half of the replicas
  are asked and all must agree. (`majority` needs every replica, dead ones included.) A write that
  was acknowledged by more than half shares a replica with each quorum, so a quorum that agrees on
  the token means that the write stands, and one without it that the write was left out.
- Two writers that read the same version: the leader orders their writes, the second one's condition
  fails on every replica, and its read-back finds no token.
- A writer that is cut off with a minority of the replicas gets an error and not an acknowledgement.
  What it wrote there is replaced when the replica is recovered from the others.
- A read-back that meets an older copy: the replicas disagree, and a quorum leaves such points out.
  They must not count as gone (the caller would take back what they caused), so they are looked for
  on any replica, and read again until the replicas agree; if they do not, StoreUnavailableError.
"""

import uuid
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

from qdrant_client import models

from amem_integrations.core.engine import Fields, Point, Query, Scored, SparseVector
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.filters import Condition, Not, Range, both, ids, match
from amem_integrations.errors import StoreError, StoreUnavailableError
from amem_integrations.stores.checks import (
    check_commit,
    check_points,
    check_query,
    holds,
    is_id,
)
from amem_integrations.stores.codec import INDEXES, Index
from amem_integrations.stores.server.filters import to_filter
from amem_integrations.stores.server.transport import Call, Caller

T = TypeVar("T")


class Ask(NamedTuple):
    """A way to call the client's methods on one collection, and to wait between calls."""

    call: Call
    collection: str
    pause: Callable[[float], Coroutine[Any, Any, None]]

    def __call__(self, name: str, **arguments: Any) -> Coroutine[Any, Any, Any]:
        return self.call(name, collection_name=self.collection, **arguments)


DENSE = "dense"
QUESTIONS = "questions"
SPARSE = "bm25"
WRITE = "write"
# Other writers may follow before a token is read back; theirs then stand before it.
_TOKENS_KEPT = 8
_INSERTED_AT_ONCE = 64
# How often points are read on which replicas disagree.
_READS = 5
_BETWEEN_READS = 0.1
# Further digits of a score are chance: local mode has others in another thread.
_DIGITS = 6


class ClientEngine:
    """`core.engine.Engine` over qdrant-client.

    Raises kinds of StoreError, and EmbeddingError or InvalidFilterError for what no engine
    can take; nothing was written then.
    """

    def __init__(
        self,
        caller: Caller,
        *,
        collection: str,
        dimension: int,
        exclusive: bool,
        close: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self.exclusive = exclusive
        self._caller = caller
        self._collection = collection
        self._dimension = dimension
        self._close = close

    def __repr__(self) -> str:
        return f"ClientEngine(collection={self._collection!r})"

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        wanted = [id for id in dict.fromkeys(ids) if is_id(id)]
        if not wanted:
            return []
        names = [DENSE, QUESTIONS, SPARSE] if vectors else False
        records = await self._ask("retrieve", ids=wanted, with_payload=True, with_vectors=names)
        found = {str(record.id): _point(record) for record in records}
        return [found[id] for id in wanted if id in found]

    async def query(self, queries: Sequence[Query]) -> list[list[Scored]]:
        for query in queries:
            check_query(query, self._dimension)
        requests = [_request(query) for query in queries if _can_match(query)]
        if not requests:
            return [[] for _ in queries]
        answers = iter(await self._ask("query_batch_points", requests=requests))
        return [
            [_scored(hit) for hit in next(answers).points] if _can_match(query) else []
            for query in queries
        ]

    async def scroll(
        self,
        where: Condition,
        *,
        limit: int,
        order_by: str | None = None,
        descending: bool = False,
        start_from: int | None = None,
        after: str | None = None,
        fields: tuple[str, ...] | None = None,
    ) -> list[Point]:
        if limit < 1:
            return []
        place: dict[str, Any] = {}
        if order_by is not None:
            _require_index(order_by, Index.INTEGER)
            direction = models.Direction.DESC if descending else models.Direction.ASC
            place["order_by"] = models.OrderBy(
                key=order_by, direction=direction, start_from=start_from
            )
        elif after is not None:
            # The engine starts with this very id, if it is still there.
            place["offset"] = after
            limit += 1
        records, _ = await self._ask(
            "scroll",
            scroll_filter=to_filter(where),
            limit=limit,
            with_payload=True if fields is None else list(fields) or False,
            **place,
        )
        points = [_point(record) for record in records]
        if "offset" not in place:
            return points
        return [point for point in points if point.id != after][: limit - 1]

    async def count(self, where: Condition) -> int:
        result = await self._ask("count", count_filter=to_filter(where), exact=True)
        return result.count

    async def facet(
        self, key: str, where: Condition, *, limit: int, exact: bool = True
    ) -> dict[str, int]:
        _require_index(key, Index.KEYWORD, Index.TENANT)
        if limit < 1:
            return {}
        result = await self._ask(
            "facet", key=key, facet_filter=to_filter(where), limit=limit, exact=exact
        )
        return {str(hit.value): hit.count for hit in result.hits}

    async def insert(self, points: Sequence[Point]) -> frozenset[str]:
        check_points(points, self._dimension)
        return await self._perform(partial(_insert, points))

    async def commit(
        self,
        points: Sequence[Point],
        *,
        expect: Mapping[str, Fields],
        present: Collection[str] = (),
        new: Sequence[Point] = (),
    ) -> frozenset[str]:
        """As in `core.engine.Engine`.

        Another writer can come between the check and the write. Then the points that are
        returned were left out and the others written, those of `new` among them.
        """
        check_commit(points, expect, new, self._dimension)
        return await self._perform(partial(_commit, points, expect, present, new))

    async def patch(
        self, id: str, payload: Mapping[str, Any], *, expect: Fields | None = None
    ) -> None:
        check_points([Point(id, dict(payload))], self._dimension)
        selector = to_filter(_unchanged(id, expect or {}))
        await self._perform(
            lambda ask: _write(ask, "set_payload", payload=dict(payload), points=selector)
        )

    async def delete(self, where: Condition) -> None:
        selector = models.FilterSelector(filter=to_filter(where))
        await self._perform(lambda ask: _write(ask, "delete", points_selector=selector))

    async def flush(self) -> None:
        """Does nothing: a write is kept when it returns."""

    async def close(self) -> None:
        """Close the store; closing it again does nothing."""
        await self._close()

    async def _ask(self, name: str, **arguments: Any) -> Any:
        return await self._perform(lambda ask: ask(name, **arguments))

    async def _perform(self, operation: Callable[[Ask], Coroutine[Any, Any, T]]) -> T:
        def on_collection(call: Call) -> Coroutine[Any, Any, T]:
            return operation(Ask(call, self._collection, self._caller.pause))

        return await self._caller.perform(on_collection)


# -- writing ---------------------------------------------------------------------------------


async def _insert(points: Sequence[Point], ask: Ask) -> frozenset[str]:
    token = uuid.uuid4().hex
    for start in range(0, len(points), _INSERTED_AT_ONCE):
        some = points[start : start + _INSERTED_AT_ONCE]
        await _write(
            ask,
            "upsert",
            points=[_struct(point, [token]) for point in some],
            update_mode=models.UpdateMode.INSERT_ONLY,
        )
    return await _without(token, points, ask)


async def _commit(
    points: Sequence[Point],
    expect: Mapping[str, Fields],
    present: Collection[str],
    new: Sequence[Point],
    ask: Ask,
) -> frozenset[str]:
    stored = await _stored([*expect, *present], ask, *expect.values())
    changed = {id for id, fields in expect.items() if not holds(stored.get(id), fields)}
    failed = changed | {id for id in present if id not in stored}
    if failed:
        return frozenset(failed)
    if new:
        # First, so that a crash in between leaves too much of them and not too little.
        await _insert(new, ask)
    if not points:
        return frozenset()
    token = uuid.uuid4().hex
    unchanged = AnyOf(tuple(_unchanged(point.id, expect[point.id]) for point in points))
    await _write(
        ask,
        "upsert",
        points=[_struct(point, [token, *stored[point.id].get(WRITE, [])]) for point in points],
        update_filter=to_filter(unchanged),
        update_mode=models.UpdateMode.UPDATE_ONLY,
    )
    return await _without(token, points, ask)


async def _write(ask: Ask, name: str, **arguments: Any) -> None:
    ordering = models.WriteOrdering.MEDIUM
    result = await ask(name, wait=True, ordering=ordering, **arguments)
    if result.status is not models.UpdateStatus.COMPLETED:
        raise StoreUnavailableError(
            f"The server took a write and did not finish it in time ({result.status}). "
            "It may still do so; writing it again is safe."
        )


async def _without(token: str, points: Iterable[Point], ask: Ask) -> frozenset[str]:
    """The ids of the points that this write did not reach."""
    wanted = [point.id for point in points]
    stored = await _stored(wanted, ask)
    return frozenset(id for id in wanted if token not in stored.get(id, {}).get(WRITE, []))


def _unchanged(id: str, fields: Fields) -> Condition:
    """The same as a condition, for the server to judge."""
    return both(
        ids([id]),
        *(
            Not(Range(name, gte=0)) if value is None else match(name, value)
            for name, value in fields.items()
        ),
    )


async def _stored(wanted: Iterable[str], ask: Ask, *expected: Fields) -> dict[str, dict[str, Any]]:
    """Write tokens, and what something is expected of, of the points that exist.

    Raises StoreUnavailableError if the replicas disagree.
    """
    known = [id for id in dict.fromkeys(wanted) if is_id(id)]
    if not known:
        return {}
    retrieve = partial(
        ask,
        "retrieve",
        with_payload=sorted({WRITE, *(name for fields in expected for name in fields)}),
        with_vectors=False,
    )
    found: dict[str, dict[str, Any]] = {}
    for turn in range(_READS):
        await ask.pause(turn * _BETWEEN_READS)
        records = await retrieve(ids=known, consistency=models.ReadConsistencyType.QUORUM)
        found |= {str(record.id): record.payload or {} for record in records}
        known = [id for id in known if id not in found]
        # A point on which replicas disagree is missing from the answer, like one that is gone.
        if known and (records := await retrieve(ids=known)):
            known = [str(record.id) for record in records]
            continue
        return found
    raise StoreUnavailableError(
        f"The replicas disagree about {len(known)} of the points that were read, so it is not "
        "certain what is stored. Nothing is lost; try again when all nodes are up and recovered."
    )


# -- points and queries ----------------------------------------------------------------------


def _struct(point: Point, tokens: Sequence[str]) -> models.PointStruct:
    vectors: dict[str, Any] = {}
    if point.dense:
        vectors[DENSE] = [[float(value) for value in vector] for vector in point.dense]
    if point.questions:
        vectors[QUESTIONS] = [[float(value) for value in vector] for vector in point.questions]
    if point.sparse is not None and point.sparse.indices:
        vectors[SPARSE] = _sparse(point.sparse)
    payload = {**point.payload, WRITE: list(tokens[:_TOKENS_KEPT])}
    return models.PointStruct(id=point.id, vector=vectors, payload=payload)


def _sparse(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(
        indices=list(vector.indices), values=[float(value) for value in vector.values]
    )


def _scored(hit: models.ScoredPoint) -> Scored:
    return Scored(str(hit.id), round(hit.score, _DIGITS), _payload(hit.payload))


def _point(record: models.Record) -> Point:
    vectors = cast("dict[str, Any]", record.vector) if isinstance(record.vector, dict) else {}
    sparse = vectors.get(SPARSE)
    return Point(
        str(record.id),
        _payload(record.payload),
        vectors.get(DENSE) or (),
        None if sparse is None else SparseVector(tuple(sparse.indices), tuple(sparse.values)),
        vectors.get(QUESTIONS) or (),
    )


def _payload(stored: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (stored or {}).items() if name != WRITE}


def _can_match(query: Query) -> bool:
    """Whether there is anything to ask: a query without terms finds nothing."""
    return query.limit > 0 and not (
        isinstance(query.vector, SparseVector) and not query.vector.indices
    )


def _request(query: Query) -> models.QueryRequest:
    if isinstance(query.vector, SparseVector):
        nearest, using = _sparse(query.vector), SPARSE
    else:
        nearest = [[float(value) for value in query.vector]]
        using = QUESTIONS if query.questions else DENSE
    params = None
    if query.corpus is not None:
        corpus = models.IdfCorpusParams(corpus=to_filter(query.corpus))
        params = models.SearchParams(idf=corpus)
    return models.QueryRequest(
        query=models.NearestQuery(nearest=nearest),
        using=using,
        filter=to_filter(query.where),
        params=params,
        limit=query.limit,
        with_payload=True if query.fields is None else list(query.fields) or False,
    )


def _require_index(field: str, *kinds: Index) -> None:
    # Local mode would do without; a server refuses.
    if INDEXES.get(field) not in kinds:
        wanted = " or ".join(kinds)
        raise StoreError(f"Field {field!r} has no {wanted} index, which this needs.")
