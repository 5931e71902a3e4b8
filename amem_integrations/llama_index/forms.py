"""The sync and the async form of what an adapter asks of a memory, so that it is written once.

An adapter's method is one coroutine over a `Form`. `NOW` never suspends; `AWAITED` does.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Protocol, TypeVar

from amem_integrations.memory.operations import MemoryPart

T = TypeVar("T")


class Form(Protocol):
    async def call(self, core: MemoryPart, operation: str, *args: Any, **about: Any) -> Any:
        """The operation of that name: `search` means `asearch` in the async form."""
        ...

    async def blocking(self, function: Callable[[], T]) -> T:
        """A function that may block: in a thread in the async form."""
        ...


class _Now:
    async def call(self, core: MemoryPart, operation: str, *args: Any, **about: Any) -> Any:
        return getattr(core, operation)(*args, **about)

    async def blocking(self, function: Callable[[], T]) -> T:
        return function()


class _Awaited:
    async def call(self, core: MemoryPart, operation: str, *args: Any, **about: Any) -> Any:
        return await getattr(core, f"a{operation}")(*args, **about)

    async def blocking(self, function: Callable[[], T]) -> T:
        return await asyncio.to_thread(function)


NOW: Form = _Now()
AWAITED: Form = _Awaited()


def block_on(operation: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that does suspend to its end, from sync code.

    On a loop of its own, which ends with it; in a thread where a loop is running here already.
    """
    if not loop_is_running():
        return _on_own_loop(operation)
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(copy_context().run, _on_own_loop, operation).result()


def _on_own_loop(operation: Coroutine[Any, Any, T]) -> T:
    # With a factory the thread's current loop, which older code may ask for, is left alone.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(operation)


def loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
