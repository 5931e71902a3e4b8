"""Every engine in every form, put to the public contract; and that closed stores say so."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, cast

import pytest

from amem_integrations.core.engine import Engine, Query
from amem_integrations.core.filters import EVERYTHING
from amem_integrations.core.io import run
from amem_integrations.errors import StoreClosedError
from amem_integrations.stores.open import Store
from amem_integrations.testing import EngineContract
from tests.stores.contract import CLIENTS, SERVERS, Driven, open_kind
from tests.stores.points import id_of, point

OPEN: dict[str, Store] = {}
EAST = [1.0, 0.0, 0.0, 0.0]


@pytest.fixture(scope="module", autouse=True)
def closed_at_the_end() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.popitem()[1].close()


def emptied(kind: str) -> Store:
    """One store for many tests, opened again if one of them closed it."""
    try:
        run(OPEN[kind].sync.delete(EVERYTHING))
    except (KeyError, StoreClosedError):
        OPEN[kind] = open_kind(kind)
        run(OPEN[kind].sync.delete(EVERYTHING))
    return OPEN[kind]


class OneStore(EngineContract):
    kind: ClassVar[str]
    form: ClassVar[str] = "sync"

    @contextmanager
    def open_engine(self) -> Iterator[Engine]:
        yield cast("Engine", Driven(emptied(self.kind), self.form))


class TestEdge(OneStore):
    kind = "edge"


class TestLocalMode(OneStore):
    kind = "local"


class TestLocalModeAwaited(OneStore):
    kind, form = "local", "async"


class TestServer(OneStore):
    kind = SERVERS[0] if SERVERS else "loopback"


class TestServerAwaited(TestServer):
    form = "async"


CALLS: dict[str, Callable[[Driven], Any]] = {
    "get": lambda engine: engine.get([id_of(1)]),
    "query": lambda engine: engine.query([Query(EAST, EVERYTHING, 1)]),
    "scroll": lambda engine: engine.scroll(EVERYTHING, limit=1),
    "count": lambda engine: engine.count(EVERYTHING),
    "facet": lambda engine: engine.facet("ns", EVERYTHING, limit=1),
    "insert": lambda engine: engine.insert([point(1)]),
    "commit": lambda engine: engine.commit([point(1)], expect={id_of(1): {"version": 1}}),
    "patch": lambda engine: engine.patch(id_of(1), {"attempts": 1}),
    "delete": lambda engine: engine.delete(EVERYTHING),
}


@pytest.mark.parametrize("kind", ["edge", *CLIENTS])
def test_a_closed_store_raises_whatever_is_asked_of_it(kind: str) -> None:
    store = emptied(kind)
    asyncio.run(store.aclose())
    for form, run_it in (("sync", run), ("async", asyncio.run)):
        for call in CALLS.values():
            with pytest.raises(StoreClosedError, match="closed"):
                run_it(call(Driven(store, form)))
    asyncio.run(store.aclose())
    store.close()
