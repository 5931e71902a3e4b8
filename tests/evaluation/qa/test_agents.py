"""Generative Agents and MemGPT: what they keep at hand, and what their model brings back."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from amem_integrations.core.analysis import ChatRequest
from amem_integrations.evaluation.qa.system import Budget
from amem_integrations.evaluation.qa.systems.agents import GenerativeAgents, MemGPT, Memory
from tests.evaluation.qa.samples import EARLY, START, Scripted, answered, is_within, means

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


FLUSH = {"summary": "They spoke of boats.", "facts": "Ilya can sew.\n\nNora sails."}


class Calls:
    """The model's calls, one after the other."""

    def __init__(self, *calls: Mapping[str, Any]) -> None:
        self._calls = list(calls)

    def __call__(self, request: ChatRequest) -> Mapping[str, Any]:
        return self._calls.pop(0) if self._calls else {"function": "answer"}


def search(query: str, page: float = 1) -> dict[str, Any]:
    return {"function": "search", "query": query, "page": page}


def system(calls: Any, window: int = 100, steps: int = 5) -> tuple[MemGPT, Scripted]:
    model = Scripted(memgpt_flush=FLUSH, memgpt_call=calls)
    return MemGPT(means(model), window=window, steps=steps), model


def test_a_talk_that_fits_stays_in_the_queue() -> None:
    made, model = system(Calls(), window=4000)
    evidence = answered(made)
    assert model.steps() == ["memgpt-call"]
    assert set(evidence.turns) == {"d1", "d2", "d3", "d4", "d5", "d6"}


def test_beyond_the_window_the_oldest_become_a_summary_and_working_context() -> None:
    made, model = system(Calls())
    evidence = answered(made)
    assert "memgpt-flush" in model.steps()
    assert evidence.text.splitlines()[:3] == [
        "Summary of earlier talk: They spoke of boats.",
        "Working context: Ilya can sew.",
        "Working context: Nora sails.",
    ]
    assert "d6" in evidence.turns
    assert "d1" not in evidence.turns


def test_a_flush_is_shown_the_summary_before_it() -> None:
    made, model = system(Calls(), window=70)
    answered(made)
    flushes = [each for each in model.asked if each.step == "memgpt-flush"]
    assert len(flushes) > 1
    assert "They spoke of boats." in flushes[-1].messages[1].content


def test_a_search_brings_back_what_was_evicted() -> None:
    made, model = system(Calls(search("mooring fee")))
    evidence = answered(made)
    assert model.steps()[-2:] == ["memgpt-call"] * 2
    assert evidence.turns[0] in {"d3", "d4"}
    assert "mooring fee" in model.asked[-1].messages[1].content


def test_a_page_beyond_the_last_brings_nothing() -> None:
    made, _ = system(Calls(search("mooring fee", page=9)))
    assert "d3" not in answered(made).turns


def test_the_calls_for_a_question_are_bounded() -> None:
    made, model = system(lambda request: search("mooring fee"), steps=3)
    answered(made)
    assert model.steps().count("memgpt-call") == 3


def test_a_question_knows_the_context_of_its_time() -> None:
    made, _ = system(Calls(search("honey")))
    evidence = answered(made, question=EARLY)
    assert "honey" not in evidence.text
    assert "d4" in evidence.turns


def test_under_a_token_budget_pages_go_before_the_queue() -> None:
    made, _ = system(Calls(search("mooring fee")))
    evidence = answered(made, Budget(10, 60))
    assert is_within(evidence, 60)
    assert evidence.turns[0] in {"d3", "d4"}
