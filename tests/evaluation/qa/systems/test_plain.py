"""Everything, nothing, and two ways to search plain turns."""

import pytest

from amem_integrations.evaluation.qa.system import Budget
from amem_integrations.evaluation.qa.systems import SYSTEMS
from tests.evaluation.qa.systems.support import (
    BUDGET,
    EARLY,
    SAID,
    TALK,
    answered,
    is_within,
    means,
)


def test_nothing_shows_nothing() -> None:
    evidence = answered(SYSTEMS["nothing"](means()))
    assert (evidence.text, evidence.turns) == ("", ())


def test_full_context_shows_every_turn_under_its_date_whatever_the_budget() -> None:
    evidence = answered(SYSTEMS["full-context"](means()), Budget(k=1, tokens=5))
    assert evidence.turns == tuple(each[0] for each in SAID)
    lines = evidence.text.splitlines()
    assert [line for line in lines if line.startswith("[")] == [
        "[2023-05-07]",
        "[2023-05-08]",
        "[2023-06-15]",
    ]
    assert lines[1] == "Nora: The sloop needs a new mainsail before the regatta in June."
    assert len(lines) == 3 + len(SAID)


@pytest.mark.parametrize("name", ["full-context", "dense", "bm25", "amem-raw", "memorybank"])
def test_what_was_said_after_the_question_is_not_shown(name: str) -> None:
    evidence = answered(SYSTEMS[name](means()), question=EARLY)
    assert "d4" in evidence.turns
    assert not {"d5", "d6"} & set(evidence.turns)
    assert "honey" not in evidence.text.lower()


@pytest.mark.parametrize("name", ["dense", "bm25"])
def test_the_best_turns_are_shown_in_the_order_in_which_they_were_said(name: str) -> None:
    evidence = answered(SYSTEMS[name](means()), Budget(k=2))
    assert set(evidence.turns) == {"d3", "d4"}
    assert evidence.text.splitlines() == [
        "[2023-05-08] Nora: The harbour master wants the mooring fee by Friday.",
        "[2023-05-08] Ilya: I paid the mooring fee this morning, two hundred crowns.",
    ]


@pytest.mark.parametrize("name", ["dense", "bm25", "amem-raw", "memorybank"])
@pytest.mark.parametrize("tokens", [0, 40, 90])
def test_a_token_budget_is_kept(name: str, tokens: int) -> None:
    assert is_within(answered(SYSTEMS[name](means()), Budget(10, tokens)), tokens)


def test_bm25_finds_no_turn_without_a_word_of_the_question() -> None:
    evidence = answered(SYSTEMS["bm25"](means()))
    assert "d5" not in evidence.turns


@pytest.mark.parametrize("name", ["nothing", "full-context", "dense", "bm25", "memorybank"])
def test_no_model_call_is_expected_without_a_model(name: str) -> None:
    cost = SYSTEMS[name](means()).cost(TALK, BUDGET)
    assert (cost.calls, cost.tokens_in, cost.tokens_out) == (0, 0, 0)


def test_the_expected_evidence_of_the_full_context_is_what_it_shows() -> None:
    system = SYSTEMS["full-context"](means())
    assert is_within(answered(system), system.cost(TALK, BUDGET).evidence)
