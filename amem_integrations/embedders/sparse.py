"""BM25 term encoders: text to weighted terms, for the half of search that goes by words.

A collection remembers the name of the encoder it was written with; `resolve_sparse` finds it
again. The weights hold term frequency and length; IDF is the engine's, over the namespace.
"""

from collections.abc import Iterable
from typing import Any

from amem_integrations.core.io import SparseEncoder, SparseVector
from amem_integrations.embedders.packaged import package_dir
from amem_integrations.embedders.text import bounded
from amem_integrations.errors import ModelUnavailableError

# The length in terms at which a text is neither favoured nor damped. A raw turn of a
# conversation has about a dozen terms without stop words, a formed note three or four times
# as many. Found on LoCoMo's development turns, some joined with their neighbours: recall@10
# 0.652 with 32 and 0.629 with BM25's customary 256; on turns of one length they are level.
AVERAGE_TERMS = 32


class EdgeBm25:
    """Qdrant Edge's own BM25: English stems and stop words, words of Chinese, Japanese, Thai, …

    Words of other languages count as they are written, accents apart. No file, no download.
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
        """Empty for a text without words."""
        return _sparse(self._model.embed_document(bounded(text)))

    def query(self, text: str) -> SparseVector:
        """Empty for a query of nothing but stop words."""
        return _sparse(self._model.embed_query(bounded(text)))


class FastembedBm25:
    """fastembed's BM25, for platforms without a Qdrant Edge wheel.

    English stems and stop words; Chinese is cut into words by rjieba first. Splits words
    otherwise than EdgeBm25 does, so the two never mix in one collection.
    """

    name = f"fastembed-bm25-rjieba-{AVERAGE_TERMS}"

    def __init__(self) -> None:
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
        self._cut = rjieba.cut
        self._cut("词")  # it reads its dictionary on first use

    def document(self, text: str) -> SparseVector:
        """Empty for a text without words."""
        (found,) = self._model.raw_embed([self._spaced(text)])
        return _sparse(found)

    def query(self, text: str) -> SparseVector:
        """Empty for a query of nothing but stop words."""
        (found,) = self._model.query_embed(self._spaced(text))
        return _sparse(found)

    def _spaced(self, text: str) -> str:
        readable = bounded(text)
        return readable if readable.isascii() else " ".join(self._cut(readable))


_ENCODERS: dict[str, type[EdgeBm25] | type[FastembedBm25]] = {
    encoder.name: encoder for encoder in (EdgeBm25, FastembedBm25)
}


def resolve_sparse(name: str | None = None) -> SparseEncoder:
    """The encoder called `name`; without a name, the best one for this platform.

    Raises ModelUnavailableError for a name nobody knows, or one that cannot run here.
    """
    has_edge = package_dir("qdrant_edge") is not None
    if name is None:
        return EdgeBm25() if has_edge else FastembedBm25()
    if name not in _ENCODERS:
        raise ModelUnavailableError(
            f"There is no sparse encoder {name!r}; known are {', '.join(sorted(_ENCODERS))}. A "
            "collection written by a newer version of amem-integrations needs that version."
        )
    if name == EdgeBm25.name and not has_edge:
        raise ModelUnavailableError(
            f"The sparse encoder {name!r} needs the package qdrant-edge-py, which has no wheel "
            "for this platform or is not installed."
        )
    return _ENCODERS[name]()


def _sparse(found: Any) -> SparseVector:
    indices: Iterable[int] = found.indices
    values: Iterable[float] = found.values
    return SparseVector(tuple(map(int, indices)), tuple(map(float, values)))


# Part of what the encoder's name stands for: a change here is a new name.
_STOP_WORDS = """
a about after again all also am an and any are as at be because been before being but by can
could did do does doing down during each few for from further had has have having he her here
hers him his how i if in into is it its just me more most my no nor not now of off on once only
or other our ours out over own same she should so some such than that the their theirs them
then there these they this those through to too under until up very was we were what when
where which while who whom why will with would you your yours
"""
