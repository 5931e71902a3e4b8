"""Batches: one call with several operations, checked first, answered in order."""

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)

from tests.contracts.base import ContractBase, Driver

NS = ("users", "ann")
WITH_LABEL: dict[str, Callable[[Any], Op]] = {
    "get": lambda label: GetOp(("users", label), "k"),
    "put": lambda label: PutOp(("users", label), "k", {"text": "tea"}),
    "delete": lambda label: PutOp(("users", label), "k", None),
    "search": lambda label: SearchOp(("users", label)),
    "prefix": lambda label: ListNamespacesOp((MatchCondition("prefix", ("users", label)),)),
    "suffix": lambda label: ListNamespacesOp((MatchCondition("suffix", (label,)),)),
}


class BatchContract(ContractBase):
    def test_results_come_in_the_order_of_operations(self, store: Driver) -> None:
        store.put(NS, "a", {"text": "tea"})
        store.put(("users", "bob"), "b", {"text": "coffee"})
        results = store.batch(
            [
                SearchOp(("users",), {"text": "coffee"}),
                GetOp(NS, "a"),
                PutOp(NS, "c", {"text": "cocoa"}),
                ListNamespacesOp(),
                GetOp(NS, "missing"),
                SearchOp(("users",), limit=1, offset=1),
                GetOp(("users", "bob"), "b"),
            ]
        )
        found, first, put, namespaces, missing, page, last = results
        assert [item.key for item in found] == ["b"]
        assert isinstance(first, Item)
        assert first.value == {"text": "tea"}
        assert (put, missing) == (None, None)
        assert namespaces == [NS, ("users", "bob")]
        assert len(page) == 1
        assert last.value == {"text": "coffee"}

    def test_operations_may_come_from_a_generator(self, store: Driver) -> None:
        assert store.batch([]) == []
        results = store.batch(PutOp(NS, str(n), {"n": n}) for n in range(3))
        assert results == [None, None, None]
        items = store.batch(GetOp(NS, str(n)) for n in range(3))
        assert [item.value["n"] for item in items] == [0, 1, 2]

    def test_reads_see_what_was_there_before_the_batch(self, store: Driver) -> None:
        store.put(NS, "k", {"text": "tea"})
        _, _, got, found, near, listed = store.batch(
            [
                PutOp(NS, "k", {"text": "coffee"}),
                PutOp(("other",), "k", {"text": "cocoa"}),
                GetOp(NS, "k"),
                SearchOp(()),
                SearchOp((), query="coffee"),
                ListNamespacesOp(),
            ]
        )
        assert got.value == {"text": "tea"}
        assert [item.value for item in (*found, *near)] == [{"text": "tea"}] * 2
        assert listed == [NS]
        assert store.value(NS, "k") == {"text": "coffee"}

    def test_the_last_put_to_a_key_counts(self, store: Driver) -> None:
        drinks = ["tea", "coffee", "cocoa"]
        store.batch([PutOp(NS, "k", {"text": drink}) for drink in drinks])
        assert store.value(NS, "k") == {"text": "cocoa"}
        assert store.score(NS, "cocoa") == pytest.approx(1, abs=1e-3)

    def test_the_last_of_put_and_delete_counts(self, store: Driver) -> None:
        put = {"text": "tea"}
        store.batch([PutOp(NS, "a", put), PutOp(NS, "a", None)])
        store.batch([PutOp(NS, "b", None), PutOp(NS, "b", put)])
        assert store.keys(NS) == ["b"]

    def test_one_item_may_be_read_twice(self, store: Driver) -> None:
        store.put(NS, "k", {"tags": ["a"]})
        one, other = store.batch([GetOp(NS, "k"), GetOp(NS, "k")])
        one.value["tags"].append("b")
        assert other.value == {"tags": ["a"]}

    def test_a_large_batch(self, store: Driver) -> None:
        puts = [PutOp(("n", str(n % 7)), f"k{n}", {"text": f"item {n}"}) for n in range(100)]
        assert store.batch(puts) == [None] * 100
        gets = store.batch([GetOp(op.namespace, op.key) for op in puts])
        assert [item.value for item in gets] == [op.value for op in puts]
        assert len(store.search((), limit=1000)) == 100
        store.batch([PutOp(op.namespace, op.key, None) for op in puts])
        assert store.search(()) == []

    @pytest.mark.parametrize("operation", WITH_LABEL.values(), ids=WITH_LABEL.keys())
    def test_invalid_labels_are_refused_before_anything_is_done(
        self, store: Driver, operation: Callable[[Any], Op]
    ) -> None:
        for label in ("a.b", "", ".", "\x00", 7, None):
            with pytest.raises(InvalidNamespaceError):
                store.batch([PutOp(NS, "k", {"text": "tea"}), operation(label)])
        assert store.search(()) == []

    def test_negative_bounds_are_refused_before_anything_is_done(self, store: Driver) -> None:
        for bounds in ({"limit": -1}, {"offset": -1}):
            for op in (SearchOp(NS, **bounds), ListNamespacesOp(**bounds)):
                with pytest.raises(ValueError):
                    store.batch([PutOp(NS, "k", {"text": "tea"}), op])
            with pytest.raises(ValueError):
                store.search(NS, query="tea", **bounds)
        assert store.search(()) == []

    def test_an_unknown_operation_is_refused_before_anything_is_done(self, store: Driver) -> None:
        unknown: Any = ("get", NS, "k")
        with pytest.raises(ValueError):
            store.batch([PutOp(NS, "k", {"text": "tea"}), unknown])
        assert store.search(()) == []

    def test_invalid_namespaces_are_refused(self, store: Driver) -> None:
        invalid: list[Any] = [(), ("a.b",), ("a", ""), ("langgraph",), ("langgraph", "a"), (1,)]
        for namespace in invalid:
            with pytest.raises(InvalidNamespaceError):
                store.put(namespace, "k", {"text": "tea"})
        assert store.search(()) == []

    def test_the_reserved_root_is_an_ordinary_label_further_down(self, store: Driver) -> None:
        store.put(("a", "langgraph"), "k", {"text": "tea"})
        assert store.value(("a", "langgraph"), "k") == {"text": "tea"}
