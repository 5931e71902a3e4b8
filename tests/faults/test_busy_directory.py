"""A directory belongs to one process: whoever else comes changes no file of it.

Commands that only read work all the same, on a copy of the moment.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.cli import options
from amem_integrations.errors import StoreLockedError
from amem_integrations.testing import HashEmbedder
from amem_integrations.view import server
from tests.cli.console import call, hashed
from tests.support import EMBEDDER

ROOT = Path(__file__).parents[2]
OWNER = """
import sys
from amem_integrations import AgenticMemory
from amem_integrations.testing import HashEmbedder

memory = AgenticMemory(sys.argv[1], embedder=HashEmbedder())
memory.add("The Redis cache evicts by least recent use", key="cache", namespace="shop")
print("ready", flush=True)
for line in map(str.strip, sys.stdin):
    memory.flush()
    for number in range(20 if line else 0):
        memory.add(f"{line} number {number}", namespace="shop", formation="off")
    print(memory.count("shop"), flush=True)
"""


@contextmanager
def owner(directory: Path) -> Generator[subprocess.Popen[str]]:
    """A process with the directory open; for a line it flushes, then adds twenty notes."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(directory)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def told(process: subprocess.Popen[str], line: str) -> int:
    """How many notes the owner counts after it did what a line tells it to."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def files(directory: Path) -> dict[str, int]:
    """Every file below a directory: the engine's load would remove some and replace others."""
    return {
        str(path.relative_to(directory)): status.st_ino
        for path in directory.rglob("*")
        if (status := path.stat()) and path.is_file()
    }


@pytest.mark.usefixtures("temporary")
def test_a_second_process_is_refused_and_the_owner_goes_on(tmp_path: Path) -> None:
    directory = tmp_path / "memory"
    with owner(directory) as process:
        told(process, "Gateway drops packets,")
        before = files(directory)
        for _ in range(3):
            with pytest.raises(StoreLockedError, match="open in another process"):
                AgenticMemory(directory, embedder=EMBEDDER)
        found = call("search", "gateway packets number", "-n", "shop", "-l", directory)
        assert "Gateway drops packets" in found.stdout, found.stderr
        # The owner flushes meanwhile; the engine of who is refused would remove its journals.
        assert files(directory).keys() >= before.keys()
        assert told(process, "After the refusal") == 41
    # It was killed.
    with AgenticMemory(directory, embedder=EMBEDDER) as memory:
        assert memory.count("shop") == 41
        assert memory.admin.check() == []


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """A directory that another process has open, and leaves as it is."""
    directory = tmp_path_factory.mktemp("busy")
    with owner(directory) as process:
        # What is not flushed would be amid a test.
        told(process, "")
        yield directory


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary directories are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(options, "resolve_embedder", hashed)
    return tmp_path


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize(
    "command",
    [
        ("add", "A note of somebody else", "-n", "shop"),
        ("forget", "--all", "--yes", "-n", "shop"),
        ("revert", "cache", "-n", "shop"),
        ("work", "--once"),
        ("admin", "compact"),
        ("admin", "repair"),
        ("admin", "retry"),
        ("lifecycle", "archive", "cache", "-n", "shop"),
        ("lifecycle", "consolidate", "--yes", "-n", "shop"),
    ],
    ids=lambda command: "-".join(command[:2]),
)
def test_a_command_that_writes_is_refused_and_touches_nothing(
    command: Sequence[str], busy: Path
) -> None:
    before = files(busy)
    result = call(*command, "-l", busy)
    assert result.exit_code == 1, result.output
    assert "open in another process" in result.stderr
    assert "commands that only read work meanwhile" in result.stderr
    assert files(busy).keys() >= before.keys()


@pytest.mark.parametrize(
    "command",
    [
        ("search", "cache eviction", "-n", "shop"),
        ("show", "cache", "-n", "shop"),
        ("recent", "-n", "shop"),
        ("health", "-n", "shop"),
        ("check",),
        ("export", "-n", "shop"),
        ("admin", "namespaces"),
        ("admin", "usage"),
        ("lifecycle", "audits", "-n", "shop"),
        ("lifecycle", "proposals", "-n", "shop"),
        ("lifecycle", "consolidate", "-n", "shop"),
    ],
    ids=lambda command: "-".join(command[:2]),
)
def test_a_command_that_reads_works_on_a_copy_of_the_moment(
    command: Sequence[str], busy: Path, temporary: Path
) -> None:
    before = files(busy)
    result = call(*command, "-l", busy, *([] if command[0] == "export" else ["--json"]))
    assert result.exit_code == 0, result.output
    remark = f"{busy} is in use by another process; reading a copy of it as of now."
    assert remark in result.stderr.splitlines()
    assert json.loads(result.stdout.partition("\n{")[0])
    assert files(busy).keys() >= before.keys()
    assert list(temporary.iterdir()) == []


def test_a_busy_directory_can_be_copied_elsewhere(busy: Path, temporary: Path) -> None:
    before = files(busy)
    result = call("admin", "copy", "-l", busy, "--to", temporary / "to")
    assert result.exit_code == 0, result.output
    assert files(busy).keys() >= before.keys()
    assert [path.name for path in temporary.iterdir()] == ["to"]
    with AgenticMemory(temporary / "to", embedder=EMBEDDER) as memory:
        assert memory.get(key="cache", namespace="shop") is not None


def test_a_busy_directory_can_be_viewed_and_drawn(
    busy: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "serve", lambda app, listener: None)
    picture = temporary / "graph.html"
    for command in (["view", "--port", "0"], ["plot", "graph", "-n", "shop", "-o", picture]):
        result = call(*command, "-l", busy, COLUMNS="400")
        assert result.exit_code == 0, result.output
        assert f"{busy} is in use" in result.stderr
        assert "amem-" not in result.output
    assert list(temporary.iterdir()) == [picture]


def test_a_copy_is_removed_when_the_command_fails(busy: Path, temporary: Path) -> None:
    result = call("show", "nobody", "-n", "shop", "-l", busy)
    assert result.exit_code == 1
    assert "There is no note 'nobody'" in result.stderr
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
def test_a_forked_child_changes_no_file_and_cannot_lock_its_parent_out(tmp_path: Path) -> None:
    code = """
import os, sys
from amem_integrations import AgenticMemory
from amem_integrations.errors import StoreLockedError
from amem_integrations.testing import HashEmbedder

memory = AgenticMemory(sys.argv[1], embedder=HashEmbedder())
memory.add("One")
if os.fork() == 0:
    try:
        AgenticMemory(sys.argv[1], embedder=HashEmbedder())
    except StoreLockedError:
        os._exit(0)
    os._exit(1)
assert os.wait()[1] == 0
memory.add("Two")
memory.flush()
memory.close()
print(AgenticMemory(sys.argv[1], embedder=HashEmbedder()).count())
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "2\n", done.stderr


def test_a_directory_that_cannot_be_written_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with AgenticMemory(tmp_path, embedder=HashEmbedder()) as memory:
        memory.add("One")
    before = files(tmp_path)
    writable = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode, **rest: mode & os.W_OK == 0 and writable(path, mode)
    )
    with pytest.raises(Exception, match="cannot be written"):
        AgenticMemory(tmp_path, embedder=HashEmbedder())
    assert files(tmp_path).keys() >= before.keys()
