"""The background worker: one daemon thread that forms what is still raw.

There is no queue: the notes' own status is the queue, so whatever a crash interrupted is
taken up by the next worker, oldest first.
"""

import logging
import threading
from collections.abc import Callable

from amem_integrations.errors import StoreClosedError

_LOG = logging.getLogger(__name__)
_LONGEST_PAUSE = 60.0


class Worker:
    """Calls `form_next` until it returns False, then sleeps until woken.

    form_next: forms one waiting note; False when none is waiting. Runs in the worker's
        thread, outside the context of whoever woke it.
    """

    def __init__(self, form_next: Callable[[], bool]) -> None:
        self._form_next = form_next
        self._changed = threading.Condition()
        self._work = True
        self._wakes = 0
        self._stop = False
        self._thread: threading.Thread | None = None

    @property
    def started(self) -> bool:
        """Whether it was ever woken."""
        return self._thread is not None

    def wake(self) -> None:
        """There is something to form; starts the thread on first use. Returns at once."""
        with self._changed:
            self._work = True
            self._wakes += 1
            if self._thread is None and not self._stop:
                self._thread = threading.Thread(
                    target=self._loop, name="amem-formation", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until nothing is waiting; False if that took longer than `timeout` seconds."""
        self.wake()
        with self._changed:
            return self._changed.wait_for(lambda: not self._work or self._stop, timeout)

    def close(self, timeout: float = 10.0) -> None:
        """Finish the note at hand, leave the others raw, and end the thread."""
        with self._changed:
            self._stop = True
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _loop(self) -> None:
        pause = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._work or self._stop)
                if pause:
                    self._changed.wait_for(lambda: self._stop, pause)
                if self._stop:
                    return
                wakes = self._wakes
            try:
                more = self._form_next()
                pause = 0.0
            except StoreClosedError:
                self._end()
                return
            except BaseException as error:
                # Whatever it is, also the exit() of a model's library: a thread that ended would
                # leave flush() waiting for ever.
                pause = min(_LONGEST_PAUSE, pause * 2 or 1.0)
                more = True
                _LOG.warning("Background formation waits %.0f s (%s).", pause, type(error).__name__)
                _LOG.debug("Why.", exc_info=error)
            with self._changed:
                # Woken meanwhile, there may be something that the last look did not see.
                self._work = more or self._wakes != wakes
                self._changed.notify_all()

    def _end(self) -> None:
        with self._changed:
            self._stop = True
            self._changed.notify_all()
