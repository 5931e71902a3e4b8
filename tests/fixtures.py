"""Memories to try things in: empty ones of three kinds, one that is exported.

Each is opened once a module, and emptied after each test.
"""

from collections.abc import Iterator

import pytest

from amem_integrations import AgenticMemory
from tests.lifecycle.engines import TEXTS
from tests.support import chat_model, emptied, links_everything, open_memory


@pytest.fixture(scope="module")
def opened() -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model(links_everything)) as memory:
        yield memory


@pytest.fixture
def memory(opened: AgenticMemory) -> Iterator[AgenticMemory]:
    """An empty memory whose model links everything."""
    yield from emptied(opened)


@pytest.fixture(scope="module")
def source() -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model()) as memory:
        memory.add_many(TEXTS, namespace="a")
        memory.add("left raw", namespace="a", formation="off")
        yield memory


@pytest.fixture(scope="module")
def lines(source: AgenticMemory) -> list[str]:
    return list(source.admin.export("a"))


@pytest.fixture(scope="module")
def shared() -> Iterator[AgenticMemory]:
    with open_memory() as memory:
        yield memory


@pytest.fixture
def target(shared: AgenticMemory) -> Iterator[AgenticMemory]:
    """An empty memory that has no model."""
    yield from emptied(shared)


@pytest.fixture(scope="module")
def opened_raw() -> Iterator[AgenticMemory]:
    with open_memory(formation="off") as memory:
        yield memory


@pytest.fixture
def raw_memory(opened_raw: AgenticMemory) -> Iterator[AgenticMemory]:
    """An empty memory that forms nothing."""
    yield from emptied(opened_raw)
