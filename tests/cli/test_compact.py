"""`amem admin compact`: the files of a directory, written anew."""

import sys
from pathlib import Path

import pytest

from tests.cli.console import call, printed
from tests.support import open_memory

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="an open directory cannot be replaced on Windows"
)


def test_it_says_what_became_smaller_and_keeps_the_notes(tmp_path: Path) -> None:
    with open_memory(tmp_path, formation="off") as memory:
        memory.add("The redis cache")
    done = printed("admin", "compact", "-l", tmp_path)
    assert set(done) == {"points", "before", "after"}
    assert call("admin", "compact", "-l", tmp_path).stdout.endswith(" MB now.\n")
    with open_memory(tmp_path) as memory:
        assert memory.count() == 1


def test_a_memory_that_is_in_use_is_left_alone(tmp_path: Path) -> None:
    with open_memory(tmp_path):
        result = call("admin", "compact", "-l", tmp_path)
    assert result.exit_code == 1
    assert "is open in this process" in result.stderr


def test_where_there_is_none_it_says_so_and_makes_none(tmp_path: Path) -> None:
    result = call("admin", "compact", "-l", tmp_path / "none")
    assert "There is no memory at" in result.stderr
    assert not (tmp_path / "none").exists()


def test_a_server_does_it_by_itself() -> None:
    result = call("admin", "compact", "-l", "http://localhost:6333")
    assert result.exit_code == 1
    assert "by itself" in result.stderr
