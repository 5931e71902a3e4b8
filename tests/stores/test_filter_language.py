"""What the filter language refuses, and how it says so."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from amem_integrations.errors import InvalidFilterError, InvalidInputError
from amem_integrations.stores.filters.language import MAX_DEPTH, MAX_TESTS, Operator
from amem_integrations.stores.filters.match import parse


@pytest.mark.parametrize(
    ("filter", "named"),
    [
        ({"speaker": {"$like": "A"}}, ["$like", "speaker", *Operator]),
        ({"speaker": {"$GT": "A"}}, ["$GT", *Operator]),
        ({"speaker": {"$not": {"$eq": "A"}}}, ["$not", "whole filter"]),
        ({"$nor": []}, ["$nor", "$and", "$or", "$not"]),
        ({"$eq": 1}, ["$eq", "under a field"]),
        ({"priority": 1}, ["priority", "metadata.<key>", "speaker"]),
        ({"": 1}, ["''", "speaker"]),
        ({"tags.0": "x"}, ["tags.0", "nothing lies below tags"]),
        ({"metadata..a": 1}, ["empty key", "tuple"]),
        ({"metadata.": 1}, ["empty key"]),
        ({1: 1}, ["string or a tuple", "1"]),
        ({(): 1}, ["string or a tuple"]),
        ({("metadata", 1): 1}, ["string or a tuple"]),
        ({"metadata.x": {"$gt": 1, "a": 2}}, ["mixes", "'a'", "$eq"]),
        ({"metadata.x": {"$gt": [1]}}, ["$gt", "a number or a string"]),
        ({"metadata.x": {"$gt": True}}, ["$gt", "True"]),
        ({"metadata.x": {"$gt": None}}, ["$gt", "None"]),
        ({"metadata.x": {"$gt": float("nan")}}, ["$gt", "nan"]),
        ({"metadata.x": {"$lt": datetime(2026, 1, 1)}}, ["$lt", "datetime"]),
        ({"metadata.x": datetime(2026, 1, 1)}, ["datetime", "isoformat"]),
        ({"metadata.x": float("inf")}, ["inf"]),
        ({"metadata.x": b"x"}, ["bytes"]),
        ({"metadata.x": {1: 2}}, ["int"]),
        ({"metadata.x": 10**5000}, ["metadata.x"]),
        ({"metadata.x": {"$in": "abc"}}, ["$in", "list", "str"]),
        ({"metadata.x": {"$in": {"a": 1}}}, ["$in", "list", "dict"]),
        ({"metadata.x": {"$exists": 1}}, ["$exists", "True or False"]),
        ({"speaker": None}, ["speaker", "$exists"]),
        ({"speaker": 5}, ["speaker", "a string"]),
        ({"speaker": {"$contains": "A"}}, ["$contains", "speaker", "text"]),
        ({"speaker": {"$gt": 1}}, ["$gt", "a string"]),
        ({"tags": 1}, ["tags", "a string", "list of strings"]),
        ({"tags": [1]}, ["tags", "list of strings"]),
        ({"tags": {"$contains": 1}}, ["$contains", "a string"]),
        ({"tags": {"$gt": "a"}}, ["$gt", "tags", "$contains"]),
        ({"status": "done"}, ["status", "'done'", "formed"]),
        ({"status": {"$in": ["raw", ["raw"]]}}, ["status", "formed"]),
        ({"status": {"$gt": "raw"}}, ["$gt", "status"]),
        ({"sequence": "3"}, ["sequence", "a number"]),
        ({"sequence": True}, ["sequence", "a number"]),
        ({"sequence": {"$gt": "3"}}, ["sequence", "a number"]),
        ({"occurred_at": 5}, ["occurred_at", "datetime"]),
        ({"occurred_at": {"$lt": "yesterday"}}, ["$lt", "ISO 8601", "yesterday"]),
        ({"occurred_at": datetime.max.replace(tzinfo=timezone(-timedelta(hours=9)))}, ["UTC"]),
        ({"$or": {"speaker": "A"}}, ["$or", "list"]),
        ({"$and": [1]}, ["dict", "int"]),
        ({"$not": [{"speaker": "A"}]}, ["dict", "list"]),
        ([], ["dict", "list"]),
        ("speaker", ["dict", "str"]),
    ],
)
def test_a_filter_that_means_nothing_is_refused_by_name(filter: Any, named: list[str]) -> None:
    with pytest.raises(InvalidFilterError) as caught:
        parse(filter)
    assert [name for name in named if name not in str(caught.value)] == []
    assert len(str(caught.value)) < 600


def test_a_refusal_is_an_input_error_and_a_value_error() -> None:
    assert issubclass(InvalidFilterError, InvalidInputError)
    assert issubclass(InvalidFilterError, ValueError)


def test_depth_and_number_of_tests_are_bounded() -> None:
    deep: dict[str, Any] = {"speaker": "A"}
    for _ in range(MAX_DEPTH - 1):
        deep = {"$not": deep}
    parse(deep)
    for _ in range(5000):
        deep = {"$not": deep}
    with pytest.raises(InvalidFilterError, match="levels deep"):
        parse(deep)
    parse({"$or": [{"sequence": n} for n in range(MAX_TESTS)]})
    with pytest.raises(InvalidFilterError, match=r"\$in"):
        parse({"$or": [{"sequence": n} for n in range(MAX_TESTS + 1)]})
    parse({"sequence": {"$in": range(3) and list(range(100_000))}})
