"""What a memory says of its last recall: what was found, what a prompt was told, what it cost."""

import asyncio
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain.agents import create_agent
from llama_index.core.base.llms.types import ChatMessage, MessageRole

from amem_integrations import AgenticMemory, Recall
from amem_integrations.core.caches import Caches
from amem_integrations.core.usage import Ledger, Usage
from amem_integrations.errors import InvalidInputError
from amem_integrations.langchain import create_memory_tools
from amem_integrations.langgraph import AMemMiddleware
from amem_integrations.llama_index import AMemMemory
from amem_integrations.llama_index import create_memory_tools as create_llama_index_tools
from amem_integrations.recall.last import Recalls
from amem_integrations.testing import ScriptedChatModel
from tests.support import chat_model, open_memory

BOAT = "The boat is called Susie"
ASKED = "What is the boat called?"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
CALVIN, EVE = ("users", "calvin"), ("users", "eve")


@pytest.fixture
def memory() -> Iterator[AgenticMemory]:
    with open_memory(formation="off") as memory:
        memory.add(BOAT, namespace=CALVIN)
        yield memory


def last(memory: AgenticMemory, namespace: tuple[str, ...] = CALVIN) -> Recall:
    recall = memory.last_recall(namespace)
    assert recall is not None
    return recall


def contents(recall: Recall) -> list[str]:
    return [hit.note.content for hit in recall.hits]


def test_it_has_the_question_and_the_hits_that_were_returned(memory: AgenticMemory) -> None:
    hits = memory.search(ASKED, namespace=CALVIN)
    recall = last(memory)
    assert (recall.query, recall.namespace, list(recall.hits)) == (ASKED, CALVIN, hits)
    assert recall.hits[0].why == hits[0].why
    assert recall.seconds > 0


def test_a_search_that_failed_is_not_passed_off_as_the_one_before(memory: AgenticMemory) -> None:
    memory.search(ASKED, namespace=CALVIN)
    with pytest.raises(InvalidInputError):
        memory.search(" ", namespace=CALVIN)
    assert memory.last_recall(CALVIN) is None


def test_one_user_never_sees_what_another_recalled(memory: AgenticMemory) -> None:
    memory.search(ASKED, namespace=CALVIN)
    assert memory.last_recall(EVE) is None
    assert memory.last_recall(CALVIN[:1]) is None
    assert memory.last_recall() is None


async def test_searches_at_once_are_told_apart(memory: AgenticMemory) -> None:
    async def ask(user: str) -> tuple[str, str]:
        await memory.asearch(f"What does {user} know?", namespace=user)
        return user, last(memory, (user,)).query

    for user, query in await asyncio.gather(*(ask(f"user-{n}") for n in range(20))):
        assert query == f"What does {user} know?"


@pytest.mark.parametrize("way", ["note", "where", "namespace", "tool"])
def test_what_was_forgotten_is_not_shown(memory: AgenticMemory, way: str) -> None:
    [hit] = memory.search(ASKED, namespace=CALVIN)
    match way:
        case "note":
            memory.forget(hit.note)
        case "where":
            memory.admin.forget_where({"key": hit.note.key}, namespace=CALVIN)
        case "namespace":
            memory.admin.forget_namespace(CALVIN)
        case _:
            _, manage = create_memory_tools(memory, namespace=CALVIN)
            manage.invoke({"action": "delete", "id": hit.note.id})
    assert memory.last_recall(CALVIN) is None


def test_what_is_forgotten_during_a_search_is_not_kept_by_it() -> None:
    recalls, recall, caches = Recalls(), Recall("q", CALVIN, (), 0.0), Caches()
    caches.drop(CALVIN)
    recalls.keep(recall, Ledger(), caches, 0)
    assert recalls.last(CALVIN, NOW) is None
    recalls.keep(recall, Ledger(), caches, caches.drops)
    assert recalls.last(CALVIN, NOW) is not None


def test_no_more_is_kept_than_a_bounded_number() -> None:
    recalls, ledger = Recalls(), Ledger()
    for n in range(1000):
        recalls.keep(Recall("q", (str(n),), (), 0.0), ledger, Caches(), 0)
    kept = [n for n in range(1000) if recalls.last((str(n),), NOW)]
    assert kept == list(range(872, 1000))


def test_of_long_texts_less_is_kept(memory: AgenticMemory) -> None:
    memory.add("long " * 300_000, namespace="long")
    hits = tuple(memory.search("long", namespace="long"))
    recalls, ledger = Recalls(), Ledger()
    for n in range(5):
        recalls.keep(Recall("q", (str(n),), hits, 0.0), ledger, Caches(), 0)
    assert [n for n in range(5) if recalls.last((str(n),), NOW)] == [3, 4]


# -- what it cost ----------------------------------------------------------------------------


def test_it_counts_what_was_formed_since_and_what_that_took() -> None:
    with open_memory(model=chat_model()) as memory:
        memory.add("Before", namespace=CALVIN)
        memory.search(ASKED, namespace=CALVIN)
        memory.add("Boats need paint", namespace=CALVIN)
        memory.add("Boats need sails", namespace=CALVIN)
        memory.add("Somebody else's", namespace=EVE)
        recall = last(memory)
        assert recall.formed == 2
        assert recall.usage.calls == 2
        assert recall.usage.tokens_in > 0
        memory.search(ASKED, namespace=CALVIN)
        assert last(memory).formed == 0


@pytest.mark.parametrize(
    ("about", "line"),
    [
        ({}, "recalled 0 notes in 7 ms"),
        ({"packed": ""}, "recalled 0 notes in 7 ms, 0 tokens"),
        ({"packed": "boat " * 1200}, "recalled 0 notes in 7 ms, 1,500 tokens"),
        ({"formed": 1}, "recalled 0 notes in 7 ms; formed 1 note"),
        (
            {"formed": 2, "usage": Usage(calls=3, tokens_in=2000, tokens_out=310)},
            "recalled 0 notes in 7 ms; formed 2 notes: 3 calls, 2,310 tokens",
        ),
        (
            {"usage": Usage(calls=1, failures=1)},
            "recalled 0 notes in 7 ms; formed 0 notes: 1 call, 0 tokens",
        ),
    ],
)
def test_as_text_it_is_one_line_of_numbers(about: dict[str, Any], line: str) -> None:
    assert str(Recall("secret", CALVIN, (), 0.007, **about)) == line


# -- adapters --------------------------------------------------------------------------------


def agent(memory: AgenticMemory, **settings: Any) -> Any:
    middleware = AMemMiddleware(memory, namespace=("users", "{user_id}"), **settings)
    return create_agent(ScriptedChatModel(["Susie."], after="repeat"), middleware=[middleware])


def ask(user: str) -> tuple[Any, Any]:
    asked = {"messages": [{"role": "user", "content": ASKED}]}
    return asked, {"configurable": {"user_id": user}}


def test_it_knows_what_the_middleware_told_the_model(memory: AgenticMemory) -> None:
    agent(memory, tools=False).invoke(*ask("calvin"))
    recall = last(memory)
    assert (recall.query, contents(recall)) == (ASKED, [BOAT])
    assert BOAT in (recall.packed or "")
    assert recall.tokens


async def test_an_agent_that_serves_several_users_at_once_tells_them_apart(
    memory: AgenticMemory,
) -> None:
    for user in ("ada", "bob"):
        memory.add(f"The boat of {user} is called {user}-boat", namespace=("users", user))
    chat = agent(memory, tools=False)
    await asyncio.gather(*(chat.ainvoke(*ask(user)) for user in ("ada", "bob")))
    for user in ("ada", "bob"):
        assert contents(last(memory, ("users", user))) == [
            f"The boat of {user} is called {user}-boat"
        ]


def test_the_turn_is_told_in_the_log_in_numbers(
    memory: AgenticMemory, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "amem_integrations"):
        agent(memory, tools=False, write="after_agent", remember="all").invoke(*ask("calvin"))
    [line] = [each.getMessage() for each in caplog.records if "recalled" in each.getMessage()]
    assert line == str(last(memory))
    assert line.startswith("recalled 1 note in ")
    assert line.endswith("; formed 2 notes")
    assert "Susie" not in caplog.text


def test_it_knows_what_a_tool_showed_the_agent(memory: AgenticMemory) -> None:
    for n in range(3):
        memory.add(f"Boat {n} is called Susie {n}", namespace=CALVIN)
    search, _ = create_memory_tools(memory, namespace=CALVIN)
    shown = search.invoke({"query": ASKED, "limit": 2})
    recall = last(memory)
    assert len(recall.hits) == 2
    assert recall.packed in shown


def test_it_knows_what_a_llama_index_memory_inserted(
    memory: AgenticMemory, caplog: pytest.LogCaptureFixture
) -> None:
    chat = AMemMemory.from_defaults(core=memory, namespace=CALVIN, session_id="s", ingest="manual")
    chat.put(ChatMessage(ASKED, role=MessageRole.USER))
    told = chat.get()
    recall = last(memory)
    assert contents(recall) == [BOAT]
    assert (recall.packed or "-") in str(told[-1].content)
    with caplog.at_level(logging.INFO, "amem_integrations"):
        chat.put(ChatMessage("Susie.", role=MessageRole.ASSISTANT))
    assert str(recall) in caplog.text
    assert "Susie" not in caplog.text


async def test_it_knows_what_a_llama_index_tool_showed(memory: AgenticMemory) -> None:
    recall_tool, _ = create_llama_index_tools(memory, namespace=CALVIN)
    shown = await recall_tool.acall(query=ASKED)
    assert last(memory).packed == str(shown)
