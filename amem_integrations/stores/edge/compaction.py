"""Writing an embedded collection anew, so that its files hold what is stored and nothing else.

The engine marks what is deleted and leaves the bytes where they are, in its log as well. Here all
points are copied into a new directory, which then takes the place of the old one. `amem admin
compact` calls it; `edge_files` makes and opens directories.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import qdrant_edge as edge

from amem_integrations.errors import (
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    StoreWriteError,
)
from amem_integrations.stores.checks import encoders_of
from amem_integrations.stores.codec import META_ID
from amem_integrations.stores.edge import files as edge_files
from amem_integrations.stores.edge.engine import edge_point, point_of
from amem_integrations.stores.edge.errors import full
from amem_integrations.stores.edge.ownership import SPARE
from amem_integrations.stores.edge.shards import share

_PAGE = 256

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Compacted:
    """How many points there are, and bytes on the disk before and after."""

    points: int
    before: int
    after: int


def compact(path: Path, progress: Progress = lambda done, total: None) -> Compacted:
    """Write the collection in `path` anew, while nobody has it open.

    Broken off at any time, it leaves the old files as they were; between the two renames at the
    end they lie beside, and opening says so.
    progress: called with how many points are copied, and of how many.
    Where `path` is a symbolic link, the directory that it leads to is written anew, in its place.
    Raises StoreLockedError, StoreWriteError if there is no room for a second copy or if old files
    are left, StoreError if files lie elsewhere, behind links, StoreCorruptError,
    StoreMismatchError for what is no collection of this package.
    """
    path = path.resolve()
    if os.name == "nt":
        raise StoreError(
            "On Windows an open directory cannot be replaced; `amem admin reembed` makes a copy "
            "in another one."
        )
    shard = share(path, partial(edge_files.open_existing, path))
    moved = False
    try:
        if shard.users > 1:
            raise StoreLockedError(f"{path} is open in this process. Close it there first.")
        with shard.use() as opened:
            _check_links(path)
            opened.flush()
            before = used(path)
            for left in (*path.parent.glob(f"{path.name}.new-*"), *_old(path)):
                _remove(left)
            making, aside = edge_files.beside(path, "new"), edge_files.beside(path, "old")
            try:
                points = _copy(opened, path, making, progress)
                path.rename(aside)
                moved = True
                making.rename(path)
            finally:
                if moved and not path.exists():
                    aside.rename(path)
                    moved = False
                shutil.rmtree(making, ignore_errors=True)
    finally:
        # Once another has its place, closing it would write its files over the new ones.
        (shard.replaced if moved else shard.release)()
    for left in _old(path):
        _remove(left)
    return Compacted(points, before, used(path))


def used(path: Path) -> int:
    """The bytes that a directory takes on the disk; its files are mostly holes."""
    files = (file.stat() for file in path.rglob("*") if file.is_file())
    return sum(getattr(file, "st_blocks", -(-file.st_size // 512)) * 512 for file in files)


def _check_links(path: Path) -> None:
    """Raise StoreError if files of a collection are elsewhere, where they would be left behind."""
    if link := next((file for file in path.rglob("*") if file.is_symlink()), None):
        raise StoreError(
            f"{link} is a symbolic link: what it leads to would keep what was deleted. Nothing was "
            "changed. Put the files in its place (the whole directory may be behind a link), or "
            "copy the memory with `amem admin copy` and delete the old one."
        )


def _remove(left: Path) -> None:
    """Remove a directory that compaction left, or a link of that name, and see that it is gone."""
    try:
        if left.is_symlink():
            left.unlink()
        else:
            shutil.rmtree(left)
    except OSError as error:
        raise StoreWriteError(
            f"{left} cannot be removed ({error.strerror}), and still has what was deleted. The "
            "memory is whole and can be used. Remove that directory by hand."
        ) from error


def _old(path: Path) -> list[Path]:
    return list(path.parent.glob(f"{path.name}.old-*"))


def _copy(opened: edge.EdgeShard, path: Path, making: Path, progress: Progress) -> int:
    """Copy all points to a new shard in `making`; returns how many."""
    meta = opened.retrieve([META_ID], True, False)
    if not meta:
        raise StoreCorruptError(f"The point that describes the collection in {path} is gone.")
    room, free = used(path) + 4 * SPARE, shutil.disk_usage(path).free
    if free < room:
        raise full(path, free, room)
    encoders = encoders_of(meta[0].payload or {}, str(path))
    total = opened.count(edge.CountRequest(exact=True))
    new = edge_files.open_temporary(making, encoders)
    done, after = 0, None
    try:
        while True:
            records, after = opened.scroll(edge.ScrollRequest(after, _PAGE, None, True, True))
            points = [edge_point(point_of(record)) for record in records]
            if points:
                new.update(edge.UpdateOperation.upsert_points(points))
            done += len(points)
            progress(done, total)
            if after is None:
                break
        copied = new.count(edge.CountRequest(exact=True))
    finally:
        new.close()
    if not done == copied == total:
        raise StoreError(f"Of {total} points in {path}, {copied} were copied. Nothing was changed.")
    edge_files.sync(making)
    making.chmod(path.stat().st_mode)
    return total
