"""The examples of the README and of the documentation's pages run as they stand, page by page."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from tests.stores.loopback import LoopbackServer
from tests.support import chat_model

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "cookbook" / "docs"
SERVER = "http://localhost:6333"


def examples(page: Path) -> list[str]:
    """The Python blocks, each pushed down to the line on which it stands, for tracebacks."""
    text = page.read_text("utf-8")
    return [
        "\n" * text[: found.start(1)].count("\n") + found[1]
        for found in re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    ]


RECALLING = DOCS / "guides" / "recalling.md"
PAGES = [
    page for page in (README, *sorted(DOCS.rglob("*.md"))) if page != RECALLING and examples(page)
]


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What a page's examples see: an empty directory, and a model that needs no key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name: chat_model())
    monkeypatch.setattr("sys.argv", ["example"])
    names: dict[str, Any] = {"__name__": "example"}
    yield names
    for memory in names.values():
        if isinstance(memory, AgenticMemory):
            memory.close()


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    server = LoopbackServer(api_key="secret")
    yield server
    server.stop()


def run(page: Path, session: dict[str, Any], server: LoopbackServer) -> None:
    for example in examples(page):
        exec(compile(example.replace(SERVER, server.url), page, "exec"), session)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_example_of_the_page_runs(
    page: Path, session: dict[str, Any], server: LoopbackServer
) -> None:
    run(page, session, server)


def test_the_examples_of_the_guide_to_recalling_run_and_undo_what_they_say(
    session: dict[str, Any], server: LoopbackServer
) -> None:
    run(RECALLING, session, server)
    assert session["shared"].count() == 0
    assert session["memory"].get(session["note"]).content == session["note"].content


def test_the_first_example_finds_what_it_added(
    session: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    exec(examples(README)[0], session)
    assert "Calvin wants an LRU policy for the cache" in capsys.readouterr().out


def test_the_readme_s_five_lines_are_five() -> None:
    assert len([line for line in examples(README)[0].splitlines() if line]) <= 5


def test_the_agent_of_the_first_hour_remembers_after_a_restart(
    session: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    [agent] = [each for each in examples(DOCS / "first_hour.md") if "create_agent" in each]
    for said in ("My boat is called Susie", "What is my boat called?"):
        monkeypatch.setattr("sys.argv", ["agent.py", said])
        exec(agent, dict(session))
    replies = capsys.readouterr().out.splitlines()
    assert replies == ["Noted.", "You told me: My boat is called Susie"]
