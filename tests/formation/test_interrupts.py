"""An interrupt within a judgement is LangGraph's: nothing of ours takes it for a failure."""

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from amem_integrations import AgenticMemory, Status
from amem_integrations.formation.state import initial_state
from tests.support import again, chat_model, judgement, open_memory

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def asks_first(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """A judge that has a person look at everything before it answers."""
    return judgement(text, context=str(interrupt(f"may {text} be sent?")))


def context_of(memory: AgenticMemory, note: Any) -> str:
    found = again(memory, note)
    assert found.status is Status.FORMED
    return found.context


def test_an_interrupt_in_a_judgement_stops_the_graph_and_can_be_resumed() -> None:
    with open_memory(mode="staged", model=chat_model(asks_first)) as memory:
        raw = memory.add("The redis cache", formation="off")
        graph = memory.graph(checkpointer=InMemorySaver())
        stopped: Any = graph.invoke(initial_state([raw]), CONFIG)
        assert stopped["__interrupt__"][0].value == "may The redis cache be sent?"
        assert again(memory, raw).last_error is None
        assert "model.error" not in memory.admin.health()
        graph.invoke(Command(resume="Approved by Ann."), CONFIG)
        assert context_of(memory, raw) == "Approved by Ann."


async def test_an_interrupt_in_an_awaited_judgement_does_too() -> None:
    async with open_memory(mode="fused", model=chat_model(asks_first)) as memory:
        raw = await memory.aadd("The redis cache", formation="off")
        graph = memory.graph(checkpointer=InMemorySaver())
        stopped: Any = await graph.ainvoke(initial_state([raw]), CONFIG)
        assert stopped["__interrupt__"][0].value == "may The redis cache be sent?"
        await graph.ainvoke(Command(resume="Approved by Ann."), CONFIG)
        assert context_of(memory, raw) == "Approved by Ann."
