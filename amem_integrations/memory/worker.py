"""MemoryWorker: forms what waits, beside an application or in a process of its own."""

import asyncio
import contextlib
import threading
from typing import Self

from amem_integrations.errors import InvalidInputError
from amem_integrations.formation import worker
from amem_integrations.memory.client import AgenticMemory


class MemoryWorker:
    """Forms what waits in a memory's collection, its own notes and those of other processes.

    A memory with formation="background" has a worker already. This one is for the rest: a process
    that does nothing else (`run`, or `amem work`) for applications that add with formation="off",
    and an application whose event loop is to do the work: `async with MemoryWorker(memory)` works
    in tasks of the running loop, `with MemoryWorker(memory)` in threads. Meanwhile the memory's own
    worker rests.

    Several may share a collection on a server: each takes a lease on what it forms, and a lease
    that ran out is taken over. How many notes are formed at once is the memory's `concurrency`.

    Args:
        memory: whose notes are formed.
        poll: seconds between looks at a server for notes of other processes.

    Raises:
        InvalidInputError: `poll` is no number of seconds above 0.

    Examples:
        >>> from amem_integrations import MemoryWorker
        >>> with MemoryWorker(memory) as worker:
        ...     note = memory.add("Formed by the worker", formation="background")
        ...     print(worker.flush(timeout=30))
        True
        >>> str(memory.get(note).status)
        'formed'
    """

    def __init__(self, memory: AgenticMemory, *, poll: float = 1.0) -> None:
        if poll <= 0:
            raise InvalidInputError(f"poll is a number of seconds above 0; got {poll}.")
        self._parts = memory._parts  # pyright: ignore[reportPrivateUsage]
        self._worker = self._parts.make_worker(poll=poll)
        self._ended = threading.Event()
        self._task: asyncio.Task[None] | None = None

    def run(self) -> None:
        """Work until `stop` is called, from a signal handler or another thread."""
        with self:
            self._ended.wait()

    def stop(self) -> None:
        """End after the notes at hand; the others wait for the next worker."""
        self._ended.set()
        self._worker.stop()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until nothing can be formed; False after `timeout` seconds, or in an outage.

        Args:
            timeout: seconds to wait, at most; None for as long as it takes.
        """
        return self._worker.flush(timeout)

    async def aflush(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - as in the sync form
        """`flush`, awaited."""
        return await asyncio.to_thread(self.flush, timeout)

    def __enter__(self) -> Self:
        self._parts.hire(self._worker)
        self._worker.wake()
        return self

    def __exit__(self, *error: object) -> None:
        self._parts.dismiss(self._worker)
        self.stop()
        self._worker.close()

    async def __aenter__(self) -> Self:
        self._parts.hire(self._worker)
        self._task = asyncio.create_task(self._worker.serve())
        # Once it has begun, calls find its tasks and start no thread.
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._parts.dismiss(self._worker)
        self.stop()
        if self._task is not None:
            # Beyond that it is cancelled, and the notes at hand are given back.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._task, worker.CLOSING)
