"""The open shards of this process.

There is one shard per directory, shared by all who open it. It is closed with its last user,
flushed on a schedule while it is written, and dead in forked children.
"""

import ctypes
import logging
import os
import shutil
import threading
import weakref
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import qdrant_edge as edge

from amem_integrations.errors import StoreClosedError, StoreError, StoreWriteError
from amem_integrations.stores.edge.errors import full, translated
from amem_integrations.stores.edge.ownership import SPARE, Ownership

_LOG = logging.getLogger(__name__)

FLUSH_AFTER = 5.0
"""Seconds between the first unflushed write and the flush that makes it survive a power cut."""

# One lock for all shards: the engine holds the GIL in every call, so finer ones would gain
# nothing, and could deadlock when garbage collection closes one shard amid a call on another.
# Reentrant for the same reason.
_lock = threading.RLock()
_shards: "dict[tuple[int, int], Shard]" = {}


class Shard:
    """One open shard directory. Use it through `use` and `update`; give it back by `release`."""

    def __init__(
        self, opened: edge.EdgeShard, path: Path, owned: Ownership, temporary: Path | None
    ) -> None:
        self.path = path
        self.users = 0
        self.key = _identity(path)
        # Ids as text and indexed numbers that were read, by fields and id, until their points are
        # written.
        self.numbers: dict[tuple[str, ...], dict[int, tuple[str, dict[str, Any]]]] = {}
        self._edge: edge.EdgeShard | None = opened
        self._owned = owned
        self._temporary = temporary
        self._pid = os.getpid()
        self._dirty = False
        self._timer: threading.Timer | None = None

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

    def update(self, operation: edge.UpdateOperation, ids: Iterable[str], size: int = 0) -> None:
        """Apply one operation to the points `ids`, `size` bytes large at most."""
        with self.use() as opened:
            written = [UUID(id).int for id in ids]
            for numbers in self.numbers.values():
                for id in written:
                    numbers.pop(id, None)
            self._check_room(size)
            self._schedule_flush()
            with self._owned.writing():
                opened.update(operation)

    def flush(self) -> None:
        with self.use() as opened:
            with self._owned.writing():
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
        try:
            if opened is not None:
                with translated(self.path), self._owned.writing():
                    opened.close()
        finally:
            self._owned.release()

    def _check_room(self, size: int) -> None:
        if self._owned.is_deleted:
            raise StoreWriteError(
                f"{self.path} was deleted while it was open; nothing can be stored there. "
                "Close the store and open it again."
            )
        free = self._owned.free_space
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
            self._owned.release()
            self.abandon()
            self._edge = None

    def abandon(self) -> None:
        """Keep the engine's object from ever being destroyed in this process.

        Its destructor writes to the files. In a forked child these belong to the parent, whose
        store a child that merely ends would damage.
        """
        if self._edge is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._edge))


def share(
    path: Path,
    open_: Callable[[Ownership], edge.EdgeShard],
    *,
    create: Callable[[], None] = lambda: None,
    temporary: Path | None = None,
) -> Shard:
    """The shard of directory `path`, opened by `open_` unless it is open; counts as one use.

    Nothing in the directory is touched before this process owns it.
    create: makes the directory if there is none.
    temporary: a directory that goes away with the shard.
    """
    with _lock, translated(path):
        shard = _shards.get(_identity(path)) if path.exists() else None
        if shard is not None:
            shard.users += 1
            # Garbage collection may have closed it just before.
            if not shard.closed:
                return shard
        create()
        owned = Ownership(path)
        try:
            shard = Shard(open_(owned), path, owned, temporary)
        except BaseException:
            owned.release()
            raise
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
