"""Dense embedders: what a user gives as `embedder=`, made into a NamedEmbedder.

An embedder is a model name, an object of LangChain or LlamaIndex, or a function.
"""

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, cast

from amem_integrations.core.engine import Vector
from amem_integrations.core.io import Embedder
from amem_integrations.embedders.embedder import NamedEmbedder, embedder_of
from amem_integrations.embedders.fastembed import DEFAULT, THREADS, fastembed_by_name
from amem_integrations.embedders.multilingual import ALIAS, NAME, multilingual
from amem_integrations.errors import InvalidInputError, ModelUnavailableError

EmbedderSpec: TypeAlias = (
    str | NamedEmbedder | Embedder | Callable[[list[str]], Sequence[Sequence[float]] | Any] | None
)

# Where the integrations of LangChain keep the model's name.
_MODEL_ATTRIBUTES = ("model", "model_name", "model_id", "deployment")


def resolve_embedder(
    spec: EmbedderSpec = None, *, name: str | None = None, threads: int = THREADS
) -> NamedEmbedder:
    """Return the embedder that `spec` means; nothing is loaded or embedded yet.

    spec: None for all-MiniLM-L6-v2, a fastembed model name, "multilingual", LangChain
        `Embeddings`, a LlamaIndex `BaseEmbedding`, a function from texts to vectors (sync or
        async), or a NamedEmbedder.
    name: what collections remember in place of an object's or a function's own name.
    threads: threads of a fastembed model.

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
    # Functions come last: many an embedder object can be called too, with other arguments.
    found = _from_object(spec) or _from_llama_index(spec) or _from_function(spec)
    if found is None:
        raise InvalidInputError(
            f"A {type(spec).__name__} cannot embed. Give embedder= a model name, LangChain "
            "Embeddings, a LlamaIndex embed_model, or a function from a list of texts to a list "
            "of vectors."
        )
    found.name = name or found.name
    return found


def _by_name(name: str, threads: int) -> NamedEmbedder:
    if not name:
        raise ModelUnavailableError("The embedder's name is empty; leave it out for the default.")
    if name in (ALIAS, NAME):
        return multilingual()
    return fastembed_by_name(name, threads=threads)


# -- objects of LangChain, and of anybody with the same methods --------------------------------


def _from_object(spec: object) -> NamedEmbedder | None:
    if not _has(spec, "embed_documents", "embed_query"):
        return None
    embedder = cast("Embedder", spec)
    if not _has(spec, "aembed_documents", "aembed_query"):
        embedder = embedder_of(embedder.embed_documents, embedder.embed_query)
    dimension: object = getattr(spec, "dimension", None)
    languages: object = getattr(spec, "languages", None)
    return NamedEmbedder(
        embedder,
        name=_object_name(spec),
        dimension=dimension if isinstance(dimension, int) else None,
        languages=cast("tuple[str, ...]", languages) if isinstance(languages, tuple) else None,
    )


def _has(spec: object, *methods: str) -> bool:
    return all(callable(getattr(spec, method, None)) for method in methods)


def _object_name(spec: object) -> str:
    # A cache around an embedder (LangChain's CacheBackedEmbeddings) changes no vector.
    embeddings = getattr(spec, "underlying_embeddings", spec)
    class_name = type(embeddings).__name__
    models = (getattr(embeddings, attribute, None) for attribute in _MODEL_ATTRIBUTES)
    model = next((model for model in models if isinstance(model, str) and model), None)
    return _own_name(spec) or (f"{class_name}/{model}" if model else class_name)


def _own_name(spec: object) -> str | None:
    name = getattr(spec, "name", None)
    return name if isinstance(name, str) and name else None


# -- embedding models of LlamaIndex ------------------------------------------------------------


def _from_llama_index(spec: object) -> NamedEmbedder | None:
    # Such an object exists only where LlamaIndex has been imported.
    module: Any = sys.modules.get("llama_index.core.base.embeddings.base")
    if module is None or not isinstance(spec, module.BaseEmbedding):
        return None
    model, cls, base = cast("Any", spec), type(spec), module.BaseEmbedding
    sync_forms = model.get_text_embedding_batch, model.get_query_embedding
    async_forms = model.aget_text_embedding_batch, model.aget_query_embedding
    # Where a model does not override these, its async forms block the loop.
    methods = ("_aget_text_embedding", "_aget_text_embeddings")
    if all(getattr(cls, method) is getattr(base, method) for method in methods):
        async_forms = None, None
    known = model.model_name != "unknown"
    return NamedEmbedder(
        embedder_of(*sync_forms, *async_forms),
        name=f"{cls.__name__}/{model.model_name}" if known else cls.__name__,
    )


# -- functions ---------------------------------------------------------------------------------


def is_async(function: object) -> bool:
    """Return whether calling `function` gives a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - of an object, its class's is meant
    )


class Function:
    """A user's function, sync or async, that can be called and awaited.

    Awaiting a sync function runs it in a thread. Calling an async one runs it on a loop of its
    own; where a loop is running already, it raises InvalidInputError.
    kind: what the function does here, for that error.
    """

    def __init__(self, function: Callable[..., Any], *, kind: str) -> None:
        self.name = function_name(function)
        self._function = function
        self._kind = kind
        self._is_async = is_async(function)

    def __call__(self, *args: Any) -> Any:
        result = self._function(*args)
        if not inspect.isawaitable(result):
            return result
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(_await(result))
        if inspect.iscoroutine(result):
            result.close()
        raise InvalidInputError(
            f"The {self._kind} {self.name!r} is async, and a sync method was called where "
            "an event loop is running. Use the async methods there (aadd, asearch, …), or "
            f"give a sync {self._kind}."
        )

    async def acall(self, *args: Any) -> Any:
        """`__call__`, awaited."""
        if self._is_async:
            return await self._function(*args)
        result = await asyncio.to_thread(self._function, *args)
        return await result if inspect.isawaitable(result) else result


def _from_function(spec: object) -> NamedEmbedder | None:
    if not callable(spec):
        return None
    function = Function(spec, kind="embedder")

    async def aembed_query(text: str) -> Vector:
        return _only(await function.acall([text]))

    embedder = embedder_of(
        function, lambda text: _only(function([text])), function.acall, aembed_query
    )
    return NamedEmbedder(embedder, name=function.name)


def function_name(function: Callable[..., Any]) -> str:
    """Return the function's `name`, else its module and qualified name."""
    # functools.partial has no name of its own, but the function within has.
    inner = getattr(function, "func", function)
    qualified = getattr(inner, "__qualname__", type(inner).__qualname__)
    return _own_name(function) or f"{inner.__module__}.{qualified}"


async def _await(result: Awaitable[Any]) -> Any:
    return await result


def _only(vectors: Any) -> Vector:
    """Return the one vector of a result; any other result is left for the check to refuse."""
    try:
        (vector,) = vectors
    except (TypeError, ValueError):
        return vectors
    return vector
