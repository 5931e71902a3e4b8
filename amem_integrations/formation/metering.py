"""An io whose model calls are counted, whichever step of a formation makes them."""

import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.core.io import IO, Engine, Runnable, SparseEncoder, Vector
from amem_integrations.core.usage import Account
from amem_integrations.errors import AnalysisError

T = TypeVar("T")

# Other failures are of a request that never got as far as a model.
_READ = frozenset({"refusal", "content-filter", "timeout", "unparsable", "empty"})


@dataclass(frozen=True)
class MeteredIO:
    """An io that enters its model calls in an account; see `Ledger.account`."""

    io: IO
    account: Account

    @property
    def engine(self) -> Engine:
        return self.io.engine

    @property
    def sparse(self) -> SparseEncoder:
        return self.io.sparse

    def now(self) -> datetime:
        return self.io.now()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await self.io.embed(texts)

    async def embed_query(self, text: str) -> Vector:
        return await self.io.embed_query(text)

    async def chat(self, request: ChatRequest) -> ChatReply:
        started = time.perf_counter()
        try:
            reply = await self.io.chat(request)
        except BaseException as error:
            judged = isinstance(error, AnalysisError)
            reason = error.reason if judged else type(error).__name__
            self.account.ledger.count(f"model.{reason}")
            # What was broken off, as by a cancelled task, the model may well have read.
            read = reason in _READ or not isinstance(error, Exception)
            self.account.failed(request, time.perf_counter() - started, read=read)
            raise
        self.account.answered(request, reply)
        return reply

    async def invoke(self, runnable: Runnable, input: Any) -> Any:
        return await self.io.invoke(runnable, input)

    async def run_blocking(self, function: Callable[[], T]) -> T:
        return await self.io.run_blocking(function)

    async def sleep(self, seconds: float) -> None:
        await self.io.sleep(seconds)

    async def gather(self, *operations: Coroutine[Any, Any, T]) -> list[T]:
        return await self.io.gather(*operations)
