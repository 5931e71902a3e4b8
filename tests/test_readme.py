"""The README's examples run as they stand, one after the other."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from tests.store.loopback import LoopbackServer
from tests.support import chat_model

README = Path(__file__).parents[1] / "README.md"
SERVER = "http://localhost:6333"


def examples() -> list[str]:
    """The Python blocks, each pushed down to the line on which it stands, for tracebacks."""
    text = README.read_text("utf-8")
    return [
        "\n" * text[: found.start(1)].count("\n") + found[1]
        for found in re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    ]


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What the examples see: an empty directory, and a model that needs no key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name: chat_model())
    names: dict[str, Any] = {"__name__": "readme"}
    yield names
    for memory in names.values():
        if isinstance(memory, AgenticMemory):
            memory.close()


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    server = LoopbackServer(api_key="secret")
    yield server
    server.stop()


def test_every_example_of_the_readme_runs(session: dict[str, Any], server: LoopbackServer) -> None:
    for example in examples():
        exec(compile(example.replace(SERVER, server.url), README, "exec"), session)
    assert session["shared"].count() == 0
    assert session["memory"].get(session["note"]).content == session["note"].content


def test_the_first_example_finds_what_it_added(
    session: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    exec(examples()[0], session)
    assert "Calvin wants an LRU policy for the cache" in capsys.readouterr().out


def test_the_readme_s_five_lines_are_five() -> None:
    assert len([line for line in examples()[0].splitlines() if line]) <= 5
