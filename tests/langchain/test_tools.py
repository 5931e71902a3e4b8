"""Tools by which an agent searches and manages its memory."""

import logging
import re
from typing import Any

import pytest
from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from amem_integrations import AgenticMemory, Note
from amem_integrations.core.io import run
from amem_integrations.errors import InvalidInputError
from amem_integrations.langchain import create_memory_tools
from tests.support import io_of, notes_in

UNKNOWN = "6f0e9a3e-5d0c-5b7e-9d55-0a6d656d6e6f"


@pytest.fixture
def memory(raw_memory: AgenticMemory) -> AgenticMemory:
    return raw_memory


@pytest.fixture
def note(memory: AgenticMemory) -> Note:
    return memory.add("Calvin wants an LRU cache", namespace="calvin")


@pytest.fixture
def search_memory(memory: AgenticMemory) -> BaseTool:
    return create_memory_tools(memory, namespace="calvin", formation="off")[0]


@pytest.fixture
def manage_memory(memory: AgenticMemory) -> BaseTool:
    return create_memory_tools(memory, namespace="calvin", formation="off")[1]


def test_a_search_for_nothing_stored_says_so(memory: AgenticMemory, note: Note) -> None:
    tool, _ = create_memory_tools(memory, namespace="calvin", min_relevance=0.1)
    assert "Nothing is remembered" in tool.invoke({"query": "Which wombats live in Tasmania?"})
    assert note.content in tool.invoke({"query": "Which cache does Calvin want?"})


class OfMemory:
    place: int
    example: dict[str, Any]

    @pytest.fixture(autouse=True)
    def _open(self, memory: AgenticMemory) -> None:
        self.memory = memory

    @property
    def tool_constructor(self) -> BaseTool:
        return create_memory_tools(self.memory, namespace="standard", formation="off")[self.place]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return self.example


class Searching(OfMemory):
    place = 0
    example = {"query": "cache", "limit": 3, "offset": 1, "filter": {"speaker": "user"}}  # noqa: RUF012


class Managing(OfMemory):
    place = 1
    example = {"content": "Calvin wants an LRU cache", "action": "create"}  # noqa: RUF012


class TestSearchUnit(Searching, ToolsUnitTests):
    pass


class TestSearchIntegration(Searching, ToolsIntegrationTests):
    pass


class TestManageUnit(Managing, ToolsUnitTests):
    pass


class TestManageIntegration(Managing, ToolsIntegrationTests):
    pass


def test_the_names_and_arguments_are_langmem_s_and_one_of_ours(
    search_memory: BaseTool, manage_memory: BaseTool
) -> None:
    assert list(search_memory.args) == ["query", "limit", "offset", "filter"]
    assert list(manage_memory.args) == ["content", "action", "id", "supersedes"]
    assert (search_memory.name, manage_memory.name) == ("search_memory", "manage_memory")
    assert manage_memory.args["action"]["enum"] == ["create", "update", "delete"]


def test_a_new_note_takes_the_place_of_one_that_is_kept(
    manage_memory: BaseTool, memory: AgenticMemory, note: Note
) -> None:
    asked = {"content": "Calvin wants no cache by now", "supersedes": note.id}
    assert manage_memory.invoke(asked).startswith("Created memory")
    assert memory.recent(namespace="calvin")[0].source == "assistant"
    held = memory.get(note.id, namespace="calvin")
    assert held is not None
    assert held.valid_until is not None
    assert "Only a new memory" in manage_memory.invoke({**asked, "action": "update"})


async def test_a_note_is_created_found_updated_and_deleted(
    manage_memory: BaseTool, search_memory: BaseTool, memory: AgenticMemory, note: Note
) -> None:
    created = await manage_memory.ainvoke({"content": "Calvin's boat is called Susie"})
    [found] = notes_in(await search_memory.ainvoke({"query": "boat", "limit": 1}))
    assert created == f"Created memory {found['id']}"
    assert found["content"] == "Calvin's boat is called Susie"
    about = {"action": "update", "id": note.id, "content": "Calvin wants no cache"}
    assert await manage_memory.ainvoke(about) == f"Updated memory {note.id}"
    changed = await memory.aget(note.id, namespace="calvin")
    assert changed is not None
    assert changed.content == "Calvin wants no cache"
    deleted = await manage_memory.ainvoke({"action": "delete", "id": note.id})
    assert deleted == f"Deleted memory {note.id}"
    assert await memory.aget(note.id, namespace="calvin") is None


def test_pages_of_a_search_neither_overlap_nor_leave_out(
    search_memory: BaseTool, memory: AgenticMemory
) -> None:
    notes = memory.add_many([f"cache number {n}" for n in range(7)], namespace="calvin")
    pages = [
        notes_in(search_memory.invoke({"query": "cache number", "limit": 3, "offset": offset}))
        for offset in (0, 3, 6)
    ]
    assert [len(page) for page in pages] == [3, 3, 1]
    assert {each["id"] for page in pages for each in page} == {note.id for note in notes}


def test_a_search_can_be_narrowed(search_memory: BaseTool, memory: AgenticMemory) -> None:
    memory.add("the cache is slow", namespace="calvin", speaker="Dana")
    memory.add("the cache is fast", namespace="calvin", speaker="Calvin")
    found = notes_in(search_memory.invoke({"query": "cache", "filter": {"speaker": "Dana"}}))
    assert [each["content"] for each in found] == ["the cache is slow"]
    assert "$near" in search_memory.invoke({"query": "cache", "filter": {"speaker": {"$near": 1}}})


def test_notes_that_do_not_fit_are_said_to_be_left_out(memory: AgenticMemory) -> None:
    memory.add_many([f"cache {n} " + "long " * 300 for n in range(4)], namespace="long")
    search_memory, _ = create_memory_tools(memory, namespace="long", token_budget=1000)
    result = search_memory.invoke({"query": "cache", "limit": 4})
    left_out = re.search(r"(\d) more did not fit here", result)
    assert left_out is not None
    assert len(notes_in(result)) + int(left_out[1]) == 4


def test_a_note_of_another_namespace_is_not_there(
    memory: AgenticMemory, manage_memory: BaseTool, search_memory: BaseTool
) -> None:
    other = memory.add("Eve's secret", namespace="eve")
    for id in (other.id, UNKNOWN, "no id at all"):
        for asked in ({"action": "delete"}, {"action": "update", "content": "mine"}):
            assert manage_memory.invoke({**asked, "id": id}) == "There is no memory with this id."
    assert "secret" not in search_memory.invoke({"query": "Eve's secret"})
    assert memory.get(other) == other
    assert memory.count("eve") == 1


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"action": "create"}, "content is missing"),
        ({"action": "create", "content": "x", "id": UNKNOWN}, "leave id out"),
        ({"action": "update", "content": "x"}, "id is missing"),
        ({"action": "delete"}, "id is missing"),
        ({"action": "update", "id": "the note"}, "content is missing"),
        ({"content": "\u200b"}, "nothing to remember"),
    ],
)
def test_the_model_is_told_of_its_mistakes(
    manage_memory: BaseTool, memory: AgenticMemory, note: Note, asked: dict[str, Any], told: str
) -> None:
    if asked.get("id") == "the note":
        asked = {**asked, "id": note.id}
    call = ToolCall(name="manage_memory", args=asked, id="1", type="tool_call")
    message = manage_memory.invoke(call)
    assert told in message.content
    assert message.status == "error"
    assert memory.get(note) == note


async def test_a_memory_that_cannot_be_reached_is_told_logged_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory = await AgenticMemory.aopen(embedder=_failing, formation="off")
    try:
        search_memory, manage_memory = create_memory_tools(memory, namespace="calvin")
        _failing.down = True
        with caplog.at_level(logging.INFO):
            for result in (
                await search_memory.ainvoke({"query": "a secret"}),
                manage_memory.invoke({"content": "a secret"}),
            ):
                assert result == "The memory cannot be reached now; go on without it."
        assert "secret" not in caplog.text
        health = await memory.admin.ahealth()
        assert health["langchain.search_memory.failed"] == 1
        assert health["langchain.manage_memory.failed"] == 1
    finally:
        _failing.down = False
        await memory.aclose()


class Failing:
    """An embedder that can be down."""

    down = False

    def __call__(self, texts: list[str]) -> list[list[float]]:
        if self.down:
            raise ConnectionError("down")
        return [[1.0, 0.0] for _ in texts]


_failing = Failing()


async def test_the_run_names_the_user_and_the_model_cannot(memory: AgenticMemory) -> None:
    search_memory, manage_memory = create_memory_tools(
        memory, namespace=("users", "{user_id}"), formation="off"
    )
    calvin: Any = {"configurable": {"user_id": "calvin"}}
    eve: Any = {"configurable": {"user_id": "eve"}}
    manage_memory.invoke({"content": "The key is under the mat"}, calvin)
    assert "under the mat" in search_memory.invoke({"query": "key"}, calvin)
    assert "under the mat" not in search_memory.invoke({"query": "key"}, eve)
    assert memory.count(("users", "calvin")) == 1
    named = {"query": "key", "namespace": "users", "user_id": "calvin"}
    assert "under the mat" not in search_memory.invoke(named, eve)
    with pytest.raises(InvalidInputError, match="user_id"):
        search_memory.invoke({"query": "key"})
    with pytest.raises(InvalidInputError, match="user_id"):
        await manage_memory.ainvoke({"content": "The key"})


def test_of_a_note_that_is_too_long_the_beginning_is_shown(memory: AgenticMemory) -> None:
    search, _ = create_memory_tools(memory, namespace="calvin", token_budget=400)
    memory.add("The boat log. " + "Wind from the west, calm sea. " * 2000, namespace="calvin")
    for query in ({"query": "boat log", "limit": 1}, {"query": "boat log"}):
        shown = search.invoke(query)
        assert '"The boat log. Wind' in shown
        assert "the rest did not fit" in shown
        assert "smaller limit" not in shown


@pytest.mark.parametrize("tags", ["travel", {"$in": ["travel", "food"]}, {"$contains": "travel"}])
def test_a_filter_asks_for_notes_with_a_tag(
    memory: AgenticMemory, search_memory: BaseTool, tags: Any
) -> None:
    for tag in ("travel", "work"):
        note = memory.add(f"Calvin likes {tag}", namespace="calvin")
        run(io_of(memory).engine.patch(note.id, {"tags": [tag]}, expect={}))
    shown = search_memory.invoke({"query": "What does Calvin like?", "filter": {"tags": tags}})
    assert "likes travel" in shown
    assert "likes work" not in shown
