"""What went wrong when a chat model was asked, as an AnalysisError: why, and whether it may pass.

Providers agree on HTTP statuses and, roughly, on the names of exception classes; neither needs
an import of theirs. Messages hold no text of the provider's: it may quote content or keys.
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

from amem_integrations.errors import AnalysisError


@dataclass(frozen=True, slots=True)
class Failure:
    reason: str
    retryable: bool
    meaning: str


_REFUSAL = Failure("refusal", False, "the model refused to answer; the note keeps its text")
_FILTER = Failure("content-filter", False, "the provider's content filter stopped the answer")
_TOO_LONG = Failure("too-long", False, "the prompt exceeds the model's context window")
_QUOTA = Failure("quota", False, "the account's quota is used up; raise it with the provider")
_LIMIT = Failure("rate-limited", True, "the provider limits the rate of requests")
_TIMEOUT = Failure("timeout", True, "the answer took too long; check the model's timeout")
_TRANSPORT = Failure("transport", True, "the provider could not be reached; check the connection")
_SERVER = Failure("server", True, "the provider had a fault of its own")
_KEY = Failure("unauthorized", False, "the provider does not accept the API key; check it")
_FORBIDDEN = Failure("forbidden", False, "this API key may not use this model")
_NO_MODEL = Failure("not-found", False, "the provider has no such model; check its name")
_BAD = Failure("bad-request", False, "the provider rejects the request; check the model's settings")
_ODD = Failure("error", False, "an unexpected error; its cause is attached")

_BY_NAME: Mapping[str, Failure] = {
    "ModelRefusalError": _REFUSAL,
    "ContentFilterFinishReasonError": _FILTER,
    "ContextOverflowError": _TOO_LONG,
    "ModelAuthenticationError": _KEY,
    "ModelPermissionDeniedError": _FORBIDDEN,
    "ModelNotFoundError": _NO_MODEL,
    "ModelInvalidRequestError": _BAD,
    "ModelRateLimitError": _LIMIT,
    "ModelAPIError": _SERVER,
    "ModelTimeoutError": _TIMEOUT,
    "ModelConnectionError": _TRANSPORT,
    "TimeoutError": _TIMEOUT,
    "TimeoutException": _TIMEOUT,
    "Timeout": _TIMEOUT,
    "APITimeoutError": _TIMEOUT,
    "APIConnectionError": _TRANSPORT,
    "ConnectionError": _TRANSPORT,
    "TransportError": _TRANSPORT,
    "ClientConnectionError": _TRANSPORT,
}

_BY_STATUS: Mapping[int, Failure] = {
    400: _BAD,
    401: _KEY,
    403: _FORBIDDEN,
    404: _NO_MODEL,
    408: _TIMEOUT,
    409: _SERVER,
    413: _TOO_LONG,
    422: _BAD,
    425: _LIMIT,
    429: _LIMIT,
}

# What providers call it in `finish_reason` or `stop_reason`, in lower case.
_REFUSED = frozenset({"refusal"})
_FILTERED = frozenset(
    {
        "content_filter",
        "content_filtered",
        "guardrail_intervened",
        "safety",
        "blocklist",
        "prohibited_content",
        "recitation",
        "spii",
    }
)
_ENDING_KEYS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_TRUNCATED = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})


def passes_through(error: Exception) -> bool:
    """Whether `error` is no failure at all: a graph that interrupts, or our own error."""
    return is_interrupt(error) or isinstance(error, AnalysisError)


def is_interrupt(error: Exception) -> bool:
    """Whether a graph is being interrupted, which LangGraph tells by an exception."""
    graph_errors = sys.modules.get("langgraph.errors")
    return graph_errors is not None and isinstance(error, graph_errors.GraphBubbleUp)


def classify(error: Exception, model: str) -> AnalysisError:
    """`error`, raised while `model` was asked, as an AnalysisError."""
    status = _status(error)
    failure = _failure(error, status)
    kind = type(error).__name__ + (f", HTTP {status}" if status else "")
    return AnalysisError(
        f"{model} gave no judgement: {failure.meaning} ({kind}).",
        reason=failure.reason,
        retryable=failure.retryable,
        retry_after=_retry_after(error) if failure.retryable else None,
    )


def refused(metadata: Mapping[str, Any], *, refusal: bool, model: str) -> AnalysisError | None:
    """The error of an answer that was refused or filtered, or None.

    metadata: the answer's response metadata. refusal: whether the answer itself says so.
    """
    ended = _endings(metadata)
    if refusal or ended & _REFUSED:
        failure = _REFUSAL
    elif ended & _FILTERED:
        failure = _FILTER
    else:
        return None
    return AnalysisError(
        f"{model} gave no judgement: {failure.meaning}.", reason=failure.reason, retryable=False
    )


def truncated(metadata: Mapping[str, Any]) -> bool:
    """Whether an answer ended because it reached its greatest length."""
    return bool(_endings(metadata) & _TRUNCATED)


def _endings(metadata: Mapping[str, Any]) -> set[str]:
    words = [metadata.get(key) for key in _ENDING_KEYS]
    details = metadata.get("incomplete_details")
    if isinstance(details, Mapping):
        words.append(cast("Mapping[str, object]", details).get("reason"))
    return {word.lower() for word in words if isinstance(word, str)}


def _failure(error: Exception, status: int | None) -> Failure:
    code = getattr(error, "code", None)
    if code == "content_filter":
        return _FILTER
    if code == "insufficient_quota":
        return _QUOTA
    if code == "context_length_exceeded":
        return _TOO_LONG
    for cls in type(error).__mro__:
        if cls.__name__ in _BY_NAME:
            return _BY_NAME[cls.__name__]
    if status is None:
        return _ODD
    return _BY_STATUS.get(status, _SERVER if status >= 500 else _ODD)


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
    """Seconds until the provider wants to be asked again, from its Retry-After header."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(headers, Mapping):
        return None
    given = {str(k).lower(): str(v) for k, v in cast("Mapping[object, object]", headers).items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if name in given:
            return _seconds(given[name], unit)
    return None


def _seconds(given: str, unit: float) -> float | None:
    """A number of `unit` seconds, or an HTTP date as seconds from now."""
    try:
        number = float(given) * unit
        return number if 0.0 <= number < math.inf else None
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(given)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
