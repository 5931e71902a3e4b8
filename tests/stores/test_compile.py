"""Filters as conditions: an engine never hides a note that meets the filter.

For random notes and random filters, what an engine lets through and `matches` confirms is
what `matches` finds among all notes; and where the condition is called exact, the engine
alone finds the same. AMEM_TEST_EXAMPLES=10000 tries more of them than the 60 of each run.
"""

import os
import re
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from amem_integrations.core.engine import Engine
from amem_integrations.core.filters import All, Condition, HasId, Match, Not, Range
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.io import run
from amem_integrations.core.note import Note, Status, make_note
from amem_integrations.stores import facts
from amem_integrations.stores.codec import INDEXES, note_from, note_point, within
from amem_integrations.stores.filters import match as filters
from amem_integrations.stores.open import Encoders, open_store
from tests.stores.contract import EVERY_FORM

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MANY = settings(
    max_examples=int(os.environ.get("AMEM_TEST_EXAMPLES", "60")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

# Few values, so that notes and filters meet; the awkward ones, so that they would not.
keys = st.sampled_from(["a", "b", "a.b", "", "[]", "a[0]", '"', "\x00", "é", "🜁", "$gt"])
texts = st.sampled_from(
    ["", "a", "b", "1", "true", "A", '"a"', "\x00", "é", "e\u0301", "🜁", "\ud800"]
)
storable = st.sampled_from(
    ["a", "b", "A", "1", '"a"', "x\x00", "é", "🜁", "a b", str(uuid.UUID(int=1))]
)
integers = st.sampled_from(
    [0, 1, 2, -1, -2, 2**51, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62]
)
numbers = (
    integers
    | st.sampled_from(
        [0.0, 1.0, 1.5, -0.5, 0.1 + 0.2, 0.3, 2.0000000000000004, 1e-9, 1e300, 5e-324]
    )
    | st.sampled_from([10**30, 10**30 + 1, 10**400, 9007199254740993.0, 8802960325721447])
    | st.floats(allow_nan=False, allow_infinity=False)
)
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(keys, values, max_size=4)
moments = st.integers(-2, 2).map(lambda n: NOW + timedelta(microseconds=n)) | st.sampled_from(
    [datetime(1969, 12, 31, tzinfo=UTC), datetime(2060, 1, 1, 1, 1, 1, 1, UTC), datetime.max]
)
terms = st.lists(storable, max_size=3, unique=True).map(tuple)


@st.composite
def notes(draw: st.DrawFn) -> Note:
    fields = {
        "key": draw(storable.map(lambda key: key + uuid.uuid4().hex) | st.none()),
        "speaker": draw(st.none() | storable),
        "session": draw(st.none() | storable),
        "sequence": draw(st.none() | integers),
        "occurred_at": draw(st.none() | moments),
        "metadata": draw(objects),
        "value": draw(st.none() | values),
    }
    made = make_note(
        "The text", namespace="replaced", now=draw(moments).replace(tzinfo=UTC), **fields
    )
    status = draw(st.sampled_from([Status.RAW, Status.FORMED]))
    made = made.evolve(source_id=draw(st.none() | storable), status=status)
    return made.evolve(tags=draw(terms), keywords=draw(terms), id=str(uuid.uuid4()))


paths = st.lists(keys, max_size=3).flatmap(
    lambda rest: st.sampled_from(["metadata", "value"]).map(lambda root: (root, *rest))
)


def operators_on(value: st.SearchStrategy[Any], *, ranges: Any = None, contains: Any = None) -> Any:
    """One or two operators on a field that is compared with `value`."""
    kinds = {
        "$eq": value,
        "$ne": value,
        "$in": st.lists(value, max_size=3),
        "$nin": st.lists(value, max_size=3),
        "$exists": st.booleans(),
    }
    if contains is not None:
        kinds["$contains"] = contains
    if ranges is not None:
        kinds |= dict.fromkeys(["$gt", "$gte", "$lt", "$lte"], ranges)
    one = st.sampled_from(list(kinds)).flatmap(
        lambda operator: kinds[operator].map(lambda operand: {operator: operand})
    )
    return one | st.tuples(one, one).map(lambda pair: pair[0] | pair[1])


def field(names: list[str], tests: Any) -> Any:
    return st.tuples(st.sampled_from(names), tests).map(lambda pair: {pair[0]: pair[1]})


leaves = st.one_of(
    field(
        ["speaker", "session", "source_id", "key", "content", "context"],
        operators_on(texts | storable, ranges=texts),
    ),
    field(
        ["tags", "keywords"],
        operators_on(st.lists(texts | storable, max_size=2), contains=texts | storable),
    ),
    field(["status"], operators_on(st.sampled_from([*Status]))),
    field(
        ["sequence"],
        operators_on(numbers, ranges=numbers | st.sampled_from([float("inf"), -float("inf")])),
    ),
    field(["occurred_at", "created_at", "updated_at"], operators_on(moments, ranges=moments)),
    st.tuples(paths, operators_on(values, ranges=numbers | texts, contains=values)).map(
        lambda pair: {pair[0]: pair[1]}
    ),
)
written = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: {"$and": parts}),
        st.lists(inner, max_size=3).map(lambda parts: {"$or": parts}),
        inner.map(lambda part: {"$not": part}),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module", params=["edge", *(["local"] if EVERY_FORM else [])])
def open_engine(request: pytest.FixtureRequest) -> Iterator[Callable[[], Engine]]:
    """Gives an engine; a new one each time where deleting leaves the old points to be skipped."""
    if request.param == "edge":
        store = open_store(None, collection="amem", encoders=Encoders("test", 2, "test"))
        yield lambda: store.sync
        store.close()
    else:
        from amem_integrations.stores.server.client import open_client

        yield lambda: open_client(None, collection="amem", dimension=2).sync


def let_through(engine: Engine, stored: list[Note], condition: Condition) -> set[str]:
    """The ids of those of the notes, alone in a namespace, that the engine lets through."""
    name = uuid.uuid4().hex
    run(engine.insert([note_point(note.evolve(namespace=(name,)), [], None) for note in stored]))
    found = run(engine.scroll(within((name,), condition), limit=100))
    everything = run(engine.scroll(within((name,)), limit=100))
    assert {note_from(point).metadata_json for point in everything} == {
        note.metadata_json for note in stored
    }
    run(engine.delete(within((name,))))
    return {point.id for point in found}


@MANY
@given(
    stored=st.lists(notes(), min_size=1, max_size=4),
    filter=written,
    max_terms=st.sampled_from([4, 16, 512]),
)
def test_no_engine_hides_a_note_that_meets_the_filter(
    open_engine: Callable[[], Engine], stored: list[Note], filter: Any, max_terms: int
) -> None:
    kept = facts.MAX_TERMS
    facts.MAX_TERMS = max_terms
    try:
        check(open_engine(), stored, filter)
    finally:
        facts.MAX_TERMS = kept


def check(engine: Engine, stored: list[Note], filter: Any) -> None:
    parsed = filters.parse(filter)
    compiled = filters.compile(parsed)
    wanted = {note.id for note in stored if filters.matches(parsed, note)}
    through = let_through(engine, stored, compiled.condition)
    assert wanted <= through
    if compiled.exact:
        assert wanted == through


@MANY
@given(stored=numbers, bound=numbers, operator=st.sampled_from(["$gt", "$gte", "$lt", "$lte"]))
@example(stored=2.0000000000000004, bound=2, operator="$gt")
@example(stored=1.9999999999999998, bound=2, operator="$lt")
@example(stored=2**53 + 1, bound=2**53, operator="$gt")
@example(stored=9007199254740993, bound=9007199254740992.0, operator="$gt")
def test_no_engine_hides_a_number_in_range(
    open_engine: Callable[[], Engine], stored: float, bound: float, operator: str
) -> None:
    near = [stored, bound]
    if isinstance(bound, float):
        near += [bound * (1 + 2.0**-52), bound * (1 - 2.0**-53)]
    made = [
        make_note("n", namespace="a", now=NOW, metadata={"x": number}).evolve(id=str(uuid.uuid4()))
        for number in near
        if abs(number) != float("inf")
    ]
    check(open_engine(), made, {"metadata.x": {operator: bound}})
    check(open_engine(), made, {"$not": {"metadata.x": {operator: bound}}})


@MANY
@given(stored=moments, bound=moments, operator=st.sampled_from(["$gt", "$gte", "$lt", "$lte"]))
def test_times_are_compared_to_the_microsecond(
    open_engine: Callable[[], Engine], stored: datetime, bound: datetime, operator: str
) -> None:
    note = make_note("n", namespace="a", now=NOW, occurred_at=stored)
    check(open_engine(), [note], {"occurred_at": {operator: bound}})
    check(open_engine(), [note], {"$not": {"occurred_at": {operator: bound}}})


def test_text_that_no_engine_can_be_told_is_found_nowhere(
    open_engine: Callable[[], Engine],
) -> None:
    note = make_note("n", namespace="a", now=NOW, speaker="Ann").evolve(tags=("a",))
    for filter in (
        {"speaker": "\ud800"},
        {"speaker": {"$ne": "\ud800"}},
        {"tags": ["\ud800"]},
        {"tags": {"$contains": "\ud800"}},
        {"$not": {"tags": {"$contains": "\ud800"}}},
        {"content": "\ud800"},
    ):
        check(open_engine(), [note], filter)


def test_large_documents_are_never_hidden(open_engine: Callable[[], Engine]) -> None:
    large = {str(n): {"x": n} for n in range(2000)}
    note = make_note(
        "n", namespace="a", now=NOW, metadata={"large": large, "small": 1}, value=[*range(2000)]
    )
    for filter in (
        {"metadata.large.1999.x": 1999},
        {"metadata.large.1999.x": {"$gte": 1999}},
        {"metadata.large": large},
        {"metadata.large.77": {"x": 77}},
        {"value": {"$contains": 1999}},
        {"value": [*range(2000)]},
        {"metadata.large.1999": {"$exists": True}},
    ):
        assert filters.matches(filters.parse(filter), note)
        check(open_engine(), [note], filter)


def test_a_large_document_leaves_filters_on_its_small_keys_sharp() -> None:
    note = make_note(
        "n", namespace="a", now=NOW, metadata={"vector": [n / 7 for n in range(2000)], "kind": "x"}
    )
    terms = set(facts.derive(note).terms)
    for filter, wanted in (({"metadata.kind": "x"}, True), ({"metadata.kind": "y"}, False)):
        condition = filters.compile(filters.parse(filter)).condition
        assert isinstance(condition, Match)
        assert bool(terms & set(condition.values)) is wanted


@MANY
@given(filter=written)
def test_nothing_a_caller_writes_reaches_an_engine_as_a_path(filter: Any) -> None:
    for name in fields_in(filters.compile(filters.parse(filter)).condition):
        assert name in INDEXES or name == "key" or re.fullmatch(r"numbers\.n[0-9a-f]{24}", name)


def fields_in(condition: Condition) -> Iterator[str]:
    match condition:
        case Match(name, _):
            yield name
        case Range():
            yield condition.field
        case Not(part):
            yield from fields_in(part)
        case All(parts) | AnyOf(parts):
            for part in parts:
                yield from fields_in(part)
        case HasId():
            return
