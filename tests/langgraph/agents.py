"""What the tests of agents share: who talks in which thread, and where recalled text turned up."""

from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from amem_integrations.testing import ScriptedChatModel

USERS = ("users", "{user_id}")
TOLD = "My boat is called Susie"
ASKED = "What is my boat called?"


def config(user: str, thread: str) -> RunnableConfig:
    return {"configurable": {"user_id": user, "thread_id": thread}}


def said(text: str, **about: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text, **about}]}


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
