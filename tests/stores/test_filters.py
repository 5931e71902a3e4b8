"""What a filter over notes means."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from amem_integrations.core.filters import EVERYTHING
from amem_integrations.core.note import Note, Status, make_note
from amem_integrations.stores.filters import match
from amem_integrations.stores.filters.match import matches, parse

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def note(**fields: Any) -> Note:
    later = ("tags", "keywords", "context", "source_id")
    given = {name: fields.pop(name) for name in later if name in fields}
    status = fields.pop("status", Status.RAW)
    return make_note("The text", namespace="a", now=NOW, **fields).evolve(status=status, **given)


def meets(filter: Any, **fields: Any) -> bool:
    return matches(parse(filter), note(**fields))


# -- equality --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "asked", "equal"),
    [
        (1, 1.0, True),
        (1.0, 1, True),
        (0, -0.0, True),
        (1, True, False),
        (True, 1, False),
        (True, True, True),
        (1, "1", False),
        ("true", True, False),
        (None, None, True),
        (None, False, False),
        (None, 0, False),
        ("", None, False),
        ([1, 2], [1.0, 2], True),
        ([1, 2], (1, 2), True),
        ([1, 2], [2, 1], False),
        ([1], 1, False),
        (1, [1], False),
        ([], [], True),
        ({}, {}, True),
        ([], {}, False),
        ({"a": 1, "b": [True]}, {"b": [True], "a": 1.0}, True),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": None}, {}, False),
        (2**53 + 1, 2**53, False),
        (2**53 + 1, float(2**53), False),
        (10**300, 1e300, False),
        ("é", "e\u0301", False),
    ],
)
def test_equality_is_that_of_json(stored: Any, asked: Any, equal: bool) -> None:
    given = {"metadata": {"x": stored}, "value": stored}
    for field in ("metadata.x", "value"):
        if field == "value" and stored is None:
            continue  # a note without a value
        assert meets({field: {"$eq": asked}}, **given) is equal
        assert meets({field: {"$ne": asked}}, **given) is not equal
        assert meets({field: {"$in": [asked]}}, **given) is equal
        assert meets({field: {"$nin": [asked]}}, **given) is not equal


def test_a_dict_without_operators_is_an_object_to_be_equal_to() -> None:
    assert meets({"metadata.x": {"a": {"b": 1}}}, metadata={"x": {"a": {"b": 1}}})
    assert not meets({"metadata.x": {"a": {"b": 1}}}, metadata={"x": {"a": {"b": 1}, "c": 2}})
    assert meets({"metadata": {"x": 1}}, metadata={"x": 1})
    assert meets({"metadata": {}})
    assert meets({"metadata.x": {"$eq": {"$gt": 1}}}, metadata={"x": {"$gt": 1}})


def test_statuses_are_asked_by_name_or_value() -> None:
    assert meets({"status": Status.FORMED}, status=Status.FORMED)
    assert meets({"status": "formed"}, status=Status.FORMED)
    assert meets({"status": {"$nin": ["raw", "parked"]}}, status=Status.FORMED)


# -- containing, existing, missing -----------------------------------------------------------


def test_a_missing_field_differs_from_nothing_as_in_the_sql_stores() -> None:
    for test in ({"$ne": 1}, {"$nin": [1]}, {"$nin": []}, {"$lt": 1}, {"$eq": None}):
        assert not meets({"metadata.x": test})
    assert not meets({"speaker": {"$ne": "Ann"}})
    assert meets({"speaker": {"$ne": "Ann"}}, speaker="Bob")
    assert meets({"metadata.x": {"$ne": 1}}, metadata={"x": None})
    assert meets({"$not": {"speaker": "Ann"}})
    assert meets({"$not": {"metadata.x": 1}})


def test_fields_that_are_optional_and_fields_that_are_lists() -> None:
    for name, value in (("speaker", "A"), ("session", "s"), ("sequence", 0), ("occurred_at", NOW)):
        assert meets({name: {"$exists": True}}, **{name: value})
        assert meets({name: {"$exists": False}})
    assert meets({"context": {"$exists": True}, "tags": {"$exists": True}})
    assert meets({"tags": ["a", "b"], "keywords": {"$in": [["x"], []]}}, tags=("a", "b"))
    assert not meets({"tags": ["b", "a"]}, tags=("a", "b"))
    assert meets({"tags": {"$contains": "db"}}, tags=("db", "cache"))
    for met in ("db", {"$in": ["x", "db"]}, {"$in": [["x"], "db"]}, {"$ne": "x"}, {"$nin": ["x"]}):
        assert meets({"tags": met}, tags=("db", "cache")), met
    for unmet in ("d", {"$in": ["x"]}, {"$in": []}, {"$ne": "db"}, {"$nin": ["x", "db"]}):
        assert not meets({"tags": unmet}, tags=("db", "cache")), unmet
    assert not meets({"tags": {"$contains": "d"}}, tags=("db", "cache"))
    assert meets({"source_id": "turn"}, source_id="turn")
    assert meets({"source_id": {"$exists": False}})


def test_paths_lead_through_objects_only() -> None:
    assert meets({"metadata.a.b.c": 1}, metadata={"a": {"b": {"c": 1}}})
    for stored in ([{"b": 1}], "b", None, 1):
        assert not meets({"metadata.a.b": 1}, metadata={"a": stored})
        assert not meets({"metadata.a.0": 1}, metadata={"a": stored})


def test_keys_with_dots_are_reached_by_a_tuple() -> None:
    stored = {"a.b": 1, "a": {"b": 2}, "": 3, "c": {"": 4}}
    assert meets({("metadata", "a.b"): 1}, metadata=stored)
    assert meets({("metadata", "a", "b"): 2}, metadata=stored)
    assert meets({"metadata.a.b": 2}, metadata=stored)
    assert meets({("metadata", ""): 3, ("metadata", "c", ""): 4}, metadata=stored)
    assert meets({("speaker",): "Ann"}, speaker="Ann")


@pytest.mark.parametrize("key", ['"', "[]", "a[0]", "\x00", "\ud800", "🜁", "$x", "n" * 100_000])
def test_any_key_can_be_asked_for(key: str) -> None:
    assert meets({("metadata", key): 1}, metadata={key: 1})
    assert not meets({("metadata", key): 1}, metadata={key + "x": 1})
    assert meets({f"metadata.{key}": {"$exists": True}}, metadata={key: 1})


# -- ranges ----------------------------------------------------------------------------------


def test_numbers_are_in_a_range_of_numbers() -> None:
    for stored, bounds in (
        (2, {"$gt": 1, "$lt": 3}),
        (2, {"$gte": 2, "$lte": 2.0}),
        (2.5, {"$gt": 2, "$lt": 3}),
        (-1, {"$lt": 0}),
        (2**53 + 1, {"$gt": 2**53}),
        (2**53 + 1, {"$gt": float(2**53)}),
        (10**400, {"$gt": 1e308}),
        (1, {"$lt": float("inf"), "$gt": float("-inf")}),
    ):
        assert meets({"metadata.x": bounds}, metadata={"x": stored})
    for bounds in ({"$gt": 2}, {"$lt": 2}, {"$gte": 3}, {"$lte": 1}, {"$gt": 1, "$lt": 2}):
        assert not meets({"metadata.x": bounds}, metadata={"x": 2})


def test_strings_are_in_a_range_of_strings_by_code_point() -> None:
    assert meets({"metadata.x": {"$gt": "B", "$lt": "a"}}, metadata={"x": "Z"})
    assert meets({"metadata.x": {"$gte": "10", "$lt": "9"}}, metadata={"x": "100"})
    assert meets({"metadata.x": {"$gt": "\uffff"}}, metadata={"x": "🜁"})
    assert meets({"session": {"$gte": "2026-01"}}, session="2026-02")


def test_values_of_another_type_are_in_no_range() -> None:
    for stored in ("5", True, None, [5], {"a": 5}):
        for operator in ("$gt", "$gte", "$lt", "$lte"):
            assert not meets({"metadata.x": {operator: 0}}, metadata={"x": stored})
    for operator in ("$gt", "$lt"):
        assert not meets({"metadata.x": {operator: "a"}}, metadata={"x": 5})


def test_times_are_compared_as_moments() -> None:
    shifted = NOW.astimezone(timezone(timedelta(hours=8)))
    for same in (
        NOW,
        NOW.replace(tzinfo=None),
        shifted,
        "2026-01-01T12:00:00Z",
        shifted.isoformat(),
    ):
        assert meets({"occurred_at": same}, occurred_at=NOW)
        assert meets({"created_at": {"$gte": same, "$lte": same}})
        assert not meets({"updated_at": {"$lt": same}})
    later = NOW + timedelta(microseconds=1)
    assert meets({"occurred_at": {"$gt": NOW, "$lte": later}}, occurred_at=later)
    assert meets({"occurred_at": {"$lt": "2026-01-02"}}, occurred_at=NOW)
    assert not meets({"occurred_at": {"$lt": later}})


# -- putting filters together ----------------------------------------------------------------


def test_all_of_nothing_holds_and_one_of_nothing_does_not() -> None:
    assert matches(parse(None), note())
    assert meets({})
    assert meets({"$and": []})
    assert not meets({"$or": []})
    assert not meets({"$not": {}})


def test_a_parsed_filter_does_not_change_with_what_it_was_made_from() -> None:
    written = {"metadata.x": {"$in": [[1, {"a": 2}]]}}
    parsed = parse(written)
    written["metadata.x"]["$in"][0].append(3)  # type: ignore[attr-defined]
    written["speaker"] = "Ann"  # type: ignore[assignment]
    assert matches(parsed, note(metadata={"x": [1, {"a": 2}]}))
    assert parsed == parse({"metadata.x": [1, {"a": 2}]})
    hash(parsed)


# -- on an engine ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filter", "exact", "narrows"),
    [
        ({}, True, False),
        ({"tags": {"$contains": "db"}}, True, True),
        ({"session": "s", "speaker": {"$nin": ["Ann"]}}, True, True),
        ({"$or": [{"status": "raw"}, {"$not": {"key": "k"}}]}, True, True),
        ({"created_at": {"$gte": NOW, "$lt": NOW + timedelta(days=1)}}, True, True),
        ({"sequence": {"$in": [1, 2.5]}}, True, True),
        ({"speaker": {"$exists": False}}, True, True),
        ({"metadata.x": 1}, False, True),
        ({"metadata.x": {"$gt": 1}}, False, True),
        ({"metadata.x": {"$in": [1, {"a": 2}]}}, False, True),
        ({"metadata.x": {"a": 1}}, False, True),
        ({"metadata.x": {"$ne": 1}}, False, True),
        ({"value.x": {"$contains": "a"}}, False, True),
        ({"$not": {"value.x": {"$contains": 1}}}, False, True),
        ({"tags": ["a"]}, False, True),
        ({"content": "The text"}, False, False),
        ({"session": {"$gt": "a"}}, False, True),
        ({"occurred_at": {"$lt": datetime(9999, 1, 1)}}, False, True),
    ],
)
def test_how_much_an_engine_decides_alone(filter: Any, exact: bool, narrows: bool) -> None:
    compiled = match.compile(parse(filter))
    assert compiled.exact is exact
    assert (compiled.condition != EVERYTHING) is narrows
