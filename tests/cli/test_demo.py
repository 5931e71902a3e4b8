"""`amem demo`: what it shows of a conversation, and how it fails."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from typer.testing import Result

from amem_integrations import AgenticMemory
from amem_integrations.cli import demo
from amem_integrations.cli.demo import messages, questions
from amem_integrations.testing import HashEmbedder, ScriptedChatModel
from tests.cli.console import call
from tests.cli.test_every_command import KEYS
from tests.support import chat_model, judgement

TURNS = 6


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The directory of a demonstration, and what that printed."""
    directory = tmp_path_factory.mktemp("demo") / "memory"
    return directory, call("demo", "--keep", str(directory))


def test_it_needs_no_key_and_fits_a_plain_terminal(shown: tuple[Path, Result]) -> None:
    output = shown[1].output
    assert shown[1].exit_code == 0, output
    # The introduction says what a warning would.
    beginning = output.partition("1. A message became a note")[0]
    assert "--embedder multilingual" in beginning
    assert "note:" not in beginning
    assert "\x1b" not in output
    assert max(map(cell_len, output.partition("The memory is in")[0].splitlines())) <= 80


def test_it_shows_a_note_its_links_and_what_evolved(shown: tuple[Path, Result]) -> None:
    output = shown[1].output
    assert f"{len(messages())} messages became notes" in output
    numbers = re.search(r"(\d+) notes, (\d+) links, (\d+) evolutions", output)
    assert numbers is not None
    notes, links, evolutions = map(int, numbers.groups())
    assert (notes, links > 0, evolutions > 0) == (len(messages()), True, True)
    formed, linked, evolved = (
        output.partition(heading)[2]
        for heading in ("became a note", "It was linked", "A neighbour evolved")
    )
    assert re.search(r"keywords +\S.*\n", formed)
    assert re.search(r"→ +t\d\d  \S+ \d\.\d\d: \S", linked)
    assert re.search(r"before +\S.*\n(.*\n)*? +after +\S", evolved)


def test_it_finds_every_expected_note_also_when_reopened(shown: tuple[Path, Result]) -> None:
    output, count = shown[1].output, len(questions())
    expected = sum(len(question.expected) for question in questions())
    assert all(question.text in output for question in questions())
    assert "= meaning" not in output
    assert f"{expected} of {expected} expected notes" in output
    assert len(re.findall(r"✓ +\d\.", output)) == expected
    assert f"same order: {count} of {count} questions" in output


def test_it_shows_whole_answers_and_a_fact_that_changes(shown: tuple[Path, Result]) -> None:
    told = " ".join(shown[1].output.split())
    assert "the contract Leipzig signed says 120 sensors. 150 was our first offer" in told
    changes = told.partition("5. A fact changes")[2].partition("6. Closed")[0]
    now, _, then = changes.partition("As of March 19:")
    assert re.search(r"1\. new .* 16 April.* 2\. old .* until 2026-03-20 .* 15 April", now)
    assert re.search(r"1\. old .* 15 April", then)
    assert then.endswith("and undone: Sorry, the training in Leipzig is on 16 April. ")


def test_it_can_be_repeated_on_the_memory_it_kept(shown: tuple[Path, Result]) -> None:
    again = call("demo", "--keep", str(shown[0]))
    assert again.exit_code == 0
    assert f"{len(messages())} of {len(messages())} notes were there already" in again.output
    assert answers(again) == answers(shown[1])
    with AgenticMemory(shown[0]) as memory:
        assert memory.count("demo") == len(messages())


def answers(result: Result) -> str:
    return result.output.partition("questions\n")[2].partition("6. Closed")[0]


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[[ScriptedChatModel], Result]:
    """A short demonstration whose notes this model forms."""
    opened = demo.AgenticMemory
    monkeypatch.setattr(demo, "messages", lambda: messages()[:TURNS])
    monkeypatch.setattr(
        demo,
        "AgenticMemory",
        lambda place, **given: opened(place, **given | {"embedder": HashEmbedder()}),
    )

    def run(model: ScriptedChatModel) -> Result:
        monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name: model)
        return call("demo", "--model", "openai:scripted", "--embedder", "any")

    return run


def test_a_model_s_calls_and_tokens_are_counted(
    scripted: Callable[[ScriptedChatModel], Result],
) -> None:
    usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
    result = scripted(chat_model(lambda text, _: judgement(text), usage=usage))
    assert result.exit_code == 0, result.output
    assert "Notes are formed by openai:scripted." in result.output
    assert f"{TURNS} model calls" in result.output
    assert "No note was changed by a later one." in result.output
    assert f"{100 * TURNS:,} tokens in, {20 * TURNS:,} out" in result.output


def test_a_model_that_keeps_failing_ends_it(
    scripted: Callable[[ScriptedChatModel], Result],
) -> None:
    result = scripted(ScriptedChatModel(lambda messages: "I would rather not."))
    assert result.exit_code == 1
    assert "The last 3 notes are stored but could not be formed" in result.stderr
    assert "Traceback" not in result.output


def test_it_goes_on_after_one_failure(scripted: Callable[[ScriptedChatModel], Result]) -> None:
    third = messages()[2]["content"]

    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        if third in text:
            raise PermissionError("not that one")
        return judgement(text)

    result = scripted(chat_model(judge))
    assert result.exit_code == 0, result.output
    assert "1 could not be formed" in result.output


def test_its_numbers_are_json(scripted: Callable[[ScriptedChatModel], Result]) -> None:
    numbers = json.loads(call("demo", "--json").stdout)
    assert numbers["notes"] == TURNS
    assert list(numbers) == KEYS["demo"]
    assert numbers["questions"][0].keys() == {"question", "expected", "found"}


@pytest.fixture(scope="module")
def installed() -> str:
    command = shutil.which("amem", path=str(Path(sys.executable).parent))
    if command is None:
        pytest.skip("the package is not installed here, so there is no amem to run")
    return command


def test_a_pipe_may_know_only_ascii(installed: str, shown: tuple[Path, Result]) -> None:
    result = subprocess.run(
        [installed, "show", "t26", "-n", "demo", "-l", str(shown[0])],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert re.search(r"content +\?+", result.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are other ones there")
def test_an_interrupt_ends_it_without_a_trace(installed: str, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [installed, "demo"],
        env={**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever starts the tests in the background has them, and so this, ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    while "by meaning too" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert list(tmp_path.glob("amem*")) == []
