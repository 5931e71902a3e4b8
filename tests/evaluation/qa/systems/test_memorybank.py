"""MemoryBank: what fades, what stays because it was recalled, and what a model sums up."""

import math
from dataclasses import replace
from datetime import timedelta

import pytest

from amem_integrations.evaluation.dataset import Conversation
from amem_integrations.evaluation.qa.systems import SYSTEMS
from amem_integrations.evaluation.qa.systems.memorybank import Piece
from tests.evaluation.qa.systems.support import START, TALK, Scripted, answered, means

DAY = timedelta(days=1)


def piece(chance: float = 0.0) -> Piece:
    return Piece("text", START, None, chance)


def test_retention_falls_by_e_in_a_day() -> None:
    assert piece().retention(START + DAY) == pytest.approx(math.exp(-1))
    assert piece().retention(START) == 1.0


def test_a_recall_starts_anew_and_makes_stronger() -> None:
    recalled = piece()
    recalled.recalls.append(START + DAY)
    assert recalled.retention(START + 3 * DAY) == pytest.approx(math.exp(-2 / 2))


def test_a_recall_that_is_still_to_come_changes_nothing() -> None:
    recalled = piece()
    recalled.recalls.append(START + 9 * DAY)
    assert recalled.retention(START + DAY) == pytest.approx(math.exp(-1))


def test_what_has_no_time_is_never_forgotten() -> None:
    assert Piece("text", None, None, 0.99).is_kept(START)
    assert piece(0.99).is_kept(None)


def test_what_falls_below_its_draw_is_forgotten() -> None:
    assert piece(0.3).is_kept(START + DAY)
    assert not piece(0.4).is_kept(START + DAY)


def test_after_a_month_only_the_last_day_is_left() -> None:
    assert set(answered(SYSTEMS["memorybank"](means())).turns) == {"d5", "d6"}


def test_without_times_everything_is_left() -> None:
    timeless = Conversation("t", tuple(replace(each, time=None) for each in TALK.turns), ())
    evidence = answered(SYSTEMS["memorybank"](means(None, timeless)), conversation=timeless)
    assert len(evidence.turns) == 6


def test_the_name_says_that_there_are_no_summaries() -> None:
    assert SYSTEMS["memorybank"](means()).name == "memorybank-without-summaries"
    assert SYSTEMS["memorybank"](means(Scripted())).name == "memorybank"


def test_each_day_is_summed_up_and_then_all_of_them() -> None:
    model = Scripted(
        memorybank_day={"events": "They talked\nof honey.", "people": "Nora is busy."},
        memorybank_all={"events": "A summer of sailing.", "people": "Ilya can sew."},
    )
    evidence = answered(SYSTEMS["memorybank"](means(model)))
    assert model.steps() == ["memorybank-day"] * 3 + ["memorybank-all"]
    assert evidence.text.splitlines()[:2] == [
        "Summary: A summer of sailing.",
        "Portrait: Ilya can sew.",
    ]
    assert "[2023-06-15] (summary of the day) They talked of honey." in evidence.text
    assert set(evidence.turns) == {"d5", "d6"}
