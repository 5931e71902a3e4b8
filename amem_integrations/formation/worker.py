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
from collections.abc import Callable, Generator
from typing import NamedTuple, Protocol

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
        self._asleep: deque[Callable[[], bool]] = deque()
        self._paused: list[Callable[[], bool]] = []

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
            for wake in (*self._asleep, *self._paused):
                wake()
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
            if self._asleep.popleft()():
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
                look.found(self._work.take())
                if look.notes:
                    look.trouble = self._work.form(look.notes)
            woken = threading.Event()
            with self._sleep(look, lambda: woken.set() is None) as seconds:  # noqa: B023
                woken.wait(seconds)

    # -- tasks -------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Work in tasks of the running loop until `stop` or until cancelled."""
        loop = asyncio.get_running_loop()
        with self._changed:
            self._loops.append(loop)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._concurrency):
                    group.create_task(self._aserve())
        finally:
            with self._changed:
                self._loops.remove(loop)

    async def _aserve(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._stop:
            with self._look(loop) as look:
                look.found(await self._work.atake())
                if look.notes:
                    look.trouble = await self._work.aform(look.notes)
            bell = _Bell()
            with self._sleep(look, bell.ring) as seconds:
                await bell.wait(seconds)

    # -- both --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _look(self, loop: asyncio.AbstractEventLoop | None = None) -> Generator["_Look"]:
        """A look at the queue and the forming of what it took; survives whatever that raises."""
        with self._changed:
            look = _Look(self, self._calls, loop)
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
            if loop is not None and not _is_the_works(error):
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

    @contextlib.contextmanager
    def _sleep(self, look: "_Look", wake: Callable[[], bool]) -> Generator[float | None]:
        """Seconds to sleep, cut short by `wake`; None for as long as it takes."""
        seconds: float | None = 0.0
        with self._changed:
            if self._stop:
                pass
            elif look.trouble:
                seconds = self._pause
                _LOG.warning("Background formation waits %.0f s.", seconds)
                self._paused.append(wake)
            elif not look.notes and self._calls == look.calls:
                times = [time for time in (look.due, self._poll) if time is not None]
                seconds = max(0.01, min(times)) if times else None
                self._asleep.append(wake)
        try:
            yield seconds
        finally:
            with self._changed:
                for sleepers in (self._asleep, self._paused):
                    if wake in sleepers:
                        sleepers.remove(wake)


def _is_the_works(error: BaseException) -> bool:
    """Whether an error in a task came out of its work, and is not what ends the task."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and not task.cancelling()
    return isinstance(error, Exception)


class _Bell:
    """What wakes a task; may be rung from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._rung = asyncio.Event()

    def ring(self) -> bool:
        """False when the loop was closed, and its tasks with it."""
        try:
            self._loop.call_soon_threadsafe(self._rung.set)
        except RuntimeError:
            return False
        return True

    async def wait(self, seconds: float | None) -> None:
        # Lets others on the loop run, even if there is no time to wait.
        await asyncio.sleep(0)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._rung.wait(), seconds)


class _Look:
    """What came of a look, begun when there had been `calls` calls, in a thread or on a loop."""

    def __init__(
        self, worker: Worker, calls: int, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._worker = worker
        self._loop = loop
        self.calls = calls
        self.notes: list[Note] = []
        self.due: float | None = None
        self.trouble = False

    @property
    def goes_on(self) -> bool:
        """False once the loop was closed amid it."""
        return self._loop is None or not self._loop.is_closed()

    def found(self, batch: Batch) -> None:
        self.notes, self.due = batch
        if self.notes:
            # There may be more than this one has at hand.
            self._worker.wake()
