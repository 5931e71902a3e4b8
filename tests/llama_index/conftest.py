"""A memory for each test, which needs no model."""

from collections.abc import Iterator

import pytest
from llama_index.core.utils import get_tokenizer

from amem_integrations import AgenticMemory
from tests.llama_index.support import FACT
from tests.support import open_memory


@pytest.fixture(scope="session", autouse=True)
def tokenizer() -> None:
    """LlamaIndex reads its tokenizer from a file at first use, wherever that happens to be."""
    get_tokenizer()


@pytest.fixture
def core() -> Iterator[AgenticMemory]:
    with open_memory() as memory:
        yield memory


@pytest.fixture
def told(core: AgenticMemory) -> AgenticMemory:
    """A memory in which Calvin has told about his dog."""
    core.add(FACT, namespace="calvin")
    return core
