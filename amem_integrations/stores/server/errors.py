"""What qdrant-client, httpx, gRPC and SQLite raise, as errors of this package.

Messages name the server by its address without credentials, never the API key, and nothing
that was stored or asked.
"""

import json
import math
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import grpc
import httpx
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from amem_integrations.errors import (
    InvalidInputError,
    StoreClosedError,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
    StoreWriteError,
)
from amem_integrations.stores.checks import address_of

_MAX_REASON_CHARS = 300
# A part of a path that is shorter is a word and no key.
_KEY_CHARS = 12
_TRANSIENT_CODES = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)
_REFUSED_CODES = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is and how to talk to it. `timeout` is in seconds, for each request."""

    url: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 10.0
    prefer_grpc: bool = False
    grpc_port: int = 6334

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.username is not None or parts.password is not None:
            raise InvalidInputError(
                f"The URL of a Qdrant server ({parts.hostname}) holds a user or password, which "
                "Qdrant does not take. Give api_key= instead."
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInputError(
                "The URL of a Qdrant server looks like http://host:6333; "
                f"got one with scheme {parts.scheme!r} and host {parts.hostname!r}."
            )
        if parts.query or parts.fragment:
            raise InvalidInputError(
                f"The URL of a Qdrant server ({parts.hostname}) ends with its path. "
                "Give a key as api_key=, not in the URL."
            )
        if not 0 < self.timeout < math.inf:
            raise InvalidInputError(f"A timeout is more than 0 seconds; got {self.timeout}.")

    @property
    def address(self) -> str:
        """What messages call it: without a path, which may hold a key."""
        return address_of(self.url)

    @property
    def seconds(self) -> int:
        """The timeout as the client keeps it: in whole seconds."""
        return math.ceil(self.timeout)

    @property
    def is_encrypted_or_near(self) -> bool:
        parts = urlsplit(self.url)
        return parts.scheme == "https" or parts.hostname in ("localhost", "127.0.0.1", "::1")


def is_transient(error: BaseException) -> bool:
    """Whether the same request may succeed a moment later."""
    match error:
        case ResponseHandlingException(source=httpx.UnsupportedProtocol()):
            return False
        case ResponseHandlingException():
            return isinstance(error.source, httpx.TransportError)
        case UnexpectedResponse():
            return error.status_code == 429 or (error.status_code or 0) >= 500
        case ResourceExhaustedResponse():
            return True
        case grpc.RpcError():
            return _code(error) in _TRANSIENT_CODES
        case _:
            return False


def reason(error: BaseException) -> str:
    """What went wrong in a few words, for a log: no address, no content."""
    match error:
        case ResponseHandlingException():
            return type(error.source).__name__
        case UnexpectedResponse():
            return f"status {error.status_code}"
        case grpc.RpcError():
            return _code(error).name
        case _:
            return type(error).__name__


def from_server(error: Exception, server: Server) -> StoreError:
    """The error of this package for what a call to a server raised."""
    where = f"Qdrant at {server.address}"
    match error:
        case ResponseHandlingException(source=httpx.TimeoutException()):
            return StoreUnavailableError(_slow(where, server))
        case ResponseHandlingException(source=httpx.TransportError()):
            return StoreUnavailableError(_down(where, _redact(str(error.source), server)))
        case ResponseHandlingException():
            return StoreUnavailableError(
                f"{where} gave an answer that is not Qdrant's ({type(error.source).__name__}). "
                "Check that the URL leads to a Qdrant server and not to something before it."
            )
        case ResourceExhaustedResponse():
            return StoreUnavailableError(f"{where} has too many requests to serve. Try later.")
        case UnexpectedResponse():
            return _from_status(error, where, server)
        case grpc.RpcError():
            return _from_code(error, where, server)
        case _:
            return StoreError(f"{where}: {_redact(f'{type(error).__name__}: {error}', server)}")


def from_local(error: Exception, path: Path | None) -> StoreError:
    """The error of this package for what local mode raised."""
    where = f"The local store in {path}" if path else "The local store in memory"
    match error:
        case RuntimeError() if "closed" in str(error):
            return StoreClosedError(f"{where} was closed. Open it again.")
        case sqlite3.OperationalError() | OSError():
            return StoreWriteError(
                f"{where} cannot be written: {error}. Check its permissions and free space."
            )
        case sqlite3.DatabaseError():
            return StoreCorruptError(
                f"{where} is damaged: {error}. Restore it from a backup, or open another one."
            )
        case _:
            return StoreError(f"{where}: {type(error).__name__}: {error}"[:_MAX_REASON_CHARS])


def _from_status(error: UnexpectedResponse, where: str, server: Server) -> StoreError:
    status = error.status_code or 0
    if status in (401, 403):
        return StoreUnavailableError(_refused(where, server, str(status)))
    said = _redact(_said(error.content), server)
    if "no space left" in said.lower():
        return StoreWriteError(f"{where} has no space left: {said}")
    if _lacks_replicas(said):
        return StoreUnavailableError(_few_replicas(where, said))
    if status == 429 or status >= 500:
        return StoreUnavailableError(f"{where} answers with status {status}: {said}")
    return StoreError(f"{where} refused a request with status {status}: {said}")


def _from_code(error: grpc.RpcError, where: str, server: Server) -> StoreError:
    code = _code(error)
    details = _redact(str(cast("Any", error).details() or ""), server)
    if code in _REFUSED_CODES:
        return StoreUnavailableError(_refused(where, server, code.name))
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return StoreUnavailableError(_slow(where, server))
    if code is grpc.StatusCode.UNAVAILABLE:
        return StoreUnavailableError(_down(f"{where} (gRPC)", details))
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return StoreUnavailableError(f"{where} has too many requests to serve. Try later.")
    if _lacks_replicas(details):
        return StoreUnavailableError(_few_replicas(where, details))
    return StoreError(f"{where} refused a request with {code.name}: {details}")


def _lacks_replicas(said: str) -> bool:
    return any(sign in said.lower() for sign in ("replica", "consistency", "leader"))


def _few_replicas(where: str, said: str) -> str:
    return (
        f"{where}: too few nodes of the cluster are up ({said}). Writing needs more than half of "
        "the replicas of each shard. Start the nodes that are down. One node may fail if the "
        "collection has three replicas (replication_factor 3, write_consistency_factor 2)."
    )


def _slow(where: str, server: Server) -> str:
    return (
        f"{where} did not answer within {server.seconds} s. What was being written may or may "
        "not have arrived; writing it again is safe. Try later, or give a longer timeout=."
    )


def _down(where: str, details: str) -> str:
    return (
        f"{where} cannot be reached: {details[:_MAX_REASON_CHARS]}. "
        "Check that it runs, and the address and port."
    )


def _refused(where: str, server: Server, status: str) -> str:
    hint = "Check the api_key=." if server.api_key else "It wants a key: give api_key=."
    return f"{where} refuses the credentials ({status}). {hint}"


def _said(content: bytes) -> str:
    """The server's own words in the body of an error."""
    try:
        said = str(json.loads(content)["status"]["error"])
    except (ValueError, KeyError, TypeError):
        said = content.decode("utf-8", "replace")
    return said[:_MAX_REASON_CHARS]


def _redact(text: str, server: Server) -> str:
    """`text` without the key and the path of the server, which an answer may repeat."""
    parts = urlsplit(server.url).path.split("/")
    for secret in (server.api_key or "", *(part for part in parts if len(part) >= _KEY_CHARS)):
        text = text.replace(secret, "***") if secret else text
    return text


def _code(error: grpc.RpcError) -> grpc.StatusCode:
    return cast("Any", error).code()
