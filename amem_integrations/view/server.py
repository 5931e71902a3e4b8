"""The socket that pages are served from, on this machine's loopback only, and the server."""

import errno
import signal
import socket
from typing import Any

import uvicorn

from amem_integrations.errors import AMemError, InvalidInputError

_FAMILIES = {"127.0.0.1": socket.AF_INET, "::1": socket.AF_INET6}
_PATIENCE = 3
"""Seconds that answers under way have to be finished in when the server is to end."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at a loopback address; port 0 takes one that is free.

    Raises InvalidInputError for any other address, AMemError where it cannot listen.
    """
    address = "127.0.0.1" if host == "localhost" else host
    family = _FAMILIES.get(address)
    if family is None:
        raise InvalidInputError(
            f"A memory is shown to this machine only: --host is 127.0.0.1 or ::1; got {host!r}. "
            f"To look at it from another one, run there: ssh -L {port or 8765}:127.0.0.1:"
            f"{port or 8765} THIS-MACHINE"
        )
    return bind(address, port, family)


def bind(address: str, port: int, family: socket.AddressFamily) -> socket.socket:
    """A socket that listens at any address of this machine; port 0 takes one that is free.

    Raises AMemError where it cannot listen.
    """
    if not 0 <= port <= 65535:
        raise InvalidInputError(f"--port is a number from 0 to 65535; got {port}.")
    try:
        return socket.create_server((address, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise AMemError(
                f"Port {port} of {address} is in use, perhaps by another amem. "
                "--port 0 takes one that is free."
            ) from error
        raise AMemError(
            f"Cannot listen at port {port} of {address}: {error.strerror or error}."
        ) from error


def address_of(listener: socket.socket) -> str:
    """The URL at which a browser finds it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def server(app: Any) -> uvicorn.Server:
    """What serves `app`; it logs failures only, and nothing that is stored."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="on",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_PATIENCE,
        )
    )


def serve(app: Any, listener: socket.socket) -> None:
    """Serve in the main thread until Ctrl-C or SIGTERM."""
    # The server ends by itself, then lets the signal do what it does without a server.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server(app).run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
