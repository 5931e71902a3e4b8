"""A chat model whose replies are kept in a file, and which stops at a limit.

LangChain's own parts do the work: a cache of replies, a rate limiter that counts calls, and the
usage callback.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from langchain_core.caches import BaseCache
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import AIMessage, messages_from_dict, messages_to_dict
from langchain_core.outputs import ChatGeneration, Generation, LLMResult
from langchain_core.rate_limiters import BaseRateLimiter

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.core.io import ChatModel
from amem_integrations.errors import AnalysisError, InvalidInputError
from amem_integrations.llms.chat_models import find_object
from amem_integrations.llms.failures import Deadline
from amem_integrations.llms.langchain import LangChainChatModel

_SCHEMA: ContextVar[Mapping[str, object]] = ContextVar("schema")
"""The schema of the question that is being asked."""
LIMIT = "limit"
"""The reason of the AnalysisError that is raised once a limit has been reached."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    tokens_in: float
    tokens_out: float

    def of(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1_000_000


PRICES: Mapping[str, Price] = {
    "gpt-4o-mini": Price(0.15, 0.60),
    "gpt-4o": Price(2.50, 10.00),
    "gpt-4.1-mini": Price(0.40, 1.60),
    "gpt-4.1-nano": Price(0.10, 0.40),
}
"""List prices of 2025, for a first estimate; --price overrules them."""


def price_of(model: str) -> Price | None:
    """Return the price by "provider:model" or the model's own name; None if it is unknown."""
    return PRICES.get(model.rpartition(":")[2])


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be asked and spent, without what is kept already; None: no limit."""

    calls: int | None = None
    usd: float | None = None


class LineStore:
    """A file of JSON objects by key; of several with one key, the last counts.

    A last line that a kill cut off is passed over. Safe to use from several threads.
    Raises InvalidInputError if the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text("utf-8") if path.exists() else ""
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise InvalidInputError(f"{path} cannot be kept: {error.strerror}.") from error
        self._values = dict(_entries(text))
        if text and not text.endswith("\n"):
            self._file.write("\n")

    def get(self, key: str) -> Mapping[str, Any] | None:
        return self._values.get(key)

    def values(self) -> list[Mapping[str, Any]]:
        with self._lock:
            return list(self._values.values())

    def put(self, key: str, value: Mapping[str, Any]) -> None:
        line = json.dumps({"key": key, **value}, ensure_ascii=False, default=str)
        with self._lock:
            self._values[key] = value
            self._file.write(line + "\n")
            self._file.flush()

    def close(self) -> None:
        self._file.close()


def fingerprint(*facts: Any) -> str:
    """Return a key that is the same for the same facts, which are JSON."""
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:24]


def _entries(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for line in text.split("\n"):
        try:
            entry: Any = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and "key" in entry:
            fields = cast("dict[str, Any]", entry)
            yield str(fields.pop("key")), fields


class _Meter(UsageMetadataCallbackHandler):
    """LangChain's usage callback, which also counts calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def add(self, generations: Sequence[Generation]) -> None:
        self.calls += 1
        self.on_llm_end(LLMResult(generations=[list(generations)]))

    def tokens(self, name: str) -> int:
        return sum(cast("dict[str, int]", usage)[name] for usage in self.usage_metadata.values())


class _ReplyCache(BaseCache):
    """Replies by prompt and settings of the model.

    A reply without the JSON object that was asked for is not kept. kept: the usage of all
    replies, whichever process they were asked in. spent: of this process.
    """

    def __init__(self, lines: LineStore) -> None:
        self._lines = lines
        self.kept, self.spent = _Meter(), _Meter()
        for value in lines.values():
            self.kept.add(_generations(value))

    def lookup(self, prompt: str, llm_string: str) -> Sequence[Generation] | None:
        value = self._lines.get(fingerprint(prompt, llm_string))
        return None if value is None else _generations(value)

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        self.spent.add(return_val)
        message = cast("ChatGeneration", return_val[0]).message
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        if calls or find_object(message.text, _SCHEMA.get()) is not None:
            self.kept.add(return_val)
            value = {"message": messages_to_dict([message])[0]}
            self._lines.put(fingerprint(prompt, llm_string), value)

    def clear(self, **kwargs: Any) -> None:
        raise NotImplementedError("Replies are kept; delete their file instead.")


def _generations(value: Mapping[str, Any]) -> list[Generation]:
    return [ChatGeneration(message=messages_from_dict([value["message"]])[0])]


class _Limiter(BaseRateLimiter):
    """Asked by LangChain before each call that no kept reply answers."""

    def __init__(self, limits: Limits, price: Price | None, spent: _Meter) -> None:
        self._limits, self._price, self._spent = limits, price, spent
        self._lock = threading.Lock()
        self.calls = 0

    @property
    def usd(self) -> float | None:
        if self._price is None:
            return None
        return self._price.of(
            self._spent.tokens("input_tokens"), self._spent.tokens("output_tokens")
        )

    @property
    def exhausted(self) -> bool:
        calls, usd = self._limits.calls, self._limits.usd
        return (calls is not None and self.calls >= calls) or (
            usd is not None and (self.usd or 0.0) >= usd
        )

    def acquire(self, *, blocking: bool = True) -> bool:
        with self._lock:
            if self.exhausted:
                raise AnalysisError(
                    "The run's limit of calls or dollars has been reached; run it again with a "
                    "higher one to go on.",
                    reason=LIMIT,
                    retryable=False,
                )
            self.calls += 1
        return True

    async def aacquire(self, *, blocking: bool = True) -> bool:
        return self.acquire()


class MeteredModel:
    """A LangChain chat model that is asked each question once, within limits.

    Replies are kept in a file, so that a run that is taken up again pays for nothing twice.
    Safe to use from several threads. seconds: the most that one answer may take.
    Raises InvalidInputError for another kind of model.
    """

    def __init__(
        self,
        model: ChatModel,
        path: Path,
        *,
        limits: Limits | None = None,
        price: Price | None = None,
        seconds: float = 120.0,
    ) -> None:
        if not isinstance(model, LangChainChatModel):
            raise InvalidInputError(
                f"{model.name} is no chat model of LangChain's; only their replies can be kept."
            )
        self.name = model.name
        self._lines = LineStore(path)
        self._cache = _ReplyCache(self._lines)
        self._limiter = _Limiter(limits or Limits(), price, self._cache.spent)
        parts = {"cache": self._cache, "rate_limiter": self._limiter}
        limited = LangChainChatModel(model.model.model_copy(update=parts), name=model.name)
        self._model = Deadline(limited, seconds)

    def __str__(self) -> str:
        return self.name

    def complete(self, request: ChatRequest) -> ChatReply:
        _SCHEMA.set(request.schema)
        return self._model.complete(request)

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        _SCHEMA.set(request.schema)
        return await self._model.acomplete(request)

    @property
    def calls(self) -> int:
        """Calls of this process that no kept reply answered."""
        return self._limiter.calls

    @property
    def usd(self) -> float | None:
        """Dollars that this process spent; None without a price."""
        return self._limiter.usd

    @property
    def exhausted(self) -> bool:
        """Whether a limit has been reached."""
        return self._limiter.exhausted

    def usage(self) -> dict[str, int]:
        """Return calls and tokens of all kept replies, whichever process they were asked in."""
        kept = self._cache.kept
        tokens = {"tokens_in": kept.tokens("input_tokens")}
        return {"calls": kept.calls, **tokens, "tokens_out": kept.tokens("output_tokens")}

    def reported(self) -> list[str]:
        """Return the names that the provider gave to the models that answered."""
        return sorted(self._cache.kept.usage_metadata)

    def close(self) -> None:
        self._lines.close()
