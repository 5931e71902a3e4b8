"""What an agent with AMemMiddleware can be told: its tools, its user, reviews, and feedback."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.types import Command

from amem_integrations import AgenticMemory, Status
from amem_integrations.core.filters import match
from amem_integrations.core.io import run
from amem_integrations.errors import InvalidInputError, StoreWriteError
from amem_integrations.langgraph import AMemMiddleware
from amem_integrations.stores.uses import all_uses
from tests.langgraph.support import (
    ASKED,
    CALVIN,
    TOLD,
    USERS,
    agent,
    answers,
    call_tool,
    config,
    said,
    system_text,
    texts,
)
from tests.support import chat_model, io_of, open_memory

# -- tools -------------------------------------------------------------------------------------


def test_the_agent_can_search_and_manage_its_memory(raw_memory: AgenticMemory) -> None:
    model = answers(
        call_tool("manage_memory", content="Calvin's boat is Susie", action="create"),
        "Noted.",
        call_tool("search_memory", query="boat"),
        "It is Susie.",
    )
    chat = agent(raw_memory, model, write="off")
    chat.invoke(said("Remember my boat, Susie"), config("calvin", "one"))
    done = chat.invoke(said("Search for my boat"), config("calvin", "two"))
    assert "Calvin's boat is Susie" in done["messages"][-2].content
    assert texts(raw_memory) == ["Calvin's boat is Susie"]
    offered = [tool["function"]["name"] for tool in model.calls[0].kwargs["tools"]]
    assert offered == ["search_memory", "manage_memory"]
    plain = answers("Fine.")
    agent(raw_memory, plain, tools=(), namespace="calvin").invoke(
        said(TOLD), config("calvin", "one")
    )
    without = AMemMiddleware(raw_memory, namespace="calvin", tools=False)
    create_agent(plain, [], middleware=[without]).invoke(said(TOLD))
    assert ["tools" in call.kwargs for call in plain.calls] == [True, False]


def test_a_model_that_cannot_call_tools_is_offered_only_those_of_others(
    raw_memory: AgenticMemory, caplog: pytest.LogCaptureFixture
) -> None:
    replies = [AIMessage("Noted."), AIMessage("Susie.")]
    chat = agent(raw_memory, GenericFakeChatModel(messages=iter(replies)))
    for text in (TOLD, ASKED):
        chat.invoke(said(text), config("calvin", text))
    assert texts(raw_memory) == [TOLD, "Noted.", ASKED, "Susie."]
    [warning] = [each for each in caplog.messages if "cannot call tools" in each]
    assert "GenericFakeChatModel" in warning
    assert "tools=False" in warning

    def clock() -> str:
        """The time."""
        return "noon"

    chat = agent(raw_memory, GenericFakeChatModel(messages=iter(replies)), tools=[clock])
    with pytest.raises(NotImplementedError):
        chat.invoke(said(TOLD), config("calvin", "one"))


def test_an_agent_takes_a_middleware_for_the_user_and_one_for_the_team(
    raw_memory: AgenticMemory,
) -> None:
    model = answers(call_tool("manage_team", content="The team ships on Mondays"), "Noted.")
    user = AMemMiddleware(raw_memory, namespace=USERS)
    team = AMemMiddleware(raw_memory, namespace="sales", name="team", write="off")
    quiet = AMemMiddleware(raw_memory, namespace=lambda run: "all", tools=False, write="off")
    raw_memory.add("The team meets at noon", namespace="sales")
    chat = create_agent(model, [], middleware=[user, team, quiet])
    chat.invoke(said("When does the team ship?"), config("calvin", "one"))
    names = ["search_memory", "manage_memory", "search_team", "manage_team"]
    tools = [tool["function"] for tool in model.calls[0].kwargs["tools"]]
    assert [tool["name"] for tool in tools] == names
    assert "manage_team" in tools[2]["description"]
    assert "The team meets at noon" in system_text(model.calls[0].messages)
    assert raw_memory.count("sales") == 2
    assert texts(raw_memory) == ["When does the team ship?", "Noted."]
    chat.get_graph().draw_mermaid()


@pytest.mark.parametrize("name", ["two words", "", "ö", "x" * 51])
def test_a_name_that_no_tool_may_have_is_refused(raw_memory: AgenticMemory, name: str) -> None:
    with pytest.raises(InvalidInputError, match="name"):
        AMemMiddleware(raw_memory, namespace="calvin", name=name)


async def test_two_tools_of_one_name_are_refused_before_a_model_is_asked(
    raw_memory: AgenticMemory,
) -> None:
    model = answers("Fine.")
    both = [AMemMiddleware(raw_memory, namespace=label) for label in ("calvin", "sales")]
    chat = create_agent(model, [], middleware=both)
    with pytest.raises(InvalidInputError, match="name="):
        chat.invoke(said(TOLD))
    with pytest.raises(InvalidInputError, match="name="):
        await chat.ainvoke(said(TOLD))
    assert model.calls == []


# -- the user ----------------------------------------------------------------------------------


@dataclass
class Context:
    user_id: str


@pytest.mark.parametrize("namespace", [USERS, lambda run: ("users", run.context.user_id)])
def test_the_context_of_the_run_may_name_the_user(
    raw_memory: AgenticMemory, namespace: Any
) -> None:
    chat = agent(raw_memory, answers("Fine."), namespace=namespace, context_schema=Context)
    thread: Any = {"configurable": {"thread_id": "one"}}
    chat.invoke(said(TOLD), thread, context=Context("calvin"))
    assert raw_memory.count(CALVIN) == 2


async def test_without_a_user_no_model_is_asked(raw_memory: AgenticMemory) -> None:
    model = answers("Fine.")
    chat = agent(raw_memory, model)
    thread: Any = {"configurable": {"thread_id": "one"}}
    with pytest.raises(InvalidInputError, match="user_id"):
        chat.invoke(said(TOLD), thread)
    with pytest.raises(InvalidInputError, match="user_id"):
        await chat.ainvoke(said(TOLD), thread)
    assert model.calls == []
    assert raw_memory.count() == 0


# -- review and arguments ----------------------------------------------------------------------


@pytest.mark.parametrize("approved", [True, False])
def test_a_review_stops_before_the_commit(approved: bool) -> None:
    judge = chat_model()
    with open_memory(model=judge, formation="off") as memory:
        chat = agent(memory, answers("I had it painted green."), write="after_agent", review=True)
        thread = config("calvin", "one")
        stopped = chat.invoke(said(TOLD), thread)
        [question] = stopped["__interrupt__"]
        assert len(question.value) == 2
        assert memory.resume() == 0
        assert {note.status for note in memory.recent(namespace=CALVIN)} == {Status.PARKED}
        asked = len(judge.calls)
        done = chat.invoke(Command(resume=approved), thread)
        assert done["messages"][-1].text == "I had it painted green."
        assert len(judge.calls) == asked
        status = Status.FORMED if approved else Status.PARKED
        assert {note.status for note in memory.recent(namespace=CALVIN)} == {status}
        assert memory.count(CALVIN) == 2


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"review": True}, "after_agent"),
        ({"write": "sometimes"}, "write is one of"),
        ({"min_relevance": "high"}, "min_relevance is a number"),
        ({"remember": "me"}, "remember is one of"),
    ],
)
def test_an_invalid_argument_is_refused(
    raw_memory: AgenticMemory, wrong: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        AMemMiddleware(raw_memory, namespace=USERS, **wrong)


# -- feedback ----------------------------------------------------------------------------------

LESSON = "The violin lesson with Rosalyn is on Tuesday morning"
RENT = "The rent for the flat goes to Moe by bank transfer"
WHEN = "When do I have to be where?"
ANSWER = "On Tuesday morning you play the violin."


@pytest.fixture(scope="module")
def learning() -> Iterator[AgenticMemory]:
    with open_memory(formation="off") as memory:
        memory.add_many([LESSON, RENT], namespace=CALVIN)
        yield memory


@pytest.fixture
def lesson(learning: AgenticMemory) -> Iterator[AgenticMemory]:
    yield learning
    run(io_of(learning).engine.delete(match("kind", "use")))


def ask(memory: AgenticMemory, reply: str) -> str:
    """The answer of an agent that only recalls."""
    chat = agent(memory, answers(reply), write="off")
    return chat.invoke(said(WHEN), config("calvin", "monday"))["messages"][-1].text


def reported(memory: AgenticMemory) -> list[tuple[list[str], str | None]]:
    """The texts of the notes of each report, and its session."""
    contents = {note.id: note.content for note in memory.recent(namespace=CALVIN)}
    uses = run(all_uses(io_of(memory), CALVIN))
    return [([contents[id] for id in use.notes], use.session) for use in uses]


def test_the_notes_that_an_answer_used_are_reported(lesson: AgenticMemory) -> None:
    ask(lesson, "I do not know.")
    assert reported(lesson) == []
    ask(lesson, ANSWER)
    assert reported(lesson) == [([LESSON], "monday")]


async def test_the_notes_that_an_answer_used_are_reported_async(lesson: AgenticMemory) -> None:
    await agent(lesson, answers(ANSWER), write="off").ainvoke(
        said(WHEN), config("calvin", "monday")
    )
    assert reported(lesson) == [([LESSON], "monday")]


def test_an_answer_is_not_held_up_by_a_report_that_fails(
    lesson: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise StoreWriteError("The disk is full.")

    monkeypatch.setattr("amem_integrations.lifecycle.feedback.save_use", full)
    assert ask(lesson, ANSWER) == ANSWER
    assert lesson.admin.health()["langgraph.feedback.failed"] == 1


def test_without_a_lifecycle_nothing_is_reported() -> None:
    with open_memory(formation="off", lifecycle=False) as memory:
        memory.add(LESSON, namespace=CALVIN)
        ask(memory, ANSWER)
        assert reported(memory) == []
