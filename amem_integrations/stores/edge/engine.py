"""The embedded engine: Qdrant Edge in this process, on one directory.

One implementation serves the synchronous and the asynchronous form: the engine holds the GIL in
every call, so there is nothing to wait for, and no method ever suspends.
"""

import weakref
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast
from uuid import UUID

import qdrant_edge as edge

from amem_integrations.core.engine import Fields, Point, Query, Scored, SparseVector, Vector
from amem_integrations.core.filters import Condition, HasId, Range
from amem_integrations.errors import StoreClosedError
from amem_integrations.stores.checks import (
    check_commit,
    check_points,
    check_query,
    holds,
    is_id,
)
from amem_integrations.stores.codec import INDEXES, Index
from amem_integrations.stores.edge.shards import Shard
from amem_integrations.stores.filters.compile import Models

DENSE, QUESTIONS, SPARSE = "dense", "questions", "bm25"
_DELETED_AT_ONCE = 10_000
# They take some 25 MB.
_MOST_NUMBERS = 50_000


class EdgeEngine:
    """`core.engine.Engine` on one shard; several engines may share the shard.

    Vectors are stored normalised (cosine). Errors are StoreErrors, EmbeddingError for vectors
    that are none, InvalidFilterError for conditions that cannot be asked.
    """

    def __init__(self, shard: Shard, dimension: int) -> None:
        self._shard = shard
        self._dimension = dimension
        self._release = weakref.finalize(self, shard.release_quietly)

    exclusive = True

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        wanted = list(dict.fromkeys(id for id in ids if is_id(id)))
        with self._open().use() as opened:
            records = opened.retrieve(cast("list[edge.PointId]", wanted), True, vectors)
        found = {point.id: point for point in map(point_of, records)}
        return [found[id] for id in wanted if id in found]

    async def query(self, queries: Sequence[Query]) -> list[list[Scored]]:
        for query in queries:
            check_query(query, self._dimension)
        request = edge.QueryBatchRequest(_requests(queries))
        with self._open().use() as opened:
            # The engine makes a UUID each time that `id` is read: half of what a hit costs.
            lists = [
                [(cast("UUID", hit.id), hit) for hit in hits]
                for hits in opened.query_batch(request)
            ]
            wanted: dict[tuple[str, ...], dict[int, UUID]] = {}
            for query, hits in zip(queries, lists, strict=True):
                ids = wanted.setdefault(_numbers_of(query), {})
                ids.update([(id.int, id) for id, _ in hits])
            known = {names: self._numbers(opened, names, ids) for names, ids in wanted.items()}
            return [
                [
                    Scored(text, hit.score, hit.payload or numbers)
                    for id, hit in hits
                    for text, numbers in [found[id.int]]
                ]
                for query, hits in zip(queries, lists, strict=True)
                for found in [known[_numbers_of(query)]]
            ]

    def _numbers(
        self, opened: edge.EdgeShard, names: tuple[str, ...], ids: Mapping[int, UUID]
    ) -> Mapping[int, tuple[str, Mapping[str, Any]]]:
        """Points' ids as text and their indexed numbers, which are read from the index.

        A payload is read from the disk, and takes long.
        """
        kept = self._shard.numbers.setdefault(names, {})
        if len(kept) + len(ids) > _MOST_NUMBERS:
            kept.clear()
        missing = {number: id for number, id in ids.items() if number not in kept}
        if missing:
            found: dict[int, tuple[str, dict[str, Any]]]
            found = {number: (str(id), {}) for number, id in missing.items()}
            among = _MODELS.filter(must=[edge.HasIdCondition(set(missing.values()))])
            for name in names:
                request = edge.ScrollRequest(
                    limit=len(missing),
                    filter=among,
                    with_payload=False,
                    order_by=edge.OrderBy(name, edge.Direction.Asc, None),
                )
                for record in opened.scroll(request)[0]:
                    found[cast("UUID", record.id).int][1][name] = record.order_value
            kept |= found
        return kept

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
        """As in `core.engine.Engine`; points that share a value of `order_by` come in any order.

        Paging by `start_from` therefore asks for a field whose values are unique.
        """
        if limit <= 0:
            return []
        # The value by which it orders comes from the index; a payload is read from the disk.
        indexed = order_by if fields == (order_by,) else None
        order = None
        if order_by is not None:
            direction = edge.Direction.Desc if descending else edge.Direction.Asc
            order = edge.OrderBy(order_by, direction, start_from)
        with self._open().use() as opened:
            request = edge.ScrollRequest(
                # The offset is inclusive.
                offset=after,
                limit=limit + (after is not None),
                filter=_MODELS.compile(where),
                with_payload=True if fields is None else (not indexed and list(fields)) or False,
                order_by=order,
            )
            records, _ = opened.scroll(request)
        if indexed:
            return [Point(str(each.id), {indexed: each.order_value}) for each in records]
        points = [Point(str(record.id), record.payload or {}) for record in records]
        return [point for point in points if point.id != after][:limit]

    async def count(self, where: Condition) -> int:
        with self._open().use() as opened:
            return opened.count(edge.CountRequest(exact=True, filter=_MODELS.compile(where)))

    async def facet(
        self, key: str, where: Condition, *, limit: int, exact: bool = True
    ) -> dict[str, int]:
        with self._open().use() as opened:
            request = edge.FacetRequest(
                key, max(limit, 0), exact=exact, filter=_MODELS.compile(where)
            )
            hits = opened.facet(request).hits
        # Values that only points outside of `where` hold come with a count of zero.
        return {str(hit.value): hit.count for hit in hits if hit.count}

    async def insert(self, points: Sequence[Point]) -> frozenset[str]:
        check_points(points, self._dimension)
        with self._open().use() as opened:
            taken = _stored(opened, [point.id for point in points]).keys()
            free = {point.id: point for point in reversed(points) if point.id not in taken}
            self._upsert(list(free.values()), edge.UpdateMode.InsertOnly)
        return frozenset(taken)

    async def commit(
        self,
        points: Sequence[Point],
        *,
        expect: Mapping[str, Fields],
        present: Collection[str] = (),
        new: Sequence[Point] = (),
    ) -> frozenset[str]:
        """As in `core.engine.Engine`; a failed check writes nothing at all.

        The directory is this process's alone and its lock is held from the check to the end
        of the write, so no condition is written with the points and none is read back: the
        engine would judge it again when it replays its log, on what it had flushed by then.
        """
        check_commit(points, expect, new, self._dimension)
        with self._open().use() as opened:
            asked = [*expect, *present, *(point.id for point in new)]
            stored = _stored(opened, asked, *expect.values())
            failed = {id for id, fields in expect.items() if not holds(stored.get(id), fields)}
            failed.update(id for id in present if id not in stored)
            if not failed:
                free = [point for point in new if point.id not in stored]
                self._upsert([*points, *free], edge.UpdateMode.Upsert)
        return frozenset(failed)

    async def patch(
        self, id: str, payload: Mapping[str, Any], *, expect: Fields | None = None
    ) -> None:
        changed = Point(id, dict(payload))
        check_points([changed], self._dimension)
        with self._open().use() as opened:
            # Engines log an operation on a missing point, and its failure, for good.
            stored = _stored(opened, [id], expect or {})
            if holds(stored.get(id), expect or {}):
                operation = edge.UpdateOperation.set_payload([id], changed.payload)
                self._shard.update(operation, [id], _size(changed))

    async def delete(self, where: Condition) -> None:
        compiled = _MODELS.compile(where)
        with self._open().use() as opened:
            # Ids, not the filter: the log cannot be read again past a deeply nested one.
            if isinstance(where, HasId):
                _delete(self._shard, list(_stored(opened, where.ids)))
                return
            while True:
                request = edge.ScrollRequest(
                    limit=_DELETED_AT_ONCE, filter=compiled, with_payload=False
                )
                records, _ = opened.scroll(request)
                _delete(self._shard, [record.id for record in records])
                if len(records) < _DELETED_AT_ONCE:
                    return

    async def flush(self) -> None:
        self._open().flush()

    async def close(self) -> None:
        """Give the shard back; whoever else shares it goes on. Closing again does nothing."""
        if self._release.detach() is not None:
            self._shard.release()

    def _open(self) -> Shard:
        if not self._release.alive:
            raise StoreClosedError(f"The store in {self._shard.path} is closed. Open it again.")
        return self._shard

    def _upsert(self, points: Sequence[Point], mode: edge.UpdateMode) -> None:
        if not points:
            return
        converted = [edge_point(point) for point in points]
        operation = edge.UpdateOperation.upsert_points(converted, update_mode=mode)
        self._shard.update(operation, [point.id for point in points], sum(map(_size, points)))


def edge_point(point: Point) -> edge.Point:
    vectors: dict[str, Any] = {}
    if point.dense:
        vectors[DENSE] = [list(vector) for vector in point.dense]
    if point.questions:
        vectors[QUESTIONS] = [list(vector) for vector in point.questions]
    if point.sparse is not None and point.sparse.indices:
        vectors[SPARSE] = _sparse(point.sparse)
    return edge.Point(point.id, vectors, point.payload)


def point_of(record: edge.Record) -> Point:
    """What a record of the engine holds."""
    vectors = cast("dict[str, Any]", record.vector)
    if not vectors:
        return Point(str(record.id), record.payload or {})
    dense, questions = (
        cast("Sequence[Vector]", vectors.get(name, ())) for name in (DENSE, QUESTIONS)
    )
    sparse = cast("edge.SparseVector | None", vectors.get(SPARSE))
    return Point(
        str(record.id),
        record.payload or {},
        dense,
        None if sparse is None else SparseVector(tuple(sparse.indices), tuple(sparse.values)),
        questions,
    )


def _numbers_of(query: Query) -> tuple[str, ...]:
    """The fields that it wants, if all of them are indexed numbers."""
    fields = query.fields or ()
    return fields if all(INDEXES.get(name) is Index.INTEGER for name in fields) else ()


def _requests(queries: Sequence[Query]) -> list[edge.QueryRequest]:
    """One request a query; a vector or a condition that several share is taken apart once."""
    vectors = {(id(query.vector), query.questions): query.vector for query in queries}
    nearest = {key: _nearest(vector, key[1]) for key, vector in vectors.items()}
    conditions = {id(query.where): query.where for query in queries}
    filters = {key: _MODELS.compile(where) for key, where in conditions.items()}
    return [
        edge.QueryRequest(
            limit=max(query.limit, 0),
            query=nearest[id(query.vector), query.questions],
            filter=filters[id(query.where)],
            params=None if query.corpus is None else _over(query.corpus),
            with_payload=_payload_of(query),
        )
        for query in queries
    ]


def _nearest(vector: Vector | SparseVector, questions: bool) -> edge.Query:
    if isinstance(vector, SparseVector):
        return edge.Query.Nearest(_sparse(vector), using=SPARSE)
    return edge.Query.Nearest(list(vector), using=QUESTIONS if questions else DENSE)


def _over(corpus: Condition) -> edge.SearchParams:
    return edge.SearchParams(idf=edge.IdfParams(_MODELS.compile(corpus)))


def _payload_of(query: Query) -> bool | list[str]:
    if query.fields is None:
        return True
    return False if _numbers_of(query) == query.fields else list(query.fields)


def _sparse(vector: SparseVector) -> edge.SparseVector:
    return edge.SparseVector(list(vector.indices), list(vector.values))


def _stored(
    opened: edge.EdgeShard, ids: Collection[str], *expected: Fields
) -> dict[str, dict[str, Any]]:
    """Of those points that exist, the fields of which something is expected."""
    wanted = cast("list[edge.PointId]", [id for id in ids if is_id(id)])
    names = sorted({name for fields in expected for name in fields})
    records = opened.retrieve(wanted, names or False, False)
    return {str(record.id): record.payload or {} for record in records}


def _delete(shard: Shard, ids: "Sequence[edge.PointId]") -> None:
    if ids:
        operation = edge.UpdateOperation.delete_points(list(ids))
        shard.update(operation, map(str, ids), 64 * len(ids))


def _size(point: Point) -> int:
    """About how many bytes storing the point takes, log and all."""
    texts = sum(len(value) for value in point.payload.values() if isinstance(value, str))
    numbers = sum(len(vector) for vector in (*point.dense, *point.questions))
    return 8 * (texts + numbers)


def _match(field: str, values: list[Any]) -> edge.FieldCondition:
    match = edge.MatchValue(values[0]) if len(values) == 1 else edge.MatchAny(values)
    return edge.FieldCondition(field, match=match)


def _range(condition: Range) -> edge.FieldCondition:
    bounds = edge.RangeFloat(gt=condition.gt, gte=condition.gte, lt=condition.lt, lte=condition.lte)
    return edge.FieldCondition(condition.field, range=bounds)


_MODELS = Models(edge.Filter, lambda ids: edge.HasIdCondition(set(ids)), _match, _range)
