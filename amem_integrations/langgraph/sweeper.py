"""The sweeper: a daemon thread that removes what is past its time, every so often.

Started and stopped by the store; whatever goes wrong in one round is logged, and the next
round tries again.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

from amem_integrations.errors import StoreClosedError, loggable

_LOG = logging.getLogger(__name__)


class Sweeper:
    """Calls `sweep` every `interval` seconds until stopped, or until the store is closed."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._lock = threading.Lock()
        self._running: tuple[threading.Thread, threading.Event, Future[None]] | None = None

    def start(self, interval: float) -> "Future[None]":
        """Start, unless it runs; the future is done when it ends, and cancelling it stops it."""
        with self._lock:
            if self._running is not None and self._running[0].is_alive():
                return self._running[2]
            stop = threading.Event()
            done: Future[None] = Future()
            done.add_done_callback(lambda _: stop.set())
            thread = threading.Thread(
                target=_loop,
                args=(self._sweep, interval, stop, done),
                name="amem-ttl-sweeper",
                daemon=True,
            )
            self._running = thread, stop, done
            thread.start()
            return done

    def stop(self, timeout: float | None = None) -> bool:
        """Stop after the round at hand; False if that took longer than `timeout` seconds."""
        with self._lock:
            running = self._running
        if running is None:
            return True
        thread, stop, _ = running
        stop.set()
        if thread is not threading.current_thread():
            thread.join(timeout)
        return not thread.is_alive()


def _loop(
    sweep: Callable[[], int], interval: float, stop: threading.Event, done: "Future[None]"
) -> None:
    while not stop.wait(interval):
        try:
            swept = sweep()
        except StoreClosedError:
            break
        except Exception as error:
            _LOG.warning("Sweeping failed (%s) and will be tried again.", loggable(error))
        else:
            _LOG.debug("Swept %d items that were past their time.", swept)
    if done.set_running_or_notify_cancel():
        done.set_result(None)
