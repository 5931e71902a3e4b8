"""What the operations of a memory work with; the base of the objects that offer them."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

from amem_integrations.core.io import IO, Forms
from amem_integrations.core.namespace import DEFAULT, Namespace, as_namespace
from amem_integrations.core.note import Note, check_text, note_id
from amem_integrations.errors import InvalidInputError, loggable
from amem_integrations.formation.pipeline import Pipeline
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.recall.last import Recalls
from amem_integrations.recall.rerank import Reranking
from amem_integrations.recall.signals import DEFAULT_OPTIONS, RecallOptions

Progress: TypeAlias = Callable[[int, int], None]
NamespaceLike: TypeAlias = str | Sequence[str]
NoteLike: TypeAlias = Note | str


@dataclass(frozen=True, kw_only=True)
class Wiring(Pipeline):
    """What the operations of one memory work with.

    recall, reranking: how notes are found, unless a call says otherwise. policy: how they are
    believed and kept; None leaves them as they are. covers: whether the embedder knows the
    script of a text. recalls: what was found last.
    """

    recall: RecallOptions = DEFAULT_OPTIONS
    reranking: Reranking | None = None
    policy: Policy | None = None
    covers: Callable[[str], bool] = lambda text: True
    recalls: Recalls = field(default_factory=Recalls)


class MemoryPart(Forms):
    """Operations of one memory, in both forms."""

    def __init__(self, wiring: Wiring, sync: IO, asynchronous: IO) -> None:
        self._wiring = wiring
        self._sync = sync
        self._async = asynchronous

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Frameworks copy what holds a memory; the store can be open only once.
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            f"An open {type(self).__name__} cannot be pickled: it has files, connections and "
            "threads. Give the other process the location, and open an AgenticMemory there; "
            "several processes at once need a Qdrant server."
        )


class Adapter(MemoryPart):
    """A framework's object over an open memory, whose methods are operations in both forms."""

    def __init__(self, memory: MemoryPart) -> None:
        super().__init__(memory._wiring, memory._sync, memory._async)
        # A memory that nobody holds closes itself.
        self._memory = memory

    def _report(self, log: logging.Logger, event: str, message: str, error: Exception) -> None:
        """Log a failure without content, and count it."""
        log.warning("%s (%s).", message, loggable(error))
        log.debug("Why.", exc_info=error)
        self._wiring.settings.ledger.count(event)


def address_of(
    note: NoteLike | None, namespace: NamespaceLike | None = None, key: str | None = None
) -> tuple[str, Namespace]:
    """Return id and namespace of a note given as such, by its id, or by its key."""
    if (note is None) == (key is None):
        given = "neither" if note is None else "both"
        raise InvalidInputError(f"Expected a note or its id, or else key=...; got {given}.")
    if isinstance(note, Note):
        return note.id, note.namespace if namespace is None else as_namespace(namespace)
    home = DEFAULT if namespace is None else as_namespace(namespace)
    if key is not None:
        check_text("key", key)
        return note_id(home, key), home
    if not isinstance(note, str):
        raise InvalidInputError(f"Expected a note or its id, a string; got {type(note).__name__}.")
    return note, home
