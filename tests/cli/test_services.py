"""`amem view` and `amem work`: they run until they are told to end, and end well."""

import signal
import subprocess
import sys
import urllib.request
import webbrowser
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from amem_integrations import AgenticMemory
from amem_integrations.cli.services import memory_name
from amem_integrations.view import server
from tests.cli.console import call, fill
from tests.support import open_memory


def view(*arguments: str | Path) -> Result:
    return call("view", *arguments, COLUMNS="200")


@contextmanager
def started(*arguments: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    """A process of `amem`, and the first line that it prints; it is told to end at last."""
    process = subprocess.Popen(
        [sys.executable, "-c", "from amem_integrations.cli import main; main()", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.wait()


# SIGTERM is turned into what Ctrl-C does: the signal, the server and the store end together.
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no such signals")
def test_view_shows_a_memory_until_it_is_told_to_end(tmp_path: Path) -> None:
    with open_memory(tmp_path, embedder=None, formation="off") as memory:
        memory.add("The cache holds five hundred entries", namespace="cache")
    with started("view", "-l", str(tmp_path), "--port", "0") as (process, shown):
        assert shown.startswith(f"Showing {tmp_path.resolve()} at http://127.0.0.1:"), shown
        with urllib.request.urlopen(shown.split(" at ")[1].split()[0], timeout=60) as answer:
            assert "1 namespace, 1 note." in answer.read().decode()
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert rest == "Closed.\n"
    with open_memory(tmp_path, embedder=None) as memory:
        assert memory.count() == 1


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.org"])
def test_nobody_else_is_shown_a_memory(home: Path, host: str) -> None:
    result = view("-l", home, "--host", host)
    assert result.exit_code == 1
    assert "--host is 127.0.0.1 or ::1" in result.output


def test_a_port_that_is_taken_is_named(home: Path) -> None:
    with server.listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        result = view("-l", home, "--port", str(port))
    assert result.exit_code == 1
    assert f"Port {port} of 127.0.0.1 is in use" in result.output


def test_view_opens_the_browser_where_it_listens(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(server, "serve", lambda app, listener: None)
    result = view("-l", home, "--port", "0", "--open")
    assert result.exit_code == 0, result.output
    assert len(opened) == 1
    assert f" at {opened[0]} (Ctrl-C" in result.output


@pytest.mark.parametrize("library", ["starlette", "uvicorn", "jinja2"])
def test_without_its_libraries_view_says_what_to_install(
    home: Path, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [each for each in sys.modules if each.startswith("amem_integrations.view")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [each for each in sys.modules if each.partition(".")[0] == library]:
        monkeypatch.setitem(sys.modules, name, None)
    missing: Any = None
    monkeypatch.setitem(sys.modules, library, missing)
    result = view("-l", home)
    assert result.exit_code == 1
    assert f"The pages need {library}, which is not installed" in result.output
    assert 'pip install "amem-integrations[view]"' in result.output


def test_a_server_is_called_without_what_its_url_may_hide() -> None:
    url = "https://calvin:secret@qdrant.example:6333/x?key=secret"
    assert memory_name(url, "amem") == "https://qdrant.example:6333/…"
    assert memory_name(url, "team") == "https://qdrant.example:6333/… (team)"
    assert memory_name("http://localhost:6333/", "amem") == "http://localhost:6333"


def test_work_forms_what_waits_and_says_so(memory: AgenticMemory, home: Path) -> None:
    for number in range(3):
        memory.add(f"The redis cache number {number}", namespace=f"of {number}", formation="off")
    result = call("work", "-l", home, "--once", COLUMNS="200")
    assert result.exit_code == 0, result.output
    assert "3 waiting." in result.output
    assert "3 formed; 0 waiting." in result.output


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM to catch on Windows")
def test_sigterm_ends_work_with_everything_written(tmp_path: Path) -> None:
    with open_memory(tmp_path, embedder=None, formation="off") as memory:
        fill(memory)
    with started("work", "-l", str(tmp_path)) as (process, shown):
        assert "At work in" in shown
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert "formed;" in output
    assert "Traceback" not in output
    with open_memory(tmp_path, embedder=None) as memory:
        memory.resume()
        assert memory.admin.health()["formed"] == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--concurrency", "0"], "concurrency is at least 1"),
        (["--poll", "0"], "poll is a number of seconds above 0"),
    ],
)
def test_work_refuses_settings_that_mean_nothing(
    home: Path, arguments: list[str], message: str
) -> None:
    result = call("work", "-l", home, *arguments)
    assert result.exit_code == 1
    assert message in result.output
