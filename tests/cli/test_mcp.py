"""`amem mcp`: who reaches a memory through pipes or HTTP, and how it ends."""

import asyncio
import json
import logging
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

from amem_integrations import AgenticMemory
from amem_integrations.view import server as pages
from tests.cli.console import call, fill, found
from tests.support import open_memory

TOKEN = "0123456789abcdef-token"
PROGRAM = "from amem_integrations.cli import main; main()"
HASHED = f"""
from amem_integrations.cli import options
from tests.cli.console import hashed
options.resolve_embedder = hashed
{PROGRAM}
"""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    },
}


async def told(client: Client, tool: str, **arguments: Any) -> str:
    [content] = (await client.call_tool(tool, arguments)).content
    assert isinstance(content, TextContent)
    return content.text


async def test_a_client_that_starts_it_talks_to_it_by_pipes(tmp_path: Path, caplog: Any) -> None:
    location = str(tmp_path / "memory")
    arguments = ["-c", PROGRAM, "mcp", "-l", location, "-n", "calvin"]
    log = tmp_path / "log"
    with log.open("w") as errors, caplog.at_level(logging.ERROR):
        process = StdioServerParameters(command=sys.executable, args=arguments)
        async with Client(stdio_client(process, errlog=errors)) as client:
            await told(client, "remember", content="Calvin's boat is called Susie")
            found = await told(client, "search_memory", query="What is the boat called?")
            assert "Susie" in found
            assert "no memory with this id" in await told(client, "forget", id="the boat")
            # One process at a time: another is refused and says why, away from the protocol.
            refused = await asyncio.to_thread(call, "mcp", "-l", location)
    assert refused.exit_code == 1
    assert refused.stdout == ""
    assert "another process" in refused.stderr
    # A client that reads what is no message logs that.
    assert caplog.text == ""
    said = log.read_text()
    assert said == f"A new memory is made in {location}.\n"
    with open_memory(location, embedder=None) as memory:
        assert [note.content for note in memory.recent(namespace="calvin")] == [
            "Calvin's boat is called Susie"
        ]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no such signals")
def test_sigterm_ends_it_though_its_client_stays(tmp_path: Path) -> None:
    with open_memory(tmp_path, formation="off") as memory:
        fill(memory)
    process = subprocess.Popen(
        [sys.executable, "-c", HASHED, "mcp", "-l", str(tmp_path), "--read-only"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write(json.dumps(HELLO) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["result"]["serverInfo"]["name"] == "amem"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        assert process.stdout.read() == ""
        assert process.stderr is not None
        assert process.stderr.read() == ""


@pytest.fixture
def served(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> Callable[[Callable[[str], Coroutine[Any, Any, None]]], str]:
    """Serves HTTP by the command while clients ask; returns what it printed."""

    def serve(ask: Callable[[str], Coroutine[Any, Any, None]], *more: str) -> str:
        def run(app: Any, listener: Any) -> None:
            server = pages.server(app)
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
            thread.start()
            try:
                while not server.started:
                    assert thread.is_alive()
                    time.sleep(0.01)
                asyncio.run(ask(f"{pages.address_of(listener)}mcp"))
            finally:
                server.should_exit = True
                thread.join()

        monkeypatch.setattr(pages, "serve", run)
        given = ("-l", home, "-n", "calvin", "--http", "--port", "0", *more)
        result = call("mcp", *given, AMEM_MCP_TOKEN=TOKEN, COLUMNS="200")
        assert result.exit_code == 0, result.output
        return result.output

    return serve


def http_client(token: str | None, **headers: str) -> httpx2.AsyncClient:
    given = {} if token is None else {"Authorization": f"Bearer {token}".encode()}
    return httpx2.AsyncClient(headers={**given, **headers})  # type: ignore[dict-item]


def test_clients_with_the_token_share_a_memory_over_http(served: Any) -> None:
    async def ask(url: str) -> None:
        async with (
            http_client(TOKEN) as http,
            Client(streamable_http_client(url, http_client=http)) as one,
            Client(streamable_http_client(url, http_client=http)) as other,
        ):
            await told(one, "remember", content="Calvin's boat is called Susie")
            assert "Susie" in await told(other, "search_memory", query="the boat")

    before = logging.getLogger().handlers
    shown = served(ask)
    assert logging.getLogger().handlers is before
    assert "Serving at http://127.0.0.1:" in shown
    assert "Susie" not in shown
    assert TOKEN not in shown


def test_whoever_has_no_token_or_comes_from_elsewhere_is_refused(served: Any) -> None:
    async def ask(url: str) -> None:
        async def status(token: str | None = TOKEN, **headers: str) -> int:
            accept = {"Accept": "application/json, text/event-stream"}
            async with http_client(token, **accept, **headers) as http:
                return (await http.post(url, json=HELLO)).status_code

        assert await status() == 200
        for wrong in (None, "ø", TOKEN[:-1], TOKEN + "x", TOKEN.upper()):
            assert await status(wrong) == 401
        assert await status(None, Authorization=f"Basic {TOKEN}") == 401
        # A name that an attacker's DNS makes lead here, and pages that a browser shows.
        assert await status(Host="attacker.example:80") == 421
        assert await status(Host="127.0.0.1.attacker.example") == 421
        assert await status(Origin="https://attacker.example") == 403
        assert await status(Origin="null") == 403
        assert await status(Origin="http://localhost:6274") == 200
        assert await status(Host="memory.example.org", Origin="https://memory.example.org") == 200
        async with http_client(None) as http:
            assert (await http.get(url)).status_code == 401
            assert (await http.get(url.replace("/mcp", "/other"))).status_code == 401

    shown = served(ask, "--allow-host", "memory.example.org")
    assert TOKEN not in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    ("arguments", "token", "said"),
    [
        ((), None, "AMEM_MCP_TOKEN"),
        ((), "short", "at least 16 characters"),
        ((), "not in every header: ø", "ASCII and no spaces"),
        (("--allow-host", "http://memory.example.org"), TOKEN, "without http://"),
        (("--allow-host", "*"), TOKEN, "--allow-host is a name"),
        (("--host", "memory.example.org"), TOKEN, "--host is an address"),
        (("--port", "99999"), TOKEN, "from 0 to 65535"),
    ],
)
def test_what_would_be_unsafe_or_means_nothing_is_refused(
    home: Path, arguments: tuple[str, ...], token: str | None, said: str
) -> None:
    result = call("mcp", "-l", home, "--http", *arguments, AMEM_MCP_TOKEN=token, COLUMNS="200")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert said in result.stderr
    assert TOKEN not in result.stderr


def test_a_refused_call_makes_no_memory(tmp_path: Path) -> None:
    assert call("mcp", "-l", tmp_path / "new", "--http").exit_code == 1
    assert call("mcp", "-l", tmp_path / "new", "--read-only").exit_code == 1
    assert list(tmp_path.iterdir()) == []


GUIDE = Path(__file__).parents[2] / "cookbook" / "docs" / "guides" / "mcp.md"


def test_what_the_guide_has_clients_run_is_a_call_that_the_command_takes() -> None:
    blocks = map(json.loads, re.findall(r"```json\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL))
    [started, read_only, remote] = [
        server for block in blocks for (group,) in [block.values()] for server in group.values()
    ]
    for server in (started, read_only):
        assert server["command"] == "amem"
        command, *arguments = server["args"]
        context = found((command,)).make_context(command, arguments)
        assert context.params["location"].endswith("/memory")
        assert context.params["namespace"] == ["calvin"]
    assert context.params["read_only"]
    port = next(each.default for each in found(("mcp",)).params if each.name == "port")
    assert remote["url"] == f"http://127.0.0.1:{port}/mcp"


def test_without_its_library_it_says_what_to_install(
    home: Path, memory: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing: Any = None
    monkeypatch.setitem(sys.modules, "mcp", missing)
    result = call("mcp", "-l", home)
    assert result.exit_code == 1
    assert 'pip install "amem-integrations[mcp]"' in result.stderr
