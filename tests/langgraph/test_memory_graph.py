"""The formation graph as a node of another graph."""

import logging
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from typing_extensions import TypedDict

from amem_integrations import AgenticMemory, Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.langgraph import create_memory_graph
from amem_integrations.testing import ScriptedChatModel
from tests.langgraph.support import ASKED, CALVIN, TOLD, USERS, answers, config, said
from tests.support import EMBEDDER, chat_model, io_of, open_memory, wiring_of

PAINTED = "I had it painted green in Bern."


@pytest.fixture
def judge() -> ScriptedChatModel:
    return chat_model()


@pytest.fixture
def memory(judge: ScriptedChatModel) -> Iterator[AgenticMemory]:
    with open_memory(model=judge, formation="off") as memory:
        yield memory


class Chat(MessagesState, total=False):
    notes: str
    namespace: str


def chat(memory: AgenticMemory, model: Any, **settings: Any) -> Any:
    """A model, and the memory after it, with state of its own that has the same names."""

    def answer(state: Chat) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])], "notes": "mine", "namespace": "mine"}

    builder = StateGraph(Chat)
    builder.add_node("answer", answer)
    builder.add_node("memory", create_memory_graph(memory, namespace=USERS, **settings))
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "memory")
    return builder.compile(checkpointer=InMemorySaver())


def test_the_last_turn_is_remembered_and_formed(
    memory: AgenticMemory, judge: ScriptedChatModel
) -> None:
    graph = chat(memory, answers(PAINTED))
    done = graph.invoke(said(TOLD), config("calvin", "monday"))
    answer, told = memory.recent(namespace=CALVIN)
    assert (told.content, told.speaker, told.source) == (TOLD, "user", "user")
    assert told.session == "monday"
    assert (answer.content, answer.source) == (PAINTED, "assistant")
    assert told.status is answer.status is Status.FORMED
    assert answer.links
    assert len(judge.calls) == 2
    assert done["notes"] == done["namespace"] == "mine"
    assert [message.text for message in done["messages"]] == [TOLD, PAINTED]
    # Earlier turns of the thread are left alone.
    memory.admin.forget_namespace(CALVIN)
    graph.invoke(said(ASKED), config("calvin", "monday"))
    assert {note.content for note in memory.recent(namespace=CALVIN)} == {ASKED, PAINTED}
    # The question is kept, but not formed.
    assert len(judge.calls) == 3


def test_the_same_messages_are_the_same_notes_and_no_user_no_note(
    memory: AgenticMemory, judge: ScriptedChatModel
) -> None:
    graph = create_memory_graph(memory, namespace="calvin")
    turn = {"messages": [HumanMessage(TOLD, id="1"), AIMessage(PAINTED, id="2")]}
    for _ in range(2):
        graph.invoke(turn)
    graph.invoke({"messages": [AIMessage("Hello.")]})
    assert memory.count("calvin") == 2
    assert len(judge.calls) == 2


def test_its_messages_may_have_another_name(memory: AgenticMemory) -> None:
    class Talk(TypedDict):
        talk: Annotated[list[AnyMessage], add_messages]

    builder = StateGraph(Talk)
    graph = create_memory_graph(memory, namespace="calvin", messages_key="talk")
    builder.add_node("memory", graph)
    builder.add_edge(START, "memory")
    builder.compile().invoke({"talk": [HumanMessage(TOLD)]})
    assert [note.content for note in memory.recent(namespace="calvin")] == [TOLD]


def test_its_steps_can_be_drawn_and_streamed(memory: AgenticMemory) -> None:
    graph = chat(memory, answers("Fine."))
    drawn = set(graph.get_graph(xray=True).nodes)
    assert {"memory:accept_messages", "memory:formation:judge", "memory:formation:commit"} < drawn
    streamed = list(
        graph.stream(
            said(TOLD),
            config("calvin", "monday"),
            stream_mode=["updates", "messages"],
            subgraphs=True,
        )
    )
    steps = [step for _, mode, part in streamed if mode == "updates" for step in part]
    inner = ["accept_messages", "accept", "candidates", "judge", "commit", "formation"]
    assert steps == ["answer", *inner, "memory"]
    # Its own model calls are not in the stream of tokens.
    tokens = "".join(part[0].text for _, mode, part in streamed if mode == "messages")
    assert "keywords" not in tokens


def test_a_missing_user_fails(memory: AgenticMemory) -> None:
    thread: Any = {"configurable": {"thread_id": "monday"}}
    with pytest.raises(InvalidInputError, match="user_id"):
        chat(memory, answers("Fine.")).invoke(said(TOLD), thread)
    assert memory.count() == 0


@pytest.mark.parametrize("mode", ["fused", "staged"])
def test_a_run_that_was_killed_goes_on_where_it_was(mode: Any) -> None:
    """Killed before the commit: no second note, no second call for what was judged."""
    judge = chat_model()
    with open_memory(model=judge, formation="off", mode=mode) as memory:
        graph = chat(memory, answers(PAINTED))
        thread = config("calvin", "monday")
        commit = type(io_of(memory).engine).commit

        async def killed(*_: Any, **__: Any) -> Any:
            raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(io_of(memory).engine), "commit", killed)
            with pytest.raises(KeyboardInterrupt):
                graph.invoke(said(TOLD), thread, durability="sync")
        assert type(io_of(memory).engine).commit is commit
        asked = len(judge.calls)
        assert asked >= 2
        assert {note.status for note in memory.recent(namespace=CALVIN)} == {Status.RAW}
        graph.invoke(None, thread, durability="sync")
        assert len(judge.calls) == asked
        assert {note.status for note in memory.recent(namespace=CALVIN)} == {Status.FORMED}
        assert memory.count(CALVIN) == 2


async def test_a_review_stops_before_the_commit_and_goes_on_with_the_answer(
    judge: ScriptedChatModel,
) -> None:
    async with await AgenticMemory.aopen(embedder=EMBEDDER, model=judge, formation="off") as memory:
        graph = chat(memory, answers(PAINTED), review=True)
        thread = config("calvin", "monday")
        stopped = await graph.ainvoke(said(TOLD), thread)
        proposed = stopped["__interrupt__"][0].value
        told, answer = (note.id for note in (await memory.arecent(namespace=CALVIN))[::-1])
        assert set(proposed) == {told, answer}
        assert proposed[told]["understanding"]["keywords"]
        await graph.ainvoke(Command(resume={told: True, answer: False}), thread)
        statuses = {note.id: note.status for note in await memory.arecent(namespace=CALVIN)}
        assert statuses == {told: Status.FORMED, answer: Status.PARKED}
        assert len(judge.calls) == 2


async def test_a_memory_that_is_down_does_not_fail_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory = await AgenticMemory.aopen(embedder=EMBEDDER, formation="off")
    graph = chat(memory, answers("Fine."))
    await memory.aclose()
    with caplog.at_level(logging.INFO):
        done = await graph.ainvoke(said(TOLD), config("calvin", "monday"))
    assert done["messages"][-1].text == "Fine."
    assert "boat" not in caplog.text
    assert wiring_of(memory).settings.ledger.events()["langgraph.remember.failed"] == 1


def test_a_memory_that_goes_down_on_the_way_does_not_fail_the_run() -> None:
    def leaving(text: str, candidates: Any) -> Any:
        memory.close()
        raise TimeoutError("down")

    memory = open_memory(model=chat_model(leaving), formation="off")
    graph = chat(memory, answers("Fine."))
    done = graph.invoke(said(TOLD), config("calvin", "monday"))
    assert done["messages"][-1].text == "Fine."
    assert wiring_of(memory).settings.ledger.events()["langgraph.formation.failed"] == 1


@pytest.mark.parametrize(
    ("remember", "formed"),
    [("user", [TOLD]), ("both", [TOLD]), ("all", ["Susie, a boat.", TOLD])],
)
def test_what_is_remembered_of_a_turn_can_be_said(
    memory: AgenticMemory, remember: Any, formed: list[str]
) -> None:
    chat(memory, answers("Susie, a boat."), remember=remember).invoke(
        said(TOLD), config("calvin", "monday")
    )
    notes = memory.recent(namespace=CALVIN)
    assert [note.content for note in notes if note.status is Status.FORMED] == formed
    assert len(notes) == (1 if remember == "user" else 2)
