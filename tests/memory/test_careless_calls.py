"""Arguments of the wrong kind: refused as such, and nothing is stored or changed."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.errors import InvalidInputError
from tests.support import again, open_memory


@pytest.fixture
def memory() -> Iterator[AgenticMemory]:
    with open_memory() as opened:
        yield opened


@pytest.mark.parametrize(
    "items",
    ["The redis cache", {"content": "The redis cache"}, None, 5, [None], [5], [["content", "x"]]],
    ids=repr,
)
def test_items_that_are_no_list_of_items_are_refused(memory: AgenticMemory, items: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"list|mapping"):
        memory.add_many(items)
    assert memory.count() == 0


@pytest.mark.parametrize("metadata", [[1], "text", [["a", 1]], 5], ids=repr)
def test_an_update_with_metadata_that_is_no_mapping_is_refused(
    memory: AgenticMemory, metadata: Any
) -> None:
    note = memory.add("The redis cache", metadata={"n": 1})
    with pytest.raises(InvalidInputError, match="metadata must be a mapping"):
        memory.update(note, metadata=metadata)
    assert again(memory, note).metadata == {"n": 1}


@pytest.mark.parametrize("note", [None, 5, b"id", uuid.UUID(int=5), ["id"]], ids=repr)
@pytest.mark.parametrize("call", ["get", "links", "history", "update", "forget", "revert"])
def test_what_is_neither_a_note_nor_an_id_is_refused(
    memory: AgenticMemory, call: str, note: Any
) -> None:
    with pytest.raises(InvalidInputError, match="a note or its id"):
        getattr(memory, call)(note)


@pytest.mark.parametrize("limit", [-1, 1.5, "3", None], ids=repr)
def test_a_limit_that_is_no_count_is_refused(memory: AgenticMemory, limit: Any) -> None:
    with pytest.raises(InvalidInputError, match="whole number"):
        memory.recent(limit=limit)


def test_a_limit_beyond_any_number_of_notes_means_all(memory: AgenticMemory) -> None:
    memory.add("The redis cache")
    assert len(memory.recent(limit=2**70)) == 1


def test_progress_that_fails_leaves_no_note_behind_unformed() -> None:
    def fails(done: int, total: int) -> None:
        raise ZeroDivisionError

    with open_memory(formation="off") as memory:
        texts = ["The redis cache", "Redis eviction"]
        with pytest.raises(ZeroDivisionError):
            memory.add_many(texts, formation="background", progress=fails)
        assert memory.flush(10)
        assert memory.admin.health()["formed"] == 2


@pytest.mark.parametrize(
    "setting",
    [
        {"neighbours": "5"},
        {"concurrency": "4"},
        {"concurrency": None},
        {"batch": "8"},
        {"batch": 2.5},
        {"model_timeout": "60"},
        {"model_timeout": True},
        {"instructions": 7},
        {"clock": 5},
    ],
    ids=repr,
)
def test_a_setting_of_the_wrong_kind_is_refused_by_its_name(setting: dict[str, Any]) -> None:
    [name] = setting
    with pytest.raises(InvalidInputError, match=f"^{name} "):
        open_memory(**setting)
