"""BM25 encoders: text to weighted terms.

The weights hold term frequency and text length; the engine adds IDF over the namespace. Words are
the libraries' terms; numbers, codes and emoji are ours, the same for both libraries.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from zlib import crc32

from amem_integrations.core.engine import SparseVector
from amem_integrations.core.io import SparseEncoder
from amem_integrations.core.values import readable
from amem_integrations.embedders.identifiers import find_identifiers
from amem_integrations.embedders.model_files import bounded, package_dir
from amem_integrations.errors import ModelUnavailableError

# The length in terms at which a text is neither favoured nor damped. On LoCoMo's development
# turns, recall@10 is 0.652 with 32 and 0.629 with BM25's customary 256.
AVERAGE_TERMS = 32


# BM25's customary saturation and damping by length, as both libraries have them.
_SATURATION, _DAMPING = 1.2, 0.75
# Both libraries hash a word to 0 … 2^31, so that these indices never meet theirs.
_FIRST, _OWN = 2**31 + 1, 2**31 - 1
_DIGITS = re.compile(r"\b\d+\b")


class EdgeBm25:
    """Qdrant Edge's BM25: English stems and stop words, words of Chinese, Japanese, Thai, …

    Words of other languages count as they are written, without accents. It needs no download.
    """

    name = f"qdrant-edge-bm25-multilingual-{AVERAGE_TERMS}"

    def __init__(self) -> None:
        from qdrant_edge import Bm25, Bm25Config, TokenizerType

        self._model = Bm25(
            Bm25Config(
                tokenizer=TokenizerType.Multilingual,
                language="english",
                avg_len=float(AVERAGE_TERMS),
                ascii_folding=True,
            )
        )

    def document(self, text: str) -> SparseVector:
        return _sparse(self._model.embed_document(bounded(text)))

    def query(self, text: str) -> SparseVector:
        return _sparse(self._model.embed_query(bounded(text)))


class FastembedBm25:
    """fastembed's BM25, for platforms without a Qdrant Edge wheel.

    English stems and stop words; rjieba cuts Chinese into words first. It splits words in
    another way than EdgeBm25, so the two never mix in one collection.

    digits: whether words of digits are among its terms.
    """

    name = f"fastembed-bm25-rjieba-{AVERAGE_TERMS}"

    def __init__(self, *, digits: bool = True) -> None:
        import rjieba
        from fastembed.sparse.bm25 import Bm25

        # With stop words given, it reads no file; any folder that exists will do.
        folder = str(package_dir("fastembed"))
        self._model = Bm25(
            "Qdrant/bm25",
            cache_dir=folder,
            specific_model_path=folder,
            avg_len=float(AVERAGE_TERMS),
            stopwords=set(_STOP_WORDS.split()),
        )
        self._digits = digits
        self._cut = rjieba.cut
        self._cut("词")  # it reads its dictionary on first use

    def document(self, text: str) -> SparseVector:
        (found,) = self._model.raw_embed([self._spaced(text)])
        return _sparse(found)

    def query(self, text: str) -> SparseVector:
        (found,) = self._model.query_embed(self._spaced(text))
        return _sparse(found)

    def _spaced(self, text: str) -> str:
        whole = bounded(text)
        spaced = whole if whole.isascii() else " ".join(self._cut(whole))
        return spaced if self._digits else _DIGITS.sub(" ", spaced)


class WithIdentifiers:
    """An encoder of words, and terms for numbers, codes and emoji beside its own.

    Spellings of one identifier share terms; parts of it weigh less, and so do small numbers and
    dates. Encoded data is left out, and very long words are cut.
    """

    def __init__(self, words: SparseEncoder) -> None:
        self._words = words
        self.name = f"{words.name}{_SUFFIX}"

    def document(self, text: str) -> SparseVector:
        text = readable(text)
        words = self._words.document(text)
        counts, weights = Counter[str](), dict[str, float]()
        for identifier in find_identifiers(text):
            counts.update(identifier.keys.keys())
            weights.update(_greater(identifier.keys, weights))
        if not weights:
            return words
        length = (len(words.indices) + len(counts)) / AVERAGE_TERMS
        damping = _SATURATION * (1 - _DAMPING + _DAMPING * length)
        return _joined(
            {
                key: weight * counts[key] * (1 + _SATURATION) / (counts[key] + damping)
                for key, weight in weights.items()
            },
            words,
        )

    def query(self, text: str) -> SparseVector:
        text = readable(text)
        weights: dict[str, float] = {}
        for identifier in find_identifiers(text):
            weights.update(_greater(identifier.keys, weights))
        return _joined(weights, self._words.query(text))


def identifier_index(key: str) -> int:
    """Return the index of an identifier's term."""
    return _FIRST + crc32(key.encode()) % _OWN


def is_identifier(index: int) -> bool:
    """Return whether a term is an identifier's rather than a word's."""
    return index >= _FIRST


def _greater(keys: Mapping[str, float], known: Mapping[str, float]) -> dict[str, float]:
    return {key: max(weight, known.get(key, 0.0)) for key, weight in keys.items()}


def _joined(identifiers: Mapping[str, float], words: SparseVector) -> SparseVector:
    own = {identifier_index(key): weight for key, weight in identifiers.items()}
    return SparseVector((*own, *words.indices), (*own.values(), *words.values))


_SUFFIX = "-identifiers"
_ENCODERS: Mapping[str, Callable[[], SparseEncoder]] = {
    EdgeBm25.name + _SUFFIX: lambda: WithIdentifiers(EdgeBm25()),
    FastembedBm25.name + _SUFFIX: lambda: WithIdentifiers(FastembedBm25(digits=False)),
    # Of collections that were written before there were terms for identifiers.
    EdgeBm25.name: EdgeBm25,
    FastembedBm25.name: FastembedBm25,
}


def usable_encoders() -> list[str]:
    """Return the names of the encoders that can run here, the best one first."""
    has_edge = package_dir("qdrant_edge") is not None
    return [name for name in _ENCODERS if has_edge or not name.startswith(EdgeBm25.name)]


def resolve_sparse(name: str | None = None) -> SparseEncoder:
    """Return the encoder `name`; without a name, the best one for this platform.

    Raises ModelUnavailableError for an unknown name, or one that cannot run here.
    """
    usable = usable_encoders()
    if name is None:
        name = usable[0]
    if name not in _ENCODERS:
        raise ModelUnavailableError(
            f"There is no sparse encoder {name!r}; known are {', '.join(sorted(_ENCODERS))}. A "
            "collection written by a newer version of amem-integrations needs that version."
        )
    if name not in usable:
        raise ModelUnavailableError(
            f"The sparse encoder {name!r} needs the package qdrant-edge-py, which has no wheel "
            "for this platform or is not installed."
        )
    return _ENCODERS[name]()


def _sparse(found: Any) -> SparseVector:
    indices: Iterable[int] = found.indices
    values: Iterable[float] = found.values
    return SparseVector(tuple(map(int, indices)), tuple(map(float, values)))


# A change here needs a new name of the encoder.
_STOP_WORDS = """
a about after again all also am an and any are as at be because been before being but by can
could did do does doing down during each few for from further had has have having he her here
hers him his how i if in into is it its just me more most my no nor not now of off on once only
or other our ours out over own same she should so some such than that the their theirs them
then there these they this those through to too under until up very was we were what when
where which while who whom why will with would you your yours
"""
