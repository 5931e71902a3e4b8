"""Many threads, tasks and processes in one memory at once: nothing lost, twice, or half."""

import asyncio
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from amem_integrations import AgenticMemory, MemoryWorker, Note
from amem_integrations.testing import HashEmbedder
from tests.faults.whole import wrongs
from tests.stores.loopback import LoopbackServer
from tests.support import chat_model, open_memory

# How notes are formed, and over how many namespaces they are spread.
CROWDED = [("inline", 1), ("inline", 5), ("background", 1)]
SERVER = os.environ.get("AMEM_TEST_QDRANT_URL")
LATENCY = 0.03
CROWD = int(os.environ.get("AMEM_CROWD", "24"))
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


def settle(memory: AgenticMemory, notes: Sequence[Note | str]) -> None:
    """Everything was stored once and is formed, at the latest by one more look at it."""
    health = memory.admin.health()
    counts = {name: health.get(name, 0) for name in COUNTED}
    print(f"{len(notes)} notes: {counts}")  # noqa: T201
    ids = {note if isinstance(note, str) else note.id for note in notes}
    assert len(ids) == memory.count() == len(notes)
    assert memory.resume() == health.get("raw", 0)
    assert memory.admin.health()["formed"] == len(notes)
    assert wrongs(memory) == []


def add_old(memory: AgenticMemory, spread: int) -> list[Note]:
    """What everybody's note is to be linked to and to change."""
    return [
        memory.add(f"Old remark {n} on the redis cache", namespace=f"of {place}")
        for place in range(spread)
        for n in range(2)
    ]


@pytest.mark.parametrize(("formation", "spread"), CROWDED)
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


@pytest.mark.parametrize(("formation", "spread"), CROWDED)
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
        assert memory.admin.health().get("raw", 0) == 0
        settle(memory, notes)


def test_two_memories_at_one_server_share_the_work() -> None:
    server = LoopbackServer()
    with crowded(location=server.url) as one, crowded(location=server.url) as other:
        notes: list[Note] = []

        def work(place: int) -> None:
            memory = (one, other)[place % 2]
            namespace = f"of {place % 3}"
            notes.append(memory.add(text(place), namespace=namespace, formation="off"))
            assert memory.search("redis cache", namespace=namespace)

        with MemoryWorker(one, poll=0.05) as first, MemoryWorker(other, poll=0.05) as second:
            all_at_once(16, work)
            assert first.flush(60)
            assert second.flush(60)
        settle(one, notes)
        calls = [len(each.options.model.calls) for each in (one, other)]
        assert sum(calls) == len(notes)
    server.stop()


PROCESS = """
import sys
from tests.faults.test_crowd import crowded, text

with crowded(location=sys.argv[1], collection=sys.argv[2], formation="background") as memory:
    for n in range(16):
        note = memory.add(text(16 * int(sys.argv[3]) + n), namespace=f"of {n % 3}")
        assert memory.search("redis cache", namespace=note.namespace)
        print(note.id, flush=True)
    assert memory.flush(120)
"""


@pytest.mark.skipif(not SERVER, reason="AMEM_TEST_QDRANT_URL is not set")
def test_processes_that_add_and_search_at_one_server() -> None:
    collection = f"crowd-{uuid.uuid4().hex}"
    crowded(location=SERVER, collection=collection).close()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, SERVER, collection, str(n)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(4)
    ]
    said = [process.communicate(timeout=300)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    with crowded(location=SERVER, collection=collection) as memory:
        settle(memory, [id for ids in said for id in ids])
