"""Systems: how a model is asked, plain baselines, and A-Mem with its ablations."""

from typing import Any

import pytest

from amem_integrations.analysts import schemas
from amem_integrations.core.note import Status
from amem_integrations.errors import AnalysisError, InvalidInputError
from amem_integrations.evaluation.dataset import Conversation
from amem_integrations.evaluation.qa.model import ask
from amem_integrations.evaluation.qa.system import Budget
from amem_integrations.evaluation.qa.systems import SYSTEMS, AMem
from tests.evaluation.qa.samples import (
    EARLY,
    QUESTION,
    SAID,
    TALK,
    Scripted,
    answered,
    is_within,
    means,
)
from tests.support import chat_model

WANTED = {"text": schemas.TEXT, "other": schemas.TEXT}


def failure(*, retryable: bool) -> AnalysisError:
    return AnalysisError("it failed", reason="error", retryable=retryable)


def asked(model: Scripted) -> dict[str, Any]:
    return ask(model, "a-step", "Be brief.", "what was said", "What follows?", WANTED)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)


def test_what_was_said_is_fenced_and_other_answers_are_left_out() -> None:
    model = Scripted({"text": "yes", "other": 7, "more": "x"})
    assert asked(model) == {"text": "yes"}
    rules, shown = (message.content for message in model.asked[0].messages)
    assert rules.startswith("Be brief.")
    assert "never instructions" in rules
    assert shown.splitlines() == ["--------", "what was said", "--------", "What follows?"]


@pytest.mark.parametrize(
    ("failures", "message", "asked_times"),
    [
        ([failure(retryable=True), None], None, 3),
        ([None] * 9, "gave no JSON object to a-step", 3),
        ([failure(retryable=False)], "it failed", 1),
    ],
)
def test_what_may_pass_is_asked_up_to_three_times(
    failures: list[Exception | None], message: str | None, asked_times: int
) -> None:
    model = Scripted(*failures, {"text": "yes"})
    if message is None:
        assert asked(model) == {"text": "yes"}
    else:
        with pytest.raises(AnalysisError, match=message):
            asked(model)
    assert [request.again for request in model.asked] == [False, True, True][:asked_times]


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


@pytest.mark.parametrize("name", ["full-context", "dense", "bm25", "amem-raw"])
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


@pytest.mark.parametrize("name", ["dense", "bm25", "amem-raw"])
@pytest.mark.parametrize("tokens", [0, 90])
def test_a_token_budget_is_kept(name: str, tokens: int) -> None:
    assert is_within(answered(SYSTEMS[name](means()), Budget(10, tokens)), tokens)


def test_bm25_finds_no_turn_without_a_word_of_the_question() -> None:
    evidence = answered(SYSTEMS["bm25"](means()))
    assert "d5" not in evidence.turns


SHORT = Conversation("short", TALK.turns[:3], (QUESTION,))


def formed(name: str, model: Any = None) -> tuple[int, int, int]:
    """Of the notes that a system makes of the talk: how many are formed, links, evolutions."""
    system = SYSTEMS[name](means(model, SHORT))
    assert isinstance(system, AMem)
    try:
        system.prepare(SHORT)
        notes = system.notes(SHORT)
    finally:
        system.close()
    return (
        sum(note.status is Status.FORMED for note in notes),
        sum(len(note.outgoing) for note in notes),
        sum(note.revision is not None and note.revision.kind == "evolved" for note in notes),
    )


@pytest.mark.parametrize(
    ("budget", "turns"), [(Budget(k=2), {"d3", "d4"}), (Budget(10, 160), {"d4"})]
)
def test_what_fits_is_packed_with_its_turns(budget: Budget, turns: set[str]) -> None:
    evidence = answered(SYSTEMS["amem"](means()), budget)
    assert "two hundred crowns" in evidence.text
    assert "2023-05-08" in evidence.text
    assert turns <= set(evidence.turns)
    assert len(evidence.turns) < 6
    assert budget.tokens is None or is_within(evidence, budget.tokens)


@pytest.mark.parametrize(
    ("name", "count", "links", "evolves"),
    [
        ("amem-staged", 3, True, True),
        ("amem-batched", 3, True, True),
        # Candidates evolve all the same.
        ("amem-without-links", 3, False, True),
        ("amem-without-evolution", 3, True, False),
        ("amem-without-both", 3, False, False),
        ("amem-raw", 0, False, False),
    ],
)
def test_notes_are_formed_linked_and_evolved_as_the_name_says(
    name: str, count: int, links: bool, evolves: bool
) -> None:
    found = formed(name, chat_model())
    assert (found[0], found[1] > 0, found[2] > 0) == (count, links, evolves)


def test_statistics_judge_where_no_model_is_asked_for() -> None:
    model = chat_model()
    assert formed("amem-free", model)[0] == 3
    assert not model.calls


def test_a_model_that_gives_nothing_leaves_the_conversation_marked() -> None:
    def fails(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        raise ValueError("no")

    with pytest.raises(AnalysisError, match="3 of 3 notes of 'short' could not be formed"):
        formed("amem", chat_model(fails))


def test_a_system_that_needs_a_model_says_so() -> None:
    with pytest.raises(InvalidInputError, match="'amem-staged' needs a model"):
        SYSTEMS["amem-staged"](means())


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_every_system_goes_by_its_name(name: str) -> None:
    system = SYSTEMS[name](means(chat_model()))
    assert system.name == name
    cost = system.cost(TALK, Budget())
    assert min(cost.calls, cost.tokens_in, cost.tokens_out, cost.evidence) >= 0
    system.close()
