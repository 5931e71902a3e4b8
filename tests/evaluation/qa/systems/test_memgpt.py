"""MemGPT: what stays in the context, what is summed up, and what the model's calls bring back."""

from collections.abc import Mapping
from typing import Any

from amem_integrations.core.analysis import ChatRequest
from amem_integrations.evaluation.qa.system import Budget
from amem_integrations.evaluation.qa.systems.memgpt import MemGPT
from tests.evaluation.qa.systems.support import EARLY, Scripted, answered, is_within, means

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
