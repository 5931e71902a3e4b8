"""`amem view`: serves the pages of a memory to this machine until it is told to end."""

import signal
import subprocess
import sys
import urllib.request
import webbrowser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from amem_integrations.cli.services import memory_name
from amem_integrations.view import server
from tests.cli.console import call
from tests.stores.processes import running
from tests.support import open_memory


def run(*arguments: str) -> Result:
    return call("view", *arguments, COLUMNS="200")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("view") / "store"
    with open_memory(home, embedder=None, formation="off") as memory:
        memory.add("The cache holds five hundred entries", namespace="cache")
    return home


# Two processes, a second or two each: signals, the server and the store have to end together.
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no such signals")
@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_it_shows_a_memory_until_it_is_told_to_end(store: Path, told: signal.Signals) -> None:
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "from amem_integrations.cli import main; main()"),
            *("view", "-l", str(store), "--port", "0"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    try:
        assert said.startswith(f"Showing {store.resolve()} at http://127.0.0.1:"), said
        with urllib.request.urlopen(said.split(" at ")[1].split()[0], timeout=60) as answer:
            assert "1 namespace, 1 note." in answer.read().decode()
    finally:
        process.send_signal(told)
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert rest == "Closed.\n"
    with open_memory(store, embedder=None) as memory:
        assert memory.count() == 1


def test_a_memory_that_another_process_has_open_is_not_shown(tmp_path: Path) -> None:
    hold = "store = open_here(); say('open'); sys.stdin.readline()"
    with running(hold, tmp_path / "store") as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        result = run("-l", str(tmp_path / "store"), "--port", "0")
    assert result.exit_code == 1
    assert "in use" in result.output or "another process" in result.output
    assert "Showing" not in result.output


def test_a_directory_without_a_memory_stays_as_it_is(tmp_path: Path) -> None:
    result = run("-l", str(tmp_path / "nothing"), "--port", "0")
    assert result.exit_code == 1
    assert "There is no memory at" in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.org"])
def test_nobody_else_is_shown_a_memory(store: Path, host: str) -> None:
    result = run("-l", str(store), "--host", host)
    assert result.exit_code == 1
    assert "--host is 127.0.0.1 or ::1" in result.output


def test_a_port_that_is_taken_is_named(store: Path) -> None:
    with server.listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        result = run("-l", str(store), "--port", str(port))
    assert result.exit_code == 1
    assert f"Port {port} of 127.0.0.1 is in use" in result.output


def test_it_opens_the_browser_where_it_listens(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(server, "serve", lambda app, listener: None)
    result = run("-l", str(store), "--port", "0", "--open")
    assert result.exit_code == 0, result.output
    assert len(opened) == 1
    assert f" at {opened[0]} (Ctrl-C" in result.output


@pytest.mark.parametrize("library", ["starlette", "uvicorn", "jinja2"])
def test_without_its_libraries_it_says_what_to_install(
    store: Path, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: Any = {name for name in sys.modules if name.startswith("amem_integrations.view")}
    for name in loaded:
        monkeypatch.delitem(sys.modules, name)
    for name in [each for each in sys.modules if each.partition(".")[0] == library]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, library, None)
    result = run("-l", str(store))
    assert result.exit_code == 1
    assert f"The pages need {library}, which is not installed" in result.output
    assert 'pip install "amem-integrations[view]"' in result.output


def test_a_server_is_called_without_what_its_url_may_hide() -> None:
    url = "https://calvin:secret@qdrant.example:6333/x?key=secret"
    assert memory_name(url, "amem") == "https://qdrant.example:6333/x"
    assert memory_name(url, "team") == "https://qdrant.example:6333/x (team)"


def test_a_collection_that_is_not_there_is_named(store: Path) -> None:
    result = run("-l", str(store), "--collection", "other", "--port", "0")
    assert result.exit_code == 1
    assert "There is no memory" in result.output
    assert "'other'" in result.output
