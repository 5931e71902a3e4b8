"""The items of a LangGraph store: its `BaseStore` methods over a memory, each in both forms.

`AMemStore` adds how a store is opened, swept and closed; `operations` says what each call does.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from amem_integrations.core.io import IO, async_form, sync_form
from amem_integrations.formation.pipeline import FORMATIONS, Formation
from amem_integrations.langgraph.operations import (
    Fields,
    Settings,
    labels_of,
    parse_namespace,
    run_batch,
    search_links,
)
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.options import check_choice
from amem_integrations.memory.wiring import Adapter, NamespaceLike

# LangGraph's own, where nothing may be put.
_RESERVED = "langgraph"


class StoreItems(Adapter, BaseStore):
    """Items under keys of namespaces.

    fields: the paths that are indexed unless a put says otherwise. For the rest see `AMemStore`.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: AgenticMemory,
        fields: Fields,
        ttl: TTLConfig | None,
        formation: Formation,
        periods: bool,
    ) -> None:
        check_choice("formation", formation, FORMATIONS)
        super().__init__(memory)
        self.memory = memory
        self.ttl_config = ttl
        self._fields = fields
        self._formation: Formation = formation
        self._periods = periods

    @sync_form
    async def batch(self, io: IO, ops: Iterable[Op]) -> list[Result]:
        """Return the results of the operations, in order; all are checked before the first runs.

        Reads see the state before the batch; of several writes to one key the last one counts.
        """
        return await run_batch(self._wiring, io, self._settings, ops)

    abatch = async_form(batch)  # pyright: ignore[reportAssignmentType]

    # The methods of `BaseStore` always refuse labels with a period.

    @sync_form
    async def get(
        self, io: IO, namespace: NamespaceLike, key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        """Return the item under a key, or None if there is none.

        Args:
            namespace: the item's labels; a string is one label.
            key: its key.
            refresh_ttl: whether reading prolongs; None: as the TTLConfig has it.

        Raises:
            InvalidNamespaceError: a label is empty, blank, no string, or too long.
            StoreError: the store cannot be read.
        """
        op = GetOp(labels_of(namespace), str(key), self._refreshes(refresh_ttl))
        [item] = await run_batch(self._wiring, io, self._settings, [op])
        return cast("Item | None", item)

    aget = async_form(get)  # pyright: ignore[reportAssignmentType]

    @sync_form
    async def put(
        self,
        io: IO,
        namespace: NamespaceLike,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Store a value under a key; what the key had before is replaced.

        Args:
            namespace: the item's labels; a string is one label. The first is not "langgraph".
            key: its key.
            value: JSON, which comes back exactly.
            index: the paths that are indexed, in place of the store's; False for none.
            ttl: minutes to live, None for good; else as the TTLConfig has it.

        Raises:
            InvalidNamespaceError: a label is empty, blank, no string, or too long.
            InvalidInputError: another argument cannot be used.
            StoreError: the store cannot be written.
            EmbeddingError: the embedder gives no usable vectors; its own errors pass through.
        """
        labels = parse_namespace(namespace)
        if labels[0] == _RESERVED:
            raise InvalidNamespaceError(f"The first label is not {_RESERVED!r}; got {labels}.")
        if isinstance(ttl, NotProvided):
            ttl = (self.ttl_config or {}).get("default_ttl")
        op = PutOp(labels, str(key), cast("dict[str, Any]", value), index, ttl)
        await run_batch(self._wiring, io, self._settings, [op])

    aput = async_form(put)  # pyright: ignore[reportAssignmentType]

    @sync_form
    async def delete(self, io: IO, namespace: NamespaceLike, key: str) -> None:
        """Delete an item, and undo what it changed in others; a missing one is ignored.

        Args:
            namespace: the item's labels; a string is one label.
            key: its key.

        Raises:
            InvalidNamespaceError: a label is empty, blank, no string, or too long.
            StoreError: the store cannot be written.
        """
        op = PutOp(labels_of(namespace), str(key), None)
        await run_batch(self._wiring, io, self._settings, [op])

    adelete = async_form(delete)  # pyright: ignore[reportAssignmentType]

    @sync_form
    async def list_namespaces(
        self,
        io: IO,
        *,
        prefix: NamespaceLike | None = None,
        suffix: NamespaceLike | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        """Return the namespaces that have items, sorted.

        Args:
            prefix: the first labels; "*" stands for any one label.
            suffix: the last labels.
            max_depth: how many labels are kept of each.
            limit: how many, at most.
            offset: how many to skip.

        Raises:
            InvalidNamespaceError: a label is empty, blank, no string, or too long.
            InvalidInputError: a number is negative.
            StoreError: the store cannot be read.
        """
        conditions = (
            *([MatchCondition("prefix", labels_of(prefix))] if prefix else []),
            *([MatchCondition("suffix", labels_of(suffix))] if suffix else []),
        )
        op = ListNamespacesOp(conditions or None, max_depth, limit, offset)
        [found] = await run_batch(self._wiring, io, self._settings, [op])
        return cast("list[tuple[str, ...]]", found)

    alist_namespaces = async_form(list_namespaces)  # pyright: ignore[reportAssignmentType]

    @sync_form
    async def search(
        self,
        io: IO,
        namespace_prefix: NamespaceLike,
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
            namespace_prefix: the first labels of the namespaces; a string is one label.
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
        refresh = self._refreshes(refresh_ttl)
        op = SearchOp(labels_of(namespace_prefix), filter, limit, offset, query, refresh)
        if hops:
            return await search_links(io, self._settings, op, hops)
        [items] = await run_batch(self._wiring, io, self._settings, [op])
        return cast("list[SearchItem]", items)

    asearch = async_form(search)  # pyright: ignore[reportAssignmentType]

    def _refreshes(self, given: bool | None) -> bool:
        if given is not None:
            return given
        return bool((self.ttl_config or {}).get("refresh_on_read", True))

    @property
    def _settings(self) -> Settings:
        ttl: TTLConfig = self.ttl_config or {}
        omit, refresh = bool(ttl.get("omit_expired")), ttl.get("refresh_on_read", True)
        return Settings(self._fields, self._formation, omit, bool(refresh), self._periods)
