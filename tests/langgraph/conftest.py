"""A memory whose model links everything, and a store on it: opened once a module, then emptied."""

from collections.abc import Iterator

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.filters import match
from amem_integrations.core.io import run
from amem_integrations.langgraph import AMemStore
from tests.support import chat_model, io_of, open_memory, parts_of


@pytest.fixture(scope="module")
def opened() -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model()) as memory:
        yield memory


@pytest.fixture
def memory(opened: AgenticMemory) -> Iterator[AgenticMemory]:
    yield opened
    # Let the background finish; unlike `flush`, do not wait for the disk.
    assert parts_of(opened).wait(60)
    run(io_of(opened).engine.delete(match("kind", "note", "revision")))


@pytest.fixture
def store(memory: AgenticMemory) -> AMemStore:
    """A store that indexes "text" and forms notes before `put` returns."""
    return AMemStore(memory, index={"fields": ["text"]}, formation="inline")
