"""Whatever is done to a store, it shows what a dict would hold, the last changed first."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp

from amem_integrations import AgenticMemory
from amem_integrations.core.io import run
from amem_integrations.langgraph import AMemStore
from amem_integrations.stores.read import load_points
from tests.support import io_of, open_memory

PREFIXES: list[tuple[str, ...]] = [(), ("a",), ("a", "b"), ("ab",), ("a*",)]
NAMESPACES = [("a",), ("a", "b"), ("a", "b", "c"), ("ab",), ("b", "a"), ("a*",)]
TEXTS = ["green tea", "black tea", "violin lesson", "train strike", None]

values = st.fixed_dictionaries(
    {"text": st.sampled_from(TEXTS), "n": st.sampled_from([0, 1, 1.5, True, None, "1"])}
)
writes = st.lists(
    st.tuples(
        st.sampled_from(NAMESPACES),
        st.sampled_from(["k", "l"]),
        st.one_of(st.none(), values),
        st.sampled_from([None, False, ["n"]]),
    ),
    max_size=6,
)


class Model:
    """Items as a dict has them: a new or changed one goes to the end."""

    def __init__(self) -> None:
        self.items: dict[tuple[tuple[str, ...], str], dict[str, Any]] = {}

    def write(self, namespace: tuple[str, ...], key: str, value: dict[str, Any] | None) -> None:
        self.items.pop((namespace, key), None)
        if value is not None:
            self.items[namespace, key] = value

    def under(self, prefix: tuple[str, ...]) -> list[tuple[tuple[str, ...], str, dict[str, Any]]]:
        newest_first = reversed(self.items.items())
        return [
            (namespace, key, value)
            for (namespace, key), value in newest_first
            if namespace[: len(prefix)] == prefix
        ]


def check(store: AMemStore, model: Model) -> None:
    for prefix in PREFIXES:
        expected = model.under(prefix)
        found = store.search(prefix, limit=100)
        assert [(item.namespace, item.key, item.value) for item in found] == expected
        pages = [store.search(prefix, limit=2, offset=at) for at in range(0, len(found), 2)]
        assert [item for page in pages for item in page] == found
        ones = [(namespace, key) for namespace, key, value in expected if is_one(value["n"])]
        filtered = store.search(prefix, filter={"n": 1}, limit=100)
        assert [(item.namespace, item.key) for item in filtered] == ones
    assert store.list_namespaces() == sorted({namespace for namespace, _ in model.items})


def is_one(value: Any) -> bool:
    return value == 1 and not isinstance(value, bool)


def emptied(memory: AgenticMemory) -> bool:
    return [point.payload["kind"] for point in run(load_points(io_of(memory)))] == ["meta"]


@settings(max_examples=20)
@given(st.lists(writes, max_size=6))
def test_any_batches_of_writes(batches: list[Any]) -> None:
    with open_memory() as memory:
        store, model = AMemStore(memory, index={"fields": ["text"]}, formation="inline"), Model()
        for batch in batches:
            store.batch([PutOp(namespace, key, *rest) for namespace, key, *rest in batch])
            for namespace, key, value, _ in batch:
                model.write(namespace, key, value)
            check(store, model)
            assert memory.admin.check() == []
        store.batch([PutOp(namespace, key, None) for namespace, key in model.items])
        assert emptied(memory)
