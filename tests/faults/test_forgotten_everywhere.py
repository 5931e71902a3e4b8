"""What was forgotten, archived or expired comes back in no prompt, from no cache."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool

from amem_integrations import AgenticMemory, Note
from amem_integrations.langchain import create_memory_tools
from amem_integrations.langgraph import AMemMiddleware, AMemStore
from amem_integrations.testing import ScriptedChatModel
from tests.langgraph.support import (
    CALVIN,
    agent,
    call_tool,
    config,
    said,
    system_text,
)
from tests.llama_index.support import ADD, assistant, down, memory_of, text_of, user
from tests.support import EMBEDDER, open_memory

CANARY = "mark77x"
TOLD = f"The boat {CANARY} leaves at four"
ASKED = "When does the boat leave?"
CHAT = config("calvin", "monday")

Forget = Callable[[AgenticMemory, Note], object]


def forget_by_tool(memory: AgenticMemory, note: Note) -> None:
    _, manage = create_memory_tools(memory, namespace=note.namespace)
    manage.invoke({"action": "delete", "id": note.id})


def forget_elsewhere(memory: AgenticMemory, note: Note) -> None:
    """From another object over the same store."""
    with AgenticMemory(memory.options.location, embedder=EMBEDDER, formation="off") as other:
        other.forget(note)


WAYS: dict[str, Forget] = {
    "forget": lambda memory, note: memory.forget(note),
    "forget_where": lambda memory, note: memory.admin.forget_where(
        {"speaker": "Bea"}, namespace=note.namespace
    ),
    "forget_namespace": lambda memory, note: memory.admin.forget_namespace(note.namespace),
    "tool": forget_by_tool,
    "store": lambda memory, note: AMemStore(memory).delete(note.namespace, note.key),
    "elsewhere": forget_elsewhere,
    "archive": lambda memory, note: memory.lifecycle.archive(note),
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[AgenticMemory]:
    with AgenticMemory(tmp_path / "m", embedder=EMBEDDER, formation="inline") as memory:
        yield memory


@pytest.mark.parametrize("forget", WAYS.values(), ids=WAYS)
def test_a_turn_that_goes_on_after_a_failure_shows_nothing_that_went(
    memory: AgenticMemory, forget: Forget
) -> None:
    note = memory.add(TOLD, namespace=CALVIN, speaker="Bea")
    model = ScriptedChatModel([ConnectionError("away"), "At four."])
    chat = agent(memory, model, write="off", tools=())
    with pytest.raises(ConnectionError):
        chat.invoke(said(ASKED), CHAT)
    assert CANARY in system_text(model.calls[0].messages)
    forget(memory, note)
    assert memory.last_recall(CALVIN) is None
    chat.invoke(None, CHAT)
    assert CANARY not in system_text(model.calls[-1].messages)


@pytest.mark.parametrize("forget", WAYS.values(), ids=WAYS)
async def test_a_turn_shows_nothing_that_went_between_two_calls_of_its_model(
    memory: AgenticMemory, forget: Forget
) -> None:
    note = memory.add(TOLD, namespace=CALVIN, speaker="Bea")

    @tool
    def tidy() -> str:
        """Tidy up."""
        forget(memory, note)
        return "Tidied."

    model = ScriptedChatModel([call_tool("tidy"), "At four."])
    await agent(memory, model, write="off", tools=[tidy]).ainvoke(said(ASKED), CHAT)
    first, last = (system_text(call.messages) for call in model.calls)
    assert CANARY in first
    assert CANARY not in last


def test_a_failed_turn_keeps_nothing_and_the_next_one_takes_its_place(
    memory: AgenticMemory,
) -> None:
    memory.add(TOLD, namespace=CALVIN)
    model = ScriptedChatModel([ConnectionError("away")])
    middleware = AMemMiddleware(memory, namespace=CALVIN, write="off")
    from langchain.agents import create_agent

    chat: Any = create_agent(model, [], middleware=[middleware])
    with pytest.raises(ConnectionError):
        chat.invoke(said(ASKED))
    assert not middleware._recalled._kept  # pyright: ignore[reportPrivateUsage]


def test_a_turn_shows_no_item_that_expired_since_its_last_call() -> None:
    now = [datetime(2026, 3, 1, tzinfo=UTC)]
    with open_memory(formation="off", clock=lambda: now[0]) as memory:
        AMemStore(memory, formation="off").put(CALVIN, "k", {"text": TOLD}, ttl=5)

        @tool
        def wait() -> str:
            """Wait."""
            now[0] += timedelta(minutes=6)
            return "Waited."

        model = ScriptedChatModel([call_tool("wait"), "At four."])
        agent(memory, model, write="off", tools=[wait]).invoke(said(ASKED), CHAT)
        first, last = (system_text(call.messages) for call in model.calls)
        assert CANARY in first
        assert CANARY not in last


@pytest.mark.parametrize("forget", WAYS.values(), ids=WAYS)
def test_a_chat_memory_shows_nothing_that_went_within_its_turn(
    memory: AgenticMemory, forget: Forget
) -> None:
    note = memory.add(TOLD, namespace=CALVIN, speaker="Bea")
    chat = memory_of(memory, CALVIN)  # type: ignore[arg-type]
    chat.put(user(ASKED))
    assert CANARY in text_of(chat.get())
    forget(memory, note)
    assert CANARY not in text_of(chat.get())


@pytest.mark.parametrize("forget", ["forget", "forget_namespace", "elsewhere"])
def test_a_message_that_waits_to_be_written_again_does_not_come_back(
    memory: AgenticMemory, monkeypatch: pytest.MonkeyPatch, forget: str
) -> None:
    chat = memory_of(memory, CALVIN, session_id="s")  # type: ignore[arg-type]
    with monkeypatch.context() as patched:
        patched.setattr(ADD, down)
        chat.put(user(TOLD))
        chat.put(user("The harbour closes at six"))
    # As if it had been written before the failure.
    item = next(item for item in chat._notes.waiting if CANARY in item["content"])
    note = memory.add_many([item], namespace=CALVIN)[0]
    WAYS[forget](memory, note)
    chat.put(assistant("Noted."))
    texts = [found.content for found in memory.recent(namespace=CALVIN)]
    assert TOLD not in texts
    assert ("The harbour closes at six" in texts) is (forget != "forget_namespace")


def test_forgetting_in_one_namespace_leaves_what_another_recalled(memory: AgenticMemory) -> None:
    note = memory.add(TOLD, namespace=CALVIN)
    memory.add("The boat leaves", namespace="eve")
    memory.search(ASKED, namespace="eve")
    memory.search(ASKED, namespace=CALVIN)
    memory.forget(note)
    assert memory.last_recall("eve") is not None
    assert memory.last_recall(CALVIN) is None
