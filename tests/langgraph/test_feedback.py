"""What an agent's answer made use of is reported, where the memory keeps notes by their use."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent

from amem_integrations import AgenticMemory
from amem_integrations.core.filters import match
from amem_integrations.core.io import run
from amem_integrations.errors import StoreWriteError
from amem_integrations.langgraph import AMemMiddleware
from amem_integrations.stores.uses import all_uses
from tests.langgraph.agents import answers, config, said
from tests.support import io_of, open_memory

CALVIN = ("users", "calvin")
LESSON = "The violin lesson with Rosalyn is on Tuesday morning"
RENT = "The rent for the flat goes to Moe by bank transfer"
ASKED = "When do I have to be where?"


@pytest.fixture(scope="module")
def memory() -> Iterator[AgenticMemory]:
    with open_memory(formation="off", lifecycle=True) as memory:
        memory.add_many([LESSON, RENT], namespace=CALVIN)
        yield memory


@pytest.fixture
def forgetful(memory: AgenticMemory) -> Iterator[AgenticMemory]:
    """As it was before anything was reported."""
    yield memory
    run(io_of(memory).engine.delete(match("kind", "use")))


def agent(memory: AgenticMemory, *replies: str) -> Any:
    middleware = AMemMiddleware(memory, namespace=("users", "{user_id}"), write="off", tools=False)
    return create_agent(answers(*replies), [], middleware=[middleware])


def reported(memory: AgenticMemory) -> list[tuple[list[str], str | None]]:
    """The texts of the notes of each report, and its session."""
    texts = {note.id: note.content for note in memory.recent(namespace=CALVIN)}
    uses = run(all_uses(io_of(memory), CALVIN))
    return [([texts[id] for id in use.notes], use.session) for use in uses]


def test_the_notes_that_an_answer_used_are_reported(forgetful: AgenticMemory) -> None:
    chat = agent(forgetful, "On Tuesday morning you play the violin.")
    chat.invoke(said(ASKED), config("calvin", "monday"))
    assert reported(forgetful) == [([LESSON], "monday")]


async def test_the_notes_that_an_answer_used_are_reported_async(forgetful: AgenticMemory) -> None:
    chat = agent(forgetful, "On Tuesday morning you play the violin.")
    await chat.ainvoke(said(ASKED), config("calvin", "monday"))
    assert reported(forgetful) == [([LESSON], "monday")]


def test_an_answer_that_uses_no_note_reports_nothing(forgetful: AgenticMemory) -> None:
    agent(forgetful, "I do not know.").invoke(said(ASKED), config("calvin", "monday"))
    assert reported(forgetful) == []


def test_an_answer_is_not_held_up_by_a_report_that_fails(
    forgetful: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise StoreWriteError("The disk is full.")

    monkeypatch.setattr("amem_integrations.lifecycle.feedback.save_use", full)
    chat = agent(forgetful, "On Tuesday morning you play the violin.")
    state = chat.invoke(said(ASKED), config("calvin", "monday"))
    assert "violin" in state["messages"][-1].text
    assert forgetful.admin.health()["langgraph.feedback.failed"] == 1


def test_without_a_policy_nothing_is_reported() -> None:
    with open_memory(formation="off") as memory:
        memory.add(LESSON, namespace=CALVIN)
        agent(memory, "On Tuesday morning you play the violin.").invoke(
            said(ASKED), config("calvin", "monday")
        )
        assert reported(memory) == []
