"""Functions that a caller gives, sync or async; those from texts to vectors are embedders.

`embedding` and `reranking` call it.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from amem_integrations.core.io import Vector
from amem_integrations.embedders.named import NamedEmbedder
from amem_integrations.errors import InvalidInputError


def is_async(function: object) -> bool:
    """Whether calling it gives a coroutine: an async function, or an object with such a call."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - of an object, its class's is meant
    )


class Function:
    """A function of the caller's, sync or async, that can be called and awaited.

    A sync function runs in a thread when awaited. An async one runs on the loop that awaits
    it; from sync code it gets a loop of its own for each call, and where a loop is already
    running that cannot be done without deadlock or a hidden loop: InvalidInputError.
    kind: what it does here, for that error.
    """

    def __init__(self, function: Callable[..., Any], *, kind: str, name: str) -> None:
        self._function = function
        self._kind = kind
        self._name = name
        self._is_async = is_async(function)

    def __call__(self, *given: Any) -> Any:
        if self._is_async:
            self._require_no_loop()
        result = self._function(*given)
        if not inspect.isawaitable(result):
            return result
        if inspect.iscoroutine(result) and _loop_is_running():
            result.close()
        self._require_no_loop()
        return asyncio.run(_awaited(result))

    async def acall(self, *given: Any) -> Any:
        """`__call__`, awaited."""
        if self._is_async:
            return await self._function(*given)
        result = await asyncio.to_thread(self._function, *given)
        return await result if inspect.isawaitable(result) else result

    def _require_no_loop(self) -> None:
        if _loop_is_running():
            raise InvalidInputError(
                f"The {self._kind} {self._name!r} is async, and a sync method was called where "
                "an event loop is running. Use the async methods there (aadd, asearch, …), or "
                f"give a sync {self._kind}."
            )


class CallableEmbedder:
    """A function `list[str] -> list[list[float]]` as an embedder (`ports.Embedder`)."""

    def __init__(self, function: Callable[[list[str]], Any], *, name: str) -> None:
        self.name = name
        self._function = Function(function, kind="embedder", name=name)

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        return self._function(texts)

    def embed_query(self, text: str) -> Vector:
        return _only(self.embed_documents([text]))

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        return await self._function.acall(texts)

    async def aembed_query(self, text: str) -> Vector:
        return _only(await self.aembed_documents([text]))


def from_callable(spec: object) -> NamedEmbedder | None:
    """`spec` as an embedder if it can be called; else None.

    It is known by its `name` attribute, else by its module and qualified name.
    """
    if not callable(spec):
        return None
    name = name_of(spec)
    return NamedEmbedder(CallableEmbedder(spec, name=name), name=name)


def name_of(function: Callable[..., Any]) -> str:
    """The function's `name`, else its module and qualified name."""
    own = getattr(function, "name", None)
    if isinstance(own, str) and own:
        return own
    # functools.partial has no name of its own, but what it calls has.
    inner = getattr(function, "func", function)
    qualified = getattr(inner, "__qualname__", type(inner).__qualname__)
    return f"{inner.__module__}.{qualified}"


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


def _only(vectors: Any) -> Vector:
    """The one vector of a result; any other result is left for the check to refuse."""
    try:
        (vector,) = vectors
    except (TypeError, ValueError):
        return vectors
    return vector
