"""The reference's recall, to compare with: `amem-dense`.

A-Mem's own evaluation on LoCoMo stores a turn as "Speaker X says : …", embeds that, and takes
the notes whose cosine to the question is highest. The question stands as it is asked; there,
a model makes keywords of it first.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from amem_integrations.core.io import Embedder
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn
from amem_integrations.evaluation.ingest import Progress

_BATCH = 32


class _Embedded(NamedTuple):
    ids: list[str]
    vectors: Any
    times: list[datetime | None]


class DenseBaseline:
    """Every turn of `dataset` embedded by `embedder`, in memory."""

    def __init__(
        self, embedder: Embedder, dataset: Dataset, progress: Progress | None = None
    ) -> None:
        self._embedder = embedder
        self._total = sum(len(each.turns) for each in dataset.conversations)
        self._done = 0
        self._progress = progress
        self._embedded: Mapping[str, _Embedded] = {
            each.id: self._embed(each) for each in dataset.conversations
        }

    def __call__(self, conversation: Conversation, question: Question, k: int) -> list[str]:
        """The ids of the `k` nearest turns, best first; later ones than `asked_at` are unknown."""
        ids, vectors, times = self._embedded[conversation.id]
        asked = np.asarray(self._embedder.embed_query(question.text), dtype=np.float32)
        cosines = vectors @ (asked / _length(asked))
        order: list[int] = np.argsort(-cosines, kind="stable").tolist()
        at = question.asked_at
        if at is not None:
            order = [place for place in order if (time := times[place]) is None or time <= at]
        return [ids[place] for place in order[:k]]

    def _embed(self, conversation: Conversation) -> _Embedded:
        turns = conversation.turns
        rows: list[list[float]] = []
        for start in range(0, len(turns), _BATCH):
            texts = [content(turn) for turn in turns[start : start + _BATCH]]
            rows += self._embedder.embed_documents(texts)
            self._done += len(texts)
            if self._progress is not None:
                self._progress(self._done, self._total)
        vectors = np.asarray(rows, dtype=np.float32)
        return _Embedded(
            [turn.id for turn in turns], vectors / _length(vectors), [turn.time for turn in turns]
        )


def content(turn: Turn) -> str:
    """A turn as A-Mem's evaluation stores it."""
    speaker = turn.speaker or turn.role
    return f"Speaker {speaker} says : {turn.text}" if speaker else turn.text


def _length(vectors: Any) -> Any:
    return np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
