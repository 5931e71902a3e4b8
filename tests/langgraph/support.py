"""What the tests of the LangGraph adapters share: users in threads, and items of a store."""

import importlib.util
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolCall
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from amem_integrations import AgenticMemory, Note
from amem_integrations.core.io import run
from amem_integrations.langgraph import AMemMiddleware, AMemStore
from amem_integrations.stores.read import load_points
from amem_integrations.testing import ScriptedChatModel
from tests.support import io_of

USERS = ("users", "{user_id}")
CALVIN = ("users", "calvin")
TOLD = "My boat is called Susie"
ASKED = "What is my boat called?"

# -- agents ------------------------------------------------------------------------------------


def config(user: str, thread: str) -> RunnableConfig:
    return {"configurable": {"user_id": user, "thread_id": thread}}


def said(text: str, **about: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text, **about}]}


def call_tool(name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[ToolCall(name=name, args=args, id="call_1", type="tool_call")])


def system_text(messages: list[BaseMessage]) -> str:
    return "\n".join(each.text for each in messages if isinstance(each, SystemMessage))


def other_text(messages: list[BaseMessage]) -> str:
    return "\n".join(each.text for each in messages if not isinstance(each, SystemMessage))


def answers(*replies: Any) -> ScriptedChatModel:
    return ScriptedChatModel(list(replies) or ["Noted."], after="repeat")


def everything_in(saver: InMemorySaver) -> str:
    """All that the checkpointer holds: checkpoints, the values of channels, pending writes."""
    blobs = [data for _, data in saver.blobs.values()]
    writes = [write[2][1] for writes in saver.writes.values() for write in writes.values()]
    checkpoints = [
        part[1]
        for threads in saver.storage.values()
        for held in threads.values()
        for entry in held.values()
        for part in entry[:2]
    ]
    return b"\n".join([*blobs, *writes, *checkpoints]).decode("utf-8", "replace")


def agent(memory: AgenticMemory, model: Any, *, tools: Any = (), **settings: Any) -> Any:
    """An agent; settings are the middleware's, or create_agent's."""
    more: dict[str, Any] = {
        name: settings.pop(name) for name in ("system_prompt", "context_schema") if name in settings
    }
    settings = {"namespace": USERS, **settings}
    middleware = [AMemMiddleware(memory, **settings)]
    saver = InMemorySaver()
    return create_agent(model, list(tools), middleware=middleware, checkpointer=saver, **more)


def texts(memory: AgenticMemory) -> list[str]:
    """The texts of the notes of Calvin, oldest first."""
    return [note.content for note in memory.recent(namespace=CALVIN)[::-1]]


# -- stores ------------------------------------------------------------------------------------

NS = ("users", "ann")
find_spec = importlib.util.find_spec


def without_qdrant_edge(name: str, package: str | None = None) -> Any:
    """`find_spec` on a platform without the embedded engine."""
    return None if name == "qdrant_edge" else find_spec(name, package)


def note(store: AMemStore, key: str) -> Note:
    """The note behind an item that must be there."""
    found = store.note(NS, key)
    assert found is not None
    return found


def value(store: AMemStore, key: str) -> Any:
    """The value of an item that must be there; reading it prolongs nothing."""
    item = store.get(NS, key, refresh_ttl=False)
    assert item is not None
    return item.value


def stored(memory: AgenticMemory) -> str:
    """Everything that is stored, as text."""
    return str([point.payload for point in run(load_points(io_of(memory)))])
