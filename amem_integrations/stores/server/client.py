"""Opening a store over qdrant-client: a server by URL, or the client's local mode.

Checks the server's version, makes the collection and its indexes where they are missing, and
gives the engine in its two forms. Local mode stands in for a server in tests, and for the
embedded engine on platforms without a wheel of it. `stores.open` decides which engine is used.
Importing this module takes a second or more.
"""

import json
import logging
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx
from qdrant_client import QdrantClient, models

from amem_integrations.core.engine import Engine
from amem_integrations.core.io import run
from amem_integrations.errors import (
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    StoreMismatchError,
    StoreUnavailableError,
)
from amem_integrations.stores.codec import INDEXES, Index
from amem_integrations.stores.server.engine import DENSE, QUESTIONS, SPARSE, ClientEngine
from amem_integrations.stores.server.errors import Server, from_local
from amem_integrations.stores.server.transport import (
    AsyncServerCaller,
    Call,
    Caller,
    Lifetime,
    LocalCaller,
    ServerCaller,
    ThreadedLocalCaller,
)

_LOG = logging.getLogger(__name__)
OLDEST_SERVER = (1, 19)
_SEVERAL = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)


class ClientStore:
    """A store over qdrant-client: the same notes through `sync` and through `asynchronous`.

    Closing either engine closes the store.
    """

    def __init__(
        self,
        location: str,
        lifetime: Lifetime,
        sync: Caller,
        asynchronous: Caller,
        *,
        collection: str,
        dimension: int,
        exclusive: bool,
    ) -> None:
        self.location = location
        self._lifetime = lifetime
        self._callers = (sync, asynchronous)
        make = partial(
            ClientEngine, collection=collection, dimension=dimension, exclusive=exclusive
        )
        self.sync: Engine = make(sync, close=self._close)
        self.asynchronous: Engine = make(asynchronous, close=self.aclose)

    def __repr__(self) -> str:
        return f"ClientStore({self.location!r})"

    def close(self) -> None:
        """Close from synchronous code; clients of running event loops are told to close."""
        run(self._close())

    async def aclose(self) -> None:
        """Close from a running event loop."""
        if self._lifetime.end():
            for caller in self._callers:
                await caller.close()

    async def _close(self) -> None:
        if self._lifetime.end():
            for caller in self._callers:
                caller.close_now()


def open_client(
    url: str | None,
    *,
    path: Path | None = None,
    collection: str,
    dimension: int,
    api_key: str | None = None,
    timeout: float = 10.0,
    prefer_grpc: bool = False,
    grpc_port: int = 6334,
) -> ClientStore:
    """A server at `url`; without one, local mode in the directory `path`, or in memory.

    timeout: seconds that a request may take, rounded up to whole ones.
    Raises StoreUnavailableError (down, slow, too old, credentials refused), StoreMismatchError
    (a collection of something else), StoreLockedError, StoreWriteError, StoreCorruptError, and
    InvalidInputError for a URL that cannot be one.
    """
    if url is None:
        return _open_local(path, collection, dimension)
    return _open_server(
        Server(url, api_key, timeout, prefer_grpc, grpc_port), collection, dimension
    )


def has_collection(
    url: str, collection: str, *, api_key: str | None = None, timeout: float = 10.0
) -> bool:
    """Whether a server has a collection of this name; errors as those of `open_client`."""
    server = Server(url, api_key, timeout, prefer_grpc=False)
    caller = ServerCaller(server, Lifetime(server.address), httpx.create_ssl_context())
    try:
        return run(caller.perform(partial(_exists, collection)))
    finally:
        caller.close_now()


def _open_server(server: Server, collection: str, dimension: int) -> ClientStore:
    if server.api_key is not None and not server.is_encrypted_or_near:
        _LOG.warning("The API key for %s travels unencrypted; use https://.", server.address)
    lifetime = Lifetime(server.address)
    context = httpx.create_ssl_context()
    caller = ServerCaller(server, lifetime, context)
    try:
        run(caller.perform(partial(_require_version, server)))
        run(caller.perform(partial(_prepare, collection, dimension)))
        run(caller.perform(partial(_make_indexes, collection)))
    except BaseException:
        caller.close_now()
        raise
    return ClientStore(
        server.address,
        lifetime,
        caller,
        AsyncServerCaller(server, lifetime, context),
        collection=collection,
        dimension=dimension,
        exclusive=False,
    )


def _open_local(path: Path | None, collection: str, dimension: int) -> ClientStore:
    location = "memory" if path is None else str(path)
    lifetime = Lifetime(location)
    caller = LocalCaller(_local_client(path), path, lifetime)
    try:
        caller.perform_now(partial(_prepare, collection, dimension))
    except BaseException:
        caller.close_now()
        raise
    return ClientStore(
        location,
        lifetime,
        caller,
        ThreadedLocalCaller(caller),
        collection=collection,
        dimension=dimension,
        exclusive=True,
    )


def _local_client(path: Path | None) -> QdrantClient:
    if path is None:
        return QdrantClient(":memory:")
    try:
        _require_unlocked(path)
        return QdrantClient(path=str(path), force_disable_check_same_thread=True)
    except StoreError:
        raise
    except (json.JSONDecodeError, KeyError, TypeError, EOFError) as error:
        raise StoreCorruptError(f"The local store in {path} is damaged: {error!r}.") from error
    except Exception as error:
        raise from_local(error, path) from error


def _require_unlocked(path: Path) -> None:
    """Ask before the client does: it takes its lock last, with everything loaded."""
    lock = path / ".lock"
    if not lock.exists():
        return
    import portalocker

    with lock.open("r+") as file:
        try:
            portalocker.lock(
                file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
            )
        except portalocker.exceptions.LockException as error:
            raise StoreLockedError(
                f"The local store in {path} is open elsewhere, in this process or another. "
                "Close it there, or run a Qdrant server to share it."
            ) from error
        portalocker.unlock(file)


# -- what must be there ----------------------------------------------------------------------


async def _require_version(server: Server, call: Call) -> None:
    version = str((await call("info")).version)
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None:
        raise StoreUnavailableError(
            f"The server at {server.address} gives its version as {version!r}, which is not "
            "Qdrant's. Check the URL."
        )
    if (int(numbers[1]), int(numbers[2])) < OLDEST_SERVER:
        oldest = ".".join(map(str, OLDEST_SERVER))
        raise StoreUnavailableError(
            f"Qdrant at {server.address} is version {version}; {oldest} or newer is needed, "
            "because older ones weigh words over all namespaces together. Upgrade the server."
        )


async def _exists(collection: str, call: Call) -> bool:
    return await call("collection_exists", collection_name=collection)


async def _prepare(collection: str, dimension: int, call: Call) -> None:
    """Make the collection where it is missing, and check that it is one of ours."""
    if not await _exists(collection, call):
        try:
            await call("create_collection", collection_name=collection, **_layout(dimension))
        except StoreError:
            # Another process may have made it meanwhile.
            if not await _exists(collection, call):
                raise
    params = (await call("get_collection", collection_name=collection)).config.params
    names = [
        cast("dict[str, Any]", vectors)
        for vectors in (params.vectors, params.sparse_vectors)
        if isinstance(vectors, dict)
    ]
    there = {name for vectors in names for name in vectors}
    if not {DENSE, SPARSE} <= there:
        raise StoreMismatchError(
            f"Collection {collection!r} was not made by this package: it lacks the vectors "
            f"{DENSE!r} and {SPARSE!r}. Nothing was changed. Choose another name."
        )
    if QUESTIONS not in there:
        # An older version made it.
        await call(
            "create_vector_name",
            collection_name=collection,
            vector_name=QUESTIONS,
            vector_name_config=models.DenseVectorNameConfig(
                dense=models.DenseVectorConfig(
                    size=names[0][DENSE].size,
                    distance=models.Distance.COSINE,
                    multivector_config=_SEVERAL,
                )
            ),
            wait=True,
        )


def _layout(dimension: int) -> dict[str, Any]:
    """A multivector of passages, one of questions, and BM25 terms, for many small namespaces.

    There is no graph over all points, only one within each value of the tenant index.
    """
    several = models.VectorParams(
        size=dimension,
        distance=models.Distance.COSINE,
        multivector_config=_SEVERAL,
    )
    return {
        "vectors_config": {DENSE: several, QUESTIONS: several},
        "sparse_vectors_config": {SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        "hnsw_config": models.HnswConfigDiff(m=0, payload_m=16),
        # Qdrant Cloud's default would refuse ranges on a caller's own numbers. Those have no
        # index, and are looked at within one namespace only.
        "strict_mode_config": models.StrictModeConfig(
            unindexed_filtering_retrieve=True, unindexed_filtering_update=True
        ),
    }


async def _make_indexes(collection: str, call: Call) -> None:
    info = await call("get_collection", collection_name=collection)
    for field, index in INDEXES.items():
        if field not in info.payload_schema:
            await call(
                "create_payload_index",
                collection_name=collection,
                field_name=field,
                field_schema=_INDEX_PARAMS[index](),
                wait=True,
            )


_INDEX_PARAMS: dict[Index, Callable[[], Any]] = {
    Index.TENANT: lambda: models.KeywordIndexParams(
        type=models.KeywordIndexType.KEYWORD, is_tenant=True
    ),
    Index.KEYWORD: lambda: models.KeywordIndexParams(
        type=models.KeywordIndexType.KEYWORD, enable_hnsw=False
    ),
    Index.INTEGER: lambda: models.IntegerIndexParams(
        type=models.IntegerIndexType.INTEGER, lookup=True, range=True, enable_hnsw=False
    ),
}
