"""The last search of each namespace, and the cost of formation since: `last_recall`.

It is kept in the process for a bounded number of namespaces, and dropped when a note of the
namespace is forgotten, archived or past its time. Adapters that pack hits for a prompt report that
by `shown`.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from amem_integrations.core.caches import Caches
from amem_integrations.core.hit import Hit
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.usage import Ledger, Tally, Usage
from amem_integrations.core.values import estimate_tokens
from amem_integrations.stores.expiry import is_expired

_MOST = 128
_MOST_CHARS = 4_000_000


@dataclass(frozen=True, slots=True)
class Recall:
    """The last search of a namespace, and the cost of formation since.

    Printed, it is one line of numbers, without content.

    Attributes:
        query: the question.
        namespace: the namespace that was searched.
        hits: the hits as they were then, best first.
        seconds: how long the search took.
        packed: the text that middleware, a chat memory or a tool put into a prompt, else None.
            Calls of `AgenticMemory.pack` do not count.
        formed: how many notes of the namespace this memory has formed since.
        usage: the model calls for the namespace since.

    Examples:
        >>> from amem_integrations import Recall
        >>> str(Recall("tea?", ("calvin",), (), 0.0071, formed=2))
        'recalled 0 notes in 7 ms; formed 2 notes'
    """

    query: str
    namespace: Namespace
    hits: tuple[Hit, ...]
    seconds: float
    packed: str | None = None
    formed: int = 0
    usage: Usage = field(default_factory=Usage)

    @property
    def tokens(self) -> int | None:
        """The estimated tokens of `packed`; None if nothing was packed."""
        return None if self.packed is None else estimate_tokens(self.packed)

    def __str__(self) -> str:
        recalled = f"recalled {_counted(len(self.hits), 'note')} in {self.seconds * 1000:.0f} ms"
        if self.tokens is not None:
            recalled += f", {_counted(self.tokens, 'token')}"
        if not (self.formed or self.usage.calls):
            return recalled
        line = f"{recalled}; formed {_counted(self.formed, 'note')}"
        if self.usage.calls:
            tokens = self.usage.tokens_in + self.usage.tokens_out
            calls = _counted(self.usage.calls, "call")
            line += f": {calls}, {_counted(tokens, 'token')}"
        return line


class Recalls:
    """The last recall of each namespace; safe to use from any thread.

    Of several searches at the same time in one namespace the last to end counts.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Namespace, tuple[Recall, Tally]] = OrderedDict()
        self._chars = 0

    def keep(self, recall: Recall, ledger: Ledger, caches: Caches, drops: int) -> None:
        """Keep the last recall, unless something was dropped since `drops` was read."""
        with self._lock:
            self._take(recall.namespace)
            if drops == caches.drops:
                self._put(recall, ledger.watch(recall.namespace))

    def shown(self, namespace: Namespace, hits: Sequence[Hit], packed: str) -> None:
        """Note which hits of the last search went into a prompt; ignored after another search."""
        with self._lock:
            if namespace not in self._kept:
                return
            recall, tally = self._kept[namespace]
            found = set(map(id, recall.hits))
            if bool(hits) == bool(found) and found.issuperset(map(id, hits)):
                self._take(namespace)
                self._put(replace(recall, hits=tuple(hits), packed=packed), tally)

    def last(self, namespace: Namespace, now: datetime) -> Recall | None:
        """Return the last recall; None if there is none, or if a note of it has expired."""
        with self._lock:
            if namespace not in self._kept:
                return None
            if any(is_expired(hit.note, now) for hit in self._kept[namespace][0].hits):
                self._take(namespace)
                return None
            recall, tally = self._kept[namespace]
            return replace(recall, formed=tally.formed, usage=tally.usage)

    def failed(self, namespace: Namespace) -> None:
        """Forget the recall before a search that failed."""
        with self._lock:
            self._take(namespace)

    def drop(self, namespace: Namespace, ids: Collection[str] = ()) -> None:
        """Drop the recall of a namespace of which notes went, as its question may tell of them."""
        with self._lock:
            self._take(namespace)

    def _put(self, recall: Recall, tally: Tally) -> None:
        self._kept[recall.namespace] = recall, tally
        self._chars += _size(recall)
        while len(self._kept) > _MOST or (self._chars > _MOST_CHARS and len(self._kept) > 1):
            self._take(next(iter(self._kept)))

    def _take(self, namespace: Namespace) -> tuple[Recall, Tally] | None:
        taken = self._kept.pop(namespace, None)
        if taken is not None:
            self._chars -= _size(taken[0])
        return taken


def _size(recall: Recall) -> int:
    texts = (recall.query, recall.packed or "", *(hit.note.content for hit in recall.hits))
    return sum(map(len, texts))


def _counted(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"
