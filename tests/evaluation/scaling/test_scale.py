"""Measuring every size, the growth that is fitted, and what one more note costs."""

from pathlib import Path
from typing import Any

import pytest

from amem_integrations.errors import InvalidInputError, StoreError
from amem_integrations.evaluation.scaling.material import batches, questions
from amem_integrations.evaluation.scaling.measure import measured, on_disk, timed
from amem_integrations.evaluation.scaling.scale import exponent, scale, size_of
from amem_integrations.evaluation.scaling.storages import Flat, Ours
from amem_integrations.evaluation.scaling.writing import STEPS, writing


def rows(power: float, *sizes: int) -> list[dict[str, Any]]:
    return [
        {"storage": "s", "size": size, "microseconds": {"p50": 3.0 * size**power}} for size in sizes
    ]


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_growth_is_the_exponent_of_the_times(power: float) -> None:
    assert exponent(rows(power, 100, 1000, 10_000), "s") == pytest.approx(power)


def test_one_size_shows_no_growth() -> None:
    assert exponent(rows(1.0, 100), "s") is None
    assert exponent(rows(1.0, 100, 1000), "another") is None


@pytest.mark.parametrize(
    ("text", "size"), [("1k", 1000), ("5000", 5000), ("1M", 1_000_000), ("10K", 10_000)]
)
def test_sizes_are_written_in_short(text: str, size: int) -> None:
    assert size_of(text) == size


@pytest.mark.parametrize("text", ["", "k", "0", "-5", "1x", "1.5k", "kk"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="1k, 5000 or 1m"):
        size_of(text)


def test_each_size_has_a_row_with_what_was_measured() -> None:
    told: list[str] = []
    report = scale([40, 20], storages=["memorybank"], questions=3, dimension=8, stage=told.append)
    assert [(row["storage"], row["size"], row["asked"]) for row in report["rows"]] == [
        ("memorybank", 20, 3),
        ("memorybank", 40, 3),
    ]
    for row in report["rows"]:
        assert 0 < row["microseconds"]["p50"] <= row["microseconds"]["p95"]
        assert row["disk"] > 0
    assert report["growth"].keys() == {"memorybank"}
    assert report["writing"] == []
    assert told[0] == "memorybank: writing 20 notes"


def test_a_storage_that_is_missing_is_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Flat, "missing", lambda self: "it is not here")
    report = scale([1000], storages=["memorybank"])
    assert report["rows"] == []
    assert report["missing"] == {"memorybank": "it is not here"}
    assert report["paper"][0]["memorybank"] == 0.24


def test_an_unknown_storage_or_no_size_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'faiss'; there are amem, memorybank"):
        scale([10], storages=["faiss"])
    with pytest.raises(InvalidInputError, match="at least one size"):
        scale([])


def test_a_process_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"memorybank could not be measured .*vectors"):
        measured(Flat(), tmp_path, asked=1, seed=0, dimension=8)


def test_holes_take_no_room(tmp_path: Path) -> None:
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(10_000_000)
    assert on_disk(tmp_path) < 1_000_000


def test_every_question_is_timed_and_the_first_one_asked_before() -> None:
    asked = questions(3, dimension=2)
    seen: list[str] = []

    def ask(question: Any) -> list[object]:
        seen.append(question.text)
        return []

    assert len(timed(ask, asked)) == 3
    assert seen == [asked[0].text, *(each.text for each in asked for _ in range(3))]


def test_one_more_note_is_timed_step_by_step(tmp_path: Path) -> None:
    Ours().write(tmp_path / "ours", batches(12, dimension=8), 8)
    took = writing(tmp_path / "ours", size=12, seed=0, dimension=8)
    assert tuple(took) == STEPS
    assert all(value > 0 for value in took.values())
