"""The clock of a memory: what it takes for now when it stores, forms and waits."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from amem_integrations.core.checks import as_utc

_SET_BACK = timedelta(minutes=1)


class Clock:
    """UTC now, to the microsecond, later each time that it is asked in one process.

    Stored times order listings and paging, so ties are kept from arising. Only a source that is
    set back by more than a minute is followed: it was wrong before, and nothing would become due.
    """

    def __init__(self, source: Callable[[], datetime] | None = None) -> None:
        self._source = source or (lambda: datetime.now(UTC))
        self._last = datetime.min.replace(tzinfo=UTC)
        self._lock = threading.Lock()

    def __call__(self) -> datetime:
        with self._lock:
            now, least = as_utc(self._source()), self._last + timedelta(microseconds=1)
            self._last = now if least - now > _SET_BACK else max(now, least)
            return self._last
