"""An engine that is killed in the middle of what it is asked."""

from typing import Any


class Killed(BaseException):
    pass


class Fragile:
    """An engine that dies at the nth write."""

    def __init__(self, engine: Any, writes: int) -> None:
        self._engine = engine
        self._left = writes

    def __getattr__(self, name: str) -> Any:
        if name in ("patch", "commit", "insert", "delete"):
            self._left -= 1
            if self._left < 0:
                raise Killed
        return getattr(self._engine, name)
