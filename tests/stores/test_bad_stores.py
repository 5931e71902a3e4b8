"""Stores that cannot be written, are damaged, or whose process was killed."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from amem_integrations.core.filters import EVERYTHING, match
from amem_integrations.core.io import run
from amem_integrations.errors import StoreCorruptError, StoreWriteError
from amem_integrations.stores.edge import files
from amem_integrations.stores.open import Store, open_store
from tests.stores.points import ENCODERS, point
from tests.stores.processes import kill_after, next_line, python, running

NOTES = match("kind", "note")
ROUNDS = int(os.environ.get("AMEM_KILL_ROUNDS", "2"))
needs_kill = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")


def opened(location: Path | None) -> Store:
    return open_store(location, collection="amem", encoders=ENCODERS)


def state(directory: Path) -> dict[str, tuple[int, Any]]:
    """Size and beginning of every file; the rest of the engine's files are mostly holes.

    The engine writes the members of an object in any order.
    """

    def start(path: Path) -> Any:
        if path.suffix == ".json":
            with suppress(ValueError):
                return json.loads(path.read_bytes())
        with path.open("rb") as file:
            return file.read(65536)

    return {
        str(path.relative_to(directory)): (path.stat().st_size, start(path))
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


# -- what cannot be written --------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 MB in memory."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = (
        sys.platform == "linux"
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", disk], capture_output=True
        ).returncode
    )
    if not mounted:
        pytest.skip("needs the right to mount a file system")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_disk_that_fills_up_ends_in_an_error_and_loses_nothing(small_disk: Path) -> None:
    # In a process of its own: without room the engine would end it by SIGBUS.
    filling = """
store = open_here()
stored = 0
try:
    while stored < 3000:
        run(store.sync.insert([point(stored, [[1.0] * 4], content="x" * 200_000)]))
        stored += 1
except StoreError as error:
    say(type(error).__name__, "must be free" in str(error))
say(stored, stored == run(store.sync.count(EVERYTHING)) - 1)
store.close()
say("closed")
"""
    failed, count, closed = python(filling, small_disk)
    assert (failed, closed) == ("StoreWriteError True", "closed")
    assert count.endswith("True")
    stored = int(count.split()[0])
    assert stored > 10
    with pytest.raises(StoreWriteError, match="must be free"):
        open_store(small_disk, collection="other", encoders=ENCODERS)
    subprocess.run(["mount", "-o", "remount,size=900m", small_disk], check=True)
    store = opened(small_disk)
    assert run(store.sync.count(NOTES)) == stored
    store.close()


def test_a_full_disk_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_SPARE_TO_CREATE", 1 << 62)
    files._empty_shard.cache_clear()
    for location in (tmp_path, None):
        with pytest.raises(StoreWriteError, match="must be free"):
            opened(location)
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_file_system_is_reported_and_not_touched(small_disk: Path) -> None:
    store = opened(small_disk)
    run(store.sync.insert([point("one")]))
    store.close()
    before = state(small_disk)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for collection in ("amem", "new"):
        with pytest.raises(StoreWriteError, match=r"cannot be written.*another directory"):
            open_store(small_disk, collection=collection, encoders=ENCODERS)
    assert state(small_disk) == before


# -- damage ------------------------------------------------------------------------------------


def truncate(path: Path) -> None:
    os.truncate(path, 0)


def garble(path: Path) -> None:
    with path.open("r+b") as file:
        file.write((b"\xff\x13garbage!" * 500)[: min(path.stat().st_size, 4096)])


def remove(path: Path) -> None:
    path.unlink()


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The files of a store of twenty points."""
    location = tmp_path_factory.mktemp("healthy")
    store = opened(location)
    for n in range(20):
        run(store.sync.insert([point(n, [[1.0, 0, 0, n]], {n: 1.0}, keywords=[f"k{n}"])]))
    store.close()
    return files._read(location)


DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (truncate, "edge_config.json"),
    (garble, "edge_config.json"),
    (remove, "edge_config.json"),
    (truncate, "wal/first-index"),
    (garble, "wal/open-1"),
    (remove, "segments/*/version.info"),
    (garble, "segments/*/segment.json"),
    (remove, "segments/*/mutable_id_tracker.mappings"),
    (garble, "segments/*/mutable_id_tracker.mappings"),
    (truncate, "segments/*/mutable_id_tracker.versions"),
    (truncate, "segments/*/payload_storage/page_0.dat"),
    (garble, "segments/*/vector_storage-bm25/store/page_0.dat"),
    (truncate, "segments/*/vector_storage-dense/vectors/status.dat"),
]


@pytest.mark.parametrize(("damage", "victim"), DAMAGES)
def test_damaged_files_end_in_an_error_and_are_left_for_a_rescue(
    healthy: Any, tmp_path: Path, damage: Callable[[Path], None], victim: str
) -> None:
    files._write(healthy, tmp_path)
    (path,) = (tmp_path / "amem").glob(victim)
    damage(path)
    before = state(tmp_path)
    with pytest.raises(StoreCorruptError, match=r"damaged|broke off"):
        opened(tmp_path)
    after = state(tmp_path)
    # The engine clears its journals away, and then fails; that was a write.
    changed = {name for name in before if before[name] != after.get(name)}
    assert {Path(name).name for name in changed} <= {"tracker_journal.dat", "writes"}


# -- kills -------------------------------------------------------------------------------------


@needs_kill
def test_a_kill_while_creating_leaves_a_place_where_a_store_can_be_made(tmp_path: Path) -> None:
    chance = random.Random(5)
    code = """
from amem_integrations.stores.edge import engine as edge
from amem_integrations.stores.edge import files as edge_files
edge_files._empty_shard(ENCODERS)
say("go")
open_here()
time.sleep(60)
"""
    for n in range(ROUNDS):
        location = tmp_path / str(n)
        with running(code, location) as process:
            assert next_line(process) == "go"
            kill_after(process, chance.uniform(0, 0.15))
        store = opened(location)
        assert run(store.sync.count(EVERYTHING)) == 1
        store.close()
