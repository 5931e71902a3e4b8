"""Embedders given as objects: LangChain's `Embeddings`, and whatever has the same methods.

`embedding` calls it.
"""

import asyncio
from typing import Any, cast

from amem_integrations.core.io import Embedder, Vector
from amem_integrations.embedders.named import NamedEmbedder

# Where the integrations of LangChain keep the model's name.
_MODEL_ATTRIBUTES = ("model", "model_name", "model_id", "deployment")


class _InThreads:
    """Async forms, in a thread, for an object that has only the sync ones."""

    def __init__(self, embeddings: Any) -> None:
        self.embed_documents = embeddings.embed_documents
        self.embed_query = embeddings.embed_query

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> Vector:
        return await asyncio.to_thread(self.embed_query, text)


def from_object(spec: object) -> NamedEmbedder | None:
    """`spec` as an embedder if it has embed_documents and embed_query; else None.

    Its `name`, `dimension` and `languages` are taken over where it has them.
    """
    if not _has(spec, "embed_documents", "embed_query"):
        return None
    whole = _has(spec, "aembed_documents", "aembed_query")
    dimension: object = getattr(spec, "dimension", None)
    languages: object = getattr(spec, "languages", None)
    return NamedEmbedder(
        cast(Embedder, spec) if whole else _InThreads(spec),
        name=_name(spec),
        dimension=dimension if isinstance(dimension, int) else None,
        languages=cast(tuple[str, ...], languages) if isinstance(languages, tuple) else None,
    )


def _has(spec: object, *methods: str) -> bool:
    return all(callable(getattr(spec, method, None)) for method in methods)


def _name(spec: object) -> str:
    own = getattr(spec, "name", None)
    if isinstance(own, str) and own:
        return own
    # A cache around an embedder (LangChain's CacheBackedEmbeddings) changes no vector.
    embeddings = getattr(spec, "underlying_embeddings", spec)
    kind = type(embeddings).__name__
    for attribute in _MODEL_ATTRIBUTES:
        model = getattr(embeddings, attribute, None)
        if isinstance(model, str) and model:
            return f"{kind}/{model}"
    return kind
