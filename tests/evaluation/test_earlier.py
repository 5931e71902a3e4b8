"""Runs of earlier reports: what comes back, and what is no such report."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.earlier import earlier_run
from amem_integrations.evaluation.ingest import Filled
from amem_integrations.evaluation.questions import QuestionEmbedder
from amem_integrations.evaluation.recall import Setup, ask
from amem_integrations.evaluation.report import as_dict, score

Held = tuple[Filled, QuestionEmbedder]


@pytest.fixture
def report(filled: Held) -> dict[str, Any]:
    held, questions = filled
    run = ask(held, Setup(), questions, k=5)
    found = as_dict(score(held.dataset, [run], [5]), held, questions, [5])
    return json.loads(json.dumps(found))


def saved(report: object, folder: Path) -> Path:
    path = folder / "before.json"
    path.write_text(json.dumps(report), "utf-8")
    return path


def test_a_run_comes_back_as_it_was(filled: Held, report: Any, tmp_path: Path) -> None:
    held, questions = filled
    found = earlier_run(saved(report, tmp_path), held.dataset, k=5)
    assert found.name == "before"
    assert found.ranks == ask(held, Setup(), questions, k=5).ranks
    assert len(found.milliseconds) == 3


def test_what_lies_deeper_than_the_others_look_was_not_found(
    filled: Held, report: Any, tmp_path: Path
) -> None:
    report["runs"][0]["ranks"] = [[4], [1, 5], [None]]
    found = earlier_run(saved(report, tmp_path), filled[0].dataset, k=4)
    assert found.ranks == ((4,), (1, None), (None,))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fingerprint": {"data": {"sha256": "0"}}}, r"about other questions"),
        ({"questions": []}, r"about other questions"),
        ({"fingerprint": None}, r"fingerprint: expected a JSON object"),
        ({"runs": []}, r"run 1: expected a JSON object"),
        ({"runs": [{"ranks": [[1]], "took": [1.0]}]}, r"\"ranks\" is a list with the ranks"),
        ({"runs": [{"ranks": [[0], [1, 1], [1]], "took": [1, 1, 1]}]}, r"ranks from 1, or null"),
        ({"runs": [{"ranks": [1, 2, 3], "took": [1, 1, 1]}]}, r"\"ranks\" is a list of lists"),
        ({"runs": [{"ranks": [[1], [1, 1], [1]], "took": ["a"] * 3}]}, r"list of milliseconds"),
    ],
)
def test_what_is_no_report_on_these_questions_is_refused(
    filled: Held, report: Any, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        earlier_run(saved({**report, **change}, tmp_path), filled[0].dataset, k=5)


def test_a_report_on_fewer_conversations_is_refused(
    filled: Held, report: Any, tmp_path: Path
) -> None:
    dataset = filled[0].dataset
    fewer = replace(dataset, conversations=dataset.conversations[:1])
    with pytest.raises(InvalidInputError, match=r"the same file and --limit"):
        earlier_run(saved(report, tmp_path), fewer, k=5)


def test_a_report_that_looked_less_far_is_refused(
    filled: Held, report: Any, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=r"looked at 5 places only; compare with -k 5"):
        earlier_run(saved(report, tmp_path), filled[0].dataset, k=6)


def test_a_file_that_is_no_json_or_not_there_is_named(filled: Held, tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    with pytest.raises(InvalidInputError, match=r"table.txt cannot be read"):
        earlier_run(path, filled[0].dataset, k=5)
    path.write_text("R@5", "utf-8")
    with pytest.raises(InvalidInputError, match=r"table.txt is no report"):
        earlier_run(path, filled[0].dataset, k=5)
