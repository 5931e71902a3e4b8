"""MemoryBank and ReadAgent: what fades, what is summed up, what is read again."""

import math
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from amem_integrations.core.analysis import ChatRequest
from amem_integrations.evaluation.dataset import Conversation
from amem_integrations.evaluation.qa.system import Budget
from amem_integrations.evaluation.qa.systems import SYSTEMS
from amem_integrations.evaluation.qa.systems.summaries import Piece, ReadAgent
from tests.evaluation.qa.samples import EARLY, START, TALK, Scripted, answered, is_within, means

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


def gist(request: ChatRequest) -> dict[str, Any]:
    heard = request.messages[1].content
    return {"gist": "of honey" if "honey" in heard else "of boats"}


def model(pages: list[Any], after: float = 2) -> Scripted:
    return Scripted(
        readagent_page={"after": after}, readagent_gist=gist, readagent_lookup={"pages": pages}
    )


def agent(scripted: Scripted) -> ReadAgent:
    return ReadAgent(means(scripted), least=20, most=35)


def test_the_model_says_where_a_page_ends() -> None:
    scripted = model([])
    evidence = answered(agent(scripted))
    assert scripted.steps().count("readagent-page") == 2
    assert evidence.text.splitlines() == [
        "Page 1: [2023-05-07] of boats",
        "Page 2: [2023-05-08] of boats",
        "Page 3: [2023-06-15] of honey",
    ]
    assert evidence.turns == ()


def test_a_pause_out_of_range_is_put_into_it() -> None:
    far = model([], after=99)
    answered(agent(far))
    assert far.steps().count("readagent-gist") == 2


def test_the_pages_that_are_asked_for_stand_in_full_in_their_places() -> None:
    evidence = answered(agent(model([2, 7, "x", 2])))
    assert evidence.turns == ("d3", "d4")
    assert evidence.text.splitlines() == [
        "Page 1: [2023-05-07] of boats",
        "Page 2, in full:",
        "[2023-05-08]",
        "Nora: The harbour master wants the mooring fee by Friday.",
        "Ilya: I paid the mooring fee this morning, two hundred crowns.",
        "Page 3: [2023-06-15] of honey",
    ]


def test_pages_still_to_come_are_unknown() -> None:
    evidence = answered(agent(model([3])), question=EARLY)
    assert "honey" not in evidence.text
    assert evidence.turns == ()


def test_what_has_no_room_stays_a_gist() -> None:
    evidence = answered(agent(model([2])), Budget(10, 75))
    assert is_within(evidence, 75)
    assert evidence.turns == ()
    assert "Page 2: " in evidence.text


def test_under_a_narrow_budget_the_oldest_gists_go_first() -> None:
    evidence = answered(agent(model([])), Budget(10, 25))
    assert is_within(evidence, 25)
    assert evidence.text == "Page 3: [2023-06-15] of honey"
