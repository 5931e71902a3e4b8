"""The open shards of this process, and the failures of the engine as errors of this package.

There is one shard per directory, shared by all who open it. It is closed with its last user,
flushed on a schedule while it is written, and dead in forked children.
"""

import ctypes
import logging
import os
import shutil
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import qdrant_edge as edge

from amem_integrations.errors import (
    AMemError,
    StoreClosedError,
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    StoreWriteError,
)

_LOCKED = ("WouldBlock",)
_FULL = ("No space left", "StorageFull", "File too large", "FileTooLarge", "Disk quota", "Quota")
_UNWRITABLE = ("Read-only file system", "ReadOnly", "Permission denied", "PermissionDenied")
_CLOSED = ("Shard is not initialized",)
_DESCRIPTORS = ("Too many open files", "os error 24")
_DAMAGED = (
    "corrupt",
    "deserialize",
    "decode",
    "decompress",
    "out of bounds",
    "Inconsistent",
    "malformed",
)


@contextmanager
def translated(path: Path, *, opening: bool = False) -> Generator[None]:
    """Raise whatever the engine raises inside as one of our StoreErrors.

    opening: files are being read for the first time, so an unknown failure means damage.
    """
    try:
        yield
    except AMemError:
        raise
    except OSError as error:
        raise _meaning(error.strerror or str(error), path, opening=False) from error
    except Exception as error:
        raise _meaning(str(error), path, opening) from error
    except BaseException as error:
        # A panic is no Exception, and its class cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise StoreCorruptError(
            f"The storage engine broke off while working on {path}: {_first_line(str(error))}. "
            f"Close the store and open it again. {_RESTORE}"
        ) from error


def full(path: Path, free: int, needed: int) -> StoreWriteError:
    megabytes = 1024 * 1024
    return StoreWriteError(
        f"The disk that holds {path} has {free // megabytes} MB left, and {needed // megabytes} MB "
        "must be free to write safely. Nothing was written. Free some space, or keep the store "
        "in another directory."
    )


_RESTORE = (
    "If that fails, its files are damaged: move the directory aside, keep it, and restore a copy."
)


def _meaning(text: str, path: Path, opening: bool) -> StoreError:
    detail = _first_line(text)
    if _has(text, _LOCKED):
        return StoreLockedError(
            f"{path} is open in another process (or in a process forked while it was open). "
            "Close it there first, use another directory, or run a Qdrant server, which several "
            "processes can share."
        )
    if _has(text, _FULL):
        return StoreWriteError(
            f"There is no room to write in {path}: {detail}. Free some space and try again; "
            "what was stored before is kept."
        )
    if _has(text, _UNWRITABLE):
        return StoreWriteError(
            f"{path} cannot be written: {detail}. Give this user write access to it, or use "
            "another directory."
        )
    if _has(text, _CLOSED):
        return StoreClosedError(f"The store in {path} is closed. Open it again.")
    if _has(text, _DESCRIPTORS):
        return StoreError(
            f"Too many files are open to work on {path}. Close other stores, or raise the limit "
            "(ulimit -n)."
        )
    if opening or _has(text, _DAMAGED):
        return StoreCorruptError(
            f"The files in {path} are damaged: {detail}. Nothing was deleted: move the directory "
            "aside, keep it, and restore a copy."
        )
    return StoreError(f"The storage engine could not do this in {path}: {detail}.")


def _has(text: str, signs: tuple[str, ...]) -> bool:
    return any(sign in text for sign in signs)


def _first_line(text: str) -> str:
    line = text.strip().split("\n", 1)[0].rstrip(".")
    return line if len(line) <= 300 else line[:300] + "…"


_LOG = logging.getLogger(__name__)

FLUSH_AFTER = 5.0
"""Seconds between the first unflushed write and the flush that makes it survive a power cut."""

SPARE = 64 * 1024 * 1024
"""Bytes that must stay free: the engine writes through memory maps of 32 MB, and a page that
finds no room on the disk ends the process with SIGBUS, which nobody can catch."""

# One lock for all shards: the engine holds the GIL in every call, so finer ones would gain
# nothing, and could deadlock when garbage collection closes one shard amid a call on another.
# Reentrant for the same reason.
_lock = threading.RLock()
_shards: "dict[tuple[int, int], Shard]" = {}


class Shard:
    """One open shard directory. Use it through `use` and `update`; give it back by `release`."""

    def __init__(self, opened: edge.EdgeShard, path: Path, temporary: Path | None) -> None:
        self.path = path
        self.users = 0
        self.key = _identity(path)
        self._edge: edge.EdgeShard | None = opened
        self._temporary = temporary
        self._pid = os.getpid()
        self._dirty = False
        self._timer: threading.Timer | None = None
        # Kept open so that the inode, which is the key, is not given to another directory.
        self._directory: int | None = None
        if os.name == "posix":
            self._directory = os.open(path, os.O_RDONLY)

    @property
    def closed(self) -> bool:
        return self._edge is None

    @contextmanager
    def use(self) -> Generator[edge.EdgeShard]:
        """The engine's shard, for one uninterrupted section; its errors come out as ours."""
        if os.getpid() != self._pid:
            raise StoreClosedError(
                f"The store in {self.path} was opened before this process was forked. Open it "
                "after forking, or start processes by spawn."
            )
        with _lock:
            if self._edge is None:
                raise StoreClosedError(f"The store in {self.path} is closed. Open it again.")
            with translated(self.path):
                yield self._edge

    def update(self, operation: edge.UpdateOperation, size: int = 0) -> None:
        """Apply one operation, `size` bytes large at most."""
        with self.use() as opened:
            self._check_room(size)
            self._schedule_flush()
            opened.update(operation)

    def flush(self) -> None:
        with self.use() as opened:
            opened.flush()
            self._dirty = False

    def release(self) -> None:
        """Give up one use; the last one closes the shard and removes a temporary directory."""
        if os.getpid() != self._pid:
            return
        with _lock:
            self.users -= 1
            if self.users == 0:
                _shards.pop(self.key, None)
                try:
                    self._close()
                finally:
                    if self._temporary is not None:
                        shutil.rmtree(self._temporary, ignore_errors=True)

    def release_quietly(self) -> None:
        """`release` for garbage collection and interpreter exit, where nobody can catch."""
        try:
            self.release()
        except StoreError as error:
            _LOG.warning("Closing a store failed. %s", error)

    def _close(self) -> None:
        opened, self._edge = self._edge, None
        if self._timer is not None:
            self._timer.cancel()
        if self._directory is not None:
            os.close(self._directory)
        if opened is not None:
            with translated(self.path):
                opened.close()

    def _check_room(self, size: int) -> None:
        if self._directory is None:
            free = shutil.disk_usage(self.path).free
        else:
            if os.fstat(self._directory).st_nlink == 0:
                raise StoreWriteError(
                    f"{self.path} was deleted while it was open; nothing can be stored there. "
                    "Close the store and open it again."
                )
            disk = os.fstatvfs(self._directory)
            free = disk.f_bavail * disk.f_frsize
        if free < SPARE + size:
            raise full(self.path, free, SPARE + size)

    def _schedule_flush(self) -> None:
        self._dirty = True
        if self._timer is not None:
            return
        timer = threading.Timer(FLUSH_AFTER, _flush_due, [weakref.ref(self)])
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:
            # The interpreter is shutting down; closing flushes.
            return
        self._timer = timer

    def flush_if_due(self) -> None:
        with _lock:
            self._timer = None
            if self._dirty and not self.closed:
                try:
                    self.flush()
                except StoreError as error:
                    _LOG.warning("Flushing failed and will be tried again. %s", error)
                    self._schedule_flush()

    def replaced(self) -> None:
        """Let go of a shard whose directory another one has taken, without writing anything."""
        with _lock:
            _shards.pop(self.key, None)
            self.users = 0
            if self._timer is not None:
                self._timer.cancel()
            if self._directory is not None:
                os.close(self._directory)
            self.abandon()
            self._edge = None

    def abandon(self) -> None:
        """Keep the engine's object from ever being destroyed in this process.

        Its destructor writes to the files. In a forked child these belong to the parent, whose
        store a child that merely ends would damage.
        """
        if self._edge is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._edge))


def share(path: Path, open_: Callable[[], edge.EdgeShard], temporary: Path | None = None) -> Shard:
    """The shard of directory `path`, opened by `open_` unless it is open; counts as one use.

    temporary: a directory that goes away with the shard.
    """
    with _lock, translated(path):
        shard = _shards.get(_identity(path)) if path.exists() else None
        if shard is not None:
            shard.users += 1
            # Garbage collection may have closed it just before.
            if not shard.closed:
                return shard
        shard = Shard(open_(), path, temporary)
        shard.users = 1
        _shards[shard.key] = shard
        return shard


def _identity(path: Path) -> tuple[int, int]:
    """The same for every spelling of a directory, and another once it was made anew."""
    status = path.stat()
    return status.st_dev, status.st_ino


def _flush_due(reference: "weakref.ref[Shard]") -> None:
    shard = reference()
    if shard is not None:
        shard.flush_if_due()


def _forget_parent() -> None:
    """In a forked child: another thread may hold the lock, and the shards are not ours."""
    global _lock
    _lock = threading.RLock()
    for shard in _shards.values():
        shard.abandon()
    _shards.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)
