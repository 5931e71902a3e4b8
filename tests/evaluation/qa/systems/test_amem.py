"""A-Mem in the table: how notes are formed, what is packed, and what the ablations leave out."""

from typing import Any

import pytest

from amem_integrations.core.note import Status
from amem_integrations.errors import AnalysisError, InvalidInputError
from amem_integrations.evaluation.dataset import Conversation
from amem_integrations.evaluation.qa.system import Budget
from amem_integrations.evaluation.qa.systems import SYSTEMS
from amem_integrations.evaluation.qa.systems.amem import AMem
from tests.evaluation.qa.systems.support import QUESTION, TALK, answered, is_within, means
from tests.support import chat_model

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


def test_what_is_found_is_packed_with_its_turns() -> None:
    evidence = answered(SYSTEMS["amem"](means()), Budget(k=2))
    assert "two hundred crowns" in evidence.text
    assert "2023-05-08" in evidence.text
    assert set(evidence.turns) == {"d3", "d4"}


def test_only_turns_that_fit_are_named() -> None:
    evidence = answered(SYSTEMS["amem"](means()), Budget(10, 300))
    assert is_within(evidence, 300)
    assert 0 < len(evidence.turns) < 6


@pytest.mark.parametrize("name", ["amem", "amem-staged", "amem-batched"])
def test_a_model_forms_links_and_evolves(name: str) -> None:
    count, links, evolutions = formed(name, chat_model())
    assert count == 3
    assert links
    assert evolutions


def test_without_links_candidates_evolve_all_the_same() -> None:
    count, links, evolutions = formed("amem-without-links", chat_model())
    assert (count, links) == (3, 0)
    assert evolutions


def test_without_evolution_there_are_links() -> None:
    count, links, evolutions = formed("amem-without-evolution", chat_model())
    assert (count, evolutions) == (3, 0)
    assert links


def test_without_both_notes_are_understood_and_no_more() -> None:
    assert formed("amem-without-both", chat_model()) == (3, 0, 0)


def test_raw_notes_stay_raw() -> None:
    assert formed("amem-raw") == (0, 0, 0)


def test_statistics_judge_where_no_model_is_asked_for() -> None:
    model = chat_model()
    assert formed("amem-free", model)[0] == 3
    assert not model.calls


def test_a_model_that_gives_nothing_leaves_the_conversation_marked() -> None:
    def fails(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        raise ValueError("no")

    with pytest.raises(AnalysisError, match="3 of 3 notes of 'short' could not be formed"):
        formed("amem", chat_model(fails))


@pytest.mark.parametrize("name", ["amem-staged", "readagent", "memgpt", "generative-agents"])
def test_a_system_that_needs_a_model_says_so(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{name}' needs a model, which .*--model"):
        SYSTEMS[name](means())


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_every_system_goes_by_its_name(name: str) -> None:
    system = SYSTEMS[name](means(chat_model() if name.startswith("amem") else _Silent()))
    assert system.name == name
    cost = system.cost(TALK, Budget())
    assert min(cost.calls, cost.tokens_in, cost.tokens_out, cost.evidence) >= 0
    system.close()


class _Silent:
    name = "silent"
    complete = acomplete = print
