"""A memory and a store on it for several test modules: opened once a module, emptied each time."""

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note
from amem_integrations.core.filters import match
from amem_integrations.core.io import run
from amem_integrations.langgraph import AMemStore
from amem_integrations.stores.read import every_point
from tests.support import chat_model, io_of, open_memory, parts_of

NS = ("users", "ann")
find_spec = importlib.util.find_spec


def without_qdrant_edge(name: str, package: str | None = None) -> Any:
    """`find_spec` on a platform without the embedded engine."""
    return None if name == "qdrant_edge" else find_spec(name, package)


@pytest.fixture(scope="module", name="opened")
def opened_fixture() -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model()) as memory:
        yield memory


@pytest.fixture(name="memory")
def memory_fixture(opened: AgenticMemory) -> Iterator[AgenticMemory]:
    """A memory with a model that links everything."""
    yield opened
    # Let the background finish; unlike `flush`, do not wait for the disk.
    assert parts_of(opened).wait(60)
    run(io_of(opened).engine.delete(match("kind", "note", "revision")))


@pytest.fixture(name="store")
def store_fixture(memory: AgenticMemory) -> AMemStore:
    """A store that indexes "text" and forms notes before `put` returns."""
    return AMemStore(memory, index={"fields": ["text"]}, formation="inline")


def note(store: AMemStore, key: str) -> Note:
    """The note behind an item that must be there."""
    found = store.note(NS, key)
    assert found is not None
    return found


def value(store: AMemStore, key: str) -> Any:
    """The value of an item that must be there; reading it prolongs nothing."""
    item = store.get(NS, key, refresh_ttl=False)
    assert item is not None
    return item.value


def stored(memory: AgenticMemory) -> str:
    """Everything that is kept, as text."""
    return str([point.payload for point in run(every_point(io_of(memory)))])
