"""Generative agents: how memories are ranked, and when and on what they reflect."""

from datetime import timedelta
from typing import Any

import pytest

from amem_integrations.evaluation.qa.system import Budget
from amem_integrations.evaluation.qa.systems.generative_agents import GenerativeAgents, Memory
from tests.evaluation.qa.systems.support import EARLY, START, Scripted, answered, is_within, means

INSIGHT = {"text": "Ilya helps Nora with her boat.", "because_of": [1, 2], "importance": 9}


def model(ratings: list[Any], insights: list[Any] | None = None) -> Scripted:
    return Scripted(
        agents_importance={"ratings": ratings},
        agents_questions={"questions": ["How do they get on?"]},
        agents_insights={"insights": [INSIGHT] if insights is None else insights},
    )


def test_recency_falls_by_half_a_percent_an_hour() -> None:
    memory = Memory("text", START, 1.0)
    assert memory.recency(START + timedelta(hours=2)) == pytest.approx(0.995**2)
    memory.accessed.append(START + timedelta(hours=1))
    assert memory.recency(START + timedelta(hours=2)) == pytest.approx(0.995)
    assert memory.recency(None) == 1.0


def test_recency_importance_and_relevance_count_alike() -> None:
    flat = answered(GenerativeAgents(means(model([1] * 6))), Budget(k=6))
    vital = answered(GenerativeAgents(means(model([10, 1, 1, 1, 1, 1]))), Budget(k=6))
    # The oldest, with hardly a word of the question.
    assert flat.turns.index("d1") > vital.turns.index("d1")


def test_the_latest_come_first_though_they_are_not_relevant() -> None:
    made = GenerativeAgents(means(model([1] * 6)))
    assert {"d5", "d6"} < set(answered(made, Budget(k=3)).turns)


def test_a_model_that_loses_count_rates_the_rest_as_mundane() -> None:
    made = GenerativeAgents(means(model([99, "x"])))
    assert len(answered(made).turns) == 6


def test_little_importance_brings_no_reflection() -> None:
    scripted = model([2] * 6)
    answered(GenerativeAgents(means(scripted)))
    assert scripted.steps() == ["agents-importance"]


def test_much_importance_brings_reflections_which_are_found_and_count_as_no_turn() -> None:
    scripted = model([5] * 6)
    evidence = answered(GenerativeAgents(means(scripted), reflect_at=30))
    assert scripted.steps() == ["agents-importance", "agents-questions", "agents-insights"]
    assert "[2023-06-15] (reflection) Ilya helps Nora with her boat." in evidence.text
    assert len(evidence.turns) == 6


def test_insights_of_no_use_are_passed_over() -> None:
    made = GenerativeAgents(means(model([5] * 6, ["x", {"text": " "}])), reflect_at=30)
    assert "(reflection)" not in answered(made).text


def test_neither_turns_nor_reflections_still_to_come_are_known() -> None:
    evidence = answered(GenerativeAgents(means(model([5] * 6)), reflect_at=30), question=EARLY)
    assert set(evidence.turns) == {"d1", "d2", "d3", "d4"}
    assert "(reflection)" not in evidence.text


def test_a_token_budget_is_kept() -> None:
    assert is_within(answered(GenerativeAgents(means(model([5] * 6))), Budget(10, 60)), 60)
