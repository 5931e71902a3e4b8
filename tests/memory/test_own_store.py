"""A store that somebody else wrote takes the place of ours: a dictionary, here."""

import math
import operator as ops
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.engine import Engine, Fields, Point, Query, Scored, SparseVector
from amem_integrations.core.filters import All, Condition, HasId, Match, Not, Range
from amem_integrations.errors import InvalidInputError, StoreClosedError, StoreMismatchError
from amem_integrations.testing import EngineContract, HashEmbedder
from tests.support import EMBEDDER


def meets(point: Point, where: Condition) -> bool:
    match where:
        case HasId(ids):
            return point.id in ids
        case Not(part):
            return not meets(point, part)
        case All(parts):
            return all(meets(point, part) for part in parts)
        case Match(field, values):
            stored = point.payload.get(field)
            return bool(set(stored if isinstance(stored, list) else [stored]) & set(values))
        case Range(field, gt, gte, lt, lte):
            stored = point.payload.get(field)
            bounds = ((gt, ops.gt), (gte, ops.ge), (lt, ops.lt), (lte, ops.le))
            return stored is not None and all(
                bound is None or compare(stored, bound) for bound, compare in bounds
            )
        case _:
            return any(meets(point, part) for part in where.parts)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    size = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / size if size else 0.0


def chosen(point: Point, fields: tuple[str, ...] | None) -> dict[str, Any]:
    payload = point.payload
    return {name: payload[name] for name in payload if fields is None or name in fields}


class DictEngine:
    """An `Engine` in some sixty lines, as a stranger would write it. Without IDF."""

    exclusive = True

    def __init__(self) -> None:
        self.points: dict[str, Point] = {}
        self.closed = False

    def _open(self) -> dict[str, Point]:
        if self.closed:
            raise StoreClosedError("This store is closed.")
        return self.points

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        found = [self._open()[id] for id in dict.fromkeys(ids) if id in self._open()]
        return found if vectors else [Point(point.id, dict(point.payload)) for point in found]

    async def query(self, queries: Sequence[Query]) -> list[list[Scored]]:
        return [self._nearest(query) for query in queries]

    def _nearest(self, query: Query) -> list[Scored]:
        scores: list[Scored] = []
        for point in self._open().values():
            if not meets(point, query.where):
                continue
            if not isinstance(query.vector, SparseVector):
                vectors = point.questions if query.questions else point.dense
                if vectors:
                    best = max(cosine(query.vector, vector) for vector in vectors)
                    scores.append(Scored(point.id, best, chosen(point, query.fields)))
            elif point.sparse is not None:
                weights = dict(zip(query.vector.indices, query.vector.values, strict=True))
                pairs = zip(point.sparse.indices, point.sparse.values, strict=True)
                if total := sum(weights.get(index, 0.0) * value for index, value in pairs):
                    scores.append(Scored(point.id, total, chosen(point, query.fields)))
        return sorted(scores, key=lambda hit: -hit.score)[: query.limit]

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
        found = [point for point in self._open().values() if meets(point, where)]
        if order_by is None:
            found = sorted((p for p in found if after is None or p.id > after), key=lambda p: p.id)
        else:
            sign = -1 if descending else 1
            found = [point for point in found if order_by in point.payload]
            if start_from is not None:
                found = [p for p in found if sign * p.payload[order_by] >= sign * start_from]
            found.sort(key=lambda point: sign * point.payload[order_by])
        return [Point(point.id, chosen(point, fields)) for point in found[:limit]]

    async def count(self, where: Condition) -> int:
        return sum(meets(point, where) for point in self._open().values())

    async def facet(
        self, key: str, where: Condition, *, limit: int, exact: bool = True
    ) -> dict[str, int]:
        found = [point.payload.get(key) for point in self._open().values() if meets(point, where)]
        values = (value if isinstance(value, list) else [value] for value in found if value)
        return dict(Counter(each for value in values for each in value).most_common(limit))

    async def insert(self, points: Sequence[Point]) -> frozenset[str]:
        taken = frozenset(point.id for point in points if point.id in self._open())
        self.points.update({point.id: point for point in points if point.id not in taken})
        return taken

    def _as_expected(self, id: str, expect: Fields) -> bool:
        point = self._open().get(id)
        return point is not None and all(
            point.payload.get(name) == value for name, value in expect.items()
        )

    async def commit(
        self,
        points: Sequence[Point],
        *,
        expect: Mapping[str, Fields],
        present: Collection[str] = (),
        new: Sequence[Point] = (),
    ) -> frozenset[str]:
        failed = {id for id, fields in expect.items() if not self._as_expected(id, fields)}
        failed |= {id for id in present if id not in self.points}
        if not failed:
            self.points.update({point.id: point for point in points})
            await self.insert(new)
        return frozenset(failed)

    async def patch(
        self, id: str, payload: Mapping[str, Any], *, expect: Fields | None = None
    ) -> None:
        if self._as_expected(id, expect or {}):
            self.points[id].payload.update(payload)

    async def delete(self, where: Condition) -> None:
        for point in [point for point in self._open().values() if meets(point, where)]:
            del self.points[point.id]

    async def flush(self) -> None:
        self._open()

    async def close(self) -> None:
        self.closed = True


class DictStore:
    """A `Store` around it: the same engine for both forms."""

    def __init__(self) -> None:
        self.sync = self.asynchronous = DictEngine()
        self.location = "a dictionary"

    def close(self) -> None:
        self.sync.closed = True

    async def aclose(self) -> None:
        self.close()


class TestDictEngine(EngineContract):
    @contextmanager
    def open_engine(self) -> Iterator[Engine]:
        yield DictEngine()


async def test_a_memory_works_in_a_store_of_somebody_elses() -> None:
    store = DictStore()
    with AgenticMemory(store, embedder=EMBEDDER) as memory:
        first = memory.add("Calvin wants an LRU policy for the cache", session="s", sequence=1)
        second = await memory.aadd("The LRU policy of the cache is set", session="s", sequence=2)
        raw = memory.add("Tea is served at four", formation="off")
        assert [link.to for link in second.links] == [first.id]
        assert memory.search("Which cache policy?", k=1)[0].note.id in (first.id, second.id)
        assert memory.resume() == 1
        assert memory.recent(limit=1)[0].id == raw.id
        assert memory.forget(first).notes == 1
        assert memory.admin.check() == []
        assert [note.content for note in memory.recent()] == [raw.content, second.content]
        assert repr(memory) == "<AgenticMemory in a dictionary>"
    assert store.sync.closed


def test_a_store_that_was_written_with_another_embedder_is_refused() -> None:
    store = DictStore()
    AgenticMemory(store, embedder=EMBEDDER).close()
    store.sync.closed = False
    with pytest.raises(StoreMismatchError, match="embedder"):
        AgenticMemory(store, embedder=HashEmbedder(dimension=8))


@pytest.mark.parametrize("location", [5, b"memory", object()])
def test_what_is_neither_a_place_nor_a_store_is_refused(location: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"directory, .*URL.*Store"):
        AgenticMemory(location, embedder=EMBEDDER)
