"""The formation graph as LangGraph users see it."""

import json
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from amem_integrations import Note, Status
from amem_integrations.formation.state import FormationState, initial_state
from tests.support import again, chat_model, judgement, open_memory

STEPS = {
    "fused": ["accept", "candidates", "judge", "commit"],
    "staged": ["accept", "construct", "candidates", "link", "evolve", "commit"],
    "batched": ["accept", "candidates", "judge", "commit"],
}
CONFIG: Any = {"configurable": {"thread_id": "t"}}


@pytest.mark.parametrize("mode", STEPS)
async def test_the_graph_is_drawn_and_streams_its_steps_in_order(mode: Any) -> None:
    with open_memory(mode=mode, model=chat_model()) as memory:
        graph = memory.graph()
        assert list(graph.get_graph().nodes) == ["__start__", *STEPS[mode], "__end__"]
        assert "commit" in graph.get_graph().draw_mermaid()
        one, other = memory.add_many(["The redis cache", "Redis eviction"], formation="off")
        steps = [next(iter(step)) for step in graph.stream(initial_state([one]))]
        awaited = [next(iter(step)) async for step in graph.astream(initial_state([other]))]
        assert steps == awaited == STEPS[mode]
        assert again(memory, other).status is Status.FORMED


@pytest.mark.parametrize(("mode", "calls"), [("fused", 1), ("staged", 3), ("batched", 1)])
def test_calls_of_the_model_a_note(mode: Any, calls: int) -> None:
    model = chat_model()
    with open_memory(mode=mode, model=model) as memory:
        memory.add("The redis cache", namespace="a")
        before = len(model.calls)
        memory.add("The redis eviction policy", namespace="a")
        assert len(model.calls) - before == calls
        usage = memory.usage("a")
        assert usage.total.calls == len(model.calls)
        assert usage.total.tokens_in > 0
        assert memory.usage("b").total.calls == 0


@pytest.mark.parametrize(
    ("switches", "steps"),
    [
        ({"link": False}, {"construct": 2, "evolve": 1}),
        ({"evolve": False}, {"construct": 2, "link": 1}),
        ({"link": False, "evolve": False}, {"construct": 2}),
    ],
)
def test_a_step_that_is_switched_off_costs_nothing(
    switches: dict[str, bool], steps: dict[str, int]
) -> None:
    with open_memory(mode="staged", model=chat_model(), **switches) as memory:
        memory.add("The redis cache")
        memory.add("The redis eviction policy")
        usage = {step: each.calls for step, each in memory.usage().by_step.items()}
        assert usage == steps


def test_tokens_of_formation_do_not_leak_into_the_stream_of_the_users_graph() -> None:
    with open_memory(model=chat_model()) as memory:

        def remember(state: FormationState) -> FormationState:
            memory.add("The redis cache")
            return {}

        builder = StateGraph(FormationState)
        builder.add_node("remember", remember)
        builder.add_edge(START, "remember")
        builder.add_edge("remember", END)
        outer = builder.compile()
        chunks = list(outer.stream({"namespace": []}, stream_mode="messages", subgraphs=True))
        assert chunks == []
        assert memory.count() == 1


@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("mode", STEPS)
def test_review_interrupts_before_the_commit(mode: Any, answer: bool) -> None:
    model = chat_model()
    with open_memory(mode=mode, model=model) as memory:
        older = memory.add("The redis cache")
        raw = memory.add("The redis eviction policy", formation="off")
        graph = memory.graph(review=True, checkpointer=InMemorySaver())
        paused = graph.invoke(initial_state([raw]), CONFIG)
        shown = paused["__interrupt__"][0].value  # type: ignore[typeddict-item]
        assert shown[raw.id]["understanding"]["keywords"]
        assert shown[raw.id]["text"] == "The redis eviction policy"
        [link], [evolution] = shown[raw.id]["links"], shown[raw.id]["evolutions"]
        assert (link["to"], link["text"]) == (older.id, "The redis cache")
        assert (evolution["note_id"], evolution["text"]) == (older.id, "The redis cache")
        assert again(memory, raw).status is Status.PARKED
        calls = len(model.calls)
        resume = {raw.id: answer} if mode == "fused" else answer
        done = graph.invoke(Command(resume=resume), CONFIG)
        assert len(model.calls) == calls
        outcome = "formed" if answer else "rejected"
        assert done["outcomes"][raw.id]["status"] == outcome
        assert again(memory, raw).status is (Status.FORMED if answer else Status.PARKED)


def test_a_note_in_review_is_formed_by_nobody_else() -> None:
    with open_memory(model=chat_model()) as memory:
        raw = memory.add("The redis eviction policy", formation="off")
        graph = memory.graph(review=True, checkpointer=InMemorySaver())
        graph.invoke(initial_state([raw]), CONFIG)
        assert memory.resume() == 0
        assert memory.search("eviction")[0].note.id == raw.id
        graph.invoke(Command(resume=False), CONFIG)
        assert memory.resume() == 0
        turned_down = again(memory, raw)
        assert turned_down.last_error == "turned down in review"
        assert turned_down.version == raw.version
        assert memory.admin.retry() == 1
        assert again(memory, raw).status is Status.FORMED


def test_an_analysis_that_fails_in_review_is_tried_again_later() -> None:
    failing = chat_model(lambda text, _: judgement(text, keywords=7, tags=7, context=7))
    with open_memory(model=failing) as memory:
        raw = memory.add("The redis eviction policy", formation="off")
        graph = memory.graph(review=True, checkpointer=InMemorySaver())
        done = graph.invoke(initial_state([raw]), CONFIG)
        assert done["outcomes"][raw.id]["status"] == "failed"
        failed = again(memory, raw)
        assert (failed.status, failed.attempts) == (Status.RAW, 1)


def test_a_static_interrupt_before_commit_works_too() -> None:
    with open_memory(model=chat_model()) as memory:
        raw = memory.add("The redis eviction policy", formation="off")
        graph = memory.graph(checkpointer=InMemorySaver())
        graph.invoke(initial_state([raw]), CONFIG, interrupt_before=["commit"])
        assert again(memory, raw).status is Status.RAW
        graph.invoke(None, CONFIG)
        assert again(memory, raw).status is Status.FORMED


@pytest.mark.parametrize("mode", STEPS)
def test_checkpoints_hold_no_content_and_only_json(mode: Any) -> None:
    saver = InMemorySaver()
    model = chat_model(lambda text, _: judgement("unrelated words"))
    with open_memory(mode=mode, model=model) as memory:
        memory.add("Marmalade is kept in the cellar")
        raws = memory.add_many(["Marmalade was moved", "Marmalade is gone"], formation="off")
        memory.graph(checkpointer=saver).invoke(initial_state(raws), CONFIG)
        blobs = b"".join(value[1] for value in saver.blobs.values() if isinstance(value, tuple))
        assert b"armalade" not in blobs
        state = memory.graph(checkpointer=saver).get_state(CONFIG).values
        assert json.loads(json.dumps(state)) == state


@pytest.mark.parametrize("mode", STEPS)
def test_one_run_can_serve_several_notes(mode: Any) -> None:
    with open_memory(mode=mode, model=chat_model()) as memory:
        raws = memory.add_many(["The redis cache", "Redis eviction"], formation="off")
        done = memory.graph().invoke(initial_state(raws))
        assert {o["status"] for o in done["outcomes"].values()} == {"formed"}
        second: Note = again(memory, raws[1])
        assert [link.to for link in second.outgoing] == [raws[0].id]
        assert memory.admin.check() == []


def asks_first(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """A judge that has a person look at everything before it answers."""
    return judgement(text, context=str(interrupt(f"may {text} be sent?")))


@pytest.mark.parametrize(("mode", "awaited"), [("staged", False), ("fused", True)])
async def test_an_interrupt_in_an_analysis_stops_the_graph_and_can_be_resumed(
    mode: Any, awaited: bool
) -> None:
    with open_memory(mode=mode, model=chat_model(asks_first)) as memory:
        raw = memory.add("The redis cache", formation="off")
        graph = memory.graph(checkpointer=InMemorySaver())

        async def invoke(given: Any) -> Any:
            return await graph.ainvoke(given, CONFIG) if awaited else graph.invoke(given, CONFIG)

        stopped = await invoke(initial_state([raw]))
        assert stopped["__interrupt__"][0].value == "may The redis cache be sent?"
        assert again(memory, raw).last_error is None
        assert "model.error" not in memory.admin.health()
        await invoke(Command(resume="Approved by Ann."))
        assert again(memory, raw).context == "Approved by Ann."
