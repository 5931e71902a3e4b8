"""What a filter over notes means."""

import subprocess
import sys
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


def test_no_filter_and_an_empty_one_are_met_by_every_note() -> None:
    assert matches(parse(None), note())
    assert meets({})


def test_a_plain_value_stands_for_equality() -> None:
    assert meets({"speaker": "Ann"}, speaker="Ann")
    assert meets({"speaker": {"$eq": "Ann"}}, speaker="Ann")
    assert not meets({"speaker": "Ann"}, speaker="ann")


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
    given = {"metadata": {"x": stored}, "value": {"x": stored}}
    for field in ("metadata.x", "value.x"):
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


def test_a_value_may_be_anything_at_its_root() -> None:
    assert meets({"value": 3}, value=3)
    assert meets({"value": {"$contains": "x"}}, value=["x"])
    assert not meets({"value": 3}, value={"a": 3})
    assert meets({"value": {"$exists": False}})
    assert not meets({"value": None})


def test_lists_of_terms_are_compared_whole() -> None:
    assert meets({"tags": ["a", "b"]}, tags=("a", "b"))
    assert not meets({"tags": ["b", "a"]}, tags=("a", "b"))
    assert not meets({"tags": ["a"]}, tags=("a", "b"))
    assert meets({"keywords": {"$in": [["x"], []]}})


def test_one_of_several_values() -> None:
    for values in (["Ann", "Bob"], ("Bob",), {"Bob"}, frozenset({"Bob"})):
        assert meets({"speaker": {"$in": values}}, speaker="Bob")
    assert not meets({"speaker": {"$in": []}}, speaker="Bob")
    assert meets({"speaker": {"$nin": []}}, speaker="Bob")


def test_statuses_are_asked_by_name_or_value() -> None:
    assert meets({"status": Status.FORMED}, status=Status.FORMED)
    assert meets({"status": "formed"}, status=Status.FORMED)
    assert meets({"status": {"$nin": ["raw", "parked"]}}, status=Status.FORMED)


# -- containing, existing, missing -----------------------------------------------------------


def test_an_array_contains_an_element_and_a_text_contains_nothing() -> None:
    assert meets({"tags": {"$contains": "db"}}, tags=("db", "cache"))
    assert not meets({"tags": {"$contains": "d"}}, tags=("db", "cache"))
    stored = {"x": [1, "a", [2], {"b": True}]}
    for element, there in ((1.0, True), ("a", True), ([2], True), ({"b": True}, True)):
        assert meets({"metadata.x": {"$contains": element}}, metadata=stored) is there
    for element in (True, 2, "A", {"b": 1}, None):
        assert not meets({"metadata.x": {"$contains": element}}, metadata=stored)
    assert not meets({"metadata.x": {"$contains": "a"}}, metadata={"x": "abc"})
    assert not meets({"metadata.x": {"$contains": "a"}}, metadata={"x": {"a": 1}})


def test_null_is_there_and_a_missing_key_is_not() -> None:
    there, missing = {"x": None}, {"y": 1}
    assert meets({"metadata.x": {"$exists": True}}, metadata=there)
    assert not meets({"metadata.x": {"$exists": True}}, metadata=missing)
    assert meets({"metadata.x": {"$exists": False}}, metadata=missing)
    assert meets({"metadata.x": None}, metadata=there)
    assert not meets({"metadata.x": None}, metadata=missing)


def test_a_missing_field_differs_from_nothing_as_in_the_sql_stores() -> None:
    for test in ({"$ne": 1}, {"$nin": [1]}, {"$nin": []}, {"$lt": 1}, {"$eq": None}):
        assert not meets({"metadata.x": test})
    assert not meets({"speaker": {"$ne": "Ann"}})
    assert meets({"speaker": {"$ne": "Ann"}}, speaker="Bob")
    assert meets({"metadata.x": {"$ne": 1}}, metadata={"x": None})
    assert meets({"$not": {"speaker": "Ann"}})
    assert meets({"$not": {"metadata.x": 1}})


def test_optional_fields_exist_when_they_are_set() -> None:
    for name, value in (("speaker", "A"), ("session", "s"), ("sequence", 0), ("occurred_at", NOW)):
        assert meets({name: {"$exists": True}}, **{name: value})
        assert meets({name: {"$exists": False}})
    assert meets({"context": {"$exists": True}, "tags": {"$exists": True}})


def test_the_notes_of_one_turn_are_found_by_its_key() -> None:
    assert meets({"source_id": "turn"}, source_id="turn")
    assert not meets({"source_id": "turn"}, source_id="turn 2")
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


def test_a_sequence_is_a_number() -> None:
    assert meets({"sequence": 3.0}, sequence=3)
    assert meets({"sequence": {"$gt": 2.5, "$lt": 3.5}}, sequence=3)
    assert not meets({"sequence": 3.5}, sequence=3)


# -- putting filters together ----------------------------------------------------------------


def test_fields_and_operators_must_all_hold() -> None:
    both = {"speaker": "Ann", "sequence": {"$gt": 1, "$lt": 3}}
    assert meets(both, speaker="Ann", sequence=2)
    assert not meets(both, speaker="Bob", sequence=2)
    assert not meets(both, speaker="Ann", sequence=3)


def test_alternatives_conjunctions_and_negations() -> None:
    ann, bob = {"speaker": "Ann"}, {"speaker": "Bob"}
    assert meets({"$or": [ann, bob]}, speaker="Bob")
    assert not meets({"$or": [ann, bob]}, speaker="Eve")
    assert meets({"$and": [ann, {"sequence": 1}]}, speaker="Ann", sequence=1)
    assert not meets({"$and": [ann, bob]}, speaker="Ann")
    assert not meets({"$not": ann}, speaker="Ann")
    assert meets({"$not": {"$or": [ann, bob]}, "sequence": 1}, speaker="Eve", sequence=1)


def test_all_of_nothing_holds_and_one_of_nothing_does_not() -> None:
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


def test_what_an_engine_can_decide_alone_is_exact() -> None:
    for filter in (
        {},
        {"tags": {"$contains": "db"}},
        {"session": "s", "speaker": {"$nin": ["Ann"]}},
        {"$or": [{"status": "raw"}, {"$not": {"key": "k"}}]},
        {"created_at": {"$gte": NOW, "$lt": NOW + timedelta(days=1)}},
        {"sequence": {"$in": [1, 2.5]}},
        {"speaker": {"$exists": False}},
    ):
        assert match.compile(parse(filter)).exact, filter


def test_what_an_engine_cannot_decide_alone_says_so() -> None:
    for filter in (
        {"metadata.x": 1},
        {"metadata.x": {"$gt": 1}},
        {"$not": {"value.x": {"$contains": 1}}},
        {"tags": ["a"]},
        {"content": "The text"},
        {"session": {"$gt": "a"}},
        {"occurred_at": {"$lt": datetime(9999, 1, 1)}},
    ):
        assert not match.compile(parse(filter)).exact, filter


def test_a_filter_narrows_a_query_down() -> None:
    for filter in (
        {"metadata.x": 1},
        {"metadata.x": {"$gt": 1}},
        {"metadata.x": {"$in": [1, {"a": 2}]}},
        {"metadata.x": {"a": 1}},
        {"value.x": {"$contains": "a"}},
        {"tags": ["a"]},
        {"metadata.x": {"$ne": 1}},
    ):
        assert match.compile(parse(filter)).condition != EVERYTHING, filter


def test_filtering_loads_no_engine() -> None:
    code = (
        "import sys, amem_integrations.stores.filters.match; print('qdrant_client' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert printed.stdout.strip() == "False", printed.stderr
