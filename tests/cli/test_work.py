"""`amem work`: forms what waits, and ends well when it is told to."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import Result

from tests.cli.console import call
from tests.support import again, open_memory


def run(*arguments: str) -> Result:
    return call("work", *arguments, COLUMNS="200")


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    with open_memory(tmp_path / "store", embedder=None, formation="off") as memory:
        for n in range(3):
            memory.add(f"The redis cache number {n}", namespace=f"of {n}")
    return tmp_path / "store"


def test_it_forms_what_waits_and_says_so(waiting: Path) -> None:
    result = run("-l", str(waiting), "--once")
    assert result.exit_code == 0, result.output
    assert "3 waiting." in result.output
    assert "3 formed; 0 waiting." in result.output


@pytest.mark.parametrize("command", ["work --once", "admin retry"])
def test_with_an_embedder_that_only_python_has_no_note_is_tried_in_vain(
    tmp_path: Path, command: str
) -> None:
    with open_memory(tmp_path, formation="off") as memory:
        note = memory.add("The redis cache")
        result = call(*command.split(), "-l", tmp_path, COLUMNS="200")
        assert result.exit_code == 1
        assert "which amem cannot have" in result.output
        assert again(memory, note).attempts == 0


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM to catch on Windows")
def test_sigterm_ends_it_with_everything_written(waiting: Path) -> None:
    arguments = ["work", "-l", str(waiting)]
    process = subprocess.Popen(
        [sys.executable, "-c", "from amem_integrations.cli import main; main()", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    assert "At work in" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert "formed;" in output
    assert "Traceback" not in output
    with open_memory(waiting, embedder=None) as memory:
        memory.resume()
        assert memory.admin.health()["formed"] == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--concurrency", "0"], "concurrency is at least 1"),
        (["--poll", "0"], "poll is a number of seconds above 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(
    waiting: Path, arguments: list[str], said: str
) -> None:
    result = run("-l", str(waiting), *arguments)
    assert result.exit_code == 1
    assert said in result.output
