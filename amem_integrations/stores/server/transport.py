"""The three ways to call qdrant-client: a server in this thread, a server from any event
loop, and local mode.

Each performs an operation, which is a coroutine function over `call(name, **arguments)`;
`engine` is written once over that. Errors leave here as errors of this package, and
what may pass is tried again a few times.
"""

import asyncio
import logging
import os
import ssl
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import tenacity
from qdrant_client import AsyncQdrantClient, QdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse

from amem_integrations.core.io import run
from amem_integrations.errors import StoreClosedError
from amem_integrations.stores.server import errors
from amem_integrations.stores.server.errors import Server

T = TypeVar("T")

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 4
_LONGEST_PAUSE = 2.0
_backoff = tenacity.wait_random_exponential(multiplier=0.1, max=_LONGEST_PAUSE)


class Call(Protocol):
    """Call the method `name` of the client."""

    def __call__(self, name: str, **arguments: Any) -> Coroutine[Any, Any, Any]: ...


Operation: TypeAlias = Callable[[Call], Coroutine[Any, Any, T]]


class Caller(Protocol):
    """Performs operations; local mode lets nothing else happen in between."""

    async def perform(self, operation: Operation[T]) -> T: ...

    async def pause(self, seconds: float) -> None: ...

    async def close(self) -> None: ...

    def close_now(self) -> None:
        """Close without waiting for an event loop."""
        ...


class Lifetime:
    """Whether the store is still open, and in the process that opened it."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._process = os.getpid()
        self._closed = False

    def check(self) -> None:
        if self._closed:
            raise StoreClosedError(f"The store at {self.place} was closed. Open it again.")
        if self._process != os.getpid():
            raise StoreClosedError(
                f"The store at {self.place} was opened in process {self._process}, and this is "
                f"{os.getpid()}, forked from it. Open the store in the child process."
            )

    def end(self) -> bool:
        """Close; False when it was closed before."""
        ended, self._closed = not self._closed, True
        return ended


# -- a server --------------------------------------------------------------------------------


class ServerCaller:
    """Calls a server and waits in the calling thread."""

    def __init__(self, server: Server, lifetime: Lifetime, context: ssl.SSLContext) -> None:
        self._server = server
        self._lifetime = lifetime
        self._client = QdrantClient(**_options(server, context))
        self._retrying = tenacity.Retrying(**_retries(server))

    async def perform(self, operation: Operation[T]) -> T:
        self._lifetime.check()
        return await operation(self._call)

    async def pause(self, seconds: float) -> None:
        # The sync form: it never suspends.
        time.sleep(seconds)  # noqa: ASYNC251

    async def close(self) -> None:
        self.close_now()

    def close_now(self) -> None:
        self._client.close()

    async def _call(self, name: str, **arguments: Any) -> Any:
        try:
            return self._retrying(getattr(self._client, name), **arguments)
        except Exception as error:
            raise errors.from_server(error, self._server) from error


class AsyncServerCaller:
    """Calls a server from whichever event loop is running, each with a client of its own.

    A client belongs to the loop it was first used on. It is closed when its loop shuts down
    its async generators (as asyncio.run does), or by `close`.
    """

    def __init__(self, server: Server, lifetime: Lifetime, context: ssl.SSLContext) -> None:
        self._server = server
        self._lifetime = lifetime
        self._context = context
        self._clients: dict[asyncio.AbstractEventLoop, AsyncQdrantClient] = {}
        self._keepers: dict[asyncio.AbstractEventLoop, AsyncGenerator[None]] = {}

    async def perform(self, operation: Operation[T]) -> T:
        self._lifetime.check()
        return await operation(self._call)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        keeper = self._keepers.get(asyncio.get_running_loop())
        if keeper is not None:
            await keeper.aclose()
        self.close_now()

    def close_now(self) -> None:
        for loop, keeper in list(self._keepers.items()):
            if loop.is_running():
                asyncio.run_coroutine_threadsafe(_aclose(keeper), loop)

    async def _call(self, name: str, **arguments: Any) -> Any:
        client = await self._client_here()
        retrying = tenacity.AsyncRetrying(**_retries(self._server))
        try:
            return await retrying(getattr(client, name), **arguments)
        except Exception as error:
            raise errors.from_server(error, self._server) from error

    async def _client_here(self) -> AsyncQdrantClient:
        loop = asyncio.get_running_loop()
        if loop in self._clients:
            return self._clients[loop]
        for other in list(self._clients):
            if other.is_closed():
                self._clients.pop(other, None)
                self._keepers.pop(other, None)
        # In a thread, since making a client reads files.
        made = await asyncio.to_thread(
            lambda: AsyncQdrantClient(**_options(self._server, self._context))
        )
        client = self._clients.setdefault(loop, made)
        if client is made:
            self._keepers[loop] = keeper = self._keep(loop, client)
            await anext(keeper)
        return client

    async def _keep(
        self, loop: asyncio.AbstractEventLoop, client: AsyncQdrantClient
    ) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            self._clients.pop(loop, None)
            self._keepers.pop(loop, None)
            await client.close()


async def _aclose(keeper: AsyncGenerator[None]) -> None:
    await keeper.aclose()


def _options(server: Server, context: ssl.SSLContext) -> dict[str, Any]:
    options: dict[str, Any] = {
        "url": server.url,
        "timeout": server.seconds,
        "prefer_grpc": server.prefer_grpc,
        "grpc_port": server.grpc_port,
        "check_compatibility": False,
        "verify": context,
    }
    if server.api_key is not None:
        # As a header: given as api_key, the client warns of http:// even to this machine.
        options["headers"] = {"api-key": server.api_key}
    return options


def _retries(server: Server) -> dict[str, Any]:
    """Options for tenacity: bounded by attempts, and by the time that one request may take."""

    def log(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        _LOG.warning(
            "Qdrant at %s: %s at attempt %d of %d, trying again",
            server.address,
            errors.reason(error) if error else "no answer",
            state.attempt_number,
            _ATTEMPTS,
        )

    return {
        "retry": tenacity.retry_if_exception(errors.is_transient),
        "stop": tenacity.stop_after_attempt(_ATTEMPTS) | tenacity.stop_after_delay(server.seconds),
        "wait": _pause,
        "before_sleep": log,
        "reraise": True,
    }


def _pause(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, ResourceExhaustedResponse):
        return min(float(error.retry_after_s), _LONGEST_PAUSE)
    return _backoff(state)


# -- local mode ------------------------------------------------------------------------------


class LocalCaller:
    """Calls local mode, which is not thread-safe: one operation at a time, whole."""

    def __init__(self, client: QdrantClient, path: Path | None, lifetime: Lifetime) -> None:
        self._client = client
        self._path = path
        self._lifetime = lifetime
        self._lock = threading.RLock()

    async def perform(self, operation: Operation[T]) -> T:
        return self.perform_now(operation)

    async def pause(self, seconds: float) -> None:
        """Does nothing: there is one replica, which nobody else changes."""

    def perform_now(self, operation: Operation[T]) -> T:
        with self._lock:
            self._lifetime.check()
            return run(operation(self._call))

    async def close(self) -> None:
        self.close_now()

    def close_now(self) -> None:
        with self._lock:
            self._client.close()

    async def _call(self, name: str, **arguments: Any) -> Any:
        try:
            return getattr(self._client, name)(**arguments)
        except Exception as error:
            raise errors.from_local(error, self._path) from error


class ThreadedLocalCaller:
    """Performs in a worker thread, since local mode computes and writes where it is called."""

    def __init__(self, local: LocalCaller) -> None:
        self._local = local

    async def perform(self, operation: Operation[T]) -> T:
        return await asyncio.to_thread(self._local.perform_now, operation)

    async def pause(self, seconds: float) -> None:
        """As in `LocalCaller`."""

    async def close(self) -> None:
        await asyncio.to_thread(self._local.close_now)

    def close_now(self) -> None:
        self._local.close_now()
