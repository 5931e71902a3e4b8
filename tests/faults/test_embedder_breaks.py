"""An embedder that breaks while a note is formed: the note is there, and says why it is raw."""

from typing import Any

import pytest

from amem_integrations import Status
from amem_integrations.core.engine import Vector
from amem_integrations.errors import EmbeddingError, ModelUnavailableError
from tests.support import EMBEDDER, again, chat_model, open_memory


class Breaking:
    """Refuses the texts that hold what only a formed note has: what the judge wrote of it."""

    name = "breaking"

    def __init__(self, error: Exception) -> None:
        self.error: Exception | None = error

    def __call__(self, texts: list[str]) -> list[Vector]:
        if self.error and any("About Poison" in text for text in texts):
            raise self.error
        return EMBEDDER.embed_documents(texts)


@pytest.mark.parametrize("error", [ConnectionError("reset"), EmbeddingError("NaN")], ids=repr)
@pytest.mark.parametrize("mode", ["fused", "staged"])
def test_adding_ends_well_and_the_note_keeps_the_reason(mode: Any, error: Exception) -> None:
    embedder = Breaking(error)
    with open_memory(model=chat_model(), embedder=embedder, mode=mode) as memory:
        bad, good = memory.add_many(["Poison in the redis cache", "Redis eviction"])
        assert (bad.status, bad.attempts) == (Status.RAW, 1)
        assert type(error).__name__ in str(bad.last_error)
        assert good.status is Status.FORMED
        assert memory.admin.health()["formation.failed"] == 1
        embedder.error = None
        assert memory.resume() == 1


@pytest.mark.parametrize("mode", ["fused", "staged"])
def test_the_notes_behind_it_do_not_wait(mode: Any) -> None:
    embedder = Breaking(ConnectionError("reset"))
    with open_memory(
        model=chat_model(), embedder=embedder, mode=mode, formation="background"
    ) as memory:
        bad = memory.add("Poison in the redis cache")
        good = memory.add("Redis eviction")
        assert memory.flush(30)
        assert again(memory, good).status is Status.FORMED
        assert (again(memory, bad).status, again(memory, bad).attempts) == (Status.RAW, 1)
        embedder.error = None
        assert memory.resume() == 1


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (ConnectionError("reset"), 9),
        (TimeoutError("slow"), 9),
        (ModelUnavailableError("no weights"), 9),
        (EmbeddingError("NaN"), 3),
        (ValueError("odd"), 3),
    ],
    ids=repr,
)
def test_an_embedder_that_is_away_is_waited_for_as_a_model_is(
    error: Exception, attempts: int
) -> None:
    with open_memory(model=chat_model(), embedder=Breaking(error)) as memory:
        note = memory.add("Poison in the redis cache")
        while again(memory, note).status is Status.RAW:
            memory.resume()
        assert again(memory, note).attempts == attempts


async def test_adding_asynchronously_ends_well_too() -> None:
    embedder = Breaking(ConnectionError("reset"))
    async with open_memory(model=chat_model(), embedder=embedder) as memory:
        note = await memory.aadd("Poison in the redis cache")
        assert (note.status, note.attempts) == (Status.RAW, 1)
