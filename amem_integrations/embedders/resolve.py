"""Which embedder is meant by what a caller gives as `embedder=`.

One family a module; a new family is one more line here. The memory calls it once.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from amem_integrations.core.io import Embedder
from amem_integrations.embedders.callables import from_callable
from amem_integrations.embedders.fastembed import DEFAULT, THREADS, fastembed_by_name
from amem_integrations.embedders.llama_index import from_llama_index
from amem_integrations.embedders.multilingual import ALIAS, NAME, multilingual
from amem_integrations.embedders.named import NamedEmbedder
from amem_integrations.embedders.objects import from_object
from amem_integrations.errors import InvalidInputError, ModelUnavailableError

__all__ = ["EmbedderSpec", "NamedEmbedder", "resolve_embedder"]

EmbedderSpec: TypeAlias = (
    str | NamedEmbedder | Embedder | Callable[[list[str]], Sequence[Sequence[float]] | Any] | None
)

# Tried in order; each returns None for what is not of its kind. Callables come last: many an
# embedder object can be called as well, with other arguments.
_FAMILIES: tuple[Callable[[object], NamedEmbedder | None], ...] = (
    from_object,
    from_llama_index,
    from_callable,
)


def resolve_embedder(
    spec: EmbedderSpec = None, *, name: str | None = None, threads: int = THREADS
) -> NamedEmbedder:
    """The embedder that `spec` means; nothing is loaded or embedded yet.

    spec: None for all-MiniLM-L6-v2, a fastembed model name, "multilingual", LangChain
        `Embeddings`, a LlamaIndex `BaseEmbedding`, a function from texts to vectors (sync or
        async), or a NamedEmbedder.
    name: what collections shall remember in place of the name found; not for names.
    threads: of a fastembed model.

    Raises ModelUnavailableError for an unknown name or a missing package, InvalidInputError
    for anything else that cannot embed.
    """
    if isinstance(spec, NamedEmbedder):
        return spec
    if spec is None or isinstance(spec, str):
        return _by_name(DEFAULT if spec is None else spec.strip(), threads)
    if isinstance(spec, type):
        raise InvalidInputError(
            f"embedder= needs an instance, not the class: {spec.__name__}(...)."
        )
    for family in _FAMILIES:
        found = family(spec)
        if found is not None:
            found.name = name or found.name
            return found
    raise InvalidInputError(
        f"A {type(spec).__name__} cannot embed. Give embedder= a model name, LangChain "
        "Embeddings, a LlamaIndex embed_model, or a function from a list of texts to a list of "
        "vectors."
    )


def _by_name(name: str, threads: int) -> NamedEmbedder:
    if not name:
        raise ModelUnavailableError("The embedder's name is empty; leave it out for the default.")
    if name in (ALIAS, NAME):
        return multilingual()
    return fastembed_by_name(name, threads=threads)
