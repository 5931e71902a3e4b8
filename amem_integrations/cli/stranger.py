"""The embedder that a memory was written with, as far as `amem` can have it.

A memory made in Python may have an embedder that no name brings back, such as a provider's. Then
everything works but what has to embed.
"""

from amem_integrations.core.io import Vector
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.embedders.embedder import NamedEmbedder
from amem_integrations.errors import ModelUnavailableError


def embedder_called(name: str, dimension: int) -> NamedEmbedder:
    """The embedder that collections remember as `name`, or one that refuses to embed."""
    try:
        found = resolve_embedder(name)
        if (found.name, found.dimension) == (name, dimension):
            return found
        why = "It is another one now"
    except ModelUnavailableError as error:
        why = str(error).partition(". ")[0]
    return NamedEmbedder(_Stranger(name, why), name=name, dimension=dimension)


class _Stranger:
    def __init__(self, name: str, why: str) -> None:
        self._error = (
            f"This memory was written with the embedder {name!r}, which amem cannot have, so it "
            f"can show, check, export and forget, but not search, add or form. "
            f"{why.rstrip('.')}. Use the memory from Python with its embedder, or have "
            "`amem reembed` make a copy for another one."
        )

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        raise ModelUnavailableError(self._error)

    def embed_query(self, text: str) -> Vector:
        raise ModelUnavailableError(self._error)

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        raise ModelUnavailableError(self._error)

    async def aembed_query(self, text: str) -> Vector:
        raise ModelUnavailableError(self._error)
