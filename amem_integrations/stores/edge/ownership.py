"""Who owns the directory of a shard, and how others copy it while it is owned.

The engine asks for its own lock only after it has changed files. So a process locks the
directory itself (flock, which needs no file) before it touches anything in it.

The owner counts its writes in the file `writes`: the number is odd while a write is under way. A
copy made by another process is whole if the number was even and the same before and after it; it
is what a kill at that moment would have left, and opens like that. Readers of a busy directory
use such a copy. One that is overtaken again and again locks the file `writes`, and the owner
waits for it, a little: whether a copy is whole is told by the count alone. A socket of the owner
would need a thread, fail while the owner is stopped or computes, and be one more thing to protect.
"""

import contextlib
import errno
import mmap
import os
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from amem_integrations.errors import StoreLockedError
from amem_integrations.stores.edge.errors import full, locked, translated

try:
    import fcntl
except ImportError:  # pragma: no cover
    # Windows: only the engine's own lock is there, and nobody copies a busy directory.
    fcntl = None

SPARE = 64 * 1024 * 1024
"""Bytes that must stay free: the engine writes through memory maps of 32 MB, and a page that
finds no room on the disk ends the process with SIGBUS, which nobody can catch."""

_WRITES = "writes"
_NUMBER_BYTES = 8
_ATTEMPTS = 4
_PAUSE = 0.05
_PATIENCE = 2.0
"""Seconds that a reader waits for a write to end, and a write for a reader that asked it to."""

_CHUNK = 8 * 1024 * 1024


class Ownership:
    """The lock on a directory, held until `release`, and the count of its owner's writes.

    Raises StoreLockedError if another process has the directory; nothing in it was touched.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._count: mmap.mmap | None = None
        self._writes: int | None = None
        # Kept open also so that the inode is not given to another directory.
        self._directory: int | None = None
        if fcntl is None:  # pragma: no cover
            return
        self._directory = os.open(path, os.O_RDONLY)
        try:
            _lock(self._directory)
            _check_engine_lock(path)
        except OSError as error:
            self.release()
            raise _locked(path) if isinstance(error, BlockingIOError) else error from None

    def release(self) -> None:
        """Give the directory free; releasing it again does nothing."""
        directory, self._directory = self._directory, None
        if directory is not None:
            os.close(directory)
        count, self._count = self._count, None
        if count is not None:
            count.close()
        descriptor, self._writes = self._writes, None
        if descriptor is not None:
            os.close(descriptor)

    @contextmanager
    def writing(self) -> Generator[None]:
        """Count a write to the files of the directory; one may stand in another."""
        if self._directory is None:  # pragma: no cover
            yield
            return
        if self._writes is None or self._count is None:
            self._writes = os.open(self._path / _WRITES, os.O_RDWR | os.O_CREAT, 0o600)
            self._count = _open_count(self._writes)
        count = self._count
        number = _number(count)
        if number % 2:
            yield
            return
        _wait_for_reader(self._writes)
        _set(count, number + 1)
        try:
            yield
        finally:
            _set(count, number + 2)

    @property
    def is_deleted(self) -> bool:
        """Whether somebody removed the directory meanwhile."""
        return self._directory is not None and os.fstat(self._directory).st_nlink == 0

    @property
    def free_space(self) -> int:
        """Bytes that are free on the disk of the directory."""
        if self._directory is None:  # pragma: no cover
            return shutil.disk_usage(self._path).free
        disk = os.fstatvfs(self._directory)
        return disk.f_bavail * disk.f_frsize


def copy_busy(path: Path, target: Path) -> None:
    """Copy the directory `path`, which another process owns, to the new directory `target`.

    The copy has everything that was written until now, flushed or not. No file in `path` changes.
    Raises StoreLockedError if the owner writes all the time or does not count its writes,
    StoreWriteError if there is no room.
    """
    if not (path / _WRITES).exists():
        raise locked(path)
    with translated(path):
        for asking in (False, True):
            with _asking(path) if asking else contextlib.nullcontext():
                for _ in range(_ATTEMPTS):
                    if _copy_unchanged(path, target):
                        return
                    time.sleep(_PAUSE)
    raise StoreLockedError(
        f"{path} is open in another process, which is writing all the time, so no copy of it could "
        "be made to read from. Try again when it is quieter."
    )


def make_private_directory(path: Path) -> None:
    """Make a directory, and those that lead there, for this user only; one that is there stays."""
    for missing in reversed([parent for parent in path.parents if not parent.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)


def _copy_unchanged(path: Path, target: Path) -> bool:
    """Copy a directory, unless something is written meanwhile; whether that was done."""
    before = _wait_for_writer(path)
    if before is None:
        return False
    try:
        with contextlib.suppress(FileNotFoundError):
            _copy(path, target)
            if _read_count(path) == before:
                return True
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    shutil.rmtree(target, ignore_errors=True)
    return False


@contextmanager
def _asking(path: Path) -> Generator[None]:
    """Ask the owner of a directory to wait with its next write; it may grow impatient."""
    descriptor = os.open(path / _WRITES, os.O_RDONLY)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def _wait_for_writer(path: Path) -> int | None:
    """The count of a directory when no write is under way; None if there is always one."""
    end = time.monotonic() + _PATIENCE
    while (number := _read_count(path)) is None or number % 2:
        if time.monotonic() > end:
            return None
        time.sleep(_PAUSE / 10)
    return number


def _wait_for_reader(descriptor: int) -> None:
    end = time.monotonic() + _PATIENCE
    while fcntl is not None:
        try:
            _lock(descriptor)
        except BlockingIOError:
            if time.monotonic() > end:
                return
            time.sleep(_PAUSE / 10)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            return


def _locked(path: Path) -> StoreLockedError:
    hint = " `amem` commands that only read work meanwhile, on a copy."
    return StoreLockedError(f"{locked(path)}{hint if (path / _WRITES).exists() else ''}")


def _lock(descriptor: int) -> None:
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _check_engine_lock(path: Path) -> None:
    """Raise BlockingIOError if a program that knows nothing of our lock has the shard open."""
    with contextlib.suppress(FileNotFoundError):
        log = os.open(path / "wal", os.O_RDONLY)
        try:
            _lock(log)
        finally:
            os.close(log)


def _open_count(descriptor: int) -> mmap.mmap:
    os.ftruncate(descriptor, _NUMBER_BYTES)
    count = mmap.mmap(descriptor, _NUMBER_BYTES)
    # An owner that was killed amid a write left an odd number.
    _set(count, _number(count) + _number(count) % 2)
    return count


def _number(count: mmap.mmap) -> int:
    return int.from_bytes(count[:], "little")


def _set(count: mmap.mmap, number: int) -> None:
    count[:] = number.to_bytes(_NUMBER_BYTES, "little")


def _read_count(path: Path) -> int | None:
    try:
        return int.from_bytes((path / _WRITES).read_bytes(), "little")
    except FileNotFoundError:
        return None


def _copy(source: Path, target: Path) -> None:
    files = [path for path in source.rglob("*") if path.is_file()]
    size = sum(path.stat().st_blocks * 512 for path in files)
    target.mkdir(mode=0o700, parents=True)
    free = shutil.disk_usage(target).free
    if free < size + SPARE:
        raise full(target, free, size + SPARE)
    for path in files:
        copied = target / path.relative_to(source)
        copied.parent.mkdir(parents=True, exist_ok=True)
        _copy_sparse(path, copied)


def _copy_sparse(source: Path, target: Path) -> None:
    """Copy a file without filling its holes: most files of a shard are mostly holes."""
    with source.open("rb") as reading, target.open("wb") as writing:
        for start, end in _extents(reading.fileno()):
            reading.seek(start)
            writing.seek(start)
            while reading.tell() < end:
                chunk = reading.read(min(end - reading.tell(), _CHUNK))
                if not chunk:
                    break
                writing.write(chunk)
        writing.truncate(os.fstat(reading.fileno()).st_size)


def _extents(descriptor: int) -> Generator[tuple[int, int]]:
    """Where a file has data, from and to."""
    end, size = 0, os.fstat(descriptor).st_size
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            raise
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, end
