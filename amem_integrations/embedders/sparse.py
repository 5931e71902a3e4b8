"""BM25 encoders: text to weighted terms.

The weights hold term frequency and text length; the engine adds IDF over the namespace.
"""

from collections.abc import Iterable
from typing import Any

from amem_integrations.core.engine import SparseVector
from amem_integrations.core.io import SparseEncoder
from amem_integrations.embedders.model_files import bounded, package_dir
from amem_integrations.errors import ModelUnavailableError

# The length in terms at which a text is neither favoured nor damped. On LoCoMo's development
# turns, recall@10 is 0.652 with 32 and 0.629 with BM25's customary 256.
AVERAGE_TERMS = 32


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
        (found,) = self._model.raw_embed([self._spaced(text)])
        return _sparse(found)

    def query(self, text: str) -> SparseVector:
        (found,) = self._model.query_embed(self._spaced(text))
        return _sparse(found)

    def _spaced(self, text: str) -> str:
        readable = bounded(text)
        return readable if readable.isascii() else " ".join(self._cut(readable))


_ENCODERS: dict[str, type[EdgeBm25] | type[FastembedBm25]] = {
    encoder.name: encoder for encoder in (EdgeBm25, FastembedBm25)
}


def resolve_sparse(name: str | None = None) -> SparseEncoder:
    """Return the encoder `name`; without a name, the best one for this platform.

    Raises ModelUnavailableError for an unknown name, or one that cannot run here.
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


# A change here needs a new name of the encoder.
_STOP_WORDS = """
a about after again all also am an and any are as at be because been before being but by can
could did do does doing down during each few for from further had has have having he her here
hers him his how i if in into is it its just me more most my no nor not now of off on once only
or other our ours out over own same she should so some such than that the their theirs them
then there these they this those through to too under until up very was we were what when
where which while who whom why will with would you your yours
"""
