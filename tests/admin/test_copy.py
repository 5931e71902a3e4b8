"""Copying a memory into another one: nothing is lost, and vectors are the other's own."""

from pathlib import Path

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.filters import EVERYTHING
from amem_integrations.core.io import run
from amem_integrations.embedders.model_files import package_dir
from amem_integrations.embedders.sparse import EdgeBm25, resolve_sparse
from amem_integrations.errors import InvalidInputError, StoreCorruptError, StoreMismatchError
from amem_integrations.memory import build
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


@pytest.mark.skipif(package_dir("qdrant_edge") is None, reason="no Qdrant Edge wheel")
def test_a_store_of_an_older_encoder_opens_and_a_copy_finds_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(build, "usable_encoders", lambda: [EdgeBm25.name])
        with open_memory(tmp_path / "old") as memory:
            memory.add_many(["The key of locker 4711", "The key of locker 815"])
    caplog.clear()
    with open_memory(tmp_path / "old") as memory, open_memory(tmp_path / "new") as other:
        assert "amem admin reembed" in caplog.text
        assert io_of(memory).sparse.name == EdgeBm25.name
        memory.add("The key of locker 4712")
        assert "words" in memory.search("keys")[0].why
        assert "words" not in memory.search("4712")[0].why
        assert memory.admin.copy_to(other) == 3
        assert io_of(other).sparse.name == resolve_sparse().name != EdgeBm25.name
        for number in ("4711", "4712"):
            [best, *_] = other.search(number)
            assert number in best.note.content
            assert "words" in best.why


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
