"""A memory for each test, which needs no model."""

from collections.abc import Iterator

import pytest

from amem_integrations import AgenticMemory
from tests.support import open_memory


@pytest.fixture
def core() -> Iterator[AgenticMemory]:
    with open_memory() as memory:
        yield memory
