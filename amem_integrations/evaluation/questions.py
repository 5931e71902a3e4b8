"""An embedder that embeds each question once, and knows how long it took.

A question's vector costs the same whatever is done with it, so times of searching are taken
without it, and runs that are compared share it.
"""

import time

from amem_integrations.core.io import Embedder, Vector
from amem_integrations.embedders.dense import EmbedderSpec, NamedEmbedder, resolve_embedder

__all__ = ["QuestionEmbedder", "timed"]


class QuestionEmbedder:
    """An embedder that embeds each question once, and knows how long it took.

    Its attribute `seconds` has what each of them took.

    Args:
        inner: who embeds.

    Examples:
        >>> from amem_integrations.evaluation.questions import QuestionEmbedder
        >>> from amem_integrations.testing import HashEmbedder
        >>> questions = QuestionEmbedder(HashEmbedder())
        >>> questions.embed_query("Which eviction?") == questions.embed_query("Which eviction?")
        True
        >>> len(questions.seconds)
        1
    """

    def __init__(self, inner: Embedder) -> None:
        self.seconds: list[float] = []
        self._inner = inner
        self._known: dict[str, Vector] = {}

    def embed_query(self, text: str) -> Vector:
        """`Embedder.embed_query`, kept and timed."""
        if text not in self._known:
            started = time.perf_counter()
            self._known[text] = self._inner.embed_query(text)
            self.seconds.append(time.perf_counter() - started)
        return self._known[text]

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        """`Embedder.embed_documents`, as the inner one does it."""
        return self._inner.embed_documents(texts)

    async def aembed_query(self, text: str) -> Vector:
        """`Embedder.aembed_query`, as the inner one does it."""
        return await self._inner.aembed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        """`Embedder.aembed_documents`, as the inner one does it."""
        return await self._inner.aembed_documents(texts)


def timed(spec: EmbedderSpec) -> tuple[NamedEmbedder, QuestionEmbedder]:
    """The embedder that `spec` means, to open a memory with, and the part of it that counts.

    Args:
        spec: as `AgenticMemory(embedder=...)` takes it.

    Raises:
        ModelUnavailableError: there is no such embedder here.
        InvalidInputError: this cannot embed.

    Examples:
        >>> from amem_integrations import AgenticMemory
        >>> from amem_integrations.evaluation.questions import timed
        >>> embedder, questions = timed(None)
        >>> with AgenticMemory(embedder=embedder) as memory:
        ...     hits = memory.search("Which eviction?")
        >>> len(questions.seconds)
        1
    """
    named = resolve_embedder(spec)
    questions = QuestionEmbedder(named.inner)
    dimension = named.dimension
    embedder = NamedEmbedder(
        questions, name=named.name, dimension=dimension, languages=named.languages
    )
    return embedder, questions
