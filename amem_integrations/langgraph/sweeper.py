"""Sweeping in a thread: what `AMemStore` starts and stops, with results that can be awaited.

The official stores have `start_ttl_sweeper()` and `stop_ttl_sweeper()` as methods of the sync class
and as coroutines of the async one. One store has both forms, so its results are of both kinds.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

from amem_integrations.errors import StoreClosedError, loggable

_LOG = logging.getLogger(__name__)


class Sweeping(Future[None]):
    """Done when sweeping has ended; cancelling it ends it. Awaiting it does not wait for that."""

    def __await__(self) -> Generator[Any, None, "asyncio.Future[None]"]:
        """Return it as a future of the running loop."""

        async def started() -> asyncio.Future[None]:
            return asyncio.wrap_future(self)

        return started().__await__()


class Stopped:
    """Whether sweeping has ended, as a truth value or awaited."""

    def __init__(self, join: Callable[[], bool]) -> None:
        self._join = join

    def __bool__(self) -> bool:
        return self._join()

    def __repr__(self) -> str:
        return f"Stopped({self._join()})"

    def __await__(self) -> Generator[Any, None, bool]:
        return asyncio.to_thread(self._join).__await__()


class Sweeper:
    """A daemon thread that calls `sweep` at intervals, until stopped or until the memory closes."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._sweeping = Sweeping()

    def start(self, interval: float) -> Sweeping:
        """Start, unless it runs. interval: seconds between sweeps."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stop, self._sweeping = stop, sweeping = threading.Event(), Sweeping()
                sweeping.add_done_callback(lambda _: stop.set())
                self._thread = threading.Thread(
                    target=_run,
                    args=(self._sweep, interval, stop, sweeping),
                    name="amem-ttl-sweeper",
                    daemon=True,
                )
                self._thread.start()
            return self._sweeping

    def stop(self, timeout: float | None = None) -> bool:
        """Stop after the round at hand; False if that took longer than `timeout` seconds."""
        thread = self.request_stop()
        if thread is None:
            return True
        if thread is not threading.current_thread():
            thread.join(timeout)
        return not thread.is_alive()

    def request_stop(self) -> threading.Thread | None:
        """Have it stop after the round at hand; returns its thread."""
        with self._lock:
            self._stop.set()
            return self._thread


def _run(
    sweep: Callable[[], int], interval: float, stop: threading.Event, sweeping: Sweeping
) -> None:
    while not stop.wait(interval):
        try:
            sweep()
        except StoreClosedError:
            break
        except Exception as error:
            _LOG.warning("Sweeping failed (%s) and will be tried again.", loggable(error))
    if sweeping.set_running_or_notify_cancel():
        sweeping.set_result(None)


class Ready:
    """Nothing, which may be awaited."""

    def __await__(self) -> Generator[Any, None, None]:
        return _nothing().__await__()


async def _nothing() -> None: ...
