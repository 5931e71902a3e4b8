"""Means by category, paired differences, times, a fingerprint, and earlier reports."""

import json
from pathlib import Path
from typing import Any

import pytest

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn
from amem_integrations.evaluation.recall import (
    Filled,
    QuestionEmbedder,
    Run,
    Setup,
    ask,
    ask_baseline,
)
from amem_integrations.evaluation.report import (
    as_dict,
    earlier_run,
    fingerprint,
    groups,
    percentiles,
    score,
)
from amem_integrations.recall.signals import DEFAULT_OPTIONS, RecallOptions
from tests.evaluation.samples import BOAT

Held = tuple[Filled, QuestionEmbedder]

ONE = Question("?", ("a",), "easy")
TWO = Question("?", ("a", "b"), "hard")
APART = Question("?", ("a",), "bait", core=False)
DATASET = Dataset(
    "x",
    (
        Conversation("c", (Turn("a", "a"), Turn("b", "b")), (ONE, TWO)),
        Conversation("d", (Turn("a", "a"), Turn("b", "b")), (ONE, APART)),
    ),
)
GOOD = Run("good", ((1,), (1, 2), (1,), (None,)), (1.0, 2.0, 3.0, 4.0))
POOR = Run("poor", ((6,), (1, None), (None,), (1,)), (1.0, 1.0, 1.0, 1.0))


def test_categories_that_stand_apart_come_last() -> None:
    assert groups(DATASET.asked) == ["core", "easy", "hard", "bait"]


def test_means_are_by_category_and_core_leaves_out_what_stands_apart() -> None:
    (scored,) = score(DATASET, [GOOD], [5, 10])
    means = {group: found["recall@5"].mean for group, found in scored.estimates.items()}
    assert means == {"core": 1.0, "easy": 1.0, "hard": 1.0, "bait": 0.0}
    assert scored.estimates["core"]["recall@5"].count == 3


def test_differences_are_the_first_run_minus_the_other_by_question() -> None:
    good, poor = score(DATASET, [GOOD, POOR], [5, 10])
    assert good.difference == {}
    # At five: 1-0, 1-0.5, 1-0; at ten: 1-1, 1-0.5, 1-0.
    assert poor.difference["core"]["recall@5"].mean == pytest.approx(2.5 / 3)
    assert poor.difference["core"]["recall@10"].mean == pytest.approx(0.5)
    assert poor.difference["bait"]["recall@5"].mean == -1.0
    easy = poor.difference["easy"]["recall@10"]
    assert (easy.mean, easy.low, easy.high) == (0.5, 0.0, 1.0)


def test_percentiles_are_values_that_occurred() -> None:
    assert percentiles([float(n) for n in range(100, 0, -1)]) == {"p50": 50.0, "p95": 95.0}
    assert percentiles([3.0]) == {"p50": 3.0, "p95": 3.0}


def test_a_fingerprint_is_the_same_for_the_same_set_up_only(filled: Held) -> None:
    held, _ = filled
    found = fingerprint(held, Setup(), cutoffs=[5])
    assert fingerprint(held, Setup(), cutoffs=[5]) == found
    for other in (
        fingerprint(held, Setup(RecallOptions(damping=0.75)), cutoffs=[5]),
        fingerprint(held, Setup(hops=0), cutoffs=[5]),
        fingerprint(held, Setup(), cutoffs=[5, 10]),
    ):
        assert other["digest"] != found["digest"]
    assert (found["embedder"], found["formation"], found["analyst"]) == ("hash-256", "off", None)
    assert found["data"]["turns"] == 7
    assert found["options"]["damping"] == DEFAULT_OPTIONS.damping


def test_the_whole_report_is_json_and_quotes_no_text(filled: Held) -> None:
    held, questions = filled
    runs = [ask(held, Setup(), questions, k=10), ask_baseline(held.dataset, questions, k=10)]
    text = json.dumps(as_dict(score(held.dataset, runs, [5, 10]), held, questions, [5, 10]))
    report = json.loads(text)
    assert [run["name"] for run in report["runs"]] == ["amem", "amem-dense"]
    assert report["filling"]["notes"] == {"raw": 7}
    assert len(report["runs"][0]["ranks"]) == len(report["questions"]) == 3
    assert set(report["runs"][1]["difference"]) == {"core", "one", "two"}
    assert not any(said in text for _, said in BOAT)


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


def test_a_run_comes_back_as_it_was_as_far_as_the_others_look(
    filled: Held, report: Any, tmp_path: Path
) -> None:
    held, questions = filled
    found = earlier_run(saved(report, tmp_path), held.dataset, k=5)
    assert (found.name, len(found.milliseconds)) == ("before", 3)
    assert found.ranks == ask(held, Setup(), questions, k=5).ranks
    report["runs"][0]["ranks"] = [[4], [1, 5], [None]]
    found = earlier_run(saved(report, tmp_path), held.dataset, k=4)
    assert found.ranks == ((4,), (1, None), (None,))


def test_what_is_no_report_on_these_questions_is_refused(
    filled: Held, report: Any, tmp_path: Path
) -> None:
    dataset = filled[0].dataset
    ranks = [[1], [1, 1], [1]]
    for change, message in (
        ({"fingerprint": {"data": {"sha256": "0"}, "cutoffs": [5]}}, r"the same file and --limit"),
        ({"fingerprint": None}, r"is no report.*Field required"),
        ({"runs": [{"ranks": ranks, "took": ["a"] * 3}]}, r"valid number"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            earlier_run(saved({**report, **change}, tmp_path), dataset, k=5)
    with pytest.raises(InvalidInputError, match=r"looked at 5 places only; compare with -k 5"):
        earlier_run(saved(report, tmp_path), dataset, k=6)
    with pytest.raises(InvalidInputError, match=r"nowhere.txt cannot be read"):
        earlier_run(tmp_path / "nowhere.txt", dataset, k=5)
