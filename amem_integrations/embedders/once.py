"""A value that is made on first use, once, whichever thread asks first.

For models: slow to load, large, and the same for every memory in the process. Who makes what
is the caller's business.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """Calls `make` at most once with success; a failure is raised and the next call retries."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: tuple[T] | None = None

    def __call__(self) -> T:
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = (self._make(),)
        return self._made[0]
