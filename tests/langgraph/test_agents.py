"""A hand-built graph with AMemStore and the memory tools, through several threads."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedStore, ToolNode, tools_condition
from langgraph.store.base import BaseStore

from amem_integrations import AgenticMemory
from amem_integrations.langgraph import AMemMiddleware, AMemStore, create_memory_tools
from amem_integrations.testing import ScriptedChatModel
from tests.langgraph.support import ASKED, CALVIN, TOLD, USERS, call_tool, config, said
from tests.support import EMBEDDER


@pytest.fixture
async def memory() -> AsyncIterator[AgenticMemory]:
    async with await AgenticMemory.aopen(embedder=EMBEDDER, formation="off") as memory:
        yield memory


def agent(memory: AgenticMemory, model: ScriptedChatModel, more_tools: Any) -> Any:
    tools = [*create_memory_tools(memory, namespace=USERS, formation="off"), *more_tools]
    bound = model.bind_tools(tools)

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "answer")
    builder.add_conditional_edges("answer", tools_condition)
    builder.add_edge("tools", "answer")
    return builder.compile(checkpointer=InMemorySaver(), store=AMemStore(memory, formation="off"))


async def test_the_store_reads_what_the_middleware_stored_for_a_user_named_by_mail(
    memory: AgenticMemory,
) -> None:
    remembering = AMemMiddleware(memory, namespace=USERS, write="background", tools=False)
    chat = create_agent(ScriptedChatModel(["Noted."], after="repeat"), [], middleware=[remembering])
    store, users = AMemStore(memory, periods=True), ("bea@example.com", "calvin@example.com")
    for user in users:
        await chat.ainvoke(said(f"{TOLD}, says {user}"), config(user, "monday"))
    for user in users:
        [item] = await store.asearch(("users", user), query="boat", limit=1)
        assert item.value == {"content": f"{TOLD}, says {user}"}
        assert await store.aget(item.namespace, item.key) is not None
        await store.adelete(item.namespace, item.key)
        assert await store.aget(item.namespace, item.key) is None


async def test_the_store_and_the_tools_share_the_notes_of_a_user(memory: AgenticMemory) -> None:
    def save(
        text: str, config: RunnableConfig, store: Annotated[BaseStore, InjectedStore()]
    ) -> str:
        """Save a fact."""
        user = config["configurable"]["user_id"]  # type: ignore[typeddict-item]
        store.put(("users", user), "boat", {"fact": text})
        return "saved"

    def reply(messages: list[Any]) -> Any:
        if messages[-1].type == "tool":
            return f"Memory: {messages[-1].text}"
        if messages[-1].text == TOLD:
            return call_tool("save", text=TOLD)
        return call_tool("search_memory", query=messages[-1].text)

    graph = agent(memory, ScriptedChatModel(reply), [save])
    await graph.ainvoke(said(TOLD), config("calvin", "monday"))
    streamed = graph.astream(said(ASKED), config("calvin", "tuesday"), stream_mode="updates")
    parts = [part async for part in streamed]
    assert [step for part in parts for step in part] == ["answer", "tools", "answer"]
    assert "Susie" in parts[-1]["answer"]["messages"][-1].text
    other = await graph.ainvoke(said(ASKED), config("eve", "wednesday"))
    assert other["messages"][-1].text == "Memory: Nothing is remembered about that."
    [item] = await graph.store.asearch(CALVIN)
    assert item.value == {"fact": TOLD}
