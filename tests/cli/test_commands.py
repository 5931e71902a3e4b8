"""The `amem` command: what it prints, and how it fails."""

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

from amem_integrations import AgenticMemory, __version__
from amem_integrations.cli import terminal
from amem_integrations.cli.demo import messages, questions
from amem_integrations.testing import ScriptedChatModel
from tests.cli.console import call
from tests.support import chat_model, judgement

Amem = Callable[..., Result]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The directory of a demonstration, and what that printed."""
    directory = tmp_path_factory.mktemp("demo") / "memory"
    return directory, call("demo", "--keep", str(directory))


@pytest.fixture
def kept(demo: tuple[Path, Result]) -> Amem:
    """Calls `amem` with the demonstration's memory."""
    return lambda *arguments, **options: call(
        *arguments, "-n", "demo", AMEM_LOCATION=str(demo[0]), **options
    )


def test_the_demonstration_ends_well_without_a_key_or_a_network(
    demo: tuple[Path, Result],
) -> None:
    assert demo[1].exit_code == 0, demo[1].output


def test_the_demonstration_opens_without_a_warning(demo: tuple[Path, Result]) -> None:
    beginning = demo[1].output.partition("1. A message became a note")[0]
    assert "--embedder multilingual" in beginning
    assert "note:" not in beginning


def test_the_demonstration_remembers_every_message(demo: tuple[Path, Result]) -> None:
    assert f"{len(messages())} messages became notes" in demo[1].output
    numbers = re.search(r"(\d+) notes, (\d+) links, (\d+) evolutions", demo[1].output)
    assert numbers is not None
    notes, links, evolutions = map(int, numbers.groups())
    assert notes == len(messages())
    assert links > 0
    assert evolutions > 0


def test_the_demonstration_shows_a_note_its_links_and_what_evolved(
    demo: tuple[Path, Result],
) -> None:
    formed, linked, evolved = (
        demo[1].output.partition(heading)[2]
        for heading in ("became a note", "It was linked", "A neighbour evolved")
    )
    assert re.search(r"keywords +\S.*\n", formed)
    assert re.search(r"→ +t\d\d  \S+ \d\.\d\d: \S", linked)
    assert re.search(r"before +\S.*\n(.*\n)*? +after +\S", evolved)


def test_the_demonstration_finds_every_expected_note_and_marks_it(
    demo: tuple[Path, Result],
) -> None:
    expected = sum(len(question.expected) for question in questions())
    assert f"{expected} of {expected} expected notes" in demo[1].output
    assert len(re.findall(r"✓ +\d\.", demo[1].output)) == expected


def test_the_demonstration_asks_each_question_and_says_why_notes_were_found(
    demo: tuple[Path, Result],
) -> None:
    for question in questions():
        assert question.text in demo[1].output
    assert re.search(r"\d\.\d\d = meaning \d\.\d\d \+ words \d\.\d\d", demo[1].output)


def test_the_reopened_memory_answers_the_same(demo: tuple[Path, Result]) -> None:
    assert f"same order: {len(questions())} of {len(questions())} questions" in demo[1].output


def test_the_demonstration_fits_eighty_columns(demo: tuple[Path, Result]) -> None:
    prose = demo[1].output.partition("The memory is in")[0]
    assert max(map(cell_len, prose.splitlines())) <= 80


def test_a_piped_demonstration_holds_no_escape_sequence(demo: tuple[Path, Result]) -> None:
    assert "\x1b" not in demo[1].output


def test_the_demonstration_can_be_repeated_on_the_memory_it_kept(
    demo: tuple[Path, Result],
) -> None:
    again = call("demo", "--keep", str(demo[0]))
    assert again.exit_code == 0
    assert f"{len(messages())} of {len(messages())} notes were there already" in again.output
    assert answers(again) == answers(demo[1])


def answers(result: Result) -> str:
    return result.output.partition("questions\n")[2].partition("5. Closed")[0]


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[[ScriptedChatModel], None]:
    def use(model: ScriptedChatModel) -> None:
        monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name: model)

    return use


def test_a_demonstration_with_a_model_counts_calls_and_tokens(
    scripted: Callable[[ScriptedChatModel], None],
) -> None:
    scripted(
        chat_model(
            lambda text, _: judgement(text),
            usage={"input_tokens": 100, "output_tokens": 20, "total_tokens": 120},
        )
    )
    result = call("demo", "--model", "openai:scripted")
    assert result.exit_code == 0, result.output
    turns = len(messages())
    assert "Notes are formed by openai:scripted." in result.output
    assert f"{turns} model calls" in result.output
    assert "No note was changed by a later one." in result.output
    assert f"{100 * turns:,} tokens in, {20 * turns:,} out" in result.output


def test_a_demonstration_whose_model_keeps_failing_ends_and_says_why(
    scripted: Callable[[ScriptedChatModel], None],
) -> None:
    scripted(ScriptedChatModel(lambda messages: "I would rather not."))
    result = call("demo", "--model", "openai:scripted")
    assert result.exit_code == 1
    assert "The last 3 notes are stored but could not be formed" in result.stderr
    assert "Traceback" not in result.output


def test_a_demonstration_goes_on_after_a_failure_and_says_what_is_waiting(
    scripted: Callable[[ScriptedChatModel], None],
) -> None:
    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        if "LoRa is fine" in text:
            raise PermissionError("not that one")
        return judgement(text)

    scripted(chat_model(judge))
    result = call("demo", "--model", "openai:scripted")
    assert result.exit_code == 0, result.output
    assert "1 could not be formed" in result.output


def test_a_note_that_was_added_can_be_found_and_shown(tmp_path: Path) -> None:
    home = str(tmp_path / "memory")
    added = call(
        "add", "Calvin wants an LRU policy", "-l", home, "--speaker", "Ada", "--key", "cache"
    )
    assert added.exit_code == 0, added.output
    found = call("search", "eviction policy", "-l", home)
    assert "cache  Ada: Calvin wants an LRU policy" in found.output
    shown = call("show", "cache", "-l", home)
    assert "formed" in shown.output.partition("history")[2]


def test_a_note_that_could_not_be_formed_is_stored_and_said_to_be_raw(
    scripted: Callable[[ScriptedChatModel], None], tmp_path: Path
) -> None:
    scripted(ScriptedChatModel(lambda messages: "I would rather not."))
    added = call("add", "Calvin wants LRU", "-l", str(tmp_path), "--model", "openai:scripted")
    assert added.exit_code == 0
    assert re.search(r"status +raw: \w", added.stdout)
    assert "is not formed yet" in added.stderr
    assert "Calvin wants LRU" in call("search", "LRU", "-l", str(tmp_path)).output


def test_text_can_come_from_standard_input(tmp_path: Path) -> None:
    call("add", "-", "-l", str(tmp_path), "--key", "piped", input="two\nlines")
    assert re.search(r"content +two *\n +lines", call("show", "piped", "-l", str(tmp_path)).output)


def test_labels_make_a_namespace_and_keep_notes_apart(tmp_path: Path) -> None:
    home = str(tmp_path)
    call("add", "The key is under the mat", "-l", home, "-n", "org", "-n", "calvin")
    assert "under the mat" in call("search", "key", "-l", home, "-n", "org", "-n", "calvin").output
    assert "no notes in namespace org." in call("search", "key", "-l", home, "-n", "org").output


@pytest.mark.parametrize(
    "command", ["search key", "recent", "health", "plot graph", "plot map", "plot activity"]
)
def test_where_there_is_no_note_it_is_said_where_to_look(tmp_path: Path, command: str) -> None:
    home, drawn = str(tmp_path / "memory"), tmp_path / "drawn.html"
    call("add", "The key is under the mat", "-l", home, "-n", "org", "-n", "a b")
    out = ["-o", str(drawn)] if command.startswith("plot") else []
    other = call(*command.split(), "-l", home, "-n", "nobody", *out)
    assert "There are no notes in namespace nobody. `amem admin namespaces` lists" in other.output
    joined = call(*command.split(), "-l", home, "-n", "org/a b", *out)
    assert "Labels are given one by one: -n org -n 'a b'" in joined.output
    assert not drawn.exists()
    assert other.exit_code == joined.exit_code == (1 if out else 0)


def test_a_search_can_be_narrowed_by_a_filter(kept: Amem) -> None:
    found = kept("search", "cells", "--filter", '{"speaker": "Jun"}', "-k", "3")
    assert len(re.findall(r"t\d\d  Jun: ", found.output)) == 3


def test_a_note_shows_its_links_in_both_directions(kept: Amem) -> None:
    shown = kept("show", "t15").output
    assert re.search(r"→ +t\d\d", shown)
    assert re.search(r"← +t\d\d", shown)


def test_a_note_can_be_shown_by_its_id(kept: Amem) -> None:
    id = re.search(r"id +([0-9a-f-]{36})", kept("show", "t15").output)
    assert id is not None
    assert "t15" in kept("show", id[1]).output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "t99"), "no note 't99' in namespace demo"),
        (("search", " "), "query is empty"),
        (("search", "cells", "--filter", "{"), "--filter is not JSON"),
        (("search", "cells", "--filter", "[]"), "--filter is a JSON object"),
        (("search", "cells", "-k", "-1"), "k is a whole number"),
        (("search", "cells", "--embedder", "multilingual"), "was written with the embedder"),
        (("add", " "), "content is empty or blank"),
        (("add", "x", "--model", "nobody:nothing"), "names no known provider"),
    ],
)
def test_an_error_is_one_line_and_exit_code_one(
    kept: Amem, arguments: tuple[str, ...], said: str
) -> None:
    result = kept(*arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("amem: ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_stored_text_cannot_steer_the_terminal(tmp_path: Path) -> None:
    hostile = "\x1b[31mred\x1b]0;title\x07 [bold]loud[/bold] \u202ebackwards \x9b2J \x1b[2J\rback"
    shown = call("add", hostile, "-l", str(tmp_path)).output
    assert not set(shown) & set("\x1b\x07\x9b\r\u202e")
    assert "red [bold]loud[/bold] backwards" in shown


def test_a_namespace_cannot_steer_the_terminal(kept: Amem) -> None:
    shown = kept("search", "gateway", "-n", "\x1b[2J\x1b]0;title\x07ann\u202e")
    assert shown.exit_code == 0
    assert "namespace" in shown.output
    assert not set(shown.output) & set("\x1b\x07\u202e")


@pytest.mark.parametrize("text", ["e\u0301té", "👩\u200d🔧", "素菜馆", "שלום", "नमस्ते"])
def test_letters_of_any_script_are_shown_as_they_are(text: str) -> None:
    assert terminal.plain(text) == text


def test_the_end_of_a_very_long_text_is_left_out() -> None:
    assert terminal.shortened("word " * 400_000) == ("word " * 80)[:399] + "…"


def test_a_narrow_terminal_loses_no_words(kept: Amem) -> None:
    wide, narrow = (
        kept("search", "gateway", "-k", "1", COLUMNS=columns) for columns in ("200", "30")
    )
    assert max(map(cell_len, narrow.output.splitlines())) <= 30
    assert "".join(narrow.output.split()) == "".join(wide.output.split())


def test_chinese_is_measured_by_its_width(kept: Amem) -> None:
    lines = kept("show", "t26", COLUMNS="40").output.splitlines()
    assert any("素菜馆" in line for line in lines)
    assert max(map(cell_len, lines)) <= 40


def test_the_version_is_the_package_s() -> None:
    assert call("--version").output == f"amem {__version__}\n"


def test_the_package_can_be_run_as_a_module() -> None:
    command = [sys.executable, "-m", "amem_integrations", "--version"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == f"amem {__version__}\n"


def test_without_its_packages_the_command_says_how_to_install_them() -> None:
    program = (
        "import sys; sys.modules['typer'] = None; from amem_integrations.cli import main; main()"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 2
    assert 'pip install "amem-integrations[cli]"' in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def installed() -> str:
    command = shutil.which("amem", path=str(Path(sys.executable).parent))
    if command is None:
        pytest.skip("the package is not installed here, so there is no amem to run")
    return command


def test_the_installed_command_works_in_a_pipe_that_knows_only_ascii(
    installed: str, demo: tuple[Path, Result]
) -> None:
    result = subprocess.run(
        [installed, "search", "素菜馆", "-n", "demo", "-l", str(demo[0]), "-k", "2"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert re.search(r"1\. +t\d\d  Wei:\s+\?+", result.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are other ones there")
def test_an_interrupted_demonstration_stops_without_a_trace(installed: str, tmp_path: Path) -> None:
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


def test_a_memory_made_by_the_command_opens_in_python(demo: tuple[Path, Result]) -> None:
    with AgenticMemory(demo[0]) as memory:
        assert memory.count("demo") == len(messages())
