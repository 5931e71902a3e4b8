"""What moves while a command works: on a terminal, on standard error, and never in the output."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from amem_integrations.cli import options
from tests.cli.console import call, fill, hashed, kept, printed

TERMINAL = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("progress") / "memory"
    with kept(directory) as memory:
        fill(memory)
        yield directory


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "resolve_embedder", hashed)


@pytest.mark.parametrize(
    ("arguments", "doing"),
    [
        (("check",), "Checking"),
        (("health", "-n", "shop"), "Reading every note"),
        (("admin", "retry"), "Forming what waits"),
        (("lifecycle", "consolidate", "-n", "shop"), "Looking for what to consolidate"),
        (("export", "-n", "shop", "-o", "{tmp}/shop.jsonl"), "Exporting"),
        (("import", "{tmp}/shop.jsonl"), "Importing"),
    ],
    ids=str,
)
def test_a_terminal_is_told_what_is_being_done_and_a_pipe_is_not(
    home: Path, arguments: tuple[str, ...], doing: str
) -> None:
    given = [each.replace("{tmp}", str(home.parent)) for each in arguments]
    on_terminal = call(*given, "-l", home, **TERMINAL)
    assert on_terminal.exit_code == 0
    assert doing in on_terminal.stderr
    assert doing not in on_terminal.stdout
    piped = call(*given, "-l", home)
    assert doing not in piped.output
    assert "\x1b" not in piped.output


def test_json_on_a_terminal_is_json_all_the_same(home: Path) -> None:
    found = printed("check", "-l", home, **TERMINAL)
    assert found == {"notes": 4, "findings": [], "left": 0}


def test_no_color_leaves_colours_out(home: Path) -> None:
    error = call("show", "nothing", "-l", home, **TERMINAL, NO_COLOR="1").stderr
    assert "\x1b[1;31m" not in error
    assert "\x1b[1;31m" in call("show", "nothing", "-l", home, **TERMINAL).stderr
