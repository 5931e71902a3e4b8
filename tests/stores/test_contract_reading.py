"""What every engine finds: conditions, queries, scrolling, counting, facets.

What `EngineContract` asks already is not asked again.
"""

import math
from typing import Any

import pytest

from amem_integrations.core.engine import Point, Query, SparseVector
from amem_integrations.core.filters import (
    EVERYTHING,
    All,
    Condition,
    HasId,
    Match,
    Not,
    Range,
    match,
)
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.io import run
from amem_integrations.errors import EmbeddingError, InvalidFilterError, StoreError
from amem_integrations.stores.open import Store
from tests.stores.contract import Driven, engine_fixture, store_fixture
from tests.stores.points import id_of, point

__all__ = ["engine_fixture", "store_fixture"]

EAST = [1.0, 0.0, 0.0, 0.0]
NORTH = [0.0, 1.0, 0.0, 0.0]
NORTH_EAST = [1.0, 1.0, 0.0, 0.0]
DAY = 86_400_000_000
NOW = 1_795_000_000_000_000

# -- conditions --------------------------------------------------------------------------------

PEOPLE: dict[str, Point] = {
    name: point(name, **fields)
    for name, fields in {
        "ana": {"ns": '["a"]', "keywords": ["tea", "缓存"], "sequence": 1, "created_at": NOW},
        "ben": {"ns": '["a"]', "keywords": ["tea"], "sequence": 2, "created_at": NOW + 1},
        "cai": {"ns": '["a","b"]', "keywords": [], "sequence": 3, "created_at": NOW + DAY},
        "dee": {"ns": '["b"]', "speaker": "Dée \U0001f375", "numbers": {"n1": 0.5}},
        "eve": {"ns": '["b"]', "speaker": "dée", "numbers": {"n1": 2.0, "n2": -1.0}},
    }.items()
}
NOBODY: set[str] = set()
EVERYBODY = set(PEOPLE)
TEA = match("keywords", "tea")
CASES: list[tuple[Condition, set[str]]] = [
    (Not(EVERYTHING), NOBODY),
    (Not(AnyOf(())), EVERYBODY),
    (match("ns", '["a"]'), {"ana", "ben"}),
    (match("ns", '["a"]', '["b"]'), {"ana", "ben", "dee", "eve"}),
    (Match("ns", ()), NOBODY),
    (match("keywords", "缓存"), {"ana"}),
    (match("keywords", "te"), NOBODY),
    (match("keywords", "TEA"), NOBODY),
    (match("speaker", "Dée \U0001f375"), {"dee"}),
    (match("speaker", "de\u0301e"), NOBODY),
    (match("sequence", 1, 3), {"ana", "cai"}),
    (match("sequence", "1"), NOBODY),
    (match("keywords", 1), NOBODY),
    (match("ns", '["b"]', 1), {"dee", "eve"}),
    (match("nowhere", "x"), NOBODY),
    (Range("sequence", gt=1.5, lte=2.5), {"ben"}),
    (Range("sequence", gt=1, gte=1, lt=3, lte=3), {"ben"}),
    (Range("sequence", gt=0, gte=2, lt=9, lte=2), {"ben"}),
    (Range("sequence"), {"ana", "ben", "cai"}),
    (Range("sequence", gt=5, lt=1), NOBODY),
    (Range("created_at", gt=NOW), {"ben", "cai"}),
    (Range("created_at", lte=NOW + 1), {"ana", "ben"}),
    (Range("created_at", gte=NOW, lt=NOW + 1), {"ana"}),
    (Range("numbers.n1", gt=0.5), {"eve"}),
    (Range("numbers.n1", gte=0.5), {"dee", "eve"}),
    (Range("numbers.n2", lt=0), {"eve"}),
    (Range("keywords", gte=0), NOBODY),
    (HasId(()), NOBODY),
    (HasId((id_of("ana"), id_of("nobody"), "no uuid")), {"ana"}),
    (All((TEA, AnyOf(()))), NOBODY),
    (AnyOf((TEA, match("speaker", "dée"), AnyOf(()))), {"ana", "ben", "eve"}),
    (AnyOf((EVERYTHING,)), EVERYBODY),
    (All((Not(TEA), Not(HasId((id_of("eve"),))))), {"cai", "dee"}),
    (Not(AnyOf((TEA, All((match("ns", '["b"]'), Not(match("speaker", "dée"))))))), {"cai", "eve"}),
    (Not(Not(Not(TEA))), {"cai", "dee", "eve"}),
]


@pytest.fixture
def people(store: Store) -> Store:
    run(store.sync.delete(EVERYTHING))
    run(store.sync.insert(list(PEOPLE.values())))
    return store


def test_a_condition_selects_exactly_the_matching_points(people: Store) -> None:
    for condition, names in CASES:
        found = run(people.sync.scroll(condition, limit=10))
        assert {point.id for point in found} == {id_of(name) for name in names}, condition
        assert run(people.sync.count(condition)) == len(names), condition


def nest(depth: int) -> Condition:
    condition: Condition = TEA
    for _ in range(depth):
        condition = Not(condition)
    return condition


async def test_conditions_may_be_nested_fifty_deep(engine: Driven) -> None:
    await engine.insert([point("one", keywords=["tea"])])
    assert await engine.count(nest(50)) == 1
    await engine.delete(nest(50))
    assert await engine.count(EVERYTHING) == 0


@pytest.mark.parametrize("depth", [200, 5000])
async def test_conditions_nested_too_deep_are_refused(engine: Driven, depth: int) -> None:
    await engine.insert([point("one", [EAST], keywords=["tea"])])
    deep = nest(depth)
    for ask in (
        engine.count(deep),
        engine.scroll(deep, limit=1),
        engine.facet("ns", deep, limit=1),
        engine.delete(deep),
        engine.query([Query(EAST, deep, 1)]),
        engine.query([Query(SparseVector((1,), (1.0,)), EVERYTHING, 1, corpus=deep)]),
    ):
        with pytest.raises(InvalidFilterError):
            await ask
    assert await engine.count(EVERYTHING) == 1


# -- queries -----------------------------------------------------------------------------------


def terms(*indices: int) -> SparseVector:
    return SparseVector(indices, (1.0,) * len(indices))


async def test_scores_are_cosines(engine: Driven) -> None:
    await engine.insert([point(1, [NORTH]), point(2, [EAST]), point(3, [NORTH_EAST])])
    (hits,) = await engine.query([Query(EAST, EVERYTHING, 10)])
    assert [hit.score for hit in hits] == pytest.approx([1, math.sqrt(0.5), 0])


@pytest.mark.parametrize(
    ("fields", "payload"),
    [
        (("place",), {"place": 7}),
        (("place", "created_at"), {"place": 7, "created_at": NOW}),
        (("place", "speaker"), {"place": 7, "speaker": "Ada"}),
        (("used_at",), {}),
    ],
)
async def test_a_match_comes_with_the_fields_that_its_query_names(
    engine: Driven, fields: tuple[str, ...], payload: dict[str, Any]
) -> None:
    await engine.insert([point(1, [EAST], place=7, created_at=NOW, speaker="Ada")])
    ((hit,),) = await engine.query([Query(EAST, EVERYTHING, 1, fields=fields)])
    assert hit.payload == payload


async def test_each_query_gets_its_own_list(engine: Driven) -> None:
    await engine.insert([point(1, [EAST], {5: 1.0}), point(2, [NORTH], {6: 1.0})])
    lists = await engine.query(
        [
            Query(terms(6), EVERYTHING, 5, corpus=EVERYTHING),
            Query(EAST, EVERYTHING, 1),
            Query(terms(9), EVERYTHING, 5),
            Query(NORTH, EVERYTHING, 1),
        ]
    )
    assert [[hit.id for hit in hits] for hits in lists] == [[id_of(2)], [id_of(1)], [], [id_of(2)]]
    assert await engine.query([]) == []


@pytest.mark.parametrize(("limit", "found"), [(0, 0), (-1, 0), (1_000_000, 3)])
async def test_any_limit_can_be_asked_for(engine: Driven, limit: int, found: int) -> None:
    await engine.insert([point(n, [EAST], {1: 1.0}) for n in (1, 2, 3)])
    lists = await engine.query([Query(EAST, EVERYTHING, limit), Query(terms(1), EVERYTHING, limit)])
    assert [len(hits) for hits in lists] == [found, found]
    assert len(await engine.scroll(EVERYTHING, limit=limit)) == found
    assert len(await engine.facet("ns", EVERYTHING, limit=limit)) == min(found, 1)


async def test_what_has_no_vector_or_no_terms_is_no_hit(engine: Driven) -> None:
    await engine.insert([point(1), point(2, [EAST]), point(3, terms={1: 1.0}), point(4, terms={})])
    asked = [Query(vector, EVERYTHING, 5) for vector in (EAST, terms(1), terms())]
    dense, sparse, empty = await engine.query(asked)
    assert [hit.id for hit in dense] == [id_of(2)]
    assert [hit.id for hit in sparse] == [id_of(3)]
    assert empty == []


@pytest.mark.parametrize("vector", [[1.0], [float("nan")] * 4, SparseVector((1,), (float("inf"),))])
async def test_invalid_vectors_are_refused(engine: Driven, vector: Any) -> None:
    with pytest.raises(EmbeddingError):
        await engine.query([Query(vector, EVERYTHING, 5)])


async def test_rare_terms_weigh_more(engine: Driven) -> None:
    await engine.insert([point(n, terms={1: 1.0}) for n in range(1, 9)])
    await engine.insert([point(10, terms={2: 1.0})])
    (hits,) = await engine.query([Query(terms(1, 2), EVERYTHING, 20, corpus=EVERYTHING)])
    assert hits[0].id == id_of(10)
    assert hits[0].score > 2 * hits[1].score


async def test_writes_in_one_namespace_leave_the_scores_of_another_unchanged(
    engine: Driven,
) -> None:
    mine = match("ns", "a")
    await engine.insert([point(1, terms={1: 1.0, 2: 0.5}), point(2, terms={3: 1.0})])
    asked = [Query(terms(1, 2), mine, 5, corpus=mine)]
    before = await engine.query(asked)
    await engine.insert([point(100 + n, terms={1: 1.0, 2: 1.0}, ns="b") for n in range(50)])
    assert await engine.query(asked) == before
    await engine.delete(match("ns", "b"))
    assert await engine.query(asked) == before


# -- scrolling and counting --------------------------------------------------------------------


async def test_scrolling_by_id_visits_every_point_once_and_in_order(engine: Driven) -> None:
    await engine.insert([point(n, ns="a" if n % 3 else "b") for n in range(25, 0, -1)])
    seen: list[str] = []
    while page := await engine.scroll(match("ns", "a"), limit=4, after=seen[-1] if seen else None):
        assert len(page) <= 4
        seen += [found.id for found in page]
    assert seen == [id_of(n) for n in range(1, 26) if n % 3]


async def test_scrolling_goes_on_behind_a_point_that_was_deleted(engine: Driven) -> None:
    await engine.insert([point(n) for n in range(1, 7)])
    page = await engine.scroll(EVERYTHING, limit=3)
    await engine.delete(HasId((page[-1].id,)))
    rest = await engine.scroll(EVERYTHING, limit=3, after=page[-1].id)
    assert [found.id for found in rest] == [id_of(n) for n in (4, 5, 6)]


@pytest.mark.parametrize("descending", [False, True])
async def test_scrolling_by_a_unique_number_visits_every_point_in_its_order(
    engine: Driven, descending: bool
) -> None:
    await engine.insert([point(n, created_at=NOW + (n * 7) % 25) for n in range(25)])
    step, start, seen = (-1 if descending else 1), None, list[int]()
    while page := await engine.scroll(
        EVERYTHING, limit=4, order_by="created_at", descending=descending, start_from=start
    ):
        seen += [found.payload["created_at"] for found in page]
        start = seen[-1] + step
    assert seen == sorted((NOW + n for n in range(25)), reverse=descending)


@pytest.mark.parametrize("field", ["place", "created_at"])
async def test_the_number_of_the_order_alone_comes_back_exactly(engine: Driven, field: str) -> None:
    numbers = {id_of(1): -(2**62), id_of(2): 0, id_of(3): 2**62 + 1, id_of(4): 2**63 - 1}
    await engine.insert([point(n, **{field: numbers[id_of(n)]}) for n in (3, 1, 4, 2)])
    # Without the field a point is not in the order.
    await engine.insert([point(5), point(6, **{field: 8})])
    page = await engine.scroll(
        HasId((*numbers, id_of(5))), limit=9, order_by=field, fields=(field,)
    )
    assert [(found.id, found.payload) for found in page] == [
        (id, {field: number}) for id, number in numbers.items()
    ]


async def test_large_numbers_are_matched_exactly(engine: Driven) -> None:
    await engine.insert([point(n, place=2**62 + n) for n in range(1, 6)])
    near = match("place", 2**62 + 2, 2**62 + 4, 7)
    page = await engine.scroll(near, limit=9, order_by="place", fields=("place",))
    assert [found.payload["place"] - 2**62 for found in page] == [2, 4]


async def test_ordering_and_faceting_need_an_index(engine: Driven) -> None:
    await engine.insert([point(1, content="text", attempts=1)])
    with pytest.raises(StoreError):
        await engine.scroll(EVERYTHING, limit=1, order_by="attempts")
    with pytest.raises(StoreError):
        await engine.facet("content", EVERYTHING, limit=1)


@pytest.mark.parametrize(
    ("fields", "payload"),
    [(None, {"kind": "note", "ns": "a", "version": 1}), ((), {}), (("ns", "no"), {"ns": "a"})],
)
async def test_scrolling_returns_the_fields_asked_for(
    engine: Driven, fields: tuple[str, ...] | None, payload: dict[str, Any]
) -> None:
    await engine.insert([point(1, [EAST])])
    (found,) = await engine.scroll(EVERYTHING, limit=1, fields=fields)
    assert found.payload == payload
    assert list(found.dense) == []


async def test_a_facet_counts_points_by_value(engine: Driven) -> None:
    tags = {1: ["tea", "缓存"], 2: ["tea"], 3: ["tea", "tea"], 4: [], 5: ["cake"]}
    await engine.insert([point(n, tags=values) for n, values in tags.items()])
    await engine.insert([point(9, ns="b", tags=["other"])])
    facet = await engine.facet("tags", match("ns", "a"), limit=100)
    assert facet == {"tea": 3, "缓存": 1, "cake": 1}
    assert await engine.facet("tags", match("ns", "a"), limit=1) == {"tea": 3}


async def test_an_approximate_facet_has_the_existing_values(engine: Driven) -> None:
    await engine.insert([point(n, speaker=f"s{n % 3}") for n in range(1, 6)])
    await engine.insert([point(9, ns="b", speaker="elsewhere")])
    await engine.delete(HasId((id_of(2), id_of(5))))
    facet = await engine.facet("speaker", match("ns", "a"), limit=9, exact=False)
    assert facet.keys() == {"s0", "s1"}


async def test_a_facet_can_list_a_thousand_namespaces(engine: Driven) -> None:
    await engine.insert([point(n, ns=f'["users","u{n}"]') for n in range(1000)])
    facet = await engine.facet("ns", match("kind", "note"), limit=100_000)
    assert facet == {f'["users","u{n}"]': 1 for n in range(1000)}
