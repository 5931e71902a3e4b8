"""Caches: what the objects of this process keep of a store's notes outside of the store.

Each of them says here how it drops what it keeps. Whatever removes notes, or takes them out of
recall, calls `drop`, so that no object over the same store shows them again.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any, TypeAlias
from weakref import WeakMethod, WeakValueDictionary

from amem_integrations.core.namespace import Namespace

Drop: TypeAlias = Callable[[Namespace, Collection[str]], None]
"""Drops what is kept of a namespace of which notes went; ids: which ones, empty for all."""

_MOST_SESSIONS = 4096
_MOST_NAMESPACES = 4096
_SPEAKERS_KEPT = timedelta(seconds=10)


class Sequences:
    """The last number that this process gave to a turn of each session; thread-safe.

    Only a lower bound where other processes write to the same store.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: OrderedDict[tuple[Namespace, str | None], int] = OrderedDict()

    def last(self, namespace: Namespace, session: str | None) -> int | None:
        """Return the last number, or None if this process does not know it."""
        with self._lock:
            return self._last.get((namespace, session))

    def take(self, namespace: Namespace, session: str | None, last: int, count: int) -> int:
        """Take `count` numbers above `last` and above all that were taken; return the first."""
        with self._lock:
            first = max(last, self._last.pop((namespace, session), last)) + 1
            self._last[namespace, session] = first + count - 1
            while len(self._last) > _MOST_SESSIONS:
                self._last.popitem(last=False)
            return first

    def drop(self, namespace: Namespace) -> None:
        """Drop the numbers of a namespace: its last notes may be others now."""
        with self._lock:
            for key in [key for key in self._last if key[0] == namespace]:
                del self._last[key]


class Speakers:
    """Who speaks in each namespace, by its encoded name; thread-safe.

    Kept until this process writes there, and for seconds only: other processes may write as well,
    and notes expire.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[datetime, Collection[str]]] = OrderedDict()
        self._drops = 0

    @property
    def drops(self) -> int:
        """How often something was dropped; read it before speakers are looked up."""
        return self._drops

    def get(self, namespace: str, now: datetime) -> Collection[str] | None:
        """Return the speakers of a namespace, or None if they have to be looked up."""
        with self._lock:
            at, speakers = self._kept.get(namespace, (now, None))
        return speakers if timedelta(0) <= now - at < _SPEAKERS_KEPT else None

    def keep(self, namespace: str, speakers: Collection[str], now: datetime, drops: int) -> None:
        """Keep speakers that were looked up, unless something was dropped since `drops`."""
        with self._lock:
            if drops == self._drops:
                self._kept[namespace] = now, speakers
                while len(self._kept) > _MOST_NAMESPACES:
                    self._kept.popitem(last=False)

    def drop(self, namespace: str | None = None) -> None:
        """Drop the speakers of a namespace; None for all."""
        with self._lock:
            self._drops += 1
            if namespace is None:
                self._kept.clear()
            else:
                self._kept.pop(namespace, None)


class Caches:
    """The caches over one store, held weakly; safe to use from any thread."""

    def __init__(self) -> None:
        self.sequences = Sequences()
        self.speakers = Speakers()
        self._lock = threading.Lock()
        self._all: set[WeakMethod[Any]] = set()
        self._drops = 0

    @property
    def drops(self) -> int:
        """How often something was dropped.

        Read it before a search: if it has changed afterwards, what was found may be gone.
        """
        return self._drops

    def add(self, drop: Drop) -> None:
        """Have `drop`, a bound method, called from now on; adding it again changes nothing."""
        with self._lock:
            self._all = {cache for cache in self._all if cache() is not None}
            self._all.add(WeakMethod(drop))

    def drop(self, namespace: Namespace, ids: Collection[str] = ()) -> None:
        """Drop what is kept of notes of a namespace. ids: of which; empty for all."""
        self.sequences.drop(namespace)
        self.speakers.drop()
        with self._lock:
            self._drops += 1
            found = [cache() for cache in self._all]
        for drop in found:
            if drop is not None:
                drop(namespace, ids)


_shared: WeakValueDictionary[str, Caches] = WeakValueDictionary()
_lock = threading.Lock()


def caches_of(store: str | None) -> Caches:
    """Return the caches over a store, the same ones for every object of this process.

    store: a name that no other store has; None for one that nothing else can open.
    """
    with _lock:
        return Caches() if store is None else _shared.setdefault(store, Caches())
