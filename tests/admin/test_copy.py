"""Copying a memory into another one: nothing is lost, and vectors are the other's own."""

from pathlib import Path

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.filters import EVERYTHING
from amem_integrations.core.io import run
from amem_integrations.errors import InvalidInputError, StoreCorruptError, StoreMismatchError
from amem_integrations.testing import HashEmbedder
from tests.support import chat_model, io_of, open_memory

LARGER = HashEmbedder(dimension=96)


def filled() -> AgenticMemory:
    memory = open_memory(model=chat_model())
    memory.add_many(
        ["The redis cache evicts by LRU", "The redis cache is small", "The redis cache moved"],
        namespace="shop",
    )
    memory.add("Somebody else's tea", namespace=("other", "home"), formation="off")
    memory.lifecycle.feedback(memory.recent(namespace="shop")[:2])
    return memory


def payloads(memory: AgenticMemory) -> dict[str, object]:
    points = memory.perform(lambda wiring, io: io.engine.scroll(EVERYTHING, limit=1000))
    return {point.id: point.payload for point in points if point.payload["kind"] != "meta"}


def test_a_copy_holds_everything_and_finds_it_with_the_other_embedder() -> None:
    with filled() as memory, open_memory(embedder=LARGER) as other:
        assert memory.admin.copy_to(other) == 4
        assert payloads(other) == payloads(memory)
        assert other.namespaces() == memory.namespaces()
        assert other.search("redis cache", namespace="shop", k=3)
        assert other.admin.check() == []


def test_copying_again_copies_only_what_is_missing() -> None:
    with filled() as memory, open_memory(embedder=LARGER) as other:
        memory.admin.copy_to(other)
        memory.add("The redis cache has a new owner", namespace="shop")
        assert memory.admin.copy_to(other) == 1
        assert other.count() == 5


async def test_the_async_form_copies_the_same_and_tells_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    with filled() as memory, open_memory(embedder=LARGER) as other:
        assert await memory.admin.acopy_to(other, progress=lambda *far: told.append(far)) == 4
        assert payloads(other) == payloads(memory)
    assert told[-1][0] == told[-1][1] > 4


@pytest.mark.parametrize("other", [None, "a directory"])
def test_a_copy_goes_to_another_memory(other: object) -> None:
    with open_memory() as memory:
        for wrong in (other, memory):
            with pytest.raises(InvalidInputError, match="another memory to copy to"):
                memory.admin.copy_to(wrong)  # type: ignore[arg-type]


def test_a_note_that_cannot_be_read_is_named() -> None:
    with filled() as memory, open_memory(embedder=LARGER) as other:
        note = memory.recent(namespace="shop")[0]
        run(io_of(memory).engine.patch(note.id, {"metadata": 7}))
        with pytest.raises(StoreCorruptError, match=f"{note.id} cannot be read"):
            memory.admin.copy_to(other)


def test_a_store_of_another_embedder_says_which_one_that_was(tmp_path: Path) -> None:
    open_memory(tmp_path, embedder=LARGER).close()
    with pytest.raises(StoreMismatchError, match="amem admin reembed") as caught:
        open_memory(tmp_path)
    assert caught.value.dimension == 96
    assert caught.value.embedder in str(caught.value)
