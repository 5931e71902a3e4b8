"""What runs come to: means by category, paired differences, times, a fingerprint."""

import json

import pytest

from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn
from amem_integrations.evaluation.ingest import Filled
from amem_integrations.evaluation.questions import QuestionEmbedder
from amem_integrations.evaluation.recall import Run, Setup, ask, ask_baseline
from amem_integrations.evaluation.report import as_dict, fingerprint, groups, percentiles, score
from amem_integrations.recall.options import DEFAULT_OPTIONS, RecallOptions
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
    assert groups(DATASET) == ["core", "easy", "hard", "bait"]


def test_core_leaves_out_what_stands_apart() -> None:
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


def test_a_difference_has_the_interval_of_its_conversations() -> None:
    _, poor = score(DATASET, [GOOD, POOR], [10])
    found = poor.difference["easy"]["recall@10"]
    assert (found.mean, found.low, found.high) == (0.5, 0.0, 1.0)


def test_a_run_does_not_differ_from_its_like() -> None:
    _, same = score(DATASET, [GOOD, Run("again", GOOD.ranks, GOOD.milliseconds)], [5])
    for found in same.difference.values():
        assert {(each.mean, each.high or 0.0) for each in found.values()} == {(0.0, 0.0)}


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
