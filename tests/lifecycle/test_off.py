"""What nobody asked for costs nothing: adding and searching ask the engine what they always did."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from tests.support import chat_model, io_of, open_memory

TEXTS = (
    "The redis cache holds 512 entries.",
    "The violin lesson is on Tuesday.",
    "Redis evicts by LRU.",
)
CALLS = ("get", "scroll", "query", "count", "facet", "insert", "commit", "patch", "delete")


class Counting:
    """An engine that counts what it is asked."""

    def __init__(self, engine: Any, calls: Counter[str]) -> None:
        self._engine = engine
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        if name in CALLS:
            self._calls[name] += 1
        return getattr(self._engine, name)


@contextmanager
def counted(memory: AgenticMemory) -> Iterator[Counter[str]]:
    io: Any = io_of(memory)
    calls, engine = Counter[str](), io.engine
    object.__setattr__(io, "engine", Counting(engine, calls))
    try:
        yield calls
    finally:
        object.__setattr__(io, "engine", engine)


def calls_of(
    act: Callable[[AgenticMemory], object], *, model: bool, lifecycle: bool
) -> dict[str, int]:
    judged: dict[str, Any] = {"model": chat_model()} if model else {}
    with open_memory(lifecycle=lifecycle, **judged) as memory:
        memory.add_many(TEXTS)
        with counted(memory) as calls:
            act(memory)
        return dict(calls)


def add(memory: AgenticMemory) -> object:
    return memory.add("The cache of redis is full.", session="s", speaker="Ada")


def search(memory: AgenticMemory) -> object:
    return memory.search("What holds the redis cache?")


@pytest.mark.parametrize("model", [False, True])
def test_adding_asks_the_engine_as_if_there_were_no_lifecycle(model: bool) -> None:
    calls = calls_of(add, model=model, lifecycle=False)
    # As before there was one, at most.
    most = {"get": 10, "scroll": 3 if model else 4, "query": 1 if model else 2}
    assert calls == {"insert": 1, "commit": 1} | calls
    assert calls.keys() == {"insert", "commit", *most}
    assert all(calls[name] <= count for name, count in most.items())


@pytest.mark.parametrize("model", [False, True])
def test_searching_costs_the_same_with_and_without(model: bool) -> None:
    off = calls_of(search, model=model, lifecycle=False)
    on = calls_of(search, model=model, lifecycle=True)
    assert off == on
    assert off["get"] == off["facet"] == 1


def test_upkeep_costs_a_tenth_more_calls_a_write_at_most() -> None:
    texts = [f"The {word} of shelf {place} is {word}" for place, word in enumerate("abcdefgh" * 6)]

    def calls(lifecycle: bool) -> float:
        with open_memory(lifecycle=lifecycle) as memory, counted(memory) as counts:
            for text in texts:
                memory.add(text, session="s")
            return sum(counts.values()) / len(texts)

    assert calls(lifecycle=True) <= 11
