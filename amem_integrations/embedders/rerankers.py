"""Rerankers: what a user gives as `reranker=`, made into a Reranker."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from amem_integrations.embedders.dense import Function
from amem_integrations.embedders.fastembed import FastembedCrossEncoder
from amem_integrations.errors import InvalidInputError

RerankerSpec: TypeAlias = Any

Question: TypeAlias = tuple[str, list[str]]
"""A query, and the texts to compare with it."""
Scores: TypeAlias = list[float | None]
"""One per text, in order, higher is better; None for a text to be left out."""

# The place of a document's text among the texts; a compressor passes metadata on.
_PLACE = "amem_place"


class Reranker(Protocol):
    """Scores each text by how well it answers a query."""

    name: str

    def invoke(self, input: Question) -> Scores: ...

    async def ainvoke(self, input: Question) -> Scores: ...


class FunctionReranker:
    """A function `(query, texts) -> scores`, sync or async."""

    def __init__(self, function: Callable[[str, list[str]], Any]) -> None:
        self._function = Function(function, kind="reranker")
        self.name = self._function.name

    def invoke(self, input: Question) -> Scores:
        return _numbers(self._function(*input))

    async def ainvoke(self, input: Question) -> Scores:
        return _numbers(await self._function.acall(*input))


class CompressorReranker:
    """LangChain's `BaseDocumentCompressor`, such as CohereRerank or CrossEncoderReranker.

    Texts that it leaves out are left out; changes that it makes to texts are ignored. Scores are
    the `relevance_score` of its documents, or else follow from their order.
    """

    def __init__(self, compressor: Any) -> None:
        self.name = type(compressor).__name__
        self._compressor = compressor

    def invoke(self, input: Question) -> Scores:
        query, texts = input
        kept = self._compressor.compress_documents(_documents(texts), query)
        return _scores(kept, len(texts))

    async def ainvoke(self, input: Question) -> Scores:
        query, texts = input
        kept = await self._compressor.acompress_documents(_documents(texts), query)
        return _scores(kept, len(texts))


def resolve_reranker(spec: RerankerSpec) -> Reranker | None:
    """Return the reranker that `spec` means; no model is loaded yet. None for None and False.

    spec: the name of one of fastembed's cross-encoders, a LangChain `BaseDocumentCompressor`, or
        a function `(query, texts) -> scores`, sync or async.

    Raises ModelUnavailableError for an unknown name, InvalidInputError for anything else.
    """
    if spec is None or spec is False:
        return None
    if isinstance(spec, str):
        return FastembedCrossEncoder(spec.strip())
    if isinstance(spec, type):
        raise InvalidInputError(
            f"reranker= needs an instance, not the class: {spec.__name__}(...)."
        )
    if hasattr(spec, "compress_documents"):
        return CompressorReranker(spec)
    if callable(spec):
        return FunctionReranker(spec)
    raise InvalidInputError(
        f"A {type(spec).__name__} cannot rerank. Give reranker= the name of a cross-encoder of "
        "fastembed's, a LangChain document compressor, or a function (query, texts) -> scores."
    )


def _numbers(scores: Any) -> Scores:
    return [None if score is None else float(score) for score in scores]


def _documents(texts: Sequence[str]) -> list[Any]:
    from langchain_core.documents import Document

    return [
        Document(id=str(place), page_content=text, metadata={_PLACE: place})
        for place, text in enumerate(texts)
    ]


def _scores(kept: Sequence[Any], count: int) -> Scores:
    """Return a score for each text from the documents that a compressor kept, best first."""
    scored: dict[int, float | None] = {}
    for document in kept:
        # Of a text that was split, the part that comes first counts.
        scored.setdefault(document.metadata[_PLACE], document.metadata.get("relevance_score"))
    if None in scored.values():
        scored = {place: 1 / rank for rank, place in enumerate(scored, 1)}
    return _numbers(scored.get(place) for place in range(count))
