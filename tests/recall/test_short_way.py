"""How far a search has to go: the calls of the engine, and the modules that have a part in it."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from types import FrameType
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.engine import Engine
from tests.support import open_memory

# What every room passes around or works with; a search is made in the rooms above.
TOOLS = ("core", "stores", "embedders", "testing", "errors")
ENGINE = "stores.edge.engine"
CALLS = [name for name in vars(Engine) if not name.startswith("_") and name != "exclusive"]


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "lifecycle"])
def memory(request: pytest.FixtureRequest) -> Iterator[AgenticMemory]:
    with open_memory(lifecycle=request.param) as opened:
        matters = ("cache", "product page", "catalogue", "kettle", "ladder")
        opened.add_many(
            [
                {"content": f"The {matters[n % 5]} of room {n // 3} is slow", "speaker": speaker}
                | {"session": f"s{n // 10}", "sequence": n}
                | {"occurred_at": datetime(2026, 2, 1 + n // 10, tzinfo=UTC)}
                for n in range(40)
                for speaker in ["Ada", "Bea"][n % 2 : n % 2 + 1]
            ]
        )
        yield opened


def trace(memory: AgenticMemory, query: str, **settings: Any) -> tuple[list[str], set[str]]:
    """The engine's calls and the package's modules that a search comes through."""
    calls: list[str] = []
    modules: set[str] = set()

    def watch(frame: FrameType, event: str, argument: object) -> None:
        name = str(frame.f_globals.get("__name__"))
        if event == "call" and name.startswith("amem_integrations."):
            module = name.removeprefix("amem_integrations.")
            modules.add(module)
            if module == ENGINE and frame.f_code.co_name in CALLS:
                calls.append(frame.f_code.co_name)

    sys.setprofile(watch)
    try:
        hits = memory.search(query, **settings)
    finally:
        sys.setprofile(None)
    assert hits
    return calls, modules


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        ("Which cache is slow?", {}),
        ("What did Ada say of the cache?", {}),
        ("Which cache was slow on 2 February 2026?", {}),
        ("Which cache is slow?", {"filter": {"speaker": "Bea", "sequence": {"$gt": 4}}}),
        ("Which cache is slow?", {"at": datetime(2026, 2, 3, tzinfo=UTC)}),
        ("What did Ada say of room 7?", {"k": 5, "hops": 1}),
    ],
)
def test_a_search_takes_at_most_five_calls_of_the_engine(
    memory: AgenticMemory, query: str, settings: dict[str, Any]
) -> None:
    memory.search("Which cache?")
    calls, _ = trace(memory, query, **settings)
    assert calls[0] == "query"
    assert len(calls) <= 5


def test_who_speaks_is_asked_once_until_a_note_is_written() -> None:
    with open_memory() as memory:
        memory.add("The cache is slow", speaker="Ada")
        assert trace(memory, "Who?")[0][0] == "facet"
        assert "facet" not in trace(memory, "Who?")[0]
        memory.add("The kettle is slow", speaker="Bea", namespace="other")
        assert "facet" not in trace(memory, "Who?")[0]
        memory.add("The cache is quick", speaker="Bea")
        assert trace(memory, "Who?")[0][0] == "facet"


def test_a_search_comes_through_at_most_twelve_modules_above_the_tools() -> None:
    with open_memory() as memory:
        memory.add_many(["The cache is slow", "A slow cache, again"])
        _, modules = trace(memory, "Which cache is slow?")
    assert len({name for name in modules if not name.startswith(TOOLS)}) <= 12
