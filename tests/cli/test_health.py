"""`amem health`: the figures as a table and as JSON, and a gate made of them."""

import json
import re
from pathlib import Path

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.admin.figures import Figure
from amem_integrations.admin.health import Health
from amem_integrations.cli import admin
from amem_integrations.errors import InvalidInputError
from tests.cli.console import call
from tests.support import chat_model

REPORT = Health(
    ("a",),
    {},
    {},
    (Figure("stability", 0.7, "share", ""), Figure("oldest_wait", None, "hours", "")),
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three notes of Bea's, two of which say the same."""
    directory = tmp_path_factory.mktemp("health") / "memory"
    texts = ["The redis cache evicts", "The violin lesson", "The redis cache evicts!"]
    with AgenticMemory(directory, model=chat_model()) as memory:
        memory.add_many(texts, namespace="bea")
    return directory


def test_each_figure_is_a_line_with_its_meaning(directory: Path) -> None:
    result = call("health", "-l", directory, "-n", "bea")
    assert result.exit_code == 0, result.output
    assert "Health of namespace bea" in result.stdout
    assert re.search(r"^ +formed +3 notes +understood and linked", result.stdout, re.MULTILINE)
    assert "To worry about: duplicates." in result.stdout


def test_the_table_fits_eighty_columns_and_is_plain_in_a_pipe(directory: Path) -> None:
    output = call("health", "-l", directory, "-n", "bea").output
    assert max(map(len, output.splitlines())) <= 80
    assert "\x1b" not in output


def test_json_is_nothing_but_the_report(directory: Path) -> None:
    report = json.loads(call("health", "-l", directory, "-n", "bea", "--json").stdout)
    assert report["namespace"] == ["bea"]
    values = {row["name"]: row["value"] for row in report["figures"]}
    assert values["duplicates"] == pytest.approx(1 / 3)
    assert values["consistency"] is None


def test_a_gate_that_holds_exits_with_zero(directory: Path) -> None:
    gate = ("--fail-under", "links_per_note=1", "--fail-over", "raw=0")
    assert call("health", "-l", directory, "-n", "bea", *gate).exit_code == 0


def test_a_gate_that_does_not_says_why_and_exits_with_three(directory: Path) -> None:
    gate = ("--fail-under", "links_per_note=1.5", "--fail-over", "duplicates=0.2")
    result = call("health", "-l", directory, "-n", "bea", "--json", *gate)
    assert result.exit_code == 3
    assert result.stderr == "links_per_note is 1, under 1.5.\nduplicates is 0.333333, over 0.2.\n"
    assert json.loads(result.stdout)["worries"] == ["duplicates"]


def test_an_unknown_figure_is_named_with_those_there_are(directory: Path) -> None:
    result = call("health", "-l", directory, "-n", "bea", "--fail-under", "stabilty=0.8")
    assert result.exit_code == 1
    assert "No figure is called 'stabilty'; there are notes, " in result.stderr
    assert "stability" in result.stderr
    assert result.stdout == ""


def test_a_figure_is_beyond_a_bound_only_past_it() -> None:
    assert admin._failures(REPORT, "under", {"stability": 0.7}) == []
    assert admin._failures(REPORT, "over", {"stability": 0.7}) == []
    assert admin._failures(REPORT, "under", {"stability": 0.8}) == ["stability is 0.7, under 0.8."]


def test_what_could_not_be_measured_fails_no_gate() -> None:
    assert admin._failures(REPORT, "over", {"oldest_wait": 0}) == []


@pytest.mark.parametrize("text", ["", "stability", "stability=", "stability=much", "stability=nan"])
def test_a_bound_is_a_name_and_a_number(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"--fail-under .* such as stability=0\.8"):
        admin._parse_bounds("--fail-under", [text])
