"""How clients reach the server: through the pipes of its process, or by HTTP with a token."""

import ipaddress
import re
import secrets
import signal
import socket
import threading
from collections.abc import Sequence
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from amem_integrations.errors import InvalidInputError
from amem_integrations.view.server import bind

PATH = "/mcp"
_TOKEN = re.compile(r"[!-~]{16,}")
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HOST = re.compile(r"[\w.-]+(:\d+)?|\[[0-9a-fA-F:.]+\](:\d+)?")


def serve_stdio(server: MCPServer[Any]) -> None:
    """Serve on standard input and output until the client closes its end, Ctrl-C or SIGTERM."""
    failures: list[Exception] = []

    def run() -> None:
        try:
            server.run("stdio")
        except Exception as error:
            failures.append(error)

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    # A thread that waits for a line cannot be ended; as a daemon it does not hold the process.
    thread = threading.Thread(target=run, daemon=True)
    try:
        thread.start()
        while thread.is_alive():
            thread.join(timeout=1)
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)
    if failures:
        raise failures[0]


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address of this machine; port 0 takes one that is free.

    Raises InvalidInputError if it is no address, AMemError where it cannot listen.
    """
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError as error:
        raise InvalidInputError(
            f"--host is an address of this machine, such as 127.0.0.1; got {host!r}."
        ) from error
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    return bind(str(address), port, family)


def check_access(token: str | None, hosts: Sequence[str]) -> None:
    """Raise InvalidInputError if there is no usable token, or a name is none."""
    if not _TOKEN.fullmatch(token or ""):
        raise InvalidInputError(
            "--http needs a token of at least 16 characters, ASCII and no spaces, which clients "
            'send as "Authorization: Bearer ...". Set AMEM_MCP_TOKEN, for example to what '
            "`openssl rand -hex 32` prints."
        )
    for name in hosts:
        if not _HOST.fullmatch(name):
            raise InvalidInputError(
                f"--allow-host is a name such as memory.example.org, without http://; got {name!r}."
            )


def http_app(server: MCPServer[Any], token: str, hosts: Sequence[str] = ()) -> ASGIApp:
    """The application that serves clients which have the token; see `check_access`.

    hosts: the names, other than of this machine's loopback, that clients reach it by. Requests
        for other names are refused, and those that pages of other sites send.
    """
    names = [*_LOOPBACK, *hosts]
    allowed = [*names, *(f"{name}:*" for name in names)]
    security = TransportSecuritySettings(
        allowed_hosts=allowed,
        allowed_origins=[f"{scheme}://{name}" for scheme in ("http", "https") for name in allowed],
    )
    inner = server.streamable_http_app(streamable_http_path=PATH, transport_security=security)
    return _TokenGuard(inner, token)


class _TokenGuard:
    """Refuses who does not send the token."""

    def __init__(self, inner: ASGIApp, token: str) -> None:
        self._inner = inner
        self._expected = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scheme, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
            known = secrets.compare_digest(given.strip().encode(), self._expected)
            if not known or scheme.lower() != "bearer":
                refusal = "This memory needs its token: Authorization: Bearer ...\n"
                response = PlainTextResponse(refusal, 401, {"WWW-Authenticate": "Bearer"})
                await response(scope, receive, send)
                return
        await self._inner(scope, receive, send)
