"""`amem eval abstention`: the curve as a table and as JSON."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from amem_integrations.cli import eval as evaluating
from amem_integrations.cli.app import app
from amem_integrations.evaluation.recall import timed
from tests.evaluation.samples import lines, written
from tests.support import EMBEDDER


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(evaluating, "timed", lambda spec: timed(EMBEDDER))
    return written(tmp_path / "data.jsonl", lines())


def call(*arguments: str | Path) -> Result:
    runner = CliRunner(env={"COLUMNS": "80"})
    return runner.invoke(app, ["eval", "abstention", *map(str, arguments)])


def test_the_curve_is_a_table_within_eighty_columns(data: Path) -> None:
    result = call(data)
    assert result.exit_code == 0, result.output
    head, *rows = result.stdout.splitlines()
    assert " ".join(head.split()) == "min_relevance empty, other's empty, own evidence lost"
    assert rows[0].count("%") == 3
    assert max(map(len, [head, *rows])) <= 80
    assert "asked of another conversation and of their own. Lost: those" in result.stdout
    assert "json-lines, 2 conversations" in result.stdout


def test_json_has_a_point_for_every_loss_that_is_allowed(data: Path) -> None:
    result = call(data, "--json", "--hops", "0", "-k", "3")
    report = json.loads(result.stdout)
    assert len(report["points"]) == 6
    assert report["points"][0]["lost"]["mean"] == 0.0
    assert (report["fingerprint"]["k"], report["fingerprint"]["hops"]) == (3, 0)


def test_a_value_that_is_set_has_a_point_of_its_own(data: Path) -> None:
    report = json.loads(call(data, "--json", "--set", "min_relevance=.55").stdout)
    assert len(report["points"]) == 7
    assert 0.55 in [point["threshold"] for point in report["points"]]


def test_a_single_conversation_ends_with_exit_code_1(data: Path) -> None:
    result = call(data, "--limit", "1")
    assert result.exit_code == 1
    assert "here is only one" in result.stderr
