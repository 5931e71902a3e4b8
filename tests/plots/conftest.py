"""A memory to draw: notes that a scripted judge links and evolves, one of them hostile."""

import os
import shutil
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
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@pytest.fixture(scope="session")
def memory() -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model(), neighbours=2) as opened:
        opened.add_many(list(CONTENTS), namespace="cache")
        opened.add("Alone in here", namespace="one")
        opened.add_many(["The first of two", "The second of them"], namespace="two")
        yield opened


@pytest.fixture(scope="session")
def browser() -> str:
    """The path of a Chrome or Chromium; where there is none, the test is skipped."""
    given = os.environ.get("BROWSER_PATH")
    found = given or next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        pytest.skip("no Chrome or Chromium on the PATH, nor in BROWSER_PATH")
    return found
