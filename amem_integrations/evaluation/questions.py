"""An embedder that embeds each question once, and knows how long it took.

A question's vector costs the same whatever is done with it, so times of searching are taken
without it, and runs that are compared share it.
"""

import time

from amem_integrations.models.embedding import EmbedderSpec, NamedEmbedder, resolve_embedder
from amem_integrations.ports import Embedder, Vector

__all__ = ["QuestionEmbedder", "timed"]


class QuestionEmbedder:
    """`inner`, with the vectors of questions kept. seconds: what each of them took."""

    def __init__(self, inner: Embedder) -> None:
        self.seconds: list[float] = []
        self._inner = inner
        self._known: dict[str, Vector] = {}

    def embed_query(self, text: str) -> Vector:
        if text not in self._known:
            started = time.perf_counter()
            self._known[text] = self._inner.embed_query(text)
            self.seconds.append(time.perf_counter() - started)
        return self._known[text]

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        return self._inner.embed_documents(texts)

    async def aembed_query(self, text: str) -> Vector:
        return await self._inner.aembed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        return await self._inner.aembed_documents(texts)


def timed(spec: EmbedderSpec) -> tuple[NamedEmbedder, QuestionEmbedder]:
    """The embedder that `spec` means, to open a memory with, and the part of it that counts."""
    named = resolve_embedder(spec)
    questions = QuestionEmbedder(named.inner)
    dimension = named.dimension
    embedder = NamedEmbedder(
        questions, name=named.name, dimension=dimension, languages=named.languages
    )
    return embedder, questions
