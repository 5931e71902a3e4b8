"""A server that is down, slow, old, busy or closed to us; and secrets, which nobody sees."""

import asyncio
import logging
import socket
from collections.abc import Iterator

import pytest

from amem_integrations.core.filters import EVERYTHING
from amem_integrations.core.io import run
from amem_integrations.errors import (
    InvalidInputError,
    StoreError,
    StoreUnavailableError,
)
from amem_integrations.stores.open import is_there
from amem_integrations.stores.server.client import open_client
from tests.cli.console import call
from tests.stores.loopback import LoopbackServer, make_point, open_at

KEY = "sk-very-secret"


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    running = LoopbackServer()
    yield running
    running.stop()


def test_a_server_that_is_down_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(StoreUnavailableError, match=f"{url} cannot be reached"):
        open_client(url, collection="amem", dimension=3, api_key=KEY)
    with pytest.raises(StoreUnavailableError, match="gRPC"):
        open_client(url, collection="amem", dimension=3, timeout=2, prefer_grpc=True)


def test_whether_a_server_has_a_collection_is_asked_without_making_one(
    server: LoopbackServer,
) -> None:
    with pytest.raises(InvalidInputError, match="copy the key again"):
        is_there(server.url, collection="amem", api_key="sk-…")
    assert server.requests == []
    assert not is_there(server.url, collection="amem")
    assert {method for method, *_ in server.requests} == {"GET"}
    open_at(server).close()
    assert is_there(server.url, collection="amem")
    assert not is_there(server.url, collection="other")


def test_a_slow_server_is_given_its_timeout_and_no_more(server: LoopbackServer) -> None:
    store = open_at(server, timeout=1)
    server.delay = 1.5
    with pytest.raises(StoreUnavailableError, match="did not answer within 1 s"):
        run(store.sync.count(EVERYTHING))
    with pytest.raises(StoreUnavailableError, match="did not answer within 1 s"):
        asyncio.run(store.asynchronous.count(EVERYTHING))
    store.close()


def test_a_server_that_is_too_old_or_not_qdrant_is_refused(server: LoopbackServer) -> None:
    server.version = "1.18.3"
    with pytest.raises(StoreUnavailableError, match=r"version 1\.18\.3; 1\.19 or newer"):
        open_at(server)
    for version in ("1.19.0", "2.0.0-dev"):
        server.version = version
        open_at(server).close()
    server.version = "nginx"
    with pytest.raises(StoreUnavailableError, match="nginx"):
        open_at(server)
    server.failures = [(200, {})]
    with pytest.raises(StoreUnavailableError, match="not Qdrant's"):
        open_at(server)


@pytest.mark.parametrize("key", [None, "sk-wrong-and-secret"])
def test_refused_credentials_are_reported_without_the_key(
    key: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = LoopbackServer(api_key=KEY)
    with pytest.raises(StoreUnavailableError, match="refuses the credentials") as caught:
        open_at(server, api_key=key)
    server.stop()
    assert server.url in str(caught.value)
    assert len(server.requests) == 1, "a refusal is not tried again"
    for secret in (KEY, "sk-wrong-and-secret"):
        assert secret not in str(caught.value) + caplog.text


def test_the_key_is_in_no_repr_log_or_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = LoopbackServer(api_key=KEY)
    store = open_at(server, api_key=KEY)
    server.failures = [(500, {})] * 4 + [(400, {})]
    server.message = f"what should I do with {KEY}?"
    with pytest.raises(StoreUnavailableError, match="what should I do") as caught:
        run(store.sync.count(EVERYTHING))
    with pytest.raises(StoreError, match="what should I do") as caught_again:
        asyncio.run(store.asynchronous.count(EVERYTHING))
    store.close()
    server.stop()
    shown = f"{store!r} {store.sync!r} {store.asynchronous!r} {vars(store)!r}"
    assert KEY not in f"{shown} {caught.value} {caught_again.value} {caplog.text}"


@pytest.mark.parametrize("address", ["https://127.0.0.1:{}/{}", "http://127.0.0.1:{}/qdrant/{}/x"])
def test_a_key_in_the_path_of_a_url_is_in_no_message(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = LoopbackServer()
    url = address.format(server.url.rpartition(":")[2], KEY)
    shown: list[object] = []
    for act in (
        lambda: open_client(url, collection="amem", dimension=3, api_key="other"),
        lambda: is_there(url, collection="amem"),
    ):
        with pytest.raises(StoreError) as caught:
            act()
        shown.append(caught.value)
    server.stop()
    command = call("recent", "-l", url)
    assert command.exit_code == 1
    assert "127.0.0.1" in str(shown[0])
    assert KEY not in f"{shown} {command.output} {caplog.text}"


def test_a_key_sent_in_the_clear_over_a_network_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(StoreUnavailableError):
        open_client("http://192.0.2.1:6333", collection="a", dimension=3, api_key=KEY, timeout=2)
    assert "unencrypted" in caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    "url",
    [
        f"http://user:{KEY}@host:6333",
        f"http://{KEY}@host:6333",
        f"http://host:6333?api_key={KEY}",
        "ftp://host",
        "http://",
        "localhost:6333",
    ],
)
def test_a_url_that_cannot_be_a_servers_is_refused_without_its_secrets(url: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        open_client(url, collection="amem", dimension=3)
    assert KEY not in str(caught.value)


def test_what_may_pass_is_tried_again_and_logged(
    server: LoopbackServer, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_at(server)
    run(store.sync.insert([make_point(1, content="private words")]))
    for failures in ([(503, {})], [(429, {})], [(429, {"Retry-After": "0"})], [(500, {})] * 3):
        for count in (
            lambda: run(store.sync.count(EVERYTHING)),
            lambda: asyncio.run(store.asynchronous.count(EVERYTHING)),
        ):
            server.failures = list(failures)
            caplog.clear()
            assert count() == 1
            messages = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
            assert len(messages) == len(failures)
            assert all(server.url in message for message in messages)
            assert "private" not in caplog.text
    store.close()


def test_trying_again_comes_to_an_end(server: LoopbackServer) -> None:
    store = open_at(server)
    server.failures = [(503, {})] * 20
    server.requests.clear()
    with pytest.raises(StoreUnavailableError, match="status 503: busy"):
        run(store.sync.count(EVERYTHING))
    assert len(server.requests) == 4
    with pytest.raises(StoreUnavailableError, match="status 503: busy"):
        asyncio.run(store.asynchronous.count(EVERYTHING))
    assert len(server.requests) == 8
    store.close()


def test_a_request_that_the_server_finds_wrong_is_not_tried_again(server: LoopbackServer) -> None:
    store = open_at(server)
    server.indexes["amem"].clear()
    server.requests.clear()
    with pytest.raises(StoreError, match="Index required") as caught:
        run(store.sync.facet("ns", EVERYTHING, limit=3))
    assert not isinstance(caught.value, StoreUnavailableError)
    assert len(server.requests) == 1
    store.close()


def test_an_invalid_timeout_is_refused() -> None:
    for timeout in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InvalidInputError, match="timeout"):
            open_client("http://127.0.0.1:1", collection="amem", dimension=3, timeout=timeout)
