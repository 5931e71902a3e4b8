"""AMemStore: a memory as LangGraph's `BaseStore`, for `compile(store=…)` and everything on it.

It translates and decides nothing: `requests` says what an operation means, `batch` carries it
out, and what is kept are notes like any other of the memory.
"""

import asyncio
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self

from langgraph.store.base import (
    BaseStore,
    IndexConfig,
    Op,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
)

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.errors import InvalidInputError
from amem_integrations.langgraph.batch import Settings, carry_out, search_links
from amem_integrations.langgraph.requests import Fields, namespace_of
from amem_integrations.langgraph.sweeper import Sweeper
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.items import address_id, sweep
from amem_integrations.memory.options import check_choice
from amem_integrations.memory.pipeline import FORMATIONS, Formation, Wiring

_WHOLE = ("$",)
_SWEEP_MINUTES = 5.0


class AMemStore(BaseStore):
    """A key-value store with semantic search whose items are notes: linked, and evolving.

    Every method works in threads, in any number of event loops, and where one is running. What it
    refuses is a ValueError, as of other stores.

    Args:
        memory: whose notes they are. Closing the store leaves it open.
        index: {"fields": [paths]} that are indexed unless a `put` says otherwise; the whole value
            by default, nothing for False. The memory embeds.
        ttl: LangGraph's TTLConfig, in minutes.
        formation: when a put's text is understood and linked: "background", in a thread; "inline",
            before `put` returns; "off", when `memory.resume()` is called. The value is stored and
            found before, and no model ever touches it.

    Raises:
        InvalidInputError: an argument, a key or a value cannot be used.
        InvalidFilterError: a filter means nothing.
        StoreError: the store cannot be read or written.
        EmbeddingError: the embedder gives no usable vectors; its own errors pass through.

    Examples:
        >>> from amem_integrations.langgraph import AMemStore
        >>> store = AMemStore(memory, index={"fields": ["text"]})
        >>> store.put(("users", "bea"), "tea", {"text": "Bea takes her tea without sugar"})
        >>> [item.key for item in store.search(("users",), query="tea")]
        ['tea']
        >>> memory.flush()  # wait for the thread
        True
        >>> str(store.note(("users", "bea"), "tea").status)
        'formed'
        >>> store.close()
    """

    supports_ttl = True

    def __init__(
        self,
        memory: AgenticMemory,
        *,
        index: IndexConfig | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
        formation: Formation = "background",
    ) -> None:
        check_choice("formation", formation, FORMATIONS)
        self.memory = memory
        self.ttl_config = ttl
        self._fields = _fields(index)
        self._formation: Formation = formation
        self._owns_memory = False
        self._sweep = _sweeping(formation)
        self._sweeper = Sweeper(partial(memory.perform, self._sweep))
        self._stop_sweeper = weakref.finalize(self, self._sweeper.stop, 0.0)

    @classmethod
    def from_url(
        cls,
        url: Any = None,
        *,
        index: IndexConfig | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
        formation: Formation = "background",
        **options: Any,
    ) -> Self:
        """A store with a memory of its own, which is closed with it.

        Args:
            url: a directory, a Qdrant server's URL, or None for a temporary directory.
            index: may hold "embed" and "dims" too, as for other stores.
            ttl: as for the class.
            formation: as for the class.
            **options: further arguments of AgenticMemory, such as model= and collection=.

        Raises:
            InvalidInputError: an argument cannot be used.
            StoreError: the store cannot be opened.
            ModelUnavailableError: the model or embedder cannot be had.

        Examples:
            >>> from amem_integrations.langgraph import AMemStore
            >>> with AMemStore.from_url() as store:
            ...     store.put(("users", "bea"), "tea", {"text": "without sugar"})
        """
        fields, options = _split(index, options)
        memory = AgenticMemory(url, **options)
        try:
            store = cls(memory, index=fields, ttl=ttl, formation=formation)
        except BaseException:
            memory.close()
            raise
        store._owns_memory = True
        return store

    @classmethod
    @asynccontextmanager
    async def afrom_url(cls, url: Any = None, **settings: Any) -> AsyncGenerator[Self]:
        """`from_url` as an async context manager, the form in which servers take a store.

        Args:
            url: as for `from_url`.
            **settings: its other arguments.

        Examples:
            >>> import asyncio
            >>> from amem_integrations.langgraph import AMemStore
            >>> async def main():
            ...     async with AMemStore.afrom_url() as store:
            ...         await store.aput(("users", "bea"), "tea", {"text": "without sugar"})
            >>> asyncio.run(main())
        """
        async with await asyncio.to_thread(cls.from_url, url, **settings) as store:
            yield store

    # -- operations --------------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of the operations, in order; all are checked before any is carried out.

        Reads see what was there before the batch, and of several writes to one key the last
        one counts.
        """
        settings = self._settings
        return self.memory.perform(lambda wiring, io: carry_out(wiring, io, settings, ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch`, awaited."""
        settings = self._settings
        return await self.memory.aperform(lambda wiring, io: carry_out(wiring, io, settings, ops))

    def search(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
        hops: int = 0,
    ) -> list[SearchItem]:
        """Items under a prefix: the nearest to `query`, or without one the last changed first.

        Scores are cosines of the best indexed text. For what a filter may say see
        `langgraph.filters`.

        Args:
            namespace_prefix: the labels with which namespaces begin.
            query: what to look for, in words.
            filter: conditions on values.
            limit: how many, at most.
            offset: how many to skip.
            refresh_ttl: whether reading prolongs; None: as the TTLConfig has it.
            hops: follow links, that many one after another, from what meaning and words find in
                exactly this namespace; scores are then those of `AgenticMemory.search`.

        Raises:
            InvalidFilterError: the filter means nothing.
            InvalidInputError: another value cannot be used.
            StoreError: the store cannot be read.
            EmbeddingError: the embedder gives no usable vectors; its own errors pass through.
        """
        if not hops:
            return super().search(
                namespace_prefix,
                query=query,
                filter=filter,
                limit=limit,
                offset=offset,
                refresh_ttl=refresh_ttl,
            )
        asked = SearchOp(namespace_prefix, filter, limit, offset, query, self._refresh(refresh_ttl))
        settings = self._settings
        return self.memory.perform(lambda _, io: search_links(io, settings, asked, hops))

    async def asearch(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
        hops: int = 0,
    ) -> list[SearchItem]:
        """`search`, awaited."""
        if not hops:
            return await super().asearch(
                namespace_prefix,
                query=query,
                filter=filter,
                limit=limit,
                offset=offset,
                refresh_ttl=refresh_ttl,
            )
        asked = SearchOp(namespace_prefix, filter, limit, offset, query, self._refresh(refresh_ttl))
        settings = self._settings
        return await self.memory.aperform(lambda _, io: search_links(io, settings, asked, hops))

    def note(self, namespace: tuple[str, ...], key: str) -> Note | None:
        """The note behind an item: what was understood of it, with links in both directions.

        Args:
            namespace: the item's labels.
            key: its key.

        Raises:
            InvalidInputError: this can be no namespace or key.
            StoreError: the store cannot be read.
        """
        id, labels = _address(namespace, key)
        return self.memory.get(id, namespace=labels)

    async def anote(self, namespace: tuple[str, ...], key: str) -> Note | None:
        """`note`, awaited."""
        id, labels = _address(namespace, key)
        return await self.memory.aget(id, namespace=labels)

    # -- expiry ------------------------------------------------------------------------------

    def sweep_ttl(self) -> int:
        """Remove the items that are past their time, now; returns how many.

        Raises:
            StoreError: the store cannot be read or written.

        Examples:
            >>> from amem_integrations.langgraph import AMemStore
            >>> store = AMemStore(memory)
            >>> store.put(("users", "bea"), "tea", {"text": "without sugar"}, ttl=60)
            >>> store.sweep_ttl()  # its hour is not over
            0
        """
        return self.memory.perform(self._sweep)

    async def asweep_ttl(self) -> int:
        """`sweep_ttl`, awaited."""
        return await self.memory.aperform(self._sweep)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> "Future[None]":
        """Sweep every so often in a thread, until stopped or closed.

        Args:
            sweep_interval_minutes: else that of the TTLConfig, else five minutes.

        Returns:
            A future that is done when sweeping has ended; cancelling it ends it.

        Examples:
            >>> from amem_integrations.langgraph import AMemStore
            >>> store = AMemStore(memory)
            >>> sweeping = store.start_ttl_sweeper(sweep_interval_minutes=10)
            >>> store.stop_ttl_sweeper(), sweeping.done()
            (True, True)
        """
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        minutes = sweep_interval_minutes or configured or _SWEEP_MINUTES
        return self._sweeper.start(60.0 * minutes)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop sweeping; False if the sweep at hand took longer than `timeout` seconds.

        Args:
            timeout: seconds to wait, at most; None for as long as it takes.
        """
        return self._sweeper.stop(timeout)

    # -- closing -----------------------------------------------------------------------------

    def close(self) -> None:
        """Stop sweeping, and close the memory if it is the store's own. Can be repeated."""
        self._sweeper.stop()
        if self._owns_memory:
            self.memory.close()

    async def aclose(self) -> None:
        """`close`, awaited."""
        await asyncio.to_thread(self._sweeper.stop)
        if self._owns_memory:
            await self.memory.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    @property
    def _settings(self) -> Settings:
        omit = bool((self.ttl_config or {}).get("omit_expired"))
        return Settings(self._fields, self._formation, omit)

    def _refresh(self, asked: bool | None) -> bool:
        return (self.ttl_config or {}).get("refresh_on_read", True) if asked is None else asked


def _sweeping(formation: Formation) -> Callable[[Wiring, IO], Coroutine[Any, Any, int]]:
    return lambda wiring, io: sweep(wiring, io, formation)


def _address(namespace: tuple[str, ...], key: str) -> tuple[str, Namespace]:
    labels = namespace_of(namespace, written=True)
    return address_id((labels, str(key))), labels


def _fields(index: IndexConfig | Literal[False] | None) -> Fields:
    """The paths that are indexed by default."""
    if not isinstance(index, dict):
        return () if index is False else _WHOLE
    if other := index.keys() - {"fields"}:
        raise InvalidInputError(
            f"index takes the fields to be indexed; got {', '.join(sorted(other))} as well. It is "
            "the memory that embeds: give AgenticMemory(embedder=...), or use AMemStore.from_url."
        )
    return tuple(index.get("fields") or _WHOLE)


def _split(
    index: IndexConfig | Literal[False] | None, options: dict[str, Any]
) -> tuple[IndexConfig | Literal[False] | None, dict[str, Any]]:
    """The index without what it says of the embedder, and the memory's options with it."""
    if not isinstance(index, dict) or not index.keys() & {"embed", "dims"}:
        return index, options
    rest = index.copy()
    embed = rest.pop("embed", options.get("embedder"))
    dims = rest.pop("dims", None)
    embedder = resolve_embedder(
        ensure_embeddings(embed) if "embed" in index and isinstance(embed, str) else embed
    )
    if dims not in (None, embedder.dimension):
        raise InvalidInputError(
            f"index says that vectors have {dims} dimensions, and {embedder.name!r} gives "
            f"{embedder.dimension}."
        )
    return rest, {**options, "embedder": embedder}
