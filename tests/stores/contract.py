"""The engines that must all keep the contract of `core.engine.Engine`.

The whole contract runs on Qdrant Edge. The client's local mode and a stand-in for a server are put
to the public `EngineContract` in both forms, and to the whole with AMEM_TEST_EVERY_FORM=1.
A real server is put to the whole when AMEM_TEST_QDRANT_URL is set.
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
EVERY_FORM = bool(os.environ.get("AMEM_TEST_EVERY_FORM"))
SERVERS = ("server",) if SERVER else ()
CLIENTS = ("local", "loopback", *SERVERS)
WHOLE = ("edge", *(CLIENTS if EVERY_FORM else SERVERS))
FORMS = ("sync", "async") if EVERY_FORM or SERVER else ("sync",)


class Driven:
    """An engine whose calls are driven by `run` in the sync form and awaited in the async one."""

    def __init__(self, store: Store, form: str) -> None:
        self._engine: Engine = store.sync if form == "sync" else store.asynchronous
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


@pytest.fixture(scope="module", params=WHOLE, name="store")
def store_fixture(request: pytest.FixtureRequest) -> Iterator[Store]:
    """One store a module, emptied before each test by `engine`."""
    store = open_kind(request.param)
    yield store
    run(store.sync.delete(EVERYTHING))
    store.close()


@pytest.fixture(params=FORMS, name="engine")
def engine_fixture(store: Store, request: pytest.FixtureRequest) -> Driven:
    run(store.sync.delete(EVERYTHING))
    return Driven(store, request.param)
