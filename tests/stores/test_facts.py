"""Facts: what a note's metadata and value say, as terms and numbers an engine can compare."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.core.note import Note, make_note
from amem_integrations.stores import facts
from amem_integrations.stores.facts import derive, place_of
from tests.support import check_linear

NOW = datetime(2026, 1, 1, tzinfo=UTC)

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)


def note(**fields: Any) -> Note:
    return make_note("text", namespace="a", now=NOW, **fields)


def at(*keys: str) -> str:
    return place_of(("metadata", *keys))


def test_equal_numbers_are_one_term_and_other_types_are_others() -> None:
    same = {facts.equals(at("a"), value) for value in (1, 1.0)}
    zero = {facts.equals(at("a"), value) for value in (0, 0.0, -0.0)}
    others = {facts.equals(at("a"), value) for value in (1, True, "1", None, "true", 2, 1.5)}
    assert (len(same), len(zero), len(others)) == (1, 1, 7)


def test_a_path_is_not_confused_with_another_that_reads_the_same() -> None:
    paths = [("a", "b"), ("a.b",), ("a", "", "b"), ("ab",), ('a","b',), ("a", "b", "")]
    assert len({at(*path) for path in paths}) == len(paths)


def test_hostile_keys_become_plain_digests() -> None:
    keys = ['"', "[]", "a[0]", "a.b", "\x00", "\ud800", "🜁", "", "n" * 100_000, "numbers"]
    derived = derive(note(metadata=dict.fromkeys(keys, 1)))
    assert len(derived.numbers) == len(keys)
    assert all(re.fullmatch(r"n[0-9a-f]{24}", key) for key in derived.numbers)
    assert all(re.fullmatch(r"[0-9a-f]{24}", term) for term in derived.terms)


def test_what_is_not_listed_is_said_to_be_unlisted() -> None:
    big = {
        "small": 1,
        "vector": [float(n) for n in range(5000)],
        "deep": {"big": dict.fromkeys(map(str, range(5000)), 1)},
    }
    terms = derive(note(metadata=big)).terms
    assert len(terms) <= 2 * facts.MAX_TERMS
    assert facts.equals(at("small"), 1) in terms
    assert facts.unlisted(at("vector")) in terms
    assert facts.unlisted(at("deep", "big")) in terms
    assert facts.unlisted(at("deep")) not in terms
    assert facts.unlisted(at()) not in terms


def test_long_keys_and_many_rows_cost_what_they_count() -> None:
    check_linear(
        lambda size: derive(note(metadata={"k" * size: {str(n): n for n in range(200)}})), 1_000_000
    )
    check_linear(
        lambda size: derive(note(metadata={"rows": [{"n": n} for n in range(size)]})), 20_000
    )


@pytest.mark.parametrize("number", [2**53 + 1, 0.1 + 0.2, 1e-9, 10**400, -(10**400), 1.7e308])
def test_numbers_an_engine_would_change_have_a_bound_on_either_side(number: float) -> None:
    [bounds] = derive(note(metadata={"a": number})).numbers.values()
    assert isinstance(bounds, list)
    low, high = bounds
    assert low < high
    assert low <= number or number < -1e300
    assert number <= high or number > 1e300


json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


def equal(one: Any, other: Any) -> bool:
    """JSON equality, spelled out."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    return (type(one) in (int, float) and type(other) in (int, float) and one == other) or (
        type(one) is type(other) and not isinstance(one, list | dict) and one == other
    )


@given(json_values, json_values)
def test_canonical_forms_are_equal_exactly_when_the_values_are(one: Any, other: Any) -> None:
    assert (facts.canonical(one) == facts.canonical(other)) == equal(one, other)
    assert facts.canonical(one) == facts.canonical(one)
    hash(facts.canonical(one))
