"""Where pages are served: on this machine, at a port that is free."""

import socket
import sys

import pytest

from amem_integrations.errors import AMemError, InvalidInputError
from amem_integrations.view.server import address_of, listen


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.5", "example.org", "127.0.0.2"])
def test_no_address_but_this_machines_own_is_served(host: str) -> None:
    with pytest.raises(InvalidInputError, match=r"127\.0\.0\.1 or ::1.*ssh -L 8765"):
        listen(host, 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_port_0_takes_a_free_one(host: str) -> None:
    with listen(host, 0) as first, listen(host, 0) as second:
        assert first.getsockname()[0] == "127.0.0.1"
        assert first.getsockname()[1] != second.getsockname()[1]
        assert address_of(first) == f"http://127.0.0.1:{first.getsockname()[1]}/"


def test_a_browser_finds_the_newer_protocol_too() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with listen("::1", 0) as listener:
        assert address_of(listener) == f"http://[::1]:{listener.getsockname()[1]}/"


def test_a_port_that_is_taken_is_named() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AMemError, match=f"Port {port} .* is in use.*--port 0"):
            listen("127.0.0.1", port)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_cannot_be_is_refused(port: int) -> None:
    with pytest.raises(InvalidInputError, match="from 0 to 65535"):
        listen("127.0.0.1", port)


@pytest.mark.skipif(sys.platform == "win32", reason="there, low ports are nobody's in particular")
def test_a_port_that_cannot_be_had_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object, **more: object) -> socket.socket:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket, "create_server", refuse)
    with pytest.raises(AMemError, match=r"Cannot listen at port 80 .*Permission denied"):
        listen("127.0.0.1", 80)
