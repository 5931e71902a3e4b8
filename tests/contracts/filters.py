"""Filters: which values meet them. First what LangGraph's stores know, then what they lack."""

from itertools import chain
from typing import Any

import pytest

from tests.contracts.base import ContractBase, Driver

NS = ("docs",)

ITEMS: dict[str, dict[str, Any]] = {
    "ann": {"name": "Ann", "age": 9, "score": 4.5, "active": True, "tags": ["a", "b"], "x": None},
    "bob": {"name": "Bob", "age": 10, "score": 3, "active": False, "tags": ["b"], "x": 0},
    "cai": {"name": "蔡", "age": 100, "score": -2.5, "active": True, "tags": [], "x": ""},
    "dee": {"name": "10", "age": "10", "score": 3.0, "tags": ["b", "a"], "x": False},
    "eve": {"user": {"id": "abc", "level": {"n": 3}, "access-level": "inner"}, "access-level": 1},
    "fay": {"user": {"id": "abc", "level": {"n": 5}}, "123abc": "ok", "x": 1},
    "gil": {"user.id": "abc", "x": True},
    "hal": {"user": "abc", "x": "1"},
    "ida": {},
}

KNOWN: dict[str, tuple[dict[str, Any], set[str]]] = {
    "a text": ({"name": "Ann"}, {"ann"}),
    "a text of another script": ({"name": "蔡"}, {"cai"}),
    "a number": ({"age": 10}, {"bob"}),
    "a text of digits": ({"age": "10"}, {"dee"}),
    "a fraction": ({"score": 4.5}, {"ann"}),
    "a whole number, with and without a point": ({"score": 3}, {"bob", "dee"}),
    "true": ({"active": True}, {"ann", "cai"}),
    "false": ({"active": False}, {"bob"}),
    "true is not one": ({"x": True}, {"gil"}),
    "one is not true": ({"x": 1}, {"fay"}),
    "zero is not false": ({"x": 0}, {"bob"}),
    "one as text": ({"x": "1"}, {"hal"}),
    "an empty text": ({"x": ""}, {"cai"}),
    "null, where there is one": ({"x": None}, {"ann"}),
    "a list, as a whole": ({"tags": ["b"]}, {"bob"}),
    "a list, in order": ({"tags": ["a", "b"]}, {"ann"}),
    "an empty list": ({"tags": []}, {"cai"}),
    "no such value": ({"name": "Zoe"}, set()),
    "no such key": ({"nothing": 1}, set()),
    "$eq": ({"name": {"$eq": "Ann"}}, {"ann"}),
    "$eq of a list": ({"tags": {"$eq": ["b"]}}, {"bob"}),
    "$ne, where there is a value": ({"name": {"$ne": "Ann"}}, {"bob", "cai", "dee"}),
    "$ne of null": ({"x": {"$ne": None}}, {"bob", "cai", "dee", "fay", "gil", "hal"}),
    "$gt": ({"age": {"$gt": 9}}, {"bob", "cai"}),
    "$gte": ({"age": {"$gte": 10}}, {"bob", "cai"}),
    "$lt": ({"age": {"$lt": 100}}, {"ann", "bob"}),
    "$lte": ({"age": {"$lte": 9}}, {"ann"}),
    "$gt of a fraction": ({"score": {"$gt": 3.0}}, {"ann"}),
    "$gt of a negative number": ({"score": {"$gt": -3}}, {"ann", "bob", "cai", "dee"}),
    "between": ({"age": {"$gt": 9, "$lt": 100}}, {"bob"}),
    "ranges of text": ({"name": {"$gte": "Ann", "$lt": "C"}}, {"ann", "bob"}),
    "a range over a missing key": ({"nothing": {"$gt": 0}}, set()),
    "above minus infinity": ({"age": {"$gt": float("-inf")}}, {"ann", "bob", "cai"}),
    "below infinity": ({"age": {"$lt": float("inf")}}, {"ann", "bob", "cai"}),
    "below a very large number": ({"age": {"$lt": 10**100}}, {"ann", "bob", "cai"}),
    "not a number": ({"age": {"$eq": float("nan")}}, set()),
    "several keys": ({"active": True, "age": {"$gt": 9}}, {"cai"}),
    "several keys, none with all": ({"active": False, "name": "Ann"}, set()),
    "no filter": ({}, set(ITEMS)),
    "a key with a hyphen": ({"access-level": 1}, {"eve"}),
    "a key that begins with digits": ({"123abc": "ok"}, {"fay"}),
    "a nested object": ({"user": {"level": {"n": 3}}}, {"eve"}),
    "a nested object, in part": ({"user": {"id": "abc"}}, {"eve", "fay"}),
    "operators in a nested object": ({"user": {"level": {"n": {"$gt": 3}}}}, {"fay"}),
    "a nested object that is a text": ({"user": "abc"}, {"hal"}),
    "the whole of an object": ({"user": {"$eq": {"id": "abc", "level": {"n": 5}}}}, {"fay"}),
    "a part is not the whole": ({"user": {"$eq": {"id": "abc"}}}, set()),
    "a dotted key": ({"user.level.n": 3}, {"eve"}),
    "a dotted key with a hyphen": ({"user.access-level": "inner"}, {"eve"}),
    "a dotted key with operators": ({"user.level.n": {"$gte": 3}}, {"eve", "fay"}),
    "a key with a dot in it": ({"user.id": "abc"}, {"eve", "fay", "gil"}),
    "a dotted key that leads nowhere": ({"user.id.more": "abc"}, set()),
    "a quote": ({"name": "' OR '1'='1"}, set()),
    "a key with a quote": ({"name') = 'Ann' OR '1'='1": "x"}, set()),
}

BEYOND: dict[str, tuple[dict[str, Any], set[str]]] = {
    "$in": ({"name": {"$in": ["Ann", "蔡", 7]}}, {"ann", "cai"}),
    "$in nothing": ({"name": {"$in": []}}, set()),
    "$nin, where there is a value": ({"name": {"$nin": ["Ann", "Bob"]}}, {"cai", "dee"}),
    "$exists": ({"active": {"$exists": True}}, {"ann", "bob", "cai"}),
    "$exists, and is null": ({"x": {"$exists": True}, "name": "Ann"}, {"ann"}),
    "not $exists": ({"name": {"$exists": False}, "user": {"$exists": False}}, {"gil", "ida"}),
    "not $exists, dotted": ({"user.id": {"$exists": False}, "x": "1"}, {"hal"}),
    "$contains": ({"tags": {"$contains": "a"}}, {"ann", "dee"}),
    "$contains is of lists": ({"name": {"$contains": "A"}}, set()),
    "$or": ({"$or": [{"name": "Ann"}, {"age": 10}]}, {"ann", "bob"}),
    "$and": ({"$and": [{"active": True}, {"age": {"$lt": 50}}]}, {"ann"}),
    "$and within $or": (
        {"$or": [{"$and": [{"active": True}, {"age": 9}]}, {"user.level.n": 5}]},
        {"ann", "fay"},
    ),
    "$not": ({"$not": {"name": "Ann"}, "age": {"$exists": True}}, {"bob", "cai", "dee"}),
    "$not includes what is missing": ({"$not": {"x": {"$exists": True}}}, {"eve", "ida"}),
    "beside other keys": ({"$or": [{"x": 0}, {"x": ""}], "active": True}, {"cai"}),
}


class FilterContract(ContractBase):
    def test_filters(self, store: Driver) -> None:
        for key, value in ITEMS.items():
            store.put(NS, key, {"text": "someone", **value})
        for name, (filter, expected) in {**KNOWN, **BEYOND}.items():
            assert set(store.keys(NS, filter=filter, limit=100)) == expected, name
            found = store.search(NS, query="someone", filter=filter, limit=100)
            assert {item.key for item in found} == expected, name
            assert len(store.keys(NS, filter=filter, limit=1)) == min(1, len(expected)), name

    def test_an_unknown_operator_is_refused(self, store: Driver) -> None:
        store.put(NS, "ann", {"name": "Ann", "user": {"level": 1}})
        for filter in (
            {"name": {"$unknown": 1}},
            {"user": {"level": {"$near": 1}}},
            {"name": {"$eq": "Ann", "plain": 1}},
        ):
            with pytest.raises(ValueError):
                store.search(NS, filter=filter)

    def test_a_filter_counts_before_the_limit(self, store: Driver) -> None:
        for n in range(30):
            store.put(NS, str(n), {"text": "tea", "even": n % 2 == 0})
        even = store.keys(NS, filter={"even": True}, limit=100)
        assert {*even} == {str(n) for n in range(0, 30, 2)}
        pages = store.pages(NS, 4, 15, filter={"even": True})
        assert [len(page) for page in pages] == [4, 4, 4, 3]
        assert [*chain(*pages)] == even
        near = store.pages(NS, 4, 15, filter={"even": True}, query="tea")
        assert sorted(chain(*near)) == sorted(even)

    def test_a_large_value_can_be_filtered_by_anything_in_it(self, store: Driver) -> None:
        large = {f"key{n}": n for n in range(2000)}
        store.put(NS, "large", {**large, "inner": dict(large), "list": [*range(2000)]}, index=False)
        store.put(NS, "small", {"key1999": 0}, index=False)
        assert store.keys(NS, filter={"key1999": 1999}) == ["large"]
        assert store.keys(NS, filter={"inner": {"key1999": {"$gte": 1999}}}) == ["large"]
        assert store.keys(NS, filter={"list": [*range(2000)]}) == ["large"]
        assert store.keys(NS, filter={"key1999": {"$lt": 5}}) == ["small"]
