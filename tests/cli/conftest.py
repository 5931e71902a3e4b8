"""A memory of four notes that is open while `amem` is called on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.cli import options
from tests.cli.console import fill, hashed, kept
from tests.support import emptied


@pytest.fixture(autouse=True)
def known_embedders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memories are opened with the embedder of the tests, which only Python has."""
    monkeypatch.setattr(options, "resolve_embedder", hashed)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgenticMemory]:
    with kept(tmp_path_factory.mktemp("cli") / "memory") as memory:
        yield memory


@pytest.fixture
def memory(opened: AgenticMemory) -> Iterator[AgenticMemory]:
    """An empty one, and emptied again."""
    yield from emptied(opened, check=False)


@pytest.fixture
def home(memory: AgenticMemory) -> Path:
    return Path(str(memory.options.location))


@pytest.fixture
def shop(memory: AgenticMemory, home: Path) -> tuple[str, ...]:
    """The options for a namespace with four notes."""
    fill(memory)
    return "-l", str(home), "-n", "shop"
