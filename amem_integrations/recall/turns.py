"""The notes that were recalled into the prompt of a turn, kept until the turn ends.

A turn may call its model many times, and each time the prompt has the same notes. Before they are
shown again they are looked up: what was forgotten, archived or has expired meanwhile is not shown.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from amem_integrations.core.caches import Caches
from amem_integrations.core.filters import ids, match
from amem_integrations.core.hit import Hit
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.status import SHOWN
from amem_integrations.stores.codec import within

_MOST = 1024
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    turn: Hashable
    notes: tuple[str, ...]
    recalled: T


class TurnRecalls(Generic[T]):
    """What each conversation recalled for its turn, in a form of the caller's; thread-safe.

    A conversation has one turn at a time: the next one takes the place of one that broke off.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[Namespace, Hashable], _Kept[T]] = OrderedDict()

    async def get(
        self, io: IO, namespace: Namespace, conversation: Hashable, turn: Hashable
    ) -> T | None:
        """Return what was recalled for the turn, unless a note of it is not there any more."""
        with self._lock:
            kept = self._kept.get((namespace, conversation))
        if kept is None or kept.turn != turn:
            return None
        if not await _are_shown(io, namespace, kept.notes):
            self.pop(namespace, conversation)
            return None
        return kept.recalled

    def keep(
        self,
        caches: Caches,
        drops: int,
        namespace: Namespace,
        conversation: Hashable,
        turn: Hashable,
        hits: Sequence[Hit],
        recalled: T,
    ) -> None:
        """Keep what was recalled, unless something was dropped since `drops` was read.

        hits: the notes that it has.
        """
        caches.add(self.drop)
        kept = _Kept(turn, tuple(hit.note.id for hit in hits), recalled)
        with self._lock:
            self._kept.pop((namespace, conversation), None)
            if drops == caches.drops:
                self._kept[namespace, conversation] = kept
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)

    def pop(self, namespace: Namespace, conversation: Hashable) -> T | None:
        """Drop and return what was recalled for the turn at hand."""
        with self._lock:
            kept = self._kept.pop((namespace, conversation), None)
        return None if kept is None else kept.recalled

    def drop(self, namespace: Namespace, ids: Collection[str] = ()) -> None:
        """Drop all of a namespace of which notes went: others may have been told of them."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == namespace]:
                del self._kept[key]


async def _are_shown(io: IO, namespace: Namespace, note_ids: Sequence[str]) -> bool:
    """Return whether recall would still find all of the notes."""
    if not note_ids:
        return True
    where = within(namespace, ids(note_ids), match("status", *SHOWN))
    return await io.engine.count(where) == len(note_ids)
