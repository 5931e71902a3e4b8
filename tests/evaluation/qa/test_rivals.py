"""MemoryBank, ReadAgent and MemGPT: what they forget, sum up, and read again."""

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from amem_integrations.core.analysis import ChatRequest
from amem_integrations.evaluation.dataset import Conversation
from amem_integrations.evaluation.qa.memgpt import MemGPT
from amem_integrations.evaluation.qa.summaries import Piece, ReadAgent
from amem_integrations.evaluation.qa.system import Budget
from amem_integrations.evaluation.qa.systems import SYSTEMS
from tests.evaluation.qa.samples import EARLY, START, TALK, Scripted, answered, is_within, means

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("recalls", "days", "kept"),
    [([], 0, 1.0), ([], 1, math.exp(-1)), ([1], 3, math.exp(-2 / 2)), ([9], 1, math.exp(-1))],
)
def test_retention_falls_by_e_a_day_slower_after_each_recall(
    recalls: list[int], days: int, kept: float
) -> None:
    recalled = Piece("text", START, None, 0.0, [START + day * DAY for day in recalls])
    assert recalled.retention(START + days * DAY) == pytest.approx(kept)


def test_a_piece_is_forgotten_below_its_draw_and_never_without_a_time() -> None:
    tomorrow = START + DAY
    assert Piece("text", START, None, 0.3).is_kept(tomorrow)
    assert not Piece("text", START, None, 0.4).is_kept(tomorrow)
    assert Piece("text", None, None, 0.99).is_kept(tomorrow)
    assert Piece("text", START, None, 0.99).is_kept(None)


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


@pytest.mark.parametrize(
    ("tokens", "shown"), [(75, "Page 2: "), (25, "Page 3: [2023-06-15] of honey")]
)
def test_a_budget_leaves_gists_and_gives_up_the_oldest(tokens: int, shown: str) -> None:
    evidence = answered(agent(model([2])), Budget(10, tokens))
    assert is_within(evidence, tokens)
    assert evidence.turns == ()
    assert shown in evidence.text
    assert ("Page 1" in evidence.text) is (tokens == 75)


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
    scripted = Scripted(memgpt_flush=FLUSH, memgpt_call=calls)
    return MemGPT(means(scripted), window=window, steps=steps), scripted


def test_a_talk_that_fits_stays_in_the_queue() -> None:
    made, scripted = system(Calls(), window=4000)
    evidence = answered(made)
    assert scripted.steps() == ["memgpt-call"]
    assert set(evidence.turns) == {"d1", "d2", "d3", "d4", "d5", "d6"}


def test_beyond_the_window_the_oldest_become_a_summary_and_working_context() -> None:
    made, scripted = system(Calls())
    evidence = answered(made)
    assert "memgpt-flush" in scripted.steps()
    assert evidence.text.splitlines()[:3] == [
        "Summary of earlier talk: They spoke of boats.",
        "Working context: Ilya can sew.",
        "Working context: Nora sails.",
    ]
    assert "d6" in evidence.turns
    assert "d1" not in evidence.turns


def test_a_flush_is_shown_the_summary_before_it() -> None:
    made, scripted = system(Calls(), window=70)
    answered(made)
    flushes = [each for each in scripted.asked if each.step == "memgpt-flush"]
    assert len(flushes) > 1
    assert "They spoke of boats." in flushes[-1].messages[1].content


def test_a_search_brings_back_what_was_evicted() -> None:
    made, scripted = system(Calls(search("mooring fee")))
    evidence = answered(made)
    assert scripted.steps()[-2:] == ["memgpt-call"] * 2
    assert evidence.turns[0] in {"d3", "d4"}
    assert "mooring fee" in scripted.asked[-1].messages[1].content


def test_a_page_beyond_the_last_brings_nothing() -> None:
    made, _ = system(Calls(search("mooring fee", page=9)))
    assert "d3" not in answered(made).turns


def test_the_calls_for_a_question_are_bounded() -> None:
    made, scripted = system(lambda request: search("mooring fee"), steps=3)
    answered(made)
    assert scripted.steps().count("memgpt-call") == 3


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
