"""The contract of a storage engine, as tests that any `Engine` can be put to."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest

from amem_integrations.core.engine import Engine, Point, Query, SparseVector
from amem_integrations.core.filters import EVERYTHING, HasId, Not, Range, both, match
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.errors import StoreClosedError

EAST, NORTH, NORTH_EAST = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.6, 0.8, 0.0, 0.0]


def _id(number: int) -> str:
    return str(uuid.UUID(int=number))


def _point(number: int, *dense: list[float], terms: Iterable[int] = (), **payload: Any) -> Point:
    sparse = SparseVector(tuple(terms), tuple(1.0 for _ in terms)) if terms else None
    fields = {"kind": "note", "ns": "a", "version": 1, **payload}
    return Point(_id(number), fields, list(dense), sparse)


class EngineContract(ABC):
    """What every engine must do; a subclass says how one is opened. Needs pytest-asyncio.

    Vectors in these tests have four dimensions.

    Examples:
        >>> from contextlib import contextmanager
        >>> from amem_integrations.testing import EngineContract
        >>> class TestMyEngine(EngineContract):  # in a module that pytest collects
        ...     @contextmanager
        ...     def open_engine(self):
        ...         yield MyEngine(dimension=4)
        >>> len([name for name in dir(TestMyEngine) if name.startswith("test_")]) > 10
        True
    """

    @abstractmethod
    def open_engine(self) -> AbstractContextManager[Engine]:
        """Open a new, empty engine that is closed when the context ends."""

    @pytest.fixture
    def engine(self) -> Iterator[Engine]:
        with self.open_engine() as engine:
            yield engine

    async def test_points_come_back_as_given_in_the_order_of_the_ids(self, engine: Engine) -> None:
        given = [
            _point(1, EAST, terms=(7,), content="记忆 \x00 🙂", links=[{"to": "x"}]),
            _point(2),
        ]
        assert await engine.insert(given) == frozenset()
        assert await engine.get([_id(2), _id(9), _id(1)]) == [
            Point(point.id, point.payload) for point in reversed(given)
        ]
        [found] = await engine.get([_id(1)], vectors=True)
        assert [list(vector) for vector in found.dense] == [EAST]
        assert found.sparse is not None
        assert found.sparse.indices == (7,)

    async def test_insert_reports_ids_that_are_taken_and_keeps_what_is_there(
        self, engine: Engine
    ) -> None:
        await engine.insert([_point(1, content="first")])
        taken = await engine.insert([_point(1, content="second"), _point(2)])
        assert taken == {_id(1)}
        [found] = await engine.get([_id(1)])
        assert found.payload["content"] == "first"
        assert await engine.count(EVERYTHING) == 2

    async def test_the_nearest_points_come_first_within_the_condition(self, engine: Engine) -> None:
        await engine.insert([_point(1, NORTH), _point(2, NORTH, EAST), _point(3, NORTH_EAST)])
        await engine.insert([_point(4, EAST, ns="b")])
        dense = Query(EAST, match("ns", "a"), 10)
        terms = Query(SparseVector((7,), (1.0,)), EVERYTHING, 10)
        near, none = await engine.query([dense, terms])
        assert [hit.id for hit in near] == [_id(2), _id(3), _id(1)]
        assert near[0].score >= near[1].score >= near[2].score
        assert none == []

    async def test_questions_are_compared_apart_from_passages(self, engine: Engine) -> None:
        asking = replace(_point(1, NORTH), questions=[NORTH, EAST])
        await engine.insert([asking, _point(2, EAST)])
        [found] = await engine.get([_id(1)], vectors=True)
        assert [list(vector) for vector in found.questions] == [NORTH, EAST]
        assert [list(vector) for vector in found.dense] == [NORTH]
        queries = [Query(EAST, EVERYTHING, 10, questions=each) for each in (True, False)]
        by_questions, by_passages = await engine.query(queries)
        assert [hit.id for hit in by_questions] == [_id(1)]
        assert [hit.id for hit in by_passages] == [_id(2), _id(1)]
        await engine.commit([_point(1, NORTH)], expect={_id(1): {}})
        assert await engine.query(queries[:1]) == [[]]

    async def test_a_query_returns_the_payload_fields_it_asks_for(self, engine: Engine) -> None:
        await engine.insert([_point(1, EAST, created_at=5, content="tea")])
        fields = ((), ("created_at",), ("content",), ("missing",))
        lists = await engine.query([Query(EAST, EVERYTHING, 1, fields=each) for each in fields])
        assert [dict(hit.payload) for [hit] in lists] == [
            {},
            {"created_at": 5},
            {"content": "tea"},
            {},
        ]
        [[hit]] = await engine.query([Query(EAST, EVERYTHING, 1, fields=None)])
        assert hit.payload["content"] == "tea"

    async def test_the_numbers_of_a_match_are_those_of_its_last_write(self, engine: Engine) -> None:
        async def found() -> list[dict[str, Any]]:
            query = Query(EAST, EVERYTHING, 2, fields=("sequence", "place"))
            [hits] = await engine.query([query])
            return [dict(hit.payload) for hit in hits]

        await engine.insert([_point(1, EAST, sequence=1, place=7)])
        for _ in range(2):
            assert await found() == [{"sequence": 1, "place": 7}]
        await engine.patch(_id(1), {"sequence": 2})
        assert await found() == [{"sequence": 2, "place": 7}]
        await engine.commit([_point(1, EAST, sequence=3)], expect={_id(1): {"version": 1}})
        assert await found() == [{"sequence": 3}]
        await engine.delete(EVERYTHING)
        assert await found() == []
        await engine.insert([_point(1, EAST, place=9)])
        assert await found() == [{"place": 9}]

    async def test_sparse_queries_find_shared_terms(self, engine: Engine) -> None:
        await engine.insert([_point(1, EAST, terms=(1, 2)), _point(2, EAST, terms=(2,))])
        await engine.insert([_point(3, EAST, terms=(5,))])
        asked = Query(SparseVector((1, 2), (1.0, 1.0)), match("ns", "a"), 10, match("ns", "a"))
        [hits] = await engine.query([asked])
        assert [hit.id for hit in hits] == [_id(1), _id(2)]

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            (EVERYTHING, {1, 2, 3}),
            (match("tags", "tea"), {1, 2}),
            (match("tags", "tea", "rye"), {1, 2, 3}),
            (Range("sequence", gte=2), {2, 3}),
            (Range("sequence", gt=1, lt=3), {2}),
            (Range("missing", gte=0), set[int]()),
            (HasId((_id(1), _id(9))), {1}),
            (Not(match("tags", "tea")), {3}),
            (AnyOf((match("speaker", "Ada"), match("tags", "rye"))), {1, 3}),
            (AnyOf(()), set[int]()),
            (both(match("tags", "tea"), Not(match("speaker", "Ada"))), {2}),
        ],
    )
    async def test_conditions(self, engine: Engine, where: Any, expected: set[int]) -> None:
        await engine.insert(
            [
                _point(1, tags=["tea", "four"], sequence=1, speaker="Ada"),
                _point(2, tags=["tea"], sequence=2),
                _point(3, tags=["rye"], sequence=3),
            ]
        )
        found = await engine.scroll(where, limit=10)
        assert {point.id for point in found} == {_id(number) for number in expected}
        assert await engine.count(where) == len(expected)

    async def test_scroll_pages_by_id_and_by_an_integer_field(self, engine: Engine) -> None:
        await engine.insert([_point(n, created_at=100 - n, content="text") for n in range(1, 6)])
        first = await engine.scroll(EVERYTHING, limit=2)
        rest = await engine.scroll(EVERYTHING, limit=9, after=first[-1].id)
        assert [point.id for point in [*first, *rest]] == [_id(n) for n in range(1, 6)]
        newest = await engine.scroll(
            EVERYTHING, limit=2, order_by="created_at", descending=True, start_from=98
        )
        assert [point.id for point in newest] == [_id(2), _id(3)]
        [part, *_] = await engine.scroll(EVERYTHING, limit=1, fields=("created_at",))
        assert part.payload == {"created_at": 99}

    async def test_facet_counts_points_by_value(self, engine: Engine) -> None:
        await engine.insert([_point(n, speaker="Ada" if n < 3 else "Bea") for n in range(1, 4)])
        assert await engine.facet("speaker", EVERYTHING, limit=10) == {"Ada": 2, "Bea": 1}

    async def test_commit_replaces_points_that_are_as_they_were_read(self, engine: Engine) -> None:
        await engine.insert([_point(1, EAST), _point(2)])
        failed = await engine.commit(
            [_point(1, NORTH, version=2)],
            expect={_id(1): {"version": 1, "expires_at": None}},
            present=[_id(2)],
            new=[_point(3)],
        )
        assert failed == frozenset()
        [one, three] = await engine.get([_id(1), _id(3)])
        assert (one.payload["version"], three.id) == (2, _id(3))

    @pytest.mark.parametrize(
        ("expect", "present", "failed"),
        [({"version": 7}, [], 1), ({"version": 1}, [_id(9)], 9), ({"expires_at": 5}, [], 1)],
    )
    async def test_a_commit_whose_check_fails_names_it_and_leaves_that_point(
        self, engine: Engine, expect: Any, present: list[str], failed: int
    ) -> None:
        await engine.insert([_point(1, EAST)])
        assert await engine.commit(
            [_point(1, NORTH, version=2)], expect={_id(1): expect}, present=present
        ) >= {_id(failed)}
        if failed == 1:
            [point] = await engine.get([_id(1)])
            assert point.payload["version"] == 1

    async def test_commit_never_brings_back_a_point_that_is_gone(self, engine: Engine) -> None:
        failed = await engine.commit([_point(1, EAST)], expect={_id(1): {"version": 1}})
        assert failed == {_id(1)}
        assert await engine.count(EVERYTHING) == 0

    async def test_patch_sets_fields_of_a_point_that_is_as_expected(self, engine: Engine) -> None:
        await engine.insert([_point(1, EAST, used_at=3)])
        await engine.patch(_id(1), {"used_at": 5}, expect={"used_at": 4})
        await engine.patch(_id(1), {"counted": 1}, expect={"used_at": 3})
        await engine.patch(_id(2), {"used_at": 5})
        assert [point.payload for point in await engine.scroll(EVERYTHING, limit=9)] == [
            {"kind": "note", "ns": "a", "version": 1, "used_at": 3, "counted": 1}
        ]

    async def test_delete_removes_what_meets_the_condition(self, engine: Engine) -> None:
        await engine.insert([_point(1), _point(2, ns="b")])
        await engine.delete(match("ns", "b"))
        assert [point.id for point in await engine.scroll(EVERYTHING, limit=9)] == [_id(1)]

    async def test_a_closed_engine_says_so(self, engine: Engine) -> None:
        await engine.flush()
        await engine.close()
        await engine.close()
        with pytest.raises(StoreClosedError):
            await engine.count(EVERYTHING)
