"""A chat model that keeps what it answered, counts what it took, and stops at a limit.

Everything in a run that asks a model asks through one of these: systems and reader alike.
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.core.io import ChatModel
from amem_integrations.core.tokens import estimate_tokens
from amem_integrations.core.usage import Usage
from amem_integrations.errors import AnalysisError
from amem_integrations.evaluation.qa.kept import KeptLines, fingerprint

LIMIT = "limit"
"""The reason of the AnalysisError that is raised where a limit has been reached."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    tokens_in: float
    tokens_out: float

    def of(self, usage: Usage) -> float:
        tokens = usage.tokens_in * self.tokens_in + usage.tokens_out * self.tokens_out
        return tokens / 1_000_000


PRICES: Mapping[str, Price] = {
    "gpt-4o-mini": Price(0.15, 0.60),
    "gpt-4o": Price(2.50, 10.00),
    "gpt-4.1-mini": Price(0.40, 1.60),
    "gpt-4.1-nano": Price(0.10, 0.40),
}
"""Lists change: these are of 2025, for a first estimate, and can be overruled."""


def price_of(model: str) -> Price | None:
    """By "provider:model" or the model's own name; None where it is not known."""
    return PRICES.get(model.rpartition(":")[2])


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be asked and spent, without what is kept already; None: no limit.

    per_minute: calls that may begin in a minute.
    """

    calls: int | None = None
    usd: float | None = None
    per_minute: float | None = None


class MeteredModel:
    """`inner`, each question asked once.

    A reply is kept by what was asked, with its tokens, so that a run that is taken up again
    pays for nothing twice. A failure is not kept. Safe to use from several threads.
    """

    def __init__(
        self,
        inner: ChatModel,
        replies: KeptLines,
        *,
        limits: Limits | None = None,
        price: Price | None = None,
    ) -> None:
        self._inner = inner
        self._replies = replies
        self._limits = limits or Limits()
        self._price = price
        self._lock = threading.Lock()
        self._next_at = 0.0
        self.usage = Usage()
        """Of this process, without what was kept."""

    @property
    def name(self) -> str:
        return self._inner.name

    def __str__(self) -> str:
        return self.name

    @property
    def usd(self) -> float | None:
        return None if self._price is None else self._price.of(self.usage)

    @property
    def exhausted(self) -> bool:
        """Whether a limit has been reached."""
        calls, usd = self._limits.calls, self._limits.usd
        return (calls is not None and self.usage.calls >= calls) or (
            usd is not None and (self.usd or 0.0) >= usd
        )

    def total(self) -> Usage:
        """What all kept replies took, whichever process they were asked in."""
        return sum((_usage(each) for each in self._replies.values()), Usage())

    def reported(self) -> list[str]:
        """The names that the provider gave to what answered."""
        return sorted({each["model"] for each in self._replies.values()} - {None})

    def complete(self, request: ChatRequest) -> ChatReply:
        key = self._key(request)
        kept = self._kept(key)
        if kept is not None:
            return kept
        time.sleep(self._admit())
        started = time.perf_counter()
        try:
            reply = self._inner.complete(request)
        except BaseException:
            self._failed(started)
            raise
        return self._keep(key, request, reply, started)

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        key = self._key(request)
        kept = self._kept(key)
        if kept is not None:
            return kept
        await asyncio.sleep(self._admit())
        started = time.perf_counter()
        try:
            reply = await self._inner.acomplete(request)
        except BaseException:
            self._failed(started)
            raise
        return self._keep(key, request, reply, started)

    def _key(self, request: ChatRequest) -> str:
        asked = [[each.role, each.content] for each in request.messages]
        return fingerprint(self.name, request.step, asked, request.schema, request.again)

    def _kept(self, key: str) -> ChatReply | None:
        found = self._replies.get(key)
        return None if found is None else _reply(found)

    def _admit(self) -> float:
        """Count a call that is about to be made; for how many seconds it has to wait."""
        with self._lock:
            if self.exhausted:
                raise AnalysisError(
                    "The run's limit of calls or dollars has been reached; run it again with a "
                    "higher one to go on.",
                    reason=LIMIT,
                    retryable=False,
                )
            self.usage += Usage(calls=1)
            if self._limits.per_minute is None:
                return 0.0
            now = time.monotonic()
            at = max(now, self._next_at)
            self._next_at = at + 60 / self._limits.per_minute
            return at - now

    def _failed(self, started: float) -> None:
        with self._lock:
            self.usage += Usage(failures=1, seconds=time.perf_counter() - started)

    def _keep(self, key: str, request: ChatRequest, reply: ChatReply, started: float) -> ChatReply:
        seconds = time.perf_counter() - started
        told = reply.tokens_in is not None and reply.tokens_out is not None
        asked = sum(estimate_tokens(each.content) for each in request.messages)
        counted = ChatReply(
            reply.text,
            reply.data,
            asked if reply.tokens_in is None else reply.tokens_in,
            estimate_tokens(reply.text) if reply.tokens_out is None else reply.tokens_out,
            seconds,
            reply.notes if told else (*reply.notes, _ESTIMATED),
            reply.model,
        )
        with self._lock:
            self.usage += _tokens(counted)
        if counted.data is not None:
            self._replies.keep(key, asdict(counted))
        return counted


_ESTIMATED = "estimated"


def _tokens(reply: ChatReply) -> Usage:
    tokens_in, tokens_out = reply.tokens_in or 0, reply.tokens_out or 0
    estimated = tokens_in + tokens_out if _ESTIMATED in reply.notes else 0
    return Usage(
        tokens_in=tokens_in, tokens_out=tokens_out, estimated=estimated, seconds=reply.seconds
    )


def _usage(kept: Mapping[str, Any]) -> Usage:
    return Usage(calls=1) + _tokens(_reply(kept))


def _reply(kept: Mapping[str, Any]) -> ChatReply:
    fields = dict(kept)
    return ChatReply(notes=tuple(fields.pop("notes")), **fields)
