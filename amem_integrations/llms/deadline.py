"""A chat model that is given up after a time, whatever its own timeout does."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.core.io import ChatModel
from amem_integrations.errors import AnalysisError

T = TypeVar("T")


class Deadline:
    """`model`, with at most `seconds` for an answer.

    Raises AnalysisError with the reason "timeout" then. A call in progress cannot be ended from
    outside: in the synchronous form it stays behind in a thread of its own.
    """

    def __init__(self, model: ChatModel, seconds: float) -> None:
        self._model = model
        self._seconds = seconds

    @property
    def name(self) -> str:
        return self._model.name

    def complete(self, request: ChatRequest) -> ChatReply:
        return within(self._seconds, lambda: self._model.complete(request), self._gave_up)

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit:
                return await self._model.acomplete(request)
        except TimeoutError as error:
            if limit.expired():
                raise self._gave_up() from error
            raise

    def _gave_up(self) -> AnalysisError:
        return AnalysisError(
            f"{self.name} gave no answer within {self._seconds:g} s (model_timeout).",
            reason="timeout",
            retryable=True,
        )


def within(seconds: float, call: Callable[[], T], gave_up: Callable[[], Exception]) -> T:
    """What `call` returns or raises, in a thread of its own; `gave_up()` is raised if it is late.

    The thread ends with the call, or with the process.
    """
    result: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            result.append(call())
        except BaseException as error:
            errors.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=lambda: context.run(work), name="amem-model-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not result:
        raise gave_up()
    return result[0]
