"""Failures of chat models as AnalysisError: the reason, and whether a retry can help.

Providers agree on HTTP statuses and, roughly, on the names of exception classes; neither needs
an import of theirs. Messages hold no text of the provider's: it may quote content or keys.
"""

import asyncio
import contextvars
import math
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar, cast

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.core.io import ChatModel
from amem_integrations.errors import AnalysisError

T = TypeVar("T")

# What each reason means.
_MEANINGS = {
    "refusal": "the model refused to answer; the note keeps its text",
    "content-filter": "the provider's content filter stopped the answer",
    "too-long": "the prompt exceeds the model's context window",
    "quota": "the account's quota is used up; raise it with the provider",
    "rate-limited": "the provider limits the rate of requests",
    "timeout": "the answer took too long; check the model's timeout",
    "transport": "the provider could not be reached; check the connection",
    "server": "the provider had a fault of its own",
    "unauthorized": "the provider does not accept the API key; check it",
    "forbidden": "this API key may not use this model",
    "not-found": "the provider has no such model; check its name",
    "bad-request": "the provider rejects the request; check the model's settings",
    "error": "an unexpected error; its cause is attached",
}
_RETRYABLE = frozenset({"rate-limited", "timeout", "transport", "server"})

# By the name of an exception's class, or of one of its bases.
_BY_NAME = {
    "ModelRefusalError": "refusal",
    "ContentFilterFinishReasonError": "content-filter",
    "ContextOverflowError": "too-long",
    "ModelAuthenticationError": "unauthorized",
    "ModelPermissionDeniedError": "forbidden",
    "ModelNotFoundError": "not-found",
    "ModelInvalidRequestError": "bad-request",
    "ModelRateLimitError": "rate-limited",
    "ModelAPIError": "server",
    "ModelTimeoutError": "timeout",
    "TimeoutError": "timeout",
    "TimeoutException": "timeout",
    "Timeout": "timeout",
    "APITimeoutError": "timeout",
    "ModelConnectionError": "transport",
    "APIConnectionError": "transport",
    "ConnectionError": "transport",
    "TransportError": "transport",
    "ClientConnectionError": "transport",
}
_BY_STATUS = {
    400: "bad-request",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    408: "timeout",
    409: "server",
    413: "too-long",
    422: "bad-request",
    425: "rate-limited",
    429: "rate-limited",
}
_BY_CODE = {
    "content_filter": "content-filter",
    "insufficient_quota": "quota",
    "context_length_exceeded": "too-long",
}

# How providers say why an answer ended, in lower case.
_ENDING_KEYS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_FILTERED = frozenset(
    {
        *("content_filter", "content_filtered", "guardrail_intervened", "safety"),
        *("blocklist", "prohibited_content", "recitation", "spii"),
    }
)
_TRUNCATED = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})


def is_interrupt(error: Exception) -> bool:
    """Return whether `error` is how LangGraph interrupts a graph."""
    graph_errors = sys.modules.get("langgraph.errors")
    return graph_errors is not None and isinstance(error, graph_errors.GraphBubbleUp)


def classify(error: Exception, model: str) -> AnalysisError:
    """Return the AnalysisError for an `error` that was raised while `model` was asked."""
    status = _status(error)
    kind = type(error).__name__ + (f", HTTP {status}" if status else "")
    return _failure(model, _reason(error, status), f" ({kind})", retry_after=_retry_after(error))


def refused(metadata: Mapping[str, Any], *, refusal: bool, model: str) -> AnalysisError | None:
    """Return the error of an answer that was refused or filtered, or None.

    metadata: the answer's response metadata. refusal: whether the answer itself says so.
    """
    ended = _endings(metadata)
    if refusal or "refusal" in ended:
        return _failure(model, "refusal")
    return _failure(model, "content-filter") if ended & _FILTERED else None


def truncated(metadata: Mapping[str, Any]) -> bool:
    """Return whether an answer ended because it reached its greatest length."""
    return bool(_endings(metadata) & _TRUNCATED)


def _failure(
    model: str, reason: str, kind: str = "", *, retry_after: float | None = None
) -> AnalysisError:
    retryable = reason in _RETRYABLE
    return AnalysisError(
        f"{model} gave no analysis: {_MEANINGS[reason]}{kind}.",
        reason=reason,
        retryable=retryable,
        retry_after=retry_after if retryable else None,
    )


def _endings(metadata: Mapping[str, Any]) -> set[str]:
    words = [metadata.get(key) for key in _ENDING_KEYS]
    details = metadata.get("incomplete_details")
    if isinstance(details, Mapping):
        words.append(cast("Mapping[str, object]", details).get("reason"))
    return {word.lower() for word in words if isinstance(word, str)}


def _reason(error: Exception, status: int | None) -> str:
    code = getattr(error, "code", None)
    if isinstance(code, str) and code in _BY_CODE:
        return _BY_CODE[code]
    for cls in type(error).__mro__:
        if cls.__name__ in _BY_NAME:
            return _BY_NAME[cls.__name__]
    if status is None:
        return "error"
    return _BY_STATUS.get(status, "server" if status >= 500 else "error")


def _status(error: Exception) -> int | None:
    response = getattr(error, "response", None)
    for value in (
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        getattr(error, "code", None),
        getattr(error, "status", None),
    ):
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return None


def _retry_after(error: Exception) -> float | None:
    """Return the seconds that the provider's Retry-After header asks to wait."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(headers, Mapping):
        return None
    lowered = {str(k).lower(): str(v) for k, v in cast("Mapping[object, object]", headers).items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if name in lowered:
            return _seconds(lowered[name], unit)
    return None


def _seconds(value: str, unit: float) -> float | None:
    """Read a number of `unit` seconds, or an HTTP date as seconds from now."""
    try:
        number = float(value) * unit
        return number if 0.0 <= number < math.inf else None
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


class Deadline:
    """A chat model that is given up after `seconds`, whatever its own timeout does.

    Raises AnalysisError with the reason "timeout" then. A call in progress cannot be ended: in
    the sync form it stays behind in a thread of its own.
    """

    def __init__(self, model: ChatModel, seconds: float) -> None:
        self.name = model.name
        self._model = model
        self._seconds = seconds

    def complete(self, request: ChatRequest) -> ChatReply:
        return within(self._seconds, lambda: self._model.complete(request), self._late)

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit:
                return await self._model.acomplete(request)
        except TimeoutError as error:
            if limit.expired():
                raise self._late() from error
            raise

    def _late(self) -> AnalysisError:
        return AnalysisError(
            f"{self.name} gave no answer within {self._seconds:g} s (model_timeout).",
            reason="timeout",
            retryable=True,
        )


def within(seconds: float, call: Callable[[], T], late: Callable[[], Exception]) -> T:
    """Run `call` in a thread of its own and return its result; raise `late()` if it takes longer.

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
    thread = threading.Thread(target=context.run, args=(work,), name="amem-model-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not result:
        raise late()
    return result[0]
