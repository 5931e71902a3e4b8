"""The script of a scripted model: which reply comes at which call.

The scripted models of both frameworks read theirs by this; it knows nothing of either.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal


class ScriptExhaustedError(Exception):
    """The model was asked more often than its script has replies."""


class Script:
    """Replies in order, each a value or a function of what was asked; or one such function.

    after: what happens past the last one: "error", or "repeat" it.
    """

    def __init__(
        self, replies: Iterable[Any] | Callable[..., Any], after: Literal["error", "repeat"]
    ) -> None:
        self._replies = replies if callable(replies) else list(replies)
        self._after = after

    def reply(self, place: int, *asked: Any) -> Any:
        """The reply to call number `place`, counted from 0. Raises ScriptExhaustedError."""
        replies = self._replies
        if callable(replies):
            return replies(*asked)
        if place >= len(replies) and (self._after == "error" or not replies):
            raise ScriptExhaustedError(
                f"Call {place + 1}, but the script has {len(replies)} replies. Add some, give "
                "a function, or pass after='repeat'."
            )
        reply = replies[min(place, len(replies) - 1)]
        return reply(*asked) if callable(reply) else reply
