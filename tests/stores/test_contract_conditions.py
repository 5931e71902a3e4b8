"""What conditions mean, on every engine: by examples, and against their meaning in Python."""

import operator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
from amem_integrations.errors import InvalidFilterError
from amem_integrations.stores.open import Store
from tests.stores.contract import Driven, engine_fixture, store_fixture
from tests.stores.points import id_of, point

__all__ = ["engine_fixture", "store_fixture"]

EAST = [1.0, 0.0, 0.0, 0.0]
DAY = 86_400_000_000
NOW = 1_795_000_000_000_000


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
    (EVERYTHING, EVERYBODY),
    (AnyOf(()), NOBODY),
    (Not(EVERYTHING), NOBODY),
    (Not(AnyOf(())), EVERYBODY),
    (match("ns", '["a"]'), {"ana", "ben"}),
    (match("ns", '["a"]', '["b"]'), {"ana", "ben", "dee", "eve"}),
    (Match("ns", ()), NOBODY),
    (TEA, {"ana", "ben"}),
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
    (Not(match("speaker", "dée")), EVERYBODY - {"eve"}),
    (Range("sequence", gte=2), {"ben", "cai"}),
    (Range("sequence", gt=1, lt=3), {"ben"}),
    (Range("sequence", gt=1.5, lte=2.5), {"ben"}),
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
    (All((TEA, Range("sequence", gte=2))), {"ben"}),
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


@pytest.mark.parametrize(("condition", "names"), CASES, ids=range(len(CASES)))
async def test_a_condition_lets_exactly_the_right_points_through(
    people: Store, condition: Condition, names: set[str]
) -> None:
    for form, engine in (("sync", people.sync), ("async", people.asynchronous)):
        driven = Driven(engine, form)
        found = await driven.scroll(condition, limit=10)
        assert {point.id for point in found} == {id_of(name) for name in names}
        assert await driven.count(condition) == len(names)


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
async def test_conditions_nested_beyond_measure_are_refused(engine: Driven, depth: int) -> None:
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


def holds(condition: Condition, point: Point) -> bool:
    """What conditions mean, in Python."""
    match condition:
        case Match(field, values):
            held = point.payload.get(field)
            held = held if isinstance(held, list) else [held]
            return any(value in held for value in values)
        case Range(field, gt, gte, lt, lte):
            held = point.payload.get(field)
            bounds = ((gt, operator.gt), (gte, operator.ge), (lt, operator.lt), (lte, operator.le))
            return isinstance(held, int) and all(
                bound is None or compare(held, bound) for bound, compare in bounds
            )
        case HasId(ids):
            return point.id in ids
        case All(parts):
            return all(holds(part, point) for part in parts)
        case AnyOf(parts):
            return any(holds(part, point) for part in parts)
        case Not(part):
            return not holds(part, point)


def conditions() -> st.SearchStrategy[Condition]:
    texts = st.sampled_from(["tea", "缓存", "dée", '["a"]', '["b"]', "nothing"])
    small = st.integers(-1, 4)
    bound = st.none() | small | st.sampled_from([0.5, 1.5, 2.5])
    leaves = st.one_of(
        st.builds(
            lambda field, values: Match(field, tuple(values)),
            st.sampled_from(["ns", "keywords", "speaker"]),
            st.lists(texts, max_size=3),
        ),
        st.builds(lambda values: Match("sequence", tuple(values)), st.lists(small, max_size=3)),
        st.builds(Range, st.just("sequence"), gt=bound, gte=bound, lt=bound, lte=bound),
        st.builds(
            lambda names: HasId(tuple(map(id_of, names))),
            st.lists(st.sampled_from([*PEOPLE, "nobody"]), max_size=3),
        ),
    )

    def combined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
        parts = st.lists(inner, max_size=3).map(tuple)
        return st.builds(Not, inner) | st.builds(All, parts) | st.builds(AnyOf, parts)

    return st.recursive(leaves, combined, max_leaves=12)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(condition=conditions())
def test_every_condition_means_the_same_everywhere(people: Store, condition: Condition) -> None:
    found = run(people.sync.scroll(condition, limit=10))
    expected = {point.id for point in PEOPLE.values() if holds(condition, point)}
    assert {point.id for point in found} == expected
