"""Reranking: another model has the last word, and one that fails changes nothing."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.errors import InvalidInputError, ModelUnavailableError
from tests.recall.canned import texts
from tests.support import open_memory

WORDS = "tea", "tea with milk", "tea with sugar", "coffee with sugar"


def shortest_first(query: str, texts: list[str]) -> list[float]:
    return [-float(len(text)) for text in texts]


def filled(**settings: Any) -> AgenticMemory:
    memory = open_memory(formation="off", **settings)
    memory.add_many(list(WORDS))
    return memory


@pytest.fixture
def memory() -> Iterator[AgenticMemory]:
    with filled(reranker=shortest_first) as opened:
        yield opened


def test_the_reranker_of_a_memory_orders_what_is_found(memory: AgenticMemory) -> None:
    found = memory.search("coffee with sugar")
    assert texts(found) == sorted(WORDS, key=len)
    for hit in found:
        assert hit.score == hit.why["rerank"] == -len(hit.note.content)
    assert "meaning" in found[-1].why


def test_notes_that_it_gives_the_same_stay_in_their_order() -> None:
    with filled() as memory:
        before = memory.search("tea with milk")
        after = memory.search("tea with milk", reranker=lambda _, texts: [0.5] * len(texts))
        assert texts(after) == texts(before)
        # Else nothing is tested: of equals the newest would come first.
        assert before != sorted(before, key=lambda hit: hit.note.created_at, reverse=True)


def test_a_search_can_do_without_the_memory_s_reranker(memory: AgenticMemory) -> None:
    (best,) = memory.search("coffee with sugar", k=1, reranker=False)
    assert best.note.content == "coffee with sugar"
    assert "rerank" not in best.why


def test_a_search_can_have_a_reranker_of_its_own() -> None:
    with filled() as memory:
        assert texts(memory.search("coffee", k=1, reranker=shortest_first)) == ["tea"]
        assert texts(memory.search("coffee", k=1)) == ["coffee with sugar"]


def test_it_is_told_the_question_and_who_said_what() -> None:
    asked: list[tuple[str, list[str]]] = []

    def listening(query: str, texts: list[str]) -> list[float]:
        asked.append((query, texts))
        return [0.0] * len(texts)

    with open_memory(formation="off", reranker=listening) as memory:
        memory.add("I like tea", speaker="Ann")
        memory.add("There is tea")
        memory.search("What does Ann like?")
    assert [(query, sorted(texts)) for query, texts in asked] == [
        ("What does Ann like?", ["Ann: I like tea", "There is tea"])
    ]


def test_nothing_found_asks_nobody() -> None:
    def never(query: str, texts: list[str]) -> list[float]:
        raise AssertionError

    with open_memory(reranker=never) as memory:
        assert memory.search("anything") == []
        assert "recall.rerank.failed" not in memory.admin.health()


def raising(query: str, texts: list[str]) -> list[float]:
    raise ConnectionError("secret text")


def too_few(query: str, texts: list[str]) -> list[float]:
    return [1.0]


def no_numbers(query: str, texts: list[str]) -> list[float]:
    return [float("nan")] * len(texts)


@pytest.mark.parametrize("reranker", [raising, too_few, no_numbers])
def test_one_that_fails_leaves_the_order_and_is_warned_of_and_counted(
    reranker: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    with filled(reranker=reranker) as memory, caplog.at_level(logging.INFO):
        found = memory.search("coffee with sugar")
        assert texts(found) == texts(memory.search("coffee with sugar", reranker=False))
        assert memory.admin.health()["recall.rerank.failed"] == 1
    assert f"{reranker.__name__} failed" in caplog.text
    assert "secret" not in caplog.text


async def test_an_interrupt_is_no_failure() -> None:
    from langgraph.errors import GraphInterrupt

    def interrupting(query: str, texts: list[str]) -> list[float]:
        raise GraphInterrupt

    with filled(reranker=interrupting) as memory, pytest.raises(GraphInterrupt):
        await memory.asearch("tea")


async def test_a_blocking_reranker_runs_in_a_thread_when_awaited() -> None:
    loop_thread = threading.get_ident()
    seen: list[int] = []

    def blocking(query: str, texts: list[str]) -> list[float]:
        seen.append(threading.get_ident())
        return shortest_first(query, texts)

    with filled(reranker=blocking) as memory:
        assert texts(await memory.asearch("coffee", k=1)) == ["tea"]
    assert seen != [loop_thread]


async def test_an_async_reranker_runs_on_the_loop_that_awaits_it() -> None:
    loops: list[object] = []

    async def awaited(query: str, texts: list[str]) -> list[float]:
        loops.append(asyncio.get_running_loop())
        return shortest_first(query, texts)

    with filled(reranker=awaited) as memory:
        assert texts(await memory.asearch("coffee", k=1)) == ["tea"]
        assert loops == [asyncio.get_running_loop()]
        with pytest.raises(InvalidInputError, match="async"):
            memory.search("coffee")


def test_what_cannot_rerank_is_refused_before_anything_is_opened(tmp_path: Any) -> None:
    with pytest.raises(ModelUnavailableError, match="no cross-encoder"):
        open_memory(tmp_path / "memory", reranker="nobody/knows-this")
    assert not (tmp_path / "memory").exists()
