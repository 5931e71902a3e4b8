"""Filling a memory: each conversation into a namespace of its own, a note for each turn."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Status
from amem_integrations.evaluation.dataset import Conversation, Dataset, Turn
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.operations import counts

__all__ = ["Filled", "fill"]

Progress = Callable[[int, int], None]
_ROOT = "amem-eval"


@dataclass(frozen=True, slots=True)
class Filled:
    """A memory that holds a dataset.

    Attributes:
        memory: the memory.
        dataset: what it holds.
        seconds: what filling took; next to nothing where the notes were there already.

    Examples:
        >>> from amem_integrations.evaluation.dataset import Conversation, Dataset, Turn
        >>> from amem_integrations.evaluation.ingest import fill
        >>> talk = Conversation("talk", (Turn("t1", "Calvin wants LRU eviction"),), ())
        >>> filled = fill(memory, Dataset("mine", (talk,)))
        >>> filled.counts(), memory.count(filled.home(talk))
        ({'formed': 1}, 1)
    """

    memory: AgenticMemory
    dataset: Dataset
    seconds: float

    def home(self, conversation: Conversation) -> Namespace:
        """The namespace in which a conversation is.

        Args:
            conversation: one of the dataset.
        """
        return home(self.memory, self.dataset, conversation)

    def counts(self) -> dict[str, int]:
        """How many notes there are of each status."""
        found = [self._counts(self.home(each)) for each in self.dataset.conversations]
        total = {status.value: sum(each.get(status, 0) for each in found) for status in Status}
        return {status: count for status, count in total.items() if count}

    def _counts(self, namespace: Namespace) -> dict[str, int]:
        return self.memory.perform(lambda _, io: counts(io, namespace))


def fill(memory: AgenticMemory, dataset: Dataset, progress: Progress | None = None) -> Filled:
    """Remember every turn, formed as `memory` forms; turns that are there stay as they are.

    Args:
        memory: where.
        dataset: what; each conversation goes into a namespace of its own.
        progress: called as progress(done, total) in turns.

    Raises:
        InvalidInputError: a turn cannot be stored.
        StoreError: the store cannot be written.
        ModelError: the embedder gives no usable vectors; its own errors pass through.

    Examples:
        >>> from amem_integrations.evaluation.dataset import Conversation, Dataset, Turn
        >>> from amem_integrations.evaluation.ingest import fill
        >>> talk = Conversation("talk", (Turn("t1", "Calvin wants LRU eviction"),), ())
        >>> fill(memory, Dataset("mine", (talk,))).counts()
        {'formed': 1}
    """
    started = time.perf_counter()
    total = sum(len(each.turns) for each in dataset.conversations)
    before = 0
    for conversation in dataset.conversations:

        def advance(done: int, _: int, before: int = before) -> None:
            if progress is not None:
                progress(before + done, total)

        memory.add_many(
            [_item(turn, place) for place, turn in enumerate(conversation.turns)],
            namespace=home(memory, dataset, conversation),
            progress=advance,
        )
        before += len(conversation.turns)
    return Filled(memory, dataset, time.perf_counter() - started)


def home(memory: AgenticMemory, dataset: Dataset, conversation: Conversation) -> Namespace:
    """A namespace for this conversation of this file, formed as this memory forms."""
    options = memory.options
    forming = options.formation_options
    formed = (options.formation, str(options.model), options.mode, forming.instructions)
    setup = json.dumps([dataset.digest, *formed, forming.link, forming.evolve, forming.neighbours])
    return (_ROOT, hashlib.sha256(setup.encode()).hexdigest()[:16], conversation.id)


def _item(turn: Turn, place: int) -> dict[str, Any]:
    return {
        "key": turn.id,
        "content": turn.text,
        "speaker": turn.speaker or turn.role,
        "session": turn.session,
        "sequence": place,
        "occurred_at": turn.time,
        "metadata": None if turn.role is None else {"role": turn.role},
    }
