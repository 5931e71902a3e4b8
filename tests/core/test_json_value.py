"""The caller's JSON comes back exactly, and what JSON cannot hold is refused with its place."""

import datetime
import json
import math
from collections import UserDict
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.core import json_value
from amem_integrations.core.json_value import MAX_BYTES, MAX_DEPTH, dumps, loads
from amem_integrations.errors import InvalidInputError

text = st.text(max_size=8)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**80), 2**80),
    st.floats(allow_nan=False, allow_infinity=False),
    text,
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)


def nested(containers: int, inside: Any = None) -> Any:
    """`inside` within that many containers, objects and arrays in turn."""
    for level in range(containers):
        inside = [inside] if level % 2 else {"k": inside}
    return inside


def same(one: Any, other: Any) -> bool:
    """Equal in type and value all the way down; -0.0 is not 0.0, 1 is not True or 1.0."""
    if type(one) is not type(other):
        return False
    match one:
        case dict():
            return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
        case list():
            return len(one) == len(other) and all(map(same, one, other))
        case float():
            return one == other and math.copysign(1, one) == math.copysign(1, other)
        case _:
            return one == other


@given(json_values)
def test_a_value_comes_back_exactly(value: Any) -> None:
    assert same(loads(dumps("value", value)), value)


@pytest.mark.parametrize(
    "value",
    [
        2**70,
        -(2**70),
        2**53 + 1,
        10**4000,
        -0.0,
        5e-324,
        1.7976931348623157e308,
        0.1 + 0.2,
        1e22,
        "",
        "\x00",
        "\u2028\u2029",
        "\u202eabc",
        {"": {"": [[], {}, ""]}},
        {"b": 1, "a": 2, "B": 3},
        [True, 1, 1.0, "1", None],
        {"$ref": "x", "__proto__": 1, "a.b": 2, "a": {"b": 3}},
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_values_that_engines_would_change_come_back_exactly(value: Any) -> None:
    assert same(loads(dumps("value", value)), value)


@pytest.mark.parametrize("value", ["\ud83d", "a\udfffb", {"\ud800": 1}, ["é", "\udc00中"]])
def test_lone_surrogates_survive(value: Any) -> None:
    written = dumps("value", value)
    assert written.encode()
    assert loads(written) == value


@pytest.mark.parametrize("inside", [1, None, "text", [], {}])
def test_a_hundred_levels_are_kept(inside: Any) -> None:
    value = nested(MAX_DEPTH - isinstance(inside, list | dict), inside)
    assert same(loads(dumps("value", value)), value)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 200, 100_000])
@pytest.mark.parametrize("name", ["metadata", "value"])
def test_deeper_nesting_is_refused_by_name(name: str, depth: int) -> None:
    value: Any = nested(depth)
    with pytest.raises(InvalidInputError, match=f"^{name} is nested more than 100 levels deep"):
        dumps(name, value)


def test_a_value_that_holds_itself_is_refused() -> None:
    knot: list[Any] = []
    knot.append({"again": knot})
    with pytest.raises(InvalidInputError, match="nested"):
        dumps("value", knot)


class Odd:
    pass


@pytest.mark.parametrize(
    ("bad", "wrong"),
    [
        (math.nan, "nan"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (b"raw", "bytes"),
        (bytearray(b"raw"), "bytearray"),
        ({1, 2}, "set"),
        (frozenset(), "frozenset"),
        (datetime.datetime(2026, 1, 1), "datetime"),
        (datetime.date(2026, 1, 1), "date"),
        (1j, "complex"),
        (Odd(), "Odd"),
        (Odd, "type"),
        (range(3), "range"),
        (MappingProxyType({}), "mappingproxy"),
        (UserDict(), "UserDict"),
        (10**5000, "integer"),
        (-(10**5000), "integer"),
    ],
    ids=lambda part: part if isinstance(part, str) else type(part).__name__,
)
def test_what_json_cannot_hold_is_refused_with_its_place(bad: Any, wrong: str) -> None:
    for value, place in (
        (bad, r"metadata"),
        ({"a": {"b c": [1, bad]}}, r"metadata\.a\.b c\[\]"),
        ([{"x": bad}], r"metadata\[\]\.x"),
    ):
        with pytest.raises(InvalidInputError, match=rf"^{place} .*{wrong}"):
            dumps("metadata", value)


@pytest.mark.parametrize("key", [1, None, True, 1.5, ("a",), b"k"])
def test_a_key_that_is_not_a_string_is_refused_with_its_place(key: Any) -> None:
    with pytest.raises(InvalidInputError, match=rf"^value\.a.*{type(key).__name__}.*keys"):
        dumps("value", {"a": {"ok": 1, key: 2}})


def test_the_place_in_an_error_stays_readable() -> None:
    with pytest.raises(InvalidInputError) as caught:
        dumps("value", {"k" * 1_000_000: math.nan})
    assert len(str(caught.value)) < 500


def test_as_many_bytes_as_fit_are_kept_and_one_more_is_not() -> None:
    fitting = "x" * (MAX_BYTES - 2)
    assert loads(dumps("value", fitting)) == fitting
    with pytest.raises(InvalidInputError, match=f"^value .*{MAX_BYTES}"):
        dumps("value", fitting + "x")


@pytest.mark.parametrize("character", ["\u4e2d", "\ud800", "\n"])
def test_size_is_counted_in_bytes_as_written(character: str) -> None:
    with pytest.raises(InvalidInputError, match="bytes"):
        dumps("value", character * (MAX_BYTES // 2))


def doubled(times: int) -> Any:
    """2**times empty strings, in a few shared lists."""
    value: Any = ""
    for _ in range(times):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    "value",
    [doubled(60), ["x" * 1_000_000] * 1_000_000, [{"k" * 1_000_000: 1}] * 1_000_000],
    ids=["lists", "strings", "keys"],
)
def test_a_value_that_is_small_in_memory_and_endless_as_text_is_refused(
    value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_value, "MAX_BYTES", 100_000)
    with pytest.raises(InvalidInputError, match=r"^value .*bytes"):
        dumps("value", value)


def test_what_is_written_is_plain_json() -> None:
    assert json.loads(dumps("value", {"a": [1, "é"]})) == {"a": [1, "é"]}
    assert dumps("value", {"a": [1, "é"]}) == '{"a":[1,"é"]}'
