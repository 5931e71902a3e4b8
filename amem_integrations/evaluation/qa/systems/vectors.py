"""Vectors of texts in memory, and their cosines: all the index that the small systems have."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from amem_integrations.core.io import Embedder

_BATCH = 32


class Vectors:
    """The vectors of texts, by the order in which they were added."""

    def __init__(self, embedder: Embedder, texts: Sequence[str] = ()) -> None:
        self._embedder = embedder
        self._rows: Any = None
        self._lock = threading.Lock()
        self.add(texts)

    def add(self, texts: Sequence[str]) -> None:
        """Embed further texts."""
        found: list[list[float]] = []
        for start in range(0, len(texts), _BATCH):
            found += self._embedder.embed_documents(list(texts[start : start + _BATCH]))
        if found:
            new = _units(found)
            with self._lock:
                self._rows = new if self._rows is None else np.vstack([self._rows, new])

    def cosines(self, query: str) -> list[float]:
        """To each text, in order."""
        if self._rows is None:
            return []
        asked = _units([self._embedder.embed_query(query)])
        return (self._rows @ asked[0]).tolist()

    def likeness(self, place: int) -> list[float]:
        """The cosines of the text at `place` to each text."""
        return (self._rows @ self._rows[place]).tolist()


def _units(rows: Sequence[Sequence[float]]) -> Any:
    found = np.asarray(rows, dtype=np.float32)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
