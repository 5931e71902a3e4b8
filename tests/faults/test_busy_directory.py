"""A directory belongs to one process: whoever else comes changes no file of it."""

import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.errors import StoreLockedError
from amem_integrations.testing import HashEmbedder
from tests.support import EMBEDDER

ROOT = Path(__file__).parents[2]
OWNER = """
import sys
from amem_integrations import AgenticMemory
from amem_integrations.testing import HashEmbedder

memory = AgenticMemory(sys.argv[1], embedder=HashEmbedder())
memory.add("The Redis cache evicts by least recent use", namespace="shop")
print("ready", flush=True)
for line in sys.stdin:
    for number in range(20):
        memory.add(f"{line.strip()} number {number}", namespace="shop", formation="off")
    memory.flush()
    print(memory.count("shop"), flush=True)
"""
# `amem` as a process of its own, which is given an embedder that no download brings.
COMMAND = """
import sys
from amem_integrations.cli import main, options
from tests.cli.console import hashed

options.resolve_embedder = hashed
sys.argv[0] = "amem"
main()
"""


@contextmanager
def owner(directory: Path) -> Generator[subprocess.Popen[str]]:
    """A process that has the directory open and adds twenty notes for each line it is told."""
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
    """How many notes the owner counts after it added some and flushed."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def amem(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )


def files(directory: Path) -> dict[str, tuple[int, int, int]]:
    """Every file below a directory with what changes if anybody writes it or replaces it."""
    return {
        str(path.relative_to(directory)): (status.st_ino, status.st_size, status.st_mtime_ns)
        for path in directory.rglob("*")
        if (status := path.stat()) and path.is_file()
    }


def test_a_second_process_is_refused_and_the_owner_goes_on(tmp_path: Path) -> None:
    with owner(tmp_path) as process:
        told(process, "Before the refusal")
        before = files(tmp_path)
        for _ in range(3):
            with pytest.raises(StoreLockedError, match="open in another process"):
                AgenticMemory(tmp_path, embedder=EMBEDDER)
        assert files(tmp_path) == before
        assert told(process, "After the refusal") == 41
    with AgenticMemory(tmp_path, embedder=EMBEDDER) as memory:
        assert memory.count("shop") == 41
        assert memory.admin.check() == []


@pytest.mark.parametrize(
    "command",
    [
        ("add", "A note of somebody else", "-n", "shop"),
        ("forget", "--all", "--yes", "-n", "shop"),
        ("admin", "compact"),
        ("admin", "repair"),
        ("work", "--once"),
    ],
    ids=lambda command: "-".join(command[:2]),
)
def test_a_command_that_writes_is_refused_and_touches_nothing(
    command: Sequence[str], tmp_path: Path
) -> None:
    with owner(tmp_path) as process:
        told(process, "Before the refusal")
        before = files(tmp_path)
        result = amem(*command, "-l", tmp_path)
        assert result.returncode == 1, result.stderr
        assert "open in another process" in result.stderr
        assert files(tmp_path) == before
        assert told(process, "After the refusal") == 41


def test_a_directory_whose_owner_was_killed_opens_at_once(tmp_path: Path) -> None:
    with owner(tmp_path) as process:
        assert told(process, "Kept") == 21
        process.kill()
        process.wait()
        with AgenticMemory(tmp_path, embedder=EMBEDDER) as memory:
            assert memory.count("shop") == 21


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
    assert files(tmp_path) == before
