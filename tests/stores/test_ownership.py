"""Copies of a directory that another process writes to: whole ones, or none."""

import contextlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from amem_integrations.errors import StoreLockedError
from amem_integrations.stores.edge import ownership
from amem_integrations.stores.edge.ownership import Ownership, copy_busy
from tests.support import open_memory

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows copies no busy directory")


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "_PAUSE", 0)


def written_amid(monkeypatch: pytest.MonkeyPatch, write: Callable[[int], object]) -> None:
    """Have `write` called while each copy is half made, with the number of the attempt."""
    attempts: list[Path] = []
    copy_file = ownership._copy_sparse

    def copied(source: Path, target: Path) -> None:
        if "wal" in source.parts and not target.parent.joinpath("half").exists():
            target.parent.joinpath("half").touch()
            attempts.append(source)
            write(len(attempts))
        copy_file(source, target)

    monkeypatch.setattr(ownership, "_copy_sparse", copied)


def test_a_copy_that_was_overtaken_is_made_again_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_memory(tmp_path / "memory") as memory:
        memory.add_many([f"The redis cache, remark {number}" for number in range(5)])
        written_amid(monkeypatch, lambda n: n <= 3 and memory.add(f"The violin, remark {n}"))
        copy_busy(tmp_path / "memory" / "amem", tmp_path / "copy" / "amem")
        assert memory.count() == 8
        memory.flush()
    with open_memory(tmp_path / "copy") as copy:
        assert copy.admin.check() == []
        assert copy.count() == 8
        assert copy.search("violin")


def test_under_a_writer_that_never_stops_there_is_no_copy_but_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "_PATIENCE", 0)
    path, copy = tmp_path / "amem", tmp_path / "copy"
    (path / "wal").mkdir(parents=True)
    (path / "wal" / "open-1").write_text("x")
    owned = Ownership(path)

    def write(_: int) -> None:
        with owned.writing():
            pass

    write(0)
    written_amid(monkeypatch, write)
    for state in (contextlib.nullcontext, owned.writing):
        with state(), pytest.raises(StoreLockedError, match="is writing all the time"):
            copy_busy(path, copy)
        assert not copy.exists()
    owned.release()


def test_a_writer_waits_for_a_copy_that_it_overtook_too_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    with open_memory(tmp_path / "memory", formation="off") as memory:
        memory.add("The first remark")
        # A thread, which waits while the copy is made.
        threads: list[threading.Thread] = []

        def write(attempt: int) -> None:
            thread = threading.Thread(target=lambda: written.append(memory.add(f"{attempt}").id))
            thread.start()
            thread.join(timeout=0.2)
            threads.append(thread)

        written_amid(monkeypatch, write)
        copy_busy(tmp_path / "memory" / "amem", tmp_path / "copy" / "amem")
        for thread in threads:
            thread.join()
        assert len(written) == len(threads)
        assert memory.count() == len(threads) + 1
    with open_memory(tmp_path / "copy") as copy:
        assert copy.admin.check() == []
        assert 1 <= copy.count() <= len(threads)


def test_what_does_not_count_its_writes_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "amem").mkdir()
    with pytest.raises(StoreLockedError, match="open in another process"):
        copy_busy(tmp_path / "amem", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
