"""A note past its time is found nowhere, and what is recalled lives on, as its store says."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from llama_index.core.base.llms.types import ChatMessage, MessageRole

from amem_integrations import AgenticMemory
from amem_integrations.errors import NoteNotFoundError
from amem_integrations.langchain import AMemRetriever, create_memory_tools
from amem_integrations.langgraph import AMemMiddleware, AMemStore
from amem_integrations.llama_index import AMemMemory, AMemMemoryBlock
from amem_integrations.llama_index import AMemRetriever as LlamaIndexRetriever
from amem_integrations.llama_index import create_memory_tools as create_llama_index_tools
from amem_integrations.memory.items import address_id
from amem_integrations.testing import ScriptedChatModel
from amem_integrations.view.addresses import page
from tests.support import open_memory
from tests.view.support import Browser

NS = ("users", "ann")
ASKED = "Which tea is in the kettle?"
Recall = Callable[[AgenticMemory], str]


@pytest.fixture
def time() -> list[datetime]:
    return [datetime(2026, 3, 1, tzinfo=UTC)]


@pytest.fixture
def memory(time: list[datetime]) -> Iterator[AgenticMemory]:
    with open_memory(formation="off", clock=lambda: time[0]) as memory:
        yield memory


def store_of(memory: AgenticMemory, **ttl: Any) -> AMemStore:
    return AMemStore(memory, index={"fields": ["text"]}, ttl=ttl, formation="off")  # type: ignore[arg-type]


def by_middleware(memory: AgenticMemory) -> str:
    chat = ScriptedChatModel(["Green."])
    remembering = AMemMiddleware(memory, namespace=NS, write="off", tools=False)
    create_agent(chat, [], middleware=[remembering]).invoke({"messages": ASKED})  # type: ignore[arg-type]
    return str(chat.calls[-1].messages)


def by_chat(memory: AgenticMemory) -> str:
    return str(AMemMemory.from_defaults(core=memory, namespace=NS).get(input=ASKED))


async def by_block(memory: AgenticMemory) -> str:
    question = ChatMessage(role=MessageRole.USER, content=ASKED)
    return await AMemMemoryBlock(memory, namespace=NS).aget([question])


def by_page(memory: AgenticMemory) -> str:
    return Browser(memory).get(page("/search", NS, q=ASKED)).text


RECALLS: dict[str, Recall] = {
    "search": lambda memory: memory.pack(memory.search(ASKED, namespace=NS), 500),
    "tool": lambda memory: create_memory_tools(memory, namespace=NS)[0].invoke({"query": ASKED}),
    "retriever": lambda memory: str(AMemRetriever(memory=memory, namespace=NS).invoke(ASKED)),
    "middleware": by_middleware,
    "page": by_page,
    "chat": by_chat,
    "llama_index tool": lambda memory: str(
        create_llama_index_tools(memory, namespace=NS)[0].call(query=ASKED)
    ),
    "llama_index retriever": lambda memory: str(
        LlamaIndexRetriever(memory, namespace=NS).retrieve(ASKED)
    ),
}


@pytest.mark.parametrize("recall", RECALLS.values(), ids=RECALLS)
def test_an_item_past_its_time_is_not_recalled(
    memory: AgenticMemory, time: list[datetime], recall: Recall
) -> None:
    store = store_of(memory, refresh_on_read=False)
    store.put(NS, "old", {"text": "Oolong tea is in the kettle"}, ttl=1)
    store.put(NS, "new", {"text": "Green tea is in the kettle"}, ttl=10)
    assert "Oolong" in recall(memory)
    time[0] += timedelta(minutes=2)
    found = recall(memory)
    assert "Green" in found
    assert "Oolong" not in found
    # LangGraph's contract: until it is swept, the store itself still has it.
    assert store.get(NS, "old", refresh_ttl=False) is not None


async def test_a_memory_block_recalls_no_item_past_its_time(
    memory: AgenticMemory, time: list[datetime]
) -> None:
    store_of(memory).put(NS, "old", {"text": "Oolong tea is in the kettle"}, ttl=1)
    assert "Oolong" in await by_block(memory)
    time[0] += timedelta(minutes=2)
    assert await by_block(memory) == ""


@pytest.mark.parametrize("recall", RECALLS.values(), ids=RECALLS)
@pytest.mark.parametrize("refresh", [True, False])
def test_being_recalled_prolongs_as_the_store_says(
    memory: AgenticMemory, time: list[datetime], recall: Recall, refresh: bool
) -> None:
    store = store_of(memory, refresh_on_read=refresh)
    store.put(NS, "tea", {"text": "Oolong tea is in the kettle"}, ttl=5)
    time[0] += timedelta(minutes=4)
    assert "Oolong" in recall(memory)
    time[0] += timedelta(minutes=4)
    assert ("Oolong" in recall(memory)) is refresh
    assert store.sweep_ttl() == (not refresh)


def test_a_tool_prolongs_the_items_that_it_shows_only(
    memory: AgenticMemory, time: list[datetime]
) -> None:
    store = store_of(memory)
    for n in range(3):
        store.put(NS, str(n), {"text": f"Tea number {n} is in the kettle"}, ttl=5)
    time[0] += timedelta(minutes=4)
    create_memory_tools(memory, namespace=NS)[0].invoke({"query": ASKED, "limit": 1})
    time[0] += timedelta(minutes=4)
    assert memory.count(NS) == 1


def test_nothing_else_shows_what_is_past_its_time(
    memory: AgenticMemory, time: list[datetime]
) -> None:
    store = store_of(memory)
    store.put(NS, "gone", {"text": "Oolong tea is in the kettle"}, ttl=1)
    store.put(("gone",), "too", {"text": "Oolong"}, ttl=1)
    id, hits = address_id((NS, "gone")), memory.search("tea", namespace=NS)
    assert hits
    time[0] += timedelta(minutes=2)
    assert memory.get(id, namespace=NS) is None
    assert memory.recent(namespace=NS) == []
    assert memory.count(NS) == memory.count() == 0
    assert memory.namespaces() == []
    assert len(list(memory.admin.export(NS))) == 2  # where it begins and where it ends
    assert memory.last_recall(NS) is None
    assert memory.admin.health(NS)["notes"] == 0
    assert memory.resume() == 0
    for call in (memory.history, memory.update, memory.form, memory.lifecycle.archive):
        with pytest.raises(NoteNotFoundError):
            call(id, namespace=NS)
    assert memory.admin.check() == []
    assert memory.forget(id, namespace=NS).notes == 1


def test_a_link_to_an_item_past_its_time_is_not_shown_nor_followed(time: list[datetime]) -> None:
    with open_memory(clock=lambda: time[0]) as memory:
        store = AMemStore(memory, index={"fields": ["text"]}, formation="inline")
        store.put(NS, "gone", {"text": "The oolong kettle boils slowly"}, ttl=1)
        kept = memory.add("The oolong kettle boils slowly today", namespace=NS)
        assert kept.links
        time[0] += timedelta(minutes=2)
        found = memory.get(kept)
        assert found is not None
        assert found.links == ()
        [hit] = memory.search("oolong kettle", namespace=NS, hops=2)
        assert (hit.note.id, hit.note.links) == (kept.id, ())
        new = memory.add("The oolong kettle boils slowly again", namespace=NS)
        assert {link.other(new.id) for link in new.links} <= {kept.id}
        assert store.sweep_ttl() == 1
        assert memory.admin.check() == []


@pytest.mark.parametrize("hops", [0, 1])
def test_what_is_past_its_time_takes_no_place_among_the_items_of_a_search(
    memory: AgenticMemory, time: list[datetime], hops: int
) -> None:
    store = store_of(memory, omit_expired=True)
    for n in range(30):
        store.put(NS, f"old {n}", {"text": "green tea"}, ttl=1)
    for n in range(3):
        store.put(NS, f"new {n}", {"text": f"green tea in pot {n}, and much else"}, ttl=10)
    time[0] += timedelta(minutes=2)
    found = store.search(NS, query="green tea", hops=hops, limit=3)
    assert sorted(item.key for item in found) == ["new 0", "new 1", "new 2"]


def test_without_omit_expired_the_store_shows_an_item_until_it_is_swept(
    memory: AgenticMemory, time: list[datetime]
) -> None:
    store = store_of(memory)
    store.put(NS, "tea", {"text": "green tea"}, ttl=1)
    time[0] += timedelta(minutes=2)
    for hops in (0, 1):
        found = store.search(NS, query="tea", refresh_ttl=False, hops=hops)
        assert [item.key for item in found] == ["tea"]
    assert store.list_namespaces() == [NS]
    assert memory.search("tea", namespace=NS) == []
    assert store.get(NS, "tea") is not None
    # Reading it there has prolonged it.
    assert [hit.note.key for hit in memory.search("tea", namespace=NS)] == ["tea"]


@pytest.mark.parametrize("way", ["add", "add_turn", "put", "import"])
def test_what_is_stored_again_under_a_key_past_its_time_is_there(
    memory: AgenticMemory, time: list[datetime], way: str
) -> None:
    store = store_of(memory)
    store.put(NS, "tea", {"text": "Oolong tea is in the kettle"}, ttl=5)
    with open_memory(formation="off", clock=lambda: time[0]) as other:
        other.add("Green tea is in the kettle", key="tea", namespace=NS)
        lines = list(other.admin.export(NS))
    time[0] += timedelta(minutes=6)
    text = "Green tea is in the kettle"
    match way:
        case "put":
            store.put(NS, "tea", {"text": text})
        case "import":
            assert memory.admin.import_(lines).notes == 1
        case _:
            getattr(memory, way)(text, key="tea", namespace=NS)
    [hit] = memory.search("tea", namespace=NS)
    assert hit.note.content == text
    assert hit.note.expires_at is None
    assert "Oolong" not in str(memory.history(hit.note))
    assert memory.admin.check() == []
