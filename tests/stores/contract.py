"""The engines that must all keep the contract of `core.engine.Engine`, in both forms.

Qdrant Edge, the client's local mode and a stand-in for a server always; a real one when
AMEM_TEST_QDRANT_URL is set.
"""

import os
import uuid
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from amem_integrations.core.engine import Engine
from amem_integrations.core.filters import EVERYTHING
from amem_integrations.core.io import run
from amem_integrations.stores.open import Store, open_store
from tests.stores.points import DIMENSION, ENCODERS

SERVER = os.environ.get("AMEM_TEST_QDRANT_URL")
KINDS = ("edge", "local", "loopback", *(("server",) if SERVER else ()))


class Driven:
    """An engine whose calls are driven by `run` in the sync form and awaited in the async one."""

    def __init__(self, engine: Engine, form: str) -> None:
        self._engine = engine
        self._form = form

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            operation = getattr(self._engine, name)(*args, **kwargs)
            return run(operation) if self._form == "sync" else await operation

        return call


def open_kind(kind: str) -> Store:
    collection = f"contract-{uuid.uuid4().hex[:12]}"
    match kind:
        case "edge":
            return open_store(None, collection=collection, encoders=ENCODERS)
        case "local":
            from amem_integrations.stores.server.client import open_client

            return open_client(None, collection=collection, dimension=DIMENSION)
        case "loopback":
            from tests.stores.loopback import shared_server

            return open_store(shared_server().url, collection=collection, encoders=ENCODERS)
        case _:
            return open_store(SERVER, collection=collection, encoders=ENCODERS)


@pytest.fixture(scope="module", params=KINDS, name="store")
def store_fixture(request: pytest.FixtureRequest) -> Iterator[Store]:
    """One store a module, emptied before each test by `engine`."""
    store = open_kind(request.param)
    yield store
    run(store.sync.delete(EVERYTHING))
    store.close()


@pytest.fixture(params=("sync", "async"), name="engine")
def engine_fixture(store: Store, request: pytest.FixtureRequest) -> Driven:
    run(store.sync.delete(EVERYTHING))
    return Driven(store.sync if request.param == "sync" else store.asynchronous, request.param)
