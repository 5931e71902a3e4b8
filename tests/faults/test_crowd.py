"""Many threads, tasks and processes in one memory at once: nothing lost, twice, or half."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from amem_integrations import AgenticMemory, MemoryWorker, Note
from amem_integrations.testing import HashEmbedder
from tests.faults.whole import wrongs
from tests.support import chat_model, open_memory

LATENCY = 0.03
CROWD = 64
FORMING = 4
COUNTED = ("raw", "commit.redone", "dropped.evolution.contention", "formation.failed")


def text(place: int) -> str:
    return f"Mark{place}x on the redis cache"


class Remote(HashEmbedder):
    """An embedder at the other end of a network: it takes a while, and others go on meanwhile."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        time.sleep(LATENCY)
        return super().embed_documents(texts)


def crowded(**settings: Any) -> AgenticMemory:
    return open_memory(
        model=chat_model(latency=0.002), neighbours=8, concurrency=FORMING, **settings
    )


def all_at_once(count: int, work: Callable[[int], None]) -> None:
    """Run `work(0)` to `work(count - 1)` in threads that begin together."""
    errors: list[BaseException] = []
    start = threading.Barrier(count)

    def one(place: int) -> None:
        try:
            start.wait(60)
            work(place)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert errors == []


def settle(memory: AgenticMemory, notes: list[Note]) -> None:
    """Everything was stored once and is formed, at the latest by one more look at it."""
    health = memory.health()
    counts = {name: health.get(name, 0) for name in COUNTED}
    print(f"{len(notes)} notes: {counts}")  # noqa: T201
    assert len({note.id for note in notes}) == memory.count() == len(notes)
    assert memory.resume() == health.get("raw", 0)
    assert memory.health()["formed"] == len(notes)
    assert wrongs(memory) == []


def add_old(memory: AgenticMemory, spread: int) -> list[Note]:
    """What everybody's note is to be linked to and to change."""
    return [
        memory.add(f"Old remark {n} on the redis cache", namespace=f"of {place}")
        for place in range(spread)
        for n in range(2)
    ]


# One namespace for all, and one for every few.
@pytest.mark.parametrize("spread", [1, 5])
@pytest.mark.parametrize("formation", ["inline", "background"])
def test_threads_that_add_and_search_at_once(formation: Any, spread: int) -> None:
    with crowded() as memory, MemoryWorker(memory):
        notes = add_old(memory, spread)

        def work(place: int) -> None:
            namespace = f"of {place % spread}"
            notes.append(memory.add(text(place), namespace=namespace, formation=formation))
            assert memory.search("redis cache", namespace=namespace)

        all_at_once(CROWD, work)
        assert memory.flush(120)
        settle(memory, notes)


@pytest.mark.parametrize("spread", [1, 5])
@pytest.mark.parametrize("formation", ["inline", "background"])
async def test_tasks_that_add_and_search_at_once(formation: Any, spread: int) -> None:
    async with crowded() as memory, MemoryWorker(memory):

        async def work(place: int) -> Note:
            namespace = f"of {place % spread}"
            note = await memory.aadd(text(place), namespace=namespace, formation=formation)
            assert await memory.asearch("redis cache", namespace=namespace)
            return note

        notes = add_old(memory, spread)
        notes += await asyncio.gather(*(work(place) for place in range(CROWD)))
        assert await memory.aflush(120)
        settle(memory, notes)


def test_threads_at_a_slow_embedder_around_the_same_old_notes() -> None:
    with crowded(embedder=Remote()) as memory:
        notes = [memory.add("Old remark on the redis cache")]
        all_at_once(CROWD, lambda place: notes.append(memory.add(text(place))))
        assert memory.health().get("raw", 0) == 0
        settle(memory, notes)
