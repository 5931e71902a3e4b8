"""The reference's recall: turns by cosine, in memory."""

from collections.abc import Callable, Sequence
from typing import Any

from amem_integrations.core.engine import Vector
from amem_integrations.core.io import Embedder
from amem_integrations.evaluation.dataset import Conversation, Question, Turn

Progress = Callable[[int, int], None]
_BATCH = 32


class DenseBaseline:
    """The reference's recall: turns as A-Mem's evaluation stores them, by cosine.

    The question is embedded as it is; there, a model makes keywords of it first.
    """

    def __init__(
        self,
        embedder: Embedder,
        conversations: Sequence[Conversation],
        progress: Progress | None = None,
    ) -> None:
        self._embedder = embedder
        self._rows: dict[str, Any] = {}
        total = sum(len(conversation.turns) for conversation in conversations)
        done = 0
        for conversation in conversations:
            vectors: list[Vector] = []
            for start in range(0, len(conversation.turns), _BATCH):
                turns = conversation.turns[start : start + _BATCH]
                vectors += embedder.embed_documents([stored_text(turn) for turn in turns])
                done += len(turns)
                if progress is not None:
                    progress(done, total)
            # A conversation without turns has no question either.
            if vectors:
                self._rows[conversation.id] = _units(vectors)

    def __call__(self, conversation: Conversation, question: Question, k: int) -> list[str]:
        """Return the ids of the `k` nearest turns, best first, without those after `asked_at`."""
        query = _units([self._embedder.embed_query(question.text)])[0]
        cosines = (self._rows[conversation.id] @ query).tolist()
        turns = sorted(zip(cosines, conversation.turns, strict=True), key=lambda pair: -pair[0])
        at = question.asked_at
        known = [turn.id for _, turn in turns if at is None or turn.time is None or turn.time <= at]
        return known[:k]


def stored_text(turn: Turn) -> str:
    """Return a turn as A-Mem's evaluation stores it."""
    speaker = turn.speaker or turn.role
    return f"Speaker {speaker} says : {turn.text}" if speaker else turn.text


def _units(rows: Sequence[Vector]) -> Any:
    # Here, since importing numpy takes long.
    import numpy as np

    vectors = np.asarray(rows, dtype=np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
