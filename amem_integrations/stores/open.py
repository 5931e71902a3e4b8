"""Opening a store: which engine a location means, and whether what is there may be used.

`memory.build` calls `open_store`; nothing else chooses between the engines. A collection says in
its meta point what it was written with, and is opened with exactly that or not at all.
"""

import importlib.util
import os
import re
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from amem_integrations.core.engine import Engine
from amem_integrations.core.filters import EVERYTHING
from amem_integrations.core.io import run
from amem_integrations.errors import InvalidInputError, StoreError, StoreMismatchError
from amem_integrations.stores.checks import (
    Encoders,
    address_of,
    check_fits,
    encoders_of,
    meta_point,
)
from amem_integrations.stores.codec import META_ID

if TYPE_CHECKING:
    from amem_integrations.stores.edge.engine import EdgeEngine

__all__ = [
    "Encoders",
    "Location",
    "Store",
    "check_api_key",
    "is_there",
    "open_store",
    "sparse_of",
]

_COLLECTION = re.compile(r"[A-Za-z0-9_-]{1,64}")
_URL = re.compile(r"https?://", re.IGNORECASE)
_URL_BEGINNING = re.compile(r"https?:", re.IGNORECASE)
_ADDRESS = re.compile(r"[^/\\]+:\d{1,5}(?:/|$)")


@runtime_checkable
class Store(Protocol):
    """An open collection: what `AgenticMemory(location)` makes of a location, or takes as it is.

    Write one of your own to keep notes elsewhere: two engines (or one, if it never suspends) with
    the methods of `core.engine.Engine`, put to `testing.EngineContract`. The memory closes it.
    """

    @property
    def sync(self) -> Engine:
        """The engine of the sync form; its coroutines never suspend."""
        ...

    @property
    def asynchronous(self) -> Engine:
        """The engine of the async form; it may be the same one."""
        ...

    @property
    def location(self) -> str:
        """Where the notes are, for messages."""
        ...

    def close(self) -> None:
        """Write everything and release the store; closing again does nothing."""
        ...

    async def aclose(self) -> None:
        """`close`, awaited."""
        ...


Location: TypeAlias = str | os.PathLike[str] | Store | None
"""A directory, the URL of a Qdrant server, an open store, or None: a temporary directory."""


def open_store(
    location: Location,
    *,
    collection: str,
    encoders: Encoders,
    api_key: str | None = None,
    timeout: float = 30.0,
    prefer_grpc: bool = False,
    grpc_port: int = 6334,
) -> Store:
    """Open or create a collection.

    location: a directory; the URL of a Qdrant server; or None, a temporary directory that goes
        away with the store. The remaining options are for servers; timeout is in seconds.
    Raises InvalidInputError for a location or name that cannot be one, StoreMismatchError for
    a collection of another schema or encoder and for a directory that is not a store, and
    StoreLockedError, StoreWriteError, StoreCorruptError, StoreUnavailableError.
    """
    if isinstance(location, Store):
        return _described(location, encoders)
    if not _COLLECTION.fullmatch(collection):
        raise InvalidInputError(
            "A collection's name has 1 to 64 ASCII letters, digits, hyphens or underscores; got "
            f"{collection!r}."
        )
    if isinstance(location, str) and _URL.match(location):
        from amem_integrations.stores.server.client import open_client

        store = open_client(
            location,
            collection=collection,
            dimension=encoders.dimension,
            api_key=api_key,
            timeout=timeout,
            prefer_grpc=prefer_grpc,
            grpc_port=grpc_port,
        )
        return _described(store, encoders)
    directory = None if location is None else _directory(location)
    if importlib.util.find_spec("qdrant_edge") is None:
        return _open_local_mode(directory, collection, encoders, timeout)
    return _open_edge(directory, collection, encoders)


def sparse_of(store: Store) -> str:
    """The name of the sparse encoder that the collection was written with."""
    return encoders_of(run(store.sync.get([META_ID]))[0].payload, store.location).sparse


def is_there(
    location: str | os.PathLike[str] | Store,
    *,
    collection: str,
    api_key: str | None = None,
    timeout: float = 30.0,
) -> bool:
    """Whether `open_store` would open what is there already, rather than make a collection.

    Raises InvalidInputError, StoreUnavailableError, and StoreError for what cannot be read.
    """
    if isinstance(location, Store):
        return bool(run(location.sync.get([META_ID])))
    if isinstance(location, str) and _URL.match(location):
        from amem_integrations.stores.server.client import has_collection

        check_api_key(api_key)
        return has_collection(location, collection, api_key=api_key, timeout=timeout)
    place = _directory(location) / collection
    try:
        return place.is_dir() and any(place.iterdir())
    except OSError as error:
        raise StoreError(f"{location} cannot be read: {error}.") from error


def check_api_key(api_key: str | None) -> None:
    """Raise InvalidInputError if it cannot be sent."""
    if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
        raise InvalidInputError(
            "api_key holds characters that no HTTP header can carry; copy the key again."
        )


def _directory(location: str | os.PathLike[str]) -> Path:
    if not isinstance(location, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(
            "Expected a directory, the URL of a Qdrant server, an open Store, or None; got "
            f"{type(location).__name__}."
        )
    text: str | bytes = os.fspath(location)
    if isinstance(text, bytes):
        raise InvalidInputError("A store's location is text; got bytes (os.fsdecode makes text).")
    if not text.strip() or "\x00" in text:
        raise InvalidInputError("A store's location is a directory or a URL; got a blank one.")
    if text == ":memory:" or "://" in text:
        raise InvalidInputError(
            f"{address_of(text)!r} is no location: give a directory, the http(s):// URL of a "
            "Qdrant server, or no location for a temporary store."
        )
    if _URL_BEGINNING.match(text) or (isinstance(location, str) and _ADDRESS.match(text)):
        raise InvalidInputError(
            "The location looks like the address of a server: give its URL as text, such as "
            '"http://localhost:6333". If it is a directory, put "./" before it.'
        )
    try:
        return Path(text).expanduser().resolve()
    except (OSError, RuntimeError) as error:
        raise InvalidInputError(f"{text!r} is no directory that can be found: {error}.") from error


@dataclass(frozen=True)
class _EdgeStore:
    """A collection in this process. Both forms of an operation use the same engine."""

    engine: "EdgeEngine"
    location: str

    @property
    def sync(self) -> Engine:
        return self.engine

    @property
    def asynchronous(self) -> Engine:
        return self.engine

    def close(self) -> None:
        run(self.engine.close())

    async def aclose(self) -> None:
        import asyncio

        # Removing a temporary directory waits for the disk.
        await asyncio.to_thread(self.close)


def _open_edge(directory: Path | None, collection: str, encoders: Encoders) -> Store:
    from amem_integrations.stores.edge import files, shards
    from amem_integrations.stores.edge.engine import EdgeEngine
    from amem_integrations.stores.edge.errors import translated

    if directory is None:
        with translated(Path(tempfile.gettempdir())):
            temporary = Path(tempfile.mkdtemp(prefix="amem-"))
        path, location = temporary / collection, "a temporary directory"
        with _removed_on_failure(temporary):
            shard = shards.share(
                path,
                partial(files.open_existing, path),
                create=lambda: files.create_temporary(path, encoders),
                temporary=temporary,
            )
    else:
        path, location = directory / collection, str(directory / collection)
        shard = shards.share(
            path,
            partial(files.open_existing, path),
            create=lambda: files.create_missing(path, encoders),
        )
    store = _EdgeStore(EdgeEngine(shard, encoders.dimension), location)
    # A new shard came with its description, so an empty one without it is somebody else's.
    return _described(store, encoders, describe_empty=False)


@contextmanager
def _removed_on_failure(directory: Path) -> Generator[None]:
    try:
        yield
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _open_local_mode(
    directory: Path | None, collection: str, encoders: Encoders, timeout: float
) -> Store:
    """Where there is no wheel of the embedded engine: the client's own local mode."""
    from amem_integrations.stores.edge.ownership import make_private_directory
    from amem_integrations.stores.server.client import open_client

    path = None if directory is None else directory / collection
    if path is not None and path.is_dir():
        entries = {entry.name for entry in path.iterdir()}
        if entries and "meta.json" not in entries:
            raise StoreMismatchError(
                f"{path} holds files that this platform's engine did not write (such as "
                f"{min(entries)!r}). Nothing was changed. Use another directory or collection."
            )
    if path is not None:
        with suppress(OSError):
            # Where that fails, the client says why.
            make_private_directory(path)
    store = open_client(
        None,
        path=path,
        collection=collection,
        dimension=encoders.dimension,
        api_key=None,
        timeout=timeout,
        prefer_grpc=False,
    )
    return _described(store, encoders)


def _described(store: Store, encoders: Encoders, *, describe_empty: bool = True) -> Store:
    """The store, if it says that it was written with these encoders; else it is closed.

    describe_empty: whether a collection without any point may be described now.
    """
    try:
        check_fits(_held(store, encoders, describe_empty), encoders, store.location)
    except BaseException:
        store.close()
        raise
    return store


def _held(store: Store, encoders: Encoders, describe_empty: bool) -> Mapping[str, Any]:
    """What the collection says of itself."""
    engine = store.sync
    found = run(engine.get([META_ID]))
    if not found and describe_empty and run(engine.count(EVERYTHING)) == 0:
        run(engine.insert([meta_point(encoders)]))
        found = run(engine.get([META_ID]))
    if not found:
        raise StoreMismatchError(
            f"The collection in {store.location} was not written by this package, or the point "
            "that describes it is gone. Nothing was changed. Use another directory or collection."
        )
    return found[0].payload
