"""Two guards over every test: nothing blocks an event loop, nobody talks to the network.

And the browser that some of them open.
"""

import errno
import ipaddress
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import settings

pytest_plugins = ["tests.fixtures"]
pytest.register_assert_rewrite("tests.contracts", "amem_integrations.testing.engine")

if sys.dont_write_bytecode:
    # Dozens of tests start processes, which would compile every package anew. They share a cache,
    # which is not beside the sources.
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

# How long an example takes says little on a machine that does other things too.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def no_blocking_in_a_loop(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail an async test in which the package blocks the event loop."""
    if not iscoroutinefunction(getattr(request, "function", None)):
        yield
        return
    with blockbuster_ctx(scanned_modules=["amem_integrations"]) as blockbuster:
        for function in blockbuster.functions.values():
            # Sync forms may be called where a loop runs, as in a notebook; opening is one.
            function.can_block_in("amem_integrations/core/io.py", "run")
            function.can_block_in("amem_integrations/memory/handle.py", {"__init__", "close"})
        yield


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sockets reach this machine only; the rest looks like a network that is down."""
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, _loopback_only(getattr(socket.socket, name)))


@pytest.fixture(scope="session", autouse=True)
def no_fsync() -> Iterator[None]:
    """Leave files in the page cache: no test cuts the power, and new stores wait long for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def _loopback_only(connect: Any) -> Any:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
            raise OSError(errno.ENETUNREACH, f"tests stay on this machine; refused {address}")
        return connect(self, address)

    return guarded


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@pytest.fixture(scope="session")
def browser() -> str:
    """The path of a Chrome or Chromium; where there is none, the test is skipped."""
    given = os.environ.get("BROWSER_PATH")
    found = given or next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        pytest.skip("no Chrome or Chromium on the PATH, nor in BROWSER_PATH")
    return found
