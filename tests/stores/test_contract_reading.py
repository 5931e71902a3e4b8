"""What every engine finds: queries, scrolling, counting, facets; and that it closes."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from amem_integrations.core.engine import Query, SparseVector
from amem_integrations.core.filters import (
    EVERYTHING,
    HasId,
    match,
)
from amem_integrations.errors import (
    EmbeddingError,
    StoreClosedError,
    StoreError,
)
from amem_integrations.stores.open import Store
from tests.stores.contract import KINDS, Driven, engine_fixture, open_kind, store_fixture
from tests.stores.points import id_of, point

__all__ = ["engine_fixture", "store_fixture"]

EAST = [1.0, 0.0, 0.0, 0.0]
NORTH = [0.0, 1.0, 0.0, 0.0]
NORTH_EAST = [1.0, 1.0, 0.0, 0.0]
WEST = [-1.0, 0.0, 0.0, 0.0]
DAY = 86_400_000_000
NOW = 1_795_000_000_000_000


def terms(*indices: int) -> SparseVector:
    return SparseVector(indices, (1.0,) * len(indices))


# -- queries -----------------------------------------------------------------------------------


async def test_the_nearest_come_first(engine: Driven) -> None:
    await engine.insert([point(1, [NORTH]), point(2, [EAST]), point(3, [NORTH_EAST])])
    ((first, second, third),) = await engine.query([Query(EAST, EVERYTHING, 10)])
    assert [first.id, second.id, third.id] == [id_of(2), id_of(3), id_of(1)]
    assert [first.score, second.score, third.score] == pytest.approx([1, math.sqrt(0.5), 0])


async def test_a_point_scores_by_its_best_passage(engine: Driven) -> None:
    await engine.insert([point(1, [WEST, NORTH, EAST]), point(2, [NORTH_EAST])])
    ((first, _),) = await engine.query([Query(EAST, EVERYTHING, 10)])
    assert first.id == id_of(1)
    assert first.score == pytest.approx(1)


async def test_a_query_stays_within_its_condition_and_limit(engine: Driven) -> None:
    await engine.insert([point(n, [EAST], ns="a" if n < 5 else "b") for n in range(1, 10)])
    (hits,) = await engine.query([Query(EAST, match("ns", "b"), 3)])
    assert len(hits) == 3
    assert {hit.id for hit in hits} <= {id_of(n) for n in range(5, 10)}


@pytest.mark.parametrize(
    ("fields", "payload"),
    [
        ((), {}),
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
    ((hit,), (whole,)) = await engine.query(
        [Query(EAST, EVERYTHING, 1, fields=fields), Query(EAST, EVERYTHING, 1, fields=None)]
    )
    assert hit.payload == payload
    [stored] = await engine.get([hit.id])
    assert whole.payload == stored.payload


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


async def test_no_query_no_list(engine: Driven) -> None:
    assert await engine.query([]) == []


@pytest.mark.parametrize(("limit", "found"), [(0, 0), (-1, 0), (1_000_000, 3)])
async def test_any_limit_can_be_asked_for(engine: Driven, limit: int, found: int) -> None:
    await engine.insert([point(n, [EAST], {1: 1.0}) for n in (1, 2, 3)])
    lists = await engine.query([Query(EAST, EVERYTHING, limit), Query(terms(1), EVERYTHING, limit)])
    assert [len(hits) for hits in lists] == [found, found]
    assert len(await engine.scroll(EVERYTHING, limit=limit)) == found
    assert len(await engine.facet("ns", EVERYTHING, limit=limit)) == min(found, 1)


async def test_a_query_without_terms_finds_nothing(engine: Driven) -> None:
    await engine.insert([point(1, [EAST], {1: 1.0}), point(2, terms={})])
    assert await engine.query([Query(terms(), EVERYTHING, 5)]) == [[]]


async def test_points_without_vectors_are_no_hits(engine: Driven) -> None:
    await engine.insert([point(1), point(2, [EAST]), point(3, terms={1: 1.0})])
    dense, sparse = await engine.query([Query(EAST, EVERYTHING, 5), Query(terms(1), EVERYTHING, 5)])
    assert ([hit.id for hit in dense], [hit.id for hit in sparse]) == ([id_of(2)], [id_of(3)])


@pytest.mark.parametrize("vector", [[1.0], [float("nan")] * 4, SparseVector((1,), (float("inf"),))])
async def test_what_is_no_vector_cannot_be_asked(engine: Driven, vector: Any) -> None:
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


async def test_chinese_is_found_by_its_terms(engine: Driven) -> None:
    edge = pytest.importorskip("qdrant_edge")
    encoder = edge.Bm25(
        edge.Bm25Config(tokenizer=edge.TokenizerType.Multilingual, stemmer=edge.DisabledStemmer())
    )
    said = ["用户希望为缓存系统添加LRU淘汰策略", "今天午饭吃什么", "Ana prefers tea to coffee"]
    for n, text in enumerate(said, 1):
        document = encoder.embed_document(text)
        weights = dict(zip(document.indices, document.values, strict=True))
        await engine.insert([point(n, terms=weights, content=text)])
    asked = encoder.embed_query("缓存淘汰策略")
    vector = SparseVector(tuple(asked.indices), tuple(asked.values))
    (hits,) = await engine.query([Query(vector, EVERYTHING, 3)])
    assert [hit.id for hit in hits] == [id_of(1)]


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


async def test_start_from_is_inclusive(engine: Driven) -> None:
    await engine.insert([point(n, sequence=n) for n in range(1, 6)])
    page = await engine.scroll(EVERYTHING, limit=9, order_by="sequence", start_from=4)
    assert [found.payload["sequence"] for found in page] == [4, 5]


async def test_ordering_leaves_out_points_without_the_field(engine: Driven) -> None:
    await engine.insert([point(1, sequence=1), point(2)])
    page = await engine.scroll(EVERYTHING, limit=9, order_by="sequence")
    assert [found.id for found in page] == [id_of(1)]


@pytest.mark.parametrize("field", ["place", "created_at"])
async def test_the_number_of_the_order_alone_comes_back_exactly(engine: Driven, field: str) -> None:
    numbers = {id_of(1): -(2**62), id_of(2): 0, id_of(3): 2**62 + 1, id_of(4): 2**63 - 1}
    await engine.insert([point(n, **{field: numbers[id_of(n)]}) for n in (3, 1, 4, 2)])
    await engine.insert([point(5), point(6, **{field: 8})])
    page = await engine.scroll(
        HasId((*numbers, id_of(5))), limit=9, order_by=field, fields=(field,)
    )
    assert [(found.id, found.payload) for found in page] == [
        (id, {field: number}) for id, number in numbers.items()
    ]


async def test_points_are_found_at_exactly_the_number_asked_for(engine: Driven) -> None:
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
async def test_scrolling_brings_the_fields_asked_for(
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


async def test_a_facet_gives_the_most_frequent_values_within_its_limit(engine: Driven) -> None:
    await engine.insert([point(n, speaker=f"s{n % 3}") for n in range(1, 6)])
    await engine.insert([point(9, speaker="s9")])
    assert await engine.facet("speaker", EVERYTHING, limit=2) == {"s1": 2, "s2": 2}


async def test_a_facet_that_need_not_be_exact_knows_the_values_that_are_there(
    engine: Driven,
) -> None:
    await engine.insert([point(n, speaker=f"s{n % 3}") for n in range(1, 6)])
    await engine.insert([point(9, ns="b", speaker="elsewhere")])
    await engine.delete(HasId((id_of(2), id_of(5))))
    facet = await engine.facet("speaker", match("ns", "a"), limit=9, exact=False)
    assert facet.keys() == {"s0", "s1"}


async def test_a_facet_can_list_a_thousand_namespaces(engine: Driven) -> None:
    await engine.insert([point(n, ns=f'["users","u{n}"]') for n in range(1000)])
    facet = await engine.facet("ns", match("kind", "note"), limit=100_000)
    assert facet == {f'["users","u{n}"]': 1 for n in range(1000)}


# -- closing -----------------------------------------------------------------------------------


CALLS: dict[str, Callable[[Driven], Any]] = {
    "get": lambda engine: engine.get([id_of(1)]),
    "query": lambda engine: engine.query([Query(EAST, EVERYTHING, 1)]),
    "scroll": lambda engine: engine.scroll(EVERYTHING, limit=1),
    "count": lambda engine: engine.count(EVERYTHING),
    "facet": lambda engine: engine.facet("ns", EVERYTHING, limit=1),
    "insert": lambda engine: engine.insert([point(1)]),
    "commit": lambda engine: engine.commit([point(1)], expect={id_of(1): {"version": 1}}),
    "patch": lambda engine: engine.patch(id_of(1), {"attempts": 1}),
    "delete": lambda engine: engine.delete(EVERYTHING),
}


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest) -> Store:
    return open_kind(request.param)


async def test_a_closed_store_says_so_whatever_is_asked_of_it(opened: Store) -> None:
    store = opened
    await store.aclose()
    for form, engine in (("sync", store.sync), ("async", store.asynchronous)):
        for call in CALLS.values():
            with pytest.raises(StoreClosedError, match="closed"):
                await call(Driven(engine, form))
    await store.aclose()
    store.close()
