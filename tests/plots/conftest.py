"""A memory to draw: notes that a scripted judge links and evolves, one of them hostile."""

from collections.abc import Iterator

import pytest

from amem_integrations import AgenticMemory
from tests.support import chat_model, open_memory

HOSTILE = (
    '<script>document.title = "taken over"</script>'
    '<img src="x" onerror="document.title = \'taken over\'"> <b>bold</b> $\\alpha$ </script>'
)
CONTENTS = (
    "Calvin wants an LRU policy for the cache",
    "The cache holds five hundred entries",
    HOSTILE,
    "Hobbes prefers tuna to any cache",
)


@pytest.fixture(scope="session")
def memory() -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model(), neighbours=2) as opened:
        opened.add_many(list(CONTENTS), namespace="cache")
        opened.add("Alone in here", namespace="one")
        opened.add_many(["The first of two", "The second of them"], namespace="two")
        yield opened
