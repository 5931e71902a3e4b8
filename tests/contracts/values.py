"""Values: what is put comes back exactly, and goes without a trace."""

import json
from collections import UserDict
from datetime import timedelta
from typing import Any, cast

import pytest
from langgraph.store.base import Item, PutOp

from tests.contracts.base import ContractBase, Driver

NS = ("users", "ann")

VALUES: dict[str, dict[str, Any]] = {
    "empty": {},
    "text": {"text": "Käse, 素菜馆, שלום, 👩‍👩‍👧, e\u0301 and \u00e9, \u2028, \u200b"},
    "nested": {"a": {"b": [{"c": [1, [2, {}]]}, [], None]}},
    "floats": {"tenth": 0.1, "one": 1.0, "huge": 1e308, "tiny": 5e-324, "minus": -0.0},
    "integers": {"one": 1, "precise": 2**53 + 1, "long": 2**63 - 1, "negative": -(2**63)},
    "very long integers": {"n": 2**64, "m": -(2**70)},
    "nothing": {"a": None, "b": {"c": None}},
    "truth": {"yes": True, "no": False, "one": 1, "zero": 0},
    "order": {"z": 1, "a": 2, "m": {"y": 1, "b": 2}},
    "keys": {"a.b": 1, "a": {"b": 2}, "x-y": 3, "1st": 4, "a b": 5, "": 6, "$k": 7, "'\"[0]": 8},
    "spaces": {"text": "  two lines \n\t ", "empty": ""},
    "numbers as text": {"text": "1", "id": "007"},
    "long": {"text": "word " * 20_000},
    "deep": {"a": {"b": {"c": {"d": {"e": {"f": {"g": [[[[[[[[1]]]]]]]]}}}}}}},
}


class ValueContract(ContractBase):
    def test_a_value_comes_back_exactly(self, store: Driver) -> None:
        for name, value in VALUES.items():
            store.put((*NS, name), "k", value)
            expected = json.dumps(value)
            assert json.dumps(store.value((*NS, name), "k")) == expected
            assert [json.dumps(item.value) for item in store.search((*NS, name))] == [expected]

    def test_an_item_says_where_and_when(self, store: Driver) -> None:
        store.put(NS, "k", {"text": "tea"})
        item = store.get(NS, "k")
        assert isinstance(item, Item)
        assert (item.key, item.namespace, item.value) == ("k", NS, {"text": "tea"})
        assert item.created_at.utcoffset() == item.updated_at.utcoffset() == timedelta(0)
        again = cast("dict[str, Any]", item.dict())  # pyright: ignore[reportUnknownMemberType]
        assert Item(**again) == item

    def test_reading_what_is_not_there_leaves_no_trace(self, store: Driver) -> None:
        assert store.get(("ghost",), "k") is None
        assert store.search(("ghost",)) == []
        store.delete(("ghost",), "k")
        assert store.list_namespaces() == []
        store.put(NS, "k", {"text": "tea"})
        assert store.get(NS, "other") is None
        assert store.get(NS[:1], "k") is None
        assert store.get((*NS, "more"), "k") is None

    def test_a_stored_value_is_nobody_elses(self, store: Driver) -> None:
        value: dict[str, Any] = {"tags": ["a"]}
        store.put(NS, "k", value)
        value["tags"].append("b")
        store.value(NS, "k")["tags"].append("c")
        store.search(NS)[0].value["tags"].append("d")
        assert store.value(NS, "k") == {"tags": ["a"]}

    def test_a_put_takes_the_place_of_the_whole_value(self, store: Driver) -> None:
        store.put(NS, "k", {"text": "tea", "n": 1})
        assert store.keys(NS, filter={"n": 1}) == ["k"]
        store.put(NS, "k", {"text": "tea"})
        assert store.value(NS, "k") == {"text": "tea"}
        assert store.keys(NS, filter={"n": 1}) == []

    def test_any_mapping_can_be_put(self, store: Driver) -> None:
        store.put(NS, "k", UserDict({"text": "tea"}))
        assert store.value(NS, "k") == {"text": "tea"}

    def test_the_time_of_creation_survives_updates(self, store: Driver) -> None:
        store.put(NS, "k", {"text": "tea"})
        first = store.item(NS, "k")
        for text in ("tea", "coffee"):
            before = store.item(NS, "k")
            store.put(NS, "k", {"text": text})
            after = store.item(NS, "k")
            assert after.created_at == first.created_at
            assert after.updated_at > before.updated_at

    def test_a_key_is_any_text(self, store: Driver) -> None:
        keys = ["a.b", "a/b", " ", "%", "_", "*", "'", '"', "\\", "\n", "素", "x" * 500]
        alike = ["k", "K", " k", "k ", "\u212a", "e\u0301", "\u00e9", "1", "01", "1.0"]
        for key in keys + alike:
            store.put(NS, key, {"key": key})
        for key in keys + alike:
            assert store.value(NS, key) == {"key": key}
        for key in keys:
            store.delete(NS, key)
            assert store.get(NS, key) is None
        assert sorted(store.keys(NS, limit=100)) == sorted(alike)

    def test_a_key_that_is_no_text_is_taken_as_text(self, store: Driver) -> None:
        store.put(NS, 7, {"text": "tea"})
        assert store.value(NS, "7") == store.value(NS, 7) == {"text": "tea"}
        store.delete(NS, 7)
        assert store.get(NS, "7") is None

    def test_deleting_leaves_nothing_behind(self, store: Driver) -> None:
        store.put(NS, "k", {"text": "green tea"})
        for _ in range(2):
            store.delete(NS, "k")
        store.put(NS, "k", {"text": "green tea"})
        assert store.batch([PutOp(NS, "k", None)]) == [None]
        assert store.get(NS, "k") is None
        assert store.search(()) == store.search(NS, query="green tea") == []
        assert store.list_namespaces() == []

    def test_what_was_deleted_can_be_put_again(self, store: Driver) -> None:
        store.put(NS, "k", {"text": "tea"})
        first = store.item(NS, "k")
        store.delete(NS, "k")
        store.put(NS, "k", {"text": "coffee"})
        second = store.item(NS, "k")
        assert second.value == {"text": "coffee"}
        assert second.created_at > first.created_at
        assert store.search(NS, query="coffee")[0].key == "k"

    def test_what_json_cannot_hold_is_refused(self, store: Driver) -> None:
        store.put(NS, "k", {"text": "tea"})
        for bad in (object(), {1, 2}, b"bytes"):
            with pytest.raises((TypeError, ValueError)):
                store.put(NS, "k", {"text": "coffee", "bad": bad})
        assert store.value(NS, "k") == {"text": "tea"}
        assert store.keys(NS, query="coffee") == ["k"]
