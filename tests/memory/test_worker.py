"""MemoryWorker: forms what others left, and ends when it is told to."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory, MemoryWorker
from amem_integrations.errors import InvalidInputError
from tests.support import EMBEDDER, chat_model, open_memory
from tests.support import links_everything as judge


def formed(memory: AgenticMemory) -> int:
    return memory.admin.health().get("formed", 0)


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if "amem" in thread.name}


def test_it_forms_what_was_there_and_what_comes() -> None:
    with open_memory(model=chat_model(), formation="off") as memory:
        memory.add("The redis cache")
        with MemoryWorker(memory) as worker:
            assert worker.flush(30)
            assert formed(memory) == 1
            memory.add("Eviction policy", formation="background")
            assert memory.flush(30)
            assert formed(memory) == 2
        assert threads() == set()


async def test_in_an_event_loop_it_works_in_tasks_and_asks_asynchronously() -> None:
    asked_in: set[threading.Thread] = set()

    def where(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        asked_in.add(threading.current_thread())
        return judge(text, candidates)

    async with await AgenticMemory.aopen(
        model=chat_model(where, latency=0.01), embedder=EMBEDDER, formation="off"
    ) as memory:
        tasks = asyncio.all_tasks()
        async with MemoryWorker(memory) as worker:
            for n in range(5):
                await memory.aadd("The redis cache", namespace=f"of {n}", formation="background")
            assert await worker.aflush(30)
            assert (await memory.admin.ahealth()).get("formed") == 5
            assert threads() == set()
        assert asyncio.all_tasks() == tasks
    assert asked_in == {threading.main_thread()}


def test_namespaces_are_formed_side_by_side_and_each_in_order() -> None:
    together = threading.Barrier(4)

    def waits(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        if "first" in text:
            together.wait(20)
        return judge(text, candidates)

    with open_memory(model=chat_model(waits), formation="off", concurrency=4) as memory:
        for place in ("first", "second", "third"):
            for n in range(4):
                memory.add(f"The {place} redis cache", namespace=f"of {n}")
        with MemoryWorker(memory) as worker:
            assert worker.flush(30)
        for n in range(4):
            third, second, first = memory.recent(namespace=f"of {n}")
            assert {link.to for link in third.outgoing} == {first.id, second.id}
            assert {link.to for link in second.outgoing} == {first.id}
        assert memory.admin.check() == []


def test_run_returns_when_it_is_stopped_and_the_rest_waits(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        begun.set()
        assert go_on.wait(20)
        return judge(text, candidates)

    with open_memory(tmp_path, model=chat_model(slow), formation="off") as memory:
        memory.add("The redis cache")
        memory.add("Eviction policy")
        worker = MemoryWorker(memory)
        thread = threading.Thread(target=worker.run)
        thread.start()
        assert begun.wait(20)
        worker.stop()
        go_on.set()
        thread.join(20)
        assert not thread.is_alive()
        assert memory.admin.health()["formed"] == memory.admin.health()["raw"] == 1
        assert threads() == set()
    with open_memory(tmp_path, model=chat_model()) as memory:
        assert memory.resume() == 1


def test_a_memory_that_is_closed_meanwhile_ends_it() -> None:
    memory = open_memory(model=chat_model(), formation="off")
    worker = MemoryWorker(memory)
    thread = threading.Thread(target=worker.run)
    thread.start()
    memory.close()
    worker.stop()
    thread.join(20)
    assert not thread.is_alive()


def test_two_of_them_share_the_work_of_one_collection(tmp_path: Path) -> None:
    asked: list[str] = []

    def counted(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        asked.append(text)
        return judge(text, candidates)

    with (
        open_memory(tmp_path, model=chat_model(counted, latency=0.002)) as one,
        open_memory(tmp_path, model=chat_model(counted, latency=0.002)) as other,
    ):
        for n in range(24):
            one.add(f"Remark {n} on the cache", namespace=f"of {n % 3}", formation="off")
        with MemoryWorker(one) as first, MemoryWorker(other) as second:
            # One that found nothing left may take up what the other frees when it is done.
            for worker in (first, second, first, second):
                assert worker.flush(60)
        assert formed(one) == 24
        assert len(asked) == len(set(asked)) == 24
        assert one.admin.check() == []


@pytest.mark.parametrize("poll", [0, -1.0])
def test_the_time_between_looks_is_positive(poll: float) -> None:
    with (
        open_memory() as memory,
        pytest.raises(InvalidInputError, match="poll"),
    ):
        MemoryWorker(memory, poll=poll)
