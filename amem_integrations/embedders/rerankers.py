"""What a user gives as `reranker=`, made into a reranker.

`assembly` calls it, and a search that is given one of its own. When it is asked, and what
becomes of its scores, is `recall.rerank`'s.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from amem_integrations.embedders.callables import Function, name_of
from amem_integrations.embedders.cross_encoder import FastembedCrossEncoder
from amem_integrations.errors import InvalidInputError

RerankerSpec: TypeAlias = Any

# Tells, in a document's metadata, which text it was made of; a compressor passes it on.
_PLACE = "amem_place"

Asked: TypeAlias = tuple[str, list[str]]
"""A query, and the texts to hold against it."""
Scores: TypeAlias = list[float | None]
"""One a text, in order, higher is better; None for a text to be left out."""


class Reranker(Protocol):
    """Holds each text against a query, both together; a `ports.Runnable`."""

    name: str

    def invoke(self, input: Asked) -> Scores: ...

    async def ainvoke(self, input: Asked) -> Scores: ...


class FunctionReranker:
    """A function `(query, texts) -> scores`, sync or async."""

    def __init__(self, function: Callable[[str, list[str]], Any]) -> None:
        self.name = name_of(function)
        self._function = Function(function, kind="reranker", name=self.name)

    def invoke(self, input: Asked) -> Scores:
        return _numbers(self._function(*input))

    async def ainvoke(self, input: Asked) -> Scores:
        return _numbers(await self._function.acall(*input))


class CompressorReranker:
    """LangChain's `BaseDocumentCompressor`, such as CohereRerank or CrossEncoderReranker.

    What it leaves out is left out; what it makes of the text is not looked at. It is believed
    by the `relevance_score` of its documents, where all have one, and else by their order.
    """

    def __init__(self, compressor: Any) -> None:
        self.name = type(compressor).__name__
        self._compressor = compressor

    def invoke(self, input: Asked) -> Scores:
        query, texts = input
        kept = self._compressor.compress_documents(_documents(texts), query)
        return _scores(kept, len(texts))

    async def ainvoke(self, input: Asked) -> Scores:
        query, texts = input
        kept = await self._compressor.acompress_documents(_documents(texts), query)
        return _scores(kept, len(texts))


def resolve_reranker(spec: RerankerSpec) -> Reranker | None:
    """The reranker that `spec` means; no model is loaded yet. None for None and False.

    spec: one of fastembed's cross-encoders by name, a LangChain `BaseDocumentCompressor`, a
        function `(query, texts) -> scores`, sync or async.
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
    """A score for each text, from the documents that a compressor kept, best first."""
    scored: dict[int, float | None] = {}
    for document in kept:
        # Of a text that was taken apart, the part that comes first counts.
        scored.setdefault(document.metadata[_PLACE], document.metadata.get("relevance_score"))
    if any(score is None for score in scored.values()):
        scored = {place: 1 / rank for rank, place in enumerate(scored, 1)}
    return [
        None if (score := scored.get(place)) is None else float(score) for place in range(count)
    ]
