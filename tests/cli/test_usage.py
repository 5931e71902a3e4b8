"""`amem admin usage`: from when, of whom, as a table and as JSON."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.cli.options import parse_time
from amem_integrations.errors import InvalidInputError
from tests.cli.console import call, printed
from tests.support import chat_model

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


USAGE = ("admin", "usage", "-l")


def calls(directory: Path, *options: str) -> int:
    return printed(*USAGE, directory, *options)["total"]["calls"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two notes formed for Bea, staged, and one for Ada, fused."""
    directory = tmp_path_factory.mktemp("usage") / "memory"
    with AgenticMemory(directory, model=chat_model(), mode="staged") as memory:
        memory.add_many(["The redis cache", "The redis eviction policy"], namespace="bea")
    with AgenticMemory(directory, model=chat_model()) as memory:
        memory.add("The violin lesson", namespace=("org", "ada"))
    return directory


def test_steps_modes_and_the_total_are_a_table(directory: Path) -> None:
    result = call(*USAGE, directory)
    assert result.exit_code == 0, result.output
    names = [line.split("  ")[0] for line in result.output.splitlines()[1:-1]]
    assert set(names) == {
        "step construct",
        "step link",
        "step evolve",
        "step fuse",
        "mode staged",
        "mode fused",
        "total",
    }
    assert re.search(r"^step construct +2 ", result.output, re.MULTILINE)
    assert re.search(r"^total +5 ", result.output, re.MULTILINE)


def test_the_table_fits_eighty_columns_and_is_plain_in_a_pipe(directory: Path) -> None:
    output = call(*USAGE, directory).output
    assert max(map(len, output.splitlines())) <= 80
    assert "\x1b" not in output


def test_json_holds_the_same_numbers(directory: Path) -> None:
    report = printed(*USAGE, directory)
    assert report["total"]["calls"] == 5
    assert report["by_mode"]["fused"]["calls"] == report["by_step"]["fuse"]["calls"] == 1
    assert report["total"]["tokens_in"] > 0


def test_one_namespace_is_told_apart(directory: Path) -> None:
    assert calls(directory, "-n", "org", "-n", "ada") == 1
    assert calls(directory, "-n", "org") == 0


def test_without_calls_it_says_so(directory: Path) -> None:
    assert call(*USAGE, directory, "-n", "nobody").output == "No model calls.\n"


def test_what_is_estimated_is_told(tmp_path: Path) -> None:
    model = chat_model(usage={"input_tokens": 0, "output_tokens": 0, "total_tokens": 0})
    with AgenticMemory(tmp_path, model=model) as memory:
        memory.add("The redis cache")
    assert re.search(r"\n[\d,]+ of them are estimates", call(*USAGE, tmp_path).output)


def test_since_narrows_to_later_hours(directory: Path) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert calls(directory, "--since", "1h") == 5
    assert calls(directory, "--since", tomorrow) == 0


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("24h", NOW - timedelta(hours=24)),
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(days=14)),
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T08:30", datetime(2026, 11, 1, 8, 30, tzinfo=UTC)),
        ("2026-11-01T08:30+02:00", datetime(2026, 11, 1, 6, 30, tzinfo=UTC)),
    ],
)
def test_since_is_a_date_a_time_or_how_long_ago(text: str, meant: datetime) -> None:
    assert parse_time(text, "--since", NOW) == meant


@pytest.mark.parametrize("text", ["", "yesterday", "7", "7m", "-7d", "999999w", "2026-13-01"])
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidInputError, match="2026-11-01"):
        parse_time(text, "--since", NOW)


def test_a_wrong_since_is_told_in_one_line_before_anything_is_opened(tmp_path: Path) -> None:
    result = call(*USAGE, tmp_path / "none", "--since", "soon")
    assert result.exit_code == 1
    assert "--since" in result.output
