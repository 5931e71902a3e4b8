"""AMemStore: a memory as LangGraph's `BaseStore`, for `compile(store=…)` and everything on it.

Its items are notes like any other of the memory; `operations` says what each call does.
"""

import asyncio
import logging
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal, Self, TypeAlias, cast

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

from amem_integrations.core.io import IO, async_form, sync_form
from amem_integrations.core.note import Note
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.errors import InvalidInputError, StoreClosedError, loggable
from amem_integrations.formation.pipeline import FORMATIONS, Formation
from amem_integrations.langgraph.operations import (
    Fields,
    Settings,
    parse_namespace,
    run_batch,
    search_links,
)
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.items import address_id, sweep
from amem_integrations.memory.options import check_choice
from amem_integrations.memory.wiring import Adapter

_LOG = logging.getLogger(__name__)

Index: TypeAlias = IndexConfig | Literal[False] | None

_WHOLE = ("$",)
_SWEEP_MINUTES = 5.0


class AMemStore(Adapter, BaseStore):
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
        index: Index = None,
        ttl: TTLConfig | None = None,
        formation: Formation = "background",
    ) -> None:
        check_choice("formation", formation, FORMATIONS)
        super().__init__(memory)
        self.memory = memory
        self.ttl_config = ttl
        self._fields = _fields(index)
        self._formation: Formation = formation
        self._owns_memory = False
        # Not a method of the store, which nobody could let go of while it sweeps.
        self._sweeper = _Sweeper(
            partial(memory.perform, lambda wiring, io: sweep(wiring, io, formation))
        )
        self._stop_sweeper = weakref.finalize(self, self._sweeper.stop, 0.0)

    @classmethod
    def from_url(
        cls,
        url: Any = None,
        *,
        index: Index = None,
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
        """
        async with await asyncio.to_thread(cls.from_url, url, **settings) as store:
            yield store

    @sync_form
    async def batch(self, io: IO, ops: Iterable[Op]) -> list[Result]:
        """Return the results of the operations, in order; all are checked before the first runs.

        Reads see the state before the batch; of several writes to one key the last one counts.
        """
        return await run_batch(self._wiring, io, self._settings, ops)

    abatch = async_form(batch)  # pyright: ignore[reportAssignmentType]

    @sync_form
    async def search(
        self,
        io: IO,
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
        """Return items under a prefix: the nearest to `query`; without one the last changed first.

        Scores are cosines of the best indexed text. `langgraph.filters` describes filters.

        Args:
            namespace_prefix: the first labels of the namespaces.
            query: what to look for, in words.
            filter: conditions on values.
            limit: how many, at most.
            offset: how many to skip.
            refresh_ttl: whether reading prolongs; None: as the TTLConfig has it.
            hops: how many links to follow from what is found in exactly this namespace; scores
                are then those of `AgenticMemory.search`.

        Raises:
            InvalidFilterError: the filter means nothing.
            InvalidInputError: another value cannot be used.
            StoreError: the store cannot be read.
            EmbeddingError: the embedder gives no usable vectors; its own errors pass through.
        """
        if refresh_ttl is None:
            refresh_ttl = (self.ttl_config or {}).get("refresh_on_read", True)
        op = SearchOp(namespace_prefix, filter, limit, offset, query, refresh_ttl)
        if hops:
            return await search_links(io, self._settings, op, hops)
        [items] = await run_batch(self._wiring, io, self._settings, [op])
        return cast("list[SearchItem]", items)

    asearch = async_form(search)  # pyright: ignore[reportAssignmentType]

    def note(self, namespace: tuple[str, ...], key: str) -> Note | None:
        """Return the note behind an item, with links in both directions; None if there is none.

        Args:
            namespace: the item's labels.
            key: its key.

        Raises:
            InvalidInputError: the namespace or key is invalid.
            StoreError: the store cannot be read.
        """
        labels = parse_namespace(namespace)
        return self.memory.get(address_id((labels, str(key))), namespace=labels)

    async def anote(self, namespace: tuple[str, ...], key: str) -> Note | None:
        """`note`, awaited."""
        labels = parse_namespace(namespace)
        return await self.memory.aget(address_id((labels, str(key))), namespace=labels)

    @sync_form
    async def sweep_ttl(self, io: IO) -> int:
        """Remove the expired items now; returns how many.

        Raises:
            StoreError: the store cannot be read or written.
        """
        return await sweep(self._wiring, io, self._formation)

    asweep_ttl = async_form(sweep_ttl)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> "Future[None]":
        """Sweep every so often in a thread, until stopped or closed.

        Args:
            sweep_interval_minutes: else that of the TTLConfig, else five minutes.

        Returns:
            A future that is done when sweeping has ended; cancelling it ends it.
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

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def _settings(self) -> Settings:
        ttl: TTLConfig = self.ttl_config or {}
        omit, refresh = bool(ttl.get("omit_expired")), ttl.get("refresh_on_read", True)
        return Settings(self._fields, self._formation, omit, bool(refresh))


class _Sweeper:
    """A daemon thread that calls `sweep` at intervals, until stopped or until the memory closes."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._done: Future[None] = Future()

    def start(self, interval: float) -> "Future[None]":
        """Start, unless it runs; cancelling the future stops it."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stop, self._done = stop, done = threading.Event(), Future[None]()
                done.add_done_callback(lambda _: stop.set())
                run = partial(_run_sweeper, self._sweep, interval, stop, done)
                self._thread = threading.Thread(target=run, name="amem-ttl-sweeper", daemon=True)
                self._thread.start()
            return self._done

    def stop(self, timeout: float | None = None) -> bool:
        """Stop after the round at hand; False if that took longer than `timeout` seconds."""
        with self._lock:
            thread, stop = self._thread, self._stop
        if thread is None:
            return True
        stop.set()
        if thread is not threading.current_thread():
            thread.join(timeout)
        return not thread.is_alive()


def _run_sweeper(
    sweep: Callable[[], int], interval: float, stop: threading.Event, done: "Future[None]"
) -> None:
    while not stop.wait(interval):
        try:
            sweep()
        except StoreClosedError:
            break
        except Exception as error:
            _LOG.warning("Sweeping failed (%s) and will be tried again.", loggable(error))
    if done.set_running_or_notify_cancel():
        done.set_result(None)


def _fields(index: Index) -> Fields:
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
    index: Index, options: dict[str, Any]
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
