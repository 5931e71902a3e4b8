"""A collection written anew: all that is stored, nothing that is not; and broken off half way."""

import shutil
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from amem_integrations.core.engine import Point
from amem_integrations.core.filters import EVERYTHING, ids
from amem_integrations.core.io import run
from amem_integrations.errors import (
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    StoreMismatchError,
    StoreWriteError,
)
from amem_integrations.stores.codec import META_ID
from amem_integrations.stores.edge import compaction, files
from amem_integrations.stores.edge.compaction import compact, used
from amem_integrations.stores.read import load_points
from tests.stores.processes import next_line, running
from tests.support import chat_model, io_of, open_memory

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="an open directory cannot be replaced on Windows"
)
SECRET = b"Zanzibar"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The files of a collection that lost one of three notes."""
    home = tmp_path_factory.mktemp("made")
    with open_memory(home, model=chat_model()) as memory:
        memory.add_many(["The redis cache", "Violin lessons on Monday"], namespace="a")
        memory.forget(memory.add(f"{SECRET.decode()} trip", namespace="b"))
    return files._read(home)


@pytest.fixture
def path(home: Path, collection: Any) -> Path:
    files._write(collection, home)
    return home / "amem"


def points_of(home: Path) -> dict[str, Point]:
    with open_memory(home) as memory:
        engine = io_of(memory).engine
        ids = [point.id for point in run(load_points(io_of(memory), EVERYTHING, fields=()))]
        return {point.id: point for point in run(engine.get(ids, vectors=True))}


def telling(path: Path) -> list[str]:
    """The files that still hold what was forgotten."""
    return [file.path.name for file in files._read(path.parent) if SECRET in file.start]


def test_what_was_forgotten_is_in_no_file_any_more(home: Path, path: Path) -> None:
    assert telling(path)
    # What a killed one left goes as well.
    (home / "amem.new-1a2b3c4d" / "segments").mkdir(parents=True)
    (home / "amem.old-1a2b3c4d").mkdir()
    path.chmod(0o750)
    compact(path)
    assert telling(path) == []
    assert [each.name for each in home.iterdir()] == ["amem"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


def test_behind_a_link_the_real_files_are_written_anew(home: Path, path: Path) -> None:
    elsewhere = home.parent / "disk" / "notes"
    elsewhere.parent.mkdir()
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    # As it was left by somebody who renamed the link.
    (home / "amem.old-1a2b3c4d").symlink_to(elsewhere)
    for _ in range(2):
        compact(path)
        assert path.is_symlink()
        assert [each.name for each in elsewhere.parent.iterdir()] == ["notes"]
        assert [file.path.name for file in files._read(elsewhere) if SECRET in file.start] == []
    with open_memory(home) as memory:
        assert memory.count() + memory.count("a") > 0
        assert memory.admin.check() == []


def test_files_behind_links_are_not_said_to_be_erased(home: Path, path: Path) -> None:
    elsewhere = (path / "segments").rename(home / "segments")
    (path / "segments").symlink_to(elsewhere)
    with pytest.raises(StoreError, match="segments is a symbolic link"):
        compact(path)
    assert [file.path.name for file in files._read(elsewhere) if SECRET in file.start]
    with open_memory(home) as memory:
        assert memory.admin.check() == []


def test_what_could_not_be_removed_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remove = shutil.rmtree

    def stuck(left: Path, **settings: Any) -> None:
        if ".old-" in str(left):
            raise PermissionError(1, "Operation not permitted")
        remove(left, **settings)

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", stuck)
        with pytest.raises(StoreWriteError, match=r"amem.old-.* still has what was deleted"):
            compact(path)
    compact(path)
    assert telling(path) == []


def test_all_that_is_stored_is_as_before(
    home: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "_PAGE", 2)
    progress: list[tuple[int, int]] = []
    before = points_of(home)
    done = compact(path, lambda *counts: progress.append(counts))
    after = points_of(home)
    assert len(progress) > 1
    assert progress[-1] == (done.points, done.points)
    assert done.points == len(before)
    assert after.keys() == before.keys()
    for id, point in before.items():
        assert after[id].payload == point.payload
        assert after[id].sparse == point.sparse
        assert [pytest.approx(list(each), abs=1e-6) for each in point.dense] == [
            list(each) for each in after[id].dense
        ]
    with open_memory(home, model=chat_model()) as memory:
        assert memory.search("redis", namespace="a")[0].note.content == "The redis cache"
        memory.add("The redis cluster", namespace="a")
        assert memory.admin.check() == []


def test_files_that_grew_with_what_was_overwritten_shrink(home: Path) -> None:
    with open_memory(home, formation="off") as memory:
        for turn in range(3):
            memory.admin.forget_namespace("default")
            memory.add_many([f"Remark {n} of turn {turn} " * 40 for n in range(60)])
    done = compact(home / "amem")
    assert done.after < done.before
    assert done.after == used(home / "amem")


def test_nobody_may_have_it_open_in_this_process(home: Path, path: Path) -> None:
    with open_memory(home) as memory:
        with pytest.raises(StoreLockedError, match="open in this process"):
            compact(path)
        assert memory.count() == 2


def test_nobody_may_have_it_open_in_another_process(home: Path) -> None:
    code = "store = open_here(); run(store.sync.insert([point(1)])); say('open'); input()"
    with running(code, home) as other:
        assert next_line(other) == "open"
        with pytest.raises(StoreLockedError, match="open in another process"):
            compact(home / "amem")


class Broken(BaseException):
    """As KeyboardInterrupt is."""


@pytest.fixture(params=["while it copies", "at the first rename", "at the second"])
def broken_off(request: pytest.FixtureRequest, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        rename = Path.rename

        def broken(self: Path, target: Path) -> Path:
            first = self == path
            if first is (request.param == "at the first rename") and ".old-" not in self.name:
                raise Broken
            return rename(self, target)

        def progress(done: int, total: int) -> None:
            if request.param == "while it copies":
                raise Broken

        if request.param != "while it copies":
            patched.setattr(Path, "rename", broken)
        with pytest.raises(Broken):
            compact(path, progress)


@pytest.mark.usefixtures("broken_off")
def test_broken_off_it_leaves_all_as_it_was(home: Path, path: Path) -> None:
    assert [each.name for each in home.iterdir()] == ["amem"]
    with open_memory(home) as memory:
        assert memory.count() == 2
        assert memory.admin.check() == []
    assert compact(path).points > 2


def test_killed_between_the_renames_nothing_new_is_made_and_the_remedy_is_named(
    home: Path, path: Path
) -> None:
    aside = path.rename(home / "amem.old-1a2b3c4d")
    with pytest.raises(StoreLockedError, match=rf"rename {aside} to amem; then all is as before"):
        open_memory(home, formation="off").close()
    aside.rename(path)
    with open_memory(home) as memory:
        assert memory.count() == 2


def test_what_is_no_collection_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("Dear Calvin")
    with pytest.raises(StoreMismatchError, match="not a store"):
        compact(tmp_path / "letters")
    assert [each.name for each in tmp_path.rglob("*.txt")] == ["a.txt"]


def test_a_collection_that_does_not_describe_itself_is_left_alone(home: Path, path: Path) -> None:
    with open_memory(home) as memory:
        run(io_of(memory).engine.delete(ids([META_ID])))
    with pytest.raises(StoreCorruptError, match="is gone"):
        compact(path)
    assert path.is_dir()
