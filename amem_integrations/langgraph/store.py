"""AMemStore: a memory as LangGraph's `BaseStore`, for `compile(store=…)` and everything on it.

Its items are notes like any other of the memory; `operations` says what each call does.
"""

import asyncio
import weakref
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal, Self, TypeAlias, cast

from langgraph.store.base import IndexConfig, TTLConfig, ensure_embeddings

from amem_integrations.core.io import IO, Embedder, async_form, sync_form
from amem_integrations.core.note import Note
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.embedders.embedder import NamedEmbedder
from amem_integrations.errors import InvalidInputError
from amem_integrations.formation.pipeline import Formation
from amem_integrations.langgraph.items import StoreItems
from amem_integrations.langgraph.operations import Fields, parse_namespace
from amem_integrations.langgraph.sweeper import Ready, Stopped, Sweeper, Sweeping
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.items import address_id, sweep
from amem_integrations.memory.wiring import NamespaceLike

Index: TypeAlias = IndexConfig | Literal[False] | None

_WHOLE = ("$",)
_SWEEP_MINUTES = 5.0


class AMemStore(StoreItems):
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
        periods: whether labels may have periods, as mail addresses have. LangGraph's stores refuse
            them; the middleware and the tools take them.

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

    def __init__(
        self,
        memory: AgenticMemory,
        *,
        index: Index = None,
        ttl: TTLConfig | None = None,
        formation: Formation = "background",
        periods: bool = False,
    ) -> None:
        super().__init__(memory, _fields(index), ttl, formation, periods)
        self._owns_memory = False
        # Not a method of the store, which nobody could let go of while it sweeps.
        self._sweeper = Sweeper(
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
        periods: bool = False,
        **options: Any,
    ) -> Self:
        """A store with a memory of its own, which is closed with it.

        Args:
            url: a directory, a Qdrant server's URL, or None for a temporary directory.
            index: may hold "embed" and "dims" too, as for other stores.
            ttl: as for the class.
            formation: as for the class.
            periods: as for the class.
            **options: further arguments of AgenticMemory, such as model= and collection=.

        Raises:
            InvalidInputError: an argument cannot be used.
            StoreError: the store cannot be opened.
            ModelUnavailableError: the model or embedder cannot be had.
        """
        fields, options = _split(index, options)
        memory = AgenticMemory(url, **options)
        try:
            store = cls(memory, index=fields, ttl=ttl, formation=formation, periods=periods)
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

    def note(self, namespace: NamespaceLike, key: str) -> Note | None:
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

    async def anote(self, namespace: NamespaceLike, key: str) -> Note | None:
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

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Sweeping:
        """Sweep every so often in a thread, until stopped or closed. May be awaited.

        Args:
            sweep_interval_minutes: else that of the TTLConfig, else five minutes.

        Returns:
            A future that is done when sweeping has ended; cancelling it ends it. Awaiting the call
            gives such a future of the running loop.
        """
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        minutes = sweep_interval_minutes or configured or _SWEEP_MINUTES
        return self._sweeper.start(60.0 * minutes)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> Stopped:
        """Stop sweeping. False if the sweep at hand took longer than `timeout` seconds.

        The call may be awaited. Where a loop is running, only that waits, or asking for the truth
        of the result.

        Args:
            timeout: seconds to wait, at most; None for as long as it takes.
        """
        stopped = Stopped(partial(self._sweeper.stop, timeout))
        self._sweeper.request_stop()
        if not _is_loop_running():
            bool(stopped)
        return stopped

    def setup(self) -> Ready:
        """Do nothing: the memory is ready once it is open. Other stores have it; may be awaited."""
        return Ready()

    @property
    def embeddings(self) -> Embedder:
        """The memory's embedder, as it was given."""
        return self._embedder.inner

    @property
    def index_config(self) -> IndexConfig | None:
        """What is indexed unless a `put` says otherwise, and the embedder; None for nothing."""
        if not self._fields:
            return None
        embed, fields = cast("Any", self.embeddings), list(self._fields)
        return IndexConfig(dims=self._embedder.dimension, embed=embed, fields=fields)

    @property
    def _embedder(self) -> NamedEmbedder:
        return cast("NamedEmbedder", self._sync.embedder)

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


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


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
