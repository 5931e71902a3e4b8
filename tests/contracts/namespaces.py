"""Namespaces: a prefix ends where a label ends, and no character in a label has a meaning."""

from itertools import chain
from typing import Any

import pytest

from tests.contracts.base import ContractBase, Driver

Namespace = tuple[str, ...]

TREE: tuple[Namespace, ...] = (
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "b", "f"),
    ("a", "c", "f"),
    ("b", "a", "f"),
    ("users", "123"),
    ("users", "456", "settings"),
    ("admin", "users", "789"),
)

LISTINGS: dict[str, tuple[dict[str, Any], list[Namespace]]] = {
    "all": ({}, sorted(TREE)),
    "a prefix": ({"prefix": ("a", "b")}, sorted(TREE[:4])),
    "a whole namespace": ({"prefix": ("users", "123")}, [("users", "123")]),
    "a prefix of nothing": ({"prefix": ("nothing",)}, []),
    "a prefix longer than any": ({"prefix": ("a", "b", "c", "d", "e", "f")}, []),
    "a suffix": ({"suffix": ("f",)}, [("a", "b", "f"), ("a", "c", "f"), ("b", "a", "f")]),
    "a long suffix": ({"suffix": ("b", "f")}, [("a", "b", "f")]),
    "prefix and suffix": ({"prefix": ("a",), "suffix": ("f",)}, [("a", "b", "f"), ("a", "c", "f")]),
    "overlapping prefix and suffix": (
        {"prefix": ("a", "b"), "suffix": ("b", "f")},
        [("a", "b", "f")],
    ),
    "any label in a prefix": ({"prefix": ("a", "*", "f")}, [("a", "b", "f"), ("a", "c", "f")]),
    "any first label": ({"prefix": ("*", "users")}, [("admin", "users", "789")]),
    "one label, not none": (
        {"prefix": ("users", "*", "*")},
        [("users", "456", "settings")],
    ),
    "any label in a suffix": (
        {"suffix": ("*", "f")},
        [("a", "b", "f"), ("a", "c", "f"), ("b", "a", "f")],
    ),
    "any last label": ({"suffix": ("456", "*")}, [("users", "456", "settings")]),
    "a depth": (
        {"max_depth": 2, "offset": 1},
        [("a", "c"), ("admin", "users"), ("b", "a"), ("users", "123"), ("users", "456")],
    ),
    "a prefix and a depth": (
        {"prefix": ("a", "b"), "max_depth": 3},
        [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")],
    ),
    "a suffix is looked for before cutting": (
        {"suffix": ("settings",), "max_depth": 1},
        [("users",)],
    ),
    "a limit": ({"prefix": ("a", "b"), "limit": 2}, [("a", "b", "c"), ("a", "b", "d", "e")]),
    "an offset": ({"prefix": ("a", "b"), "offset": 2}, [("a", "b", "d", "i"), ("a", "b", "f")]),
    "a limit of cut ones": ({"max_depth": 1, "limit": 2, "offset": 1}, [("admin",), ("b",)]),
    "no limit left": ({"limit": 0}, []),
    "past the end": ({"offset": 100}, []),
}

LOOKALIKES: tuple[Namespace, ...] = (
    ("user_1",),
    ("user_1", "child"),
    ("userX1",),
    ("user%",),
    ("user",),
    ("user", "1"),
    ("users",),
    ("User",),
    ("*",),
    ("a*",),
    ("a+",),
    ("aa",),
    ("[a]",),
    ("a|b",),
    ("^a$",),
    ('"',),
    ('","',),
    ("\\",),
    ("'",),
    ("/",),
    ("a/b",),
    ("a", "b"),
    ("a\n",),
    ("alice",),
    ("alice\n",),
    (" alice",),
    ("é",),
    ("e\u0301",),
    ("素菜馆",),
    ("\u202ea",),
    ("👩‍👩‍👧",),
    ("a\x1fb",),
    ("x" * 200,),
)


class NamespaceContract(ContractBase):
    def test_listing(self, store: Driver) -> None:
        for namespace in TREE:
            store.put(namespace, "k", {"text": "tea"})
            store.put(namespace, "other", {"text": "coffee"})
        for name, (options, expected) in LISTINGS.items():
            assert store.list_namespaces(**options) == expected, name
        for query in (None, "tea"):
            found = {item.namespace for item in store.search((), query=query, limit=100)}
            assert found == set(TREE)

    def test_pages_of_namespaces(self, store: Driver) -> None:
        everything = [("n", f"{n:03}") for n in range(30)]
        for namespace in reversed(everything):
            store.put(namespace, "k", {"text": "tea"})
        pages = [store.list_namespaces(limit=7, offset=at) for at in range(0, 30, 7)]
        assert [*chain(*pages)] == everything

    def test_a_namespace_is_listed_while_it_holds_something(self, store: Driver) -> None:
        assert store.list_namespaces() == []
        store.put(("a", "b"), "k", {"text": "tea"})
        store.put(("a", "b"), "other", {"text": "tea"})
        store.delete(("a", "b"), "k")
        assert store.list_namespaces() == [("a", "b")]
        store.delete(("a", "b"), "other")
        assert store.list_namespaces() == store.list_namespaces(prefix=("a",)) == []

    def test_labels_that_look_alike_are_different(self, store: Driver) -> None:
        for namespace in LOOKALIKES:
            store.put(namespace, "k", {"labels": list(namespace), "text": "tea"})
        for namespace in LOOKALIKES:
            under = [each for each in LOOKALIKES if each[: len(namespace)] == namespace]
            assert store.value(namespace, "k")["labels"] == list(namespace)
            for query in (None, "tea"):
                found = store.search(namespace, query=query, limit=100)
                assert sorted(item.namespace for item in found) == sorted(under)
            if "*" not in namespace:
                ending = [each for each in LOOKALIKES if each[-len(namespace) :] == namespace]
                assert store.list_namespaces(prefix=namespace) == sorted(under)
                assert store.list_namespaces(suffix=namespace) == sorted(ending)
        assert store.list_namespaces(limit=100) == sorted(LOOKALIKES)

    def test_a_prefix_ends_where_a_label_ends(self, store: Driver) -> None:
        for namespace in (("foo",), ("foo", "child"), ("foobar",), ("foobar", "baz"), ("foo2",)):
            store.put(namespace, "k", {"text": "tea"})
        for query in (None, "tea"):
            found = {item.namespace for item in store.search(("foo",), query=query)}
            assert found == {("foo",), ("foo", "child")}
            assert store.search(("fo",), query=query) == []

    def test_labels_may_come_in_a_list(self, store: Driver) -> None:
        store.put(["a", "b"], "k", {"text": "tea"})
        item = store.get(["a", "b"], "k")
        assert item is not None
        assert item.namespace == ("a", "b")
        assert store.keys(["a"]) == ["k"]
        assert store.list_namespaces(prefix=["a"], suffix=["b"]) == [("a", "b")]

    @pytest.mark.parametrize("label", ["a.b", "", 7, "\x00"], ids=["dot", "empty", "int", "NUL"])
    def test_invalid_labels_are_refused(self, store: Driver, label: Any) -> None:
        namespace = ("a", label)
        for call in (
            lambda: store.put(namespace, "k", {"text": "tea"}),
            lambda: store.get(namespace, "k"),
            lambda: store.delete(namespace, "k"),
            lambda: store.search(namespace),
            lambda: store.list_namespaces(prefix=namespace),
            lambda: store.list_namespaces(suffix=namespace),
        ):
            with pytest.raises(ValueError):
                call()
