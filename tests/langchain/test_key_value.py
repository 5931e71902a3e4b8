"""Values under keys, for whatever in LangChain takes a BaseStore."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as example
from hypothesis import strategies as st
from langchain_classic.embeddings import CacheBackedEmbeddings
from langchain_classic.retrievers import MultiVectorRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.stores import BaseStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import BaseStoreAsyncTests, BaseStoreSyncTests

from amem_integrations import AgenticMemory
from amem_integrations.errors import InvalidInputError
from amem_integrations.langchain import AMemKeyValueStore
from amem_integrations.testing import HashEmbedder
from tests.support import open_memory

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@pytest.fixture(scope="module")
def memory() -> Iterator[AgenticMemory]:
    with open_memory(formation="off") as memory:
        yield memory


@pytest.fixture
def store(memory: AgenticMemory) -> Iterator[AMemKeyValueStore[Any]]:
    yield AMemKeyValueStore(memory)
    memory.admin.forget_namespace("key-value")


class TestStandardSync(BaseStoreSyncTests[bytes]):
    @pytest.fixture
    def kv_store(self, store: AMemKeyValueStore[bytes]) -> BaseStore[str, bytes]:
        return store

    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return b"foo", b"\x00\xff", b""


class TestStandardAsync(BaseStoreAsyncTests[dict[str, Any]]):
    @pytest.fixture
    async def kv_store(self, store: AMemKeyValueStore[Any]) -> BaseStore[str, dict[str, Any]]:
        return store

    @pytest.fixture
    def three_values(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        return {"a": 1}, {"json": {"base64": ""}}, {"base64": "AA=="}


@example(max_examples=10)
@given(value=JSON | st.binary(max_size=64))
def test_a_value_comes_back_as_it_was(memory: AgenticMemory, value: Any) -> None:
    store: AMemKeyValueStore[Any] = AMemKeyValueStore(memory, namespace="exact")
    store.mset([("key", value)])
    [found] = store.mget(["key"])
    assert found == value
    assert type(found) is type(value)


def test_keys_may_be_any_text_and_the_last_value_counts(store: AMemKeyValueStore[int]) -> None:
    keys = ["", " ", "a/b.c", "%_*", "\x00", "键", "🙂", "x" * 4000, "a%", "ab", "%a"]
    store.mset([("ab", 99), *((key, place) for place, key in enumerate(keys))])
    assert store.mget(keys) == list(range(len(keys)))
    assert sorted(store.yield_keys()) == sorted(keys)
    assert list(store.yield_keys(prefix="a%")) == ["a%"]


def test_more_keys_than_fit_on_a_page_are_all_listed(store: AMemKeyValueStore[int]) -> None:
    store.mset([(f"key-{place}", place) for place in range(300)])
    assert len(list(store.yield_keys(prefix="key-"))) == 300
    store.mdelete([f"key-{place}" for place in range(1, 300)])
    assert list(store.yield_keys()) == ["key-0"]


def test_nothing_is_written_when_one_value_cannot_be_kept(store: AMemKeyValueStore[Any]) -> None:
    with pytest.raises(InvalidInputError, match="object"):
        store.mset([("a", 1), ("b", object())])
    with pytest.raises(InvalidInputError, match="A key is a string; got int"):
        store.mset([("a", 1), (2, 2)])  # type: ignore[list-item]
    assert list(store.yield_keys()) == []


def test_namespaces_are_apart(memory: AgenticMemory) -> None:
    mine: AMemKeyValueStore[int] = AMemKeyValueStore(memory, namespace=("kv", "mine"))
    yours: AMemKeyValueStore[int] = AMemKeyValueStore(memory, namespace=("kv", "yours"))
    mine.mset([("a", 1)])
    yours.mset([("a", 2)])
    yours.mdelete(["a"])
    assert mine.mget(["a"]) == [1]
    assert list(yours.yield_keys()) == []
    # A note that was not put here has its content as value.
    memory.add("One", key="n", namespace=("kv", "yours"))
    assert yours.mget(["n"]) == [{"content": "One"}]
    # No search of the memory finds them.
    assert memory.search("1", namespace=("kv", "mine")) == []


class Counting(HashEmbedder, Embeddings):
    asked = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked += len(texts)
        return super().embed_documents(texts)


async def test_embeddings_are_cached_in_it(store: AMemKeyValueStore[bytes]) -> None:
    counting = Counting()
    cached = CacheBackedEmbeddings.from_bytes_store(
        counting, store, namespace="hash", key_encoder="blake2b"
    )
    first = await cached.aembed_documents(["one", "two"])
    assert cached.embed_documents(["one", "two"]) == first
    assert counting.asked == 2


async def test_the_documents_of_a_multi_vector_index_are_kept_in_it(
    store: AMemKeyValueStore[bytes],
) -> None:
    summaries = InMemoryVectorStore(HashEmbedder())  # type: ignore[arg-type]
    retriever = MultiVectorRetriever(vectorstore=summaries, byte_store=store)
    summaries.add_documents([Document("about caches", metadata={"doc_id": "a"})])
    whole = Document("The cache evicts by LRU.", metadata={"page": 3})
    retriever.docstore.mset([("a", whole), ("b", Document("Lunch was pasta."))])
    assert retriever.invoke("caches") == await retriever.ainvoke("caches") == [whole]
