"""A memory to look at: notes that a scripted judge links and evolves."""

from collections.abc import Iterator

import pytest

from amem_integrations import AgenticMemory, Note
from amem_integrations.core.namespace import Namespace
from tests.support import chat_model, open_memory
from tests.view.support import Browser

HOME: Namespace = ("cache", "of Calvin")
CONTENTS = (
    "Calvin wants an LRU policy for the cache",
    "The cache holds five hundred entries",
    "Hobbes prefers tuna to any cache",
)


@pytest.fixture(scope="session")
def memory() -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model(), neighbours=2) as opened:
        opened.add_many(
            [{"content": each, "speaker": "Susie", "session": "lunch"} for each in CONTENTS],
            namespace=HOME,
        )
        opened.add("Alone in here", namespace="one")
        yield opened


@pytest.fixture(scope="session")
def looking(memory: AgenticMemory) -> Browser:
    return Browser(memory)


@pytest.fixture(scope="session")
def note(memory: AgenticMemory) -> Note:
    """The first one: the others link to it, and it evolved."""
    return memory.recent(namespace=HOME)[-1]
