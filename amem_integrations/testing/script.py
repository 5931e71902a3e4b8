"""The script of a scripted model: which reply comes at which call, and what was asked.

The scripted models of both frameworks read theirs by this; it knows nothing of either.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Literal, TypeVar

C = TypeVar("C")


class ScriptExhaustedError(Exception):
    """The model was asked more often than its script has replies."""


class Script(Generic[C]):
    """Replies in order, each a value or a function of what was asked; or one such function.

    after: what happens past the last one: "error", or "repeat" it.
    message: the type of the framework's messages; a lone reply is a TypeError.
    """

    def __init__(
        self,
        replies: Iterable[Any] | Callable[..., Any],
        after: Literal["error", "repeat"],
        message: type,
    ) -> None:
        if isinstance(replies, str | Mapping | BaseException | message):
            raise TypeError("replies must be a list of replies, or a function of the messages.")
        self._replies = replies if callable(replies) else list(replies)
        self._after = after
        self._calls: list[C] = []
        self._lock = threading.Lock()

    @property
    def calls(self) -> list[C]:
        """Every call so far, in order."""
        with self._lock:
            return list(self._calls)

    def reply(self, call: C, asked: list[Any]) -> Any:
        """Record a call and return its reply, or the exception to raise.

        Raises ScriptExhaustedError.
        """
        with self._lock:
            place = len(self._calls)
            self._calls.append(call)
        reply = self._replies
        if not callable(reply):
            if place >= len(reply) and (self._after == "error" or not reply):
                raise ScriptExhaustedError(
                    f"Call {place + 1}, but the script has {len(reply)} replies. Add some, give "
                    "a function, or pass after='repeat'."
                )
            reply = reply[min(place, len(reply) - 1)]
        return reply(asked) if callable(reply) else reply
