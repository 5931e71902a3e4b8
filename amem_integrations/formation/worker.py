"""The worker: threads, or tasks of an event loop, that form the notes that wait.

It keeps no queue of its own: the status of the notes is the queue (`formation.queue`), so the next
worker takes up whatever a crash interrupted, and only the notes at hand are held in memory.
`formation.pipeline` takes and forms them.
"""

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

from amem_integrations.core.note import Note
from amem_integrations.errors import StoreClosedError, loggable

_LOG = logging.getLogger(__name__)
CLOSING = 10.0
"""Seconds for which closing waits for the notes at hand."""
_LONGEST_PAUSE = 60.0
# Whoever flushes does not wait for a model that is away for longer than a moment.
_OUTAGE = 8.0


class Batch(NamedTuple):
    """What a look at the queue took; without notes, seconds until some can be taken if any."""

    notes: list[Note]
    due: float | None = None


class Work(Protocol):
    """What a worker does, in both forms. `form` returns whether others would fail as well."""

    def take(self) -> Batch: ...

    def form(self, notes: list[Note]) -> bool: ...

    async def atake(self) -> Batch: ...

    async def aform(self, notes: list[Note]) -> bool: ...


class Worker:
    """Takes and forms notes until there are none to take, then sleeps until woken.

    concurrency: how many threads, or tasks of one loop, are at work at once.
    poll: seconds after which to look though nobody called, for notes of other processes.
    """

    def __init__(self, work: Work, *, concurrency: int = 1, poll: float | None = None) -> None:
        self._work = work
        self._concurrency = concurrency
        self._poll = poll
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        # Every call has a number. A look has seen what was stored before the calls made by then.
        self._calls = 0
        self._seen = 0
        self._freed = 0
        self._looks: set[_Look] = set()
        self._pause = 0.0
        self._stop = False
        self._threads: list[threading.Thread] = []
        self._loops: list[asyncio.AbstractEventLoop] = []
        self._asleep: deque[tuple[_Look, _Bell]] = deque()
        self._paused: list[_Bell] = []

    @property
    def started(self) -> bool:
        """Whether it was ever woken."""
        return self._calls > 0

    def wake(self) -> None:
        """There is something to form. Starts a thread where none is free; returns at once."""
        with self._state():
            try:
                self._call()
            except RuntimeError as error:
                # At interpreter exit, or at the limit of threads. What waits is not lost.
                _LOG.warning("Background formation has to wait (%s).", type(error).__name__)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until nothing can be taken; False after `timeout` seconds, or in an outage.

        Also False when it was stopped. Raises RuntimeError where no thread can be started.
        """
        with self._state():
            self._call()
            calls = self._calls

            def quiet() -> bool:
                busy = any(look.goes_on for look in self._looks)
                return not busy and self._seen >= max(calls, self._freed)

            self._changed.wait_for(lambda: self._stop or quiet() or self._pause > _OUTAGE, timeout)
            return quiet()

    def stop(self) -> None:
        """Tell threads and tasks to end after the notes at hand; does not wait for them."""
        with self._state():
            self._stop = True
            for bell in (*(bell for _, bell in self._asleep), *self._paused):
                _ring(bell)
            self._changed.notify_all()

    def close(self, timeout: float | None = None) -> None:
        """`stop`, and wait for the threads, all in all `timeout` seconds (CLOSING)."""
        self.stop()
        end = time.monotonic() + (CLOSING if timeout is None else timeout)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))

    def _state(self) -> threading.Condition:
        """The lock of everything here. A forked child has no threads yet, and begins anew."""
        if self._pid != os.getpid():
            self._begin()
        return self._changed

    def _call(self) -> None:
        self._calls += 1
        while self._asleep:
            look, bell = self._asleep.popleft()
            if look.goes_on:
                _ring(bell)
                return
        if self._stop or any(not loop.is_closed() for loop in self._loops):
            return
        if len(self._threads) < self._concurrency:
            name = f"amem-formation-{len(self._threads) + 1}"
            thread = threading.Thread(target=self._serve, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    # -- threads -----------------------------------------------------------------------------

    def _serve(self) -> None:
        while not self._stop:
            with self._look() as look:
                if self._found(look, self._work.take()):
                    look.trouble = self._work.form(look.notes)
            with self._sleep(look) as (bell, seconds), contextlib.suppress(TimeoutError):
                bell.result(seconds)

    # -- tasks -------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Work in tasks of the running loop until `stop` or until cancelled."""
        loop = asyncio.get_running_loop()
        with self._changed:
            self._loops.append(loop)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._concurrency):
                    group.create_task(self._aserve(loop))
        finally:
            with self._changed:
                self._loops.remove(loop)

    async def _aserve(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._stop:
            with self._look(loop) as look:
                if self._found(look, await self._work.atake()):
                    look.trouble = await self._work.aform(look.notes)
            with self._sleep(look) as (bell, seconds), contextlib.suppress(TimeoutError):
                # Lets others on the loop run, even if there is no time to wait.
                await asyncio.sleep(0)
                await asyncio.wait_for(asyncio.wrap_future(bell), seconds)

    # -- both --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _look(self, loop: asyncio.AbstractEventLoop | None = None) -> Generator["_Look"]:
        """A look at the queue and the forming of what it took; survives whatever that raises."""
        with self._changed:
            look = _Look(self._calls, loop)
            self._looks.add(look)
        try:
            yield look
        except StoreClosedError:
            look.trouble = True
            self.stop()
        except BaseException as error:
            # Also the exit() of a model's library: a thread that ended would leave flush()
            # waiting for ever. A task is told by such errors to end, and a signal's handler
            # never runs in these threads.
            if loop is not None and not _is_of_the_work(error):
                raise
            look.trouble = True
            _LOG.warning("Background formation broke off (%s).", loggable(error))
            _LOG.debug("Why.", exc_info=error)
        finally:
            with self._changed:
                self._looks.discard(look)
                if look.notes or look.trouble:
                    # What was kept from the others meanwhile can be taken now.
                    self._calls += 1
                    self._freed = self._calls
                else:
                    self._seen = max(self._seen, look.calls)
                self._pause = min(_LONGEST_PAUSE, self._pause * 2 or 1.0) if look.trouble else 0.0
                self._changed.notify_all()

    def _found(self, look: "_Look", batch: Batch) -> bool:
        """Note what a look took; whether that is anything."""
        look.notes, look.due = batch
        if look.notes:
            # There may be more than this one has at hand.
            self.wake()
        return bool(look.notes)

    @contextlib.contextmanager
    def _sleep(self, look: "_Look") -> Generator[tuple["_Bell", float | None]]:
        """Seconds to sleep, None for no end; the bell rings when there is something to do."""
        bell = _Bell()
        seconds: float | None = 0.0
        with self._changed:
            if self._stop:
                pass
            elif look.trouble:
                seconds = self._pause
                _LOG.warning("Background formation waits %.0f s.", seconds)
                self._paused.append(bell)
            elif not look.notes and self._calls == look.calls:
                times = [time for time in (look.due, self._poll) if time is not None]
                seconds = max(0.01, min(times)) if times else None
                self._asleep.append((look, bell))
        try:
            yield bell, seconds
        finally:
            with self._changed:
                if bell in self._paused:
                    self._paused.remove(bell)
                if (look, bell) in self._asleep:
                    self._asleep.remove((look, bell))


@dataclass(eq=False)
class _Look:
    """A look at the queue in a thread or on a loop, begun when there had been `calls` calls.

    trouble: whether it failed.
    """

    calls: int
    loop: asyncio.AbstractEventLoop | None
    notes: list[Note] = field(default_factory=list[Note])
    due: float | None = None
    trouble: bool = False

    @property
    def goes_on(self) -> bool:
        """False once the loop was closed amid it."""
        return self.loop is None or not self.loop.is_closed()


_Bell: TypeAlias = Future[None]
"""What wakes a thread or a task; may be rung from any thread."""


def _ring(bell: "_Bell") -> None:
    # It may have been rung before, or its sleeper may be awake by now.
    with contextlib.suppress(InvalidStateError):
        bell.set_result(None)


def _is_of_the_work(error: BaseException) -> bool:
    """Whether an error in a task came out of its work, and is not what ends the task."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and not task.cancelling()
    return isinstance(error, Exception)
