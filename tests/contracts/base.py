"""How the store contract opens stores and calls them; the tests are in the modules beside it."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from time import sleep
from typing import Any, TypeAlias, TypeVar, cast

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, IndexConfig, Item, Op, SearchItem, TTLConfig

from amem_integrations.testing.embedder import HashEmbedder

T = TypeVar("T")


class RecordingEmbeddings(Embeddings):
    """LangChain `Embeddings` without a model; `embedded` are the documents so far, in order."""

    def __init__(self) -> None:
        self.name = "hash-256"
        self.embedded: list[str] = []
        self._embedder = HashEmbedder()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded.extend(texts)
        return self._embedder.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._embedder.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)

    def cosine(self, text: str, query: str) -> float:
        """What the score of a text should be, for a query."""
        pairs = zip(self.embed_query(text), self.embed_query(query), strict=True)
        return sum(one * other for one, other in pairs)


def index_of(embeddings: RecordingEmbeddings, fields: list[str]) -> IndexConfig:
    return IndexConfig(dims=len(embeddings.embed_query("")), embed=embeddings, fields=fields)


class Driver:
    """A store whose methods are called in their sync form, or awaited in their async one."""

    def __init__(self, store: BaseStore, runner: asyncio.Runner | None) -> None:
        self.store = store
        self._runner = runner

    def put(self, namespace: Any, key: Any, value: Any, **options: Any) -> None:
        self._call("put", namespace, key, value, **options)

    def get(self, namespace: Any, key: Any, **options: Any) -> Item | None:
        return self._call("get", namespace, key, **options)

    def value(self, namespace: Any, key: Any) -> Any:
        """The value of an item that must be there."""
        return self.item(namespace, key).value

    def item(self, namespace: Any, key: Any) -> Item:
        """An item that must be there."""
        item = self.get(namespace, key)
        assert item is not None, f"there is no item {key!r} in {namespace}"
        return item

    def delete(self, namespace: Any, key: Any) -> None:
        self._call("delete", namespace, key)

    def search(self, prefix: Any, **options: Any) -> list[SearchItem]:
        return self._call("search", prefix, **options)

    def keys(self, prefix: Any, **options: Any) -> list[str]:
        """The keys of the items found, in order."""
        return [item.key for item in self.search(prefix, **options)]

    def pages(self, prefix: Any, size: int, total: int, **options: Any) -> list[list[str]]:
        """The keys of `total` items, page by page."""
        starts = range(0, total, size)
        return [self.keys(prefix, limit=size, offset=at, **options) for at in starts]

    def score(self, prefix: Any, query: str) -> float:
        """The score of the best item, which there must be."""
        score = self.search(prefix, query=query)[0].score
        assert score is not None
        return score

    def list_namespaces(self, **options: Any) -> list[tuple[str, ...]]:
        return self._call("list_namespaces", **options)

    def batch(self, ops: Iterable[Op]) -> list[Any]:
        return self._call("batch", ops)

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine, on the event loop of the async form."""
        assert self._runner is not None, "there is no event loop in the sync form"
        return self._runner.run(call)

    def _call(self, name: str, *args: Any, **options: Any) -> Any:
        if self._runner is None:
            return getattr(self.store, name)(*args, **options)

        async def call() -> Any:
            return await getattr(self.store, f"a{name}")(*args, **options)

        return self._runner.run(call())


Opener: TypeAlias = Callable[..., Driver]


class ContractBase(ABC):
    """What the parts of the contract share. See `StoreContract` for how to run it."""

    @abstractmethod
    def open_store(
        self, *, index: IndexConfig, ttl: TTLConfig | None
    ) -> AbstractContextManager[BaseStore]:
        """A new, empty store, which is closed when the context ends.

        Args:
            index: what it indexes, and how.
            ttl: how long items live; None: for good.
        """

    def pass_time(self, seconds: float) -> None:
        """Let time pass for the store; one with a clock of its own need not wait.

        Args:
            seconds: how much.
        """
        sleep(seconds)

    def sweep(self, store: BaseStore) -> int:
        """Remove what is past its time; returns how many items that were.

        Args:
            store: whose items.
        """
        return cast("Any", store).sweep_ttl()

    @pytest.fixture(params=["sync", "async"])
    def form(self, request: pytest.FixtureRequest) -> str:
        """The form in which a store's methods are called."""
        return request.param

    @pytest.fixture
    def embeddings(self) -> RecordingEmbeddings:
        return RecordingEmbeddings()

    @pytest.fixture
    def opened(self, form: str, embeddings: RecordingEmbeddings) -> Iterator[Opener]:
        """Opens a store: opened(fields=[paths to index], ttl=a TTLConfig)."""
        with ExitStack() as stack:
            runner = None if form == "sync" else stack.enter_context(asyncio.Runner())

            def open_(fields: list[str] | None = None, ttl: TTLConfig | None = None) -> Driver:
                index = index_of(embeddings, fields or ["text"])
                return Driver(stack.enter_context(self.open_store(index=index, ttl=ttl)), runner)

            yield open_

    @pytest.fixture
    def store(self, opened: Opener) -> Driver:
        """A store that indexes "text" and keeps items for good."""
        return opened()
