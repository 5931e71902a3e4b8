"""Emptied stores, for tests that open a memory and do not care where it is.

To make a store of the embedded engine takes a good part of a second: it has dozens of indexes,
each in files of its own. So one that a test is done with is emptied and opened by the next.
What makes, opens and removes stores is tested with new ones, in `tests/store`.
"""

import atexit
import os
import shutil
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amem_integrations import AgenticMemory
from amem_integrations.core.filters import EVERYTHING, Not, ids
from amem_integrations.core.io import run
from amem_integrations.memory import build as assembly
from amem_integrations.stores.codec import META_ID
from amem_integrations.stores.open import Store
from tests.private import parts_of

_in_this_thread = threading.local()
_open_store = assembly.open_store


def _open_where_told(location: Any, **settings: Any) -> Store:
    """Opens a store of the pool for a memory that takes its own for a temporary one."""
    told = getattr(_in_this_thread, "directory", None)
    return _open_store(told if location is None and told else location, **settings)


assembly.open_store = _open_where_told

# Points that were removed stay in the files, so a store does not serve for ever.
USES = 50


@dataclass
class _Kept:
    """A store that is held open, so that opening it again costs nothing."""

    directory: Path
    memory: AgenticMemory
    uses: int = 0

    @property
    def free(self) -> bool:
        return self._engine._shard.users == 1

    @property
    def _engine(self) -> Any:
        return parts_of(self.memory).store.sync

    def empty(self) -> bool:
        """Whether it can be used, with nothing in it."""
        run(self._engine.delete(Not(ids((META_ID,)))))
        self.uses += 1
        return self.uses <= USES and run(self._engine.count(EVERYTHING)) == 1

    def remove(self) -> None:
        self.memory.close()
        shutil.rmtree(self.directory, ignore_errors=True)


class Pool:
    """The stores of this process; a forked one makes its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, list[_Kept]] = {}
        self._pid = os.getpid()
        atexit.register(self._remove_all)

    def open(self, embedder: Any, **settings: Any) -> AgenticMemory:
        """A memory on an empty store of its own."""
        if self._pid != os.getpid():
            return AgenticMemory(embedder=embedder, **settings)
        with self._lock:
            _in_this_thread.directory = self.directory(embedder)
            try:
                return AgenticMemory(embedder=embedder, **settings)
            finally:
                _in_this_thread.directory = None

    def directory(self, embedder: Any) -> Path:
        """That of an empty store which nobody else has open."""
        kept = self._kept.setdefault(embedder.name, [])
        for store in [each for each in kept if each.free]:
            if store.empty():
                return store.directory
            kept.remove(store)
            store.remove()
        directory = Path(tempfile.mkdtemp(prefix="amem-test-"))
        kept.append(_Kept(directory, AgenticMemory(directory, embedder=embedder, formation="off")))
        return directory

    def _remove_all(self) -> None:
        if self._pid == os.getpid():
            for store in (each for kept in self._kept.values() for each in kept):
                store.remove()


POOL = Pool()
