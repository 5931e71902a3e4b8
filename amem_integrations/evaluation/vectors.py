"""Texts by cosine, in memory: the reference's recall, and an index for small systems."""

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
        self._indexes = {conversation.id: Vectors(embedder) for conversation in conversations}
        total = sum(len(conversation.turns) for conversation in conversations)
        done = 0
        for conversation in conversations:
            for start in range(0, len(conversation.turns), _BATCH):
                turns = conversation.turns[start : start + _BATCH]
                self._indexes[conversation.id].add([stored_text(turn) for turn in turns])
                done += len(turns)
                if progress is not None:
                    progress(done, total)

    def __call__(self, conversation: Conversation, question: Question, k: int) -> list[str]:
        """Return the ids of the `k` nearest turns, best first, without those after `asked_at`."""
        cosines = self._indexes[conversation.id].cosines(question.text)
        turns = sorted(zip(cosines, conversation.turns, strict=True), key=lambda each: -each[0])
        at = question.asked_at
        known = [turn.id for _, turn in turns if at is None or turn.time is None or turn.time <= at]
        return known[:k]


def stored_text(turn: Turn) -> str:
    """Return a turn as A-Mem's evaluation stores it."""
    speaker = turn.speaker or turn.role
    return f"Speaker {speaker} says : {turn.text}" if speaker else turn.text


class Vectors:
    """The vectors of texts in memory, in the order in which they were added."""

    def __init__(self, embedder: Embedder, texts: Sequence[str] = ()) -> None:
        self._embedder = embedder
        self._rows: Any = None
        self.add(texts)

    def add(self, texts: Sequence[str]) -> None:
        """Embed further texts."""
        # Here, since importing numpy takes long.
        import numpy as np

        for start in range(0, len(texts), _BATCH):
            new = _units(self._embedder.embed_documents(list(texts[start : start + _BATCH])))
            self._rows = new if self._rows is None else np.vstack([self._rows, new])

    def cosines(self, query: str) -> list[float]:
        """Return the cosine of the query to each text, in order."""
        if self._rows is None:
            return []
        return (self._rows @ _units([self._embedder.embed_query(query)])[0]).tolist()

    def similarities(self, place: int) -> list[float]:
        """Return the cosines of the text at `place` to each text."""
        return (self._rows @ self._rows[place]).tolist()


def _units(rows: Sequence[Vector]) -> Any:
    import numpy as np

    vectors = np.asarray(rows, dtype=np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
