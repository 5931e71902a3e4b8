"""Embedders given as LlamaIndex's `BaseEmbedding`: text embeddings for notes, query embeddings
for searches.

`embedding` calls it, before it looks at callables: these objects can be called too, on nodes.
"""

import asyncio
import sys
from typing import Any

from amem_integrations.core.io import Vector
from amem_integrations.embedders.named import NamedEmbedder


class LlamaIndexEmbedder:
    """A LlamaIndex embedding model (`ports.Embedder`).

    Without an async form of its own it runs in a thread when awaited.
    """

    def __init__(self, model: Any, *, in_threads: bool) -> None:
        self._model = model
        self._in_threads = in_threads

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        return self._model.get_text_embedding_batch(texts)

    def embed_query(self, text: str) -> Vector:
        return self._model.get_query_embedding(text)

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        if self._in_threads:
            return await asyncio.to_thread(self.embed_documents, texts)
        return await self._model.aget_text_embedding_batch(texts)

    async def aembed_query(self, text: str) -> Vector:
        if self._in_threads:
            return await asyncio.to_thread(self.embed_query, text)
        return await self._model.aget_query_embedding(text)


def from_llama_index(spec: object) -> NamedEmbedder | None:
    """`spec` as an embedder if it is a LlamaIndex embedding model; else None.

    An object of that kind exists only where LlamaIndex is imported, so nothing is imported here.
    """
    module: Any = sys.modules.get("llama_index.core.base.embeddings.base")
    if module is None or not isinstance(spec, module.BaseEmbedding):
        return None
    model: Any = spec
    own: Any = type(spec)
    base = module.BaseEmbedding
    in_threads = all(
        getattr(own, method) is getattr(base, method)
        for method in ("_aget_text_embedding", "_aget_text_embeddings")
    )
    named = model.model_name != "unknown"
    name = f"{own.__name__}/{model.model_name}" if named else own.__name__
    return NamedEmbedder(LlamaIndexEmbedder(model, in_threads=in_threads), name=name)
