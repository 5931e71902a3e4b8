"""AgenticMemory: the ways in which it is used, in both forms."""

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Status
from amem_integrations.errors import (
    AMemError,
    StoreClosedError,
)
from amem_integrations.testing import HashEmbedder, ScriptedChatModel
from tests.support import EMBEDDER, again, chat_model, open_memory, parts_of


@pytest.fixture
def memory() -> Any:
    with open_memory() as memory:
        yield memory


# -- identity ---------------------------------------------------------------------------------


def test_a_repeated_write_is_the_same_note(memory: AgenticMemory) -> None:
    first = memory.add("ok", speaker="Ann", session="s", sequence=3)
    second = memory.add("ok", speaker="Ann", session="s", sequence=3)
    assert first.id == second.id
    assert memory.count() == 1


def test_equal_items_of_one_batch_are_kept_apart_and_the_batch_can_be_repeated(
    memory: AgenticMemory,
) -> None:
    items = ["ok", "fine", "ok", {"content": "ok"}]
    first = [note.id for note in memory.add_many(items)]
    assert len(set(first)) == 4
    assert [note.id for note in memory.add_many(items)] == first
    assert memory.count() == 4


def test_progress_is_told(memory: AgenticMemory) -> None:
    seen: list[tuple[int, int]] = []
    memory.add_many(["a b", "c d", "e f"], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


# -- formation --------------------------------------------------------------------------------


def test_off_leaves_notes_raw_and_findable_until_resume(memory: AgenticMemory) -> None:
    notes = memory.add_many(["The redis cache", "Redis cache eviction"], formation="off")
    assert {note.status for note in notes} == {Status.RAW}
    assert memory.search("eviction")[0].note.id == notes[1].id
    assert memory.resume() == 2
    assert again(memory, notes[1]).status is Status.FORMED


def test_background_formation_is_finished_by_flush(tmp_path: Path) -> None:
    model = chat_model(latency=0.02)
    with open_memory(tmp_path, model=model, formation="background") as memory:
        notes = [memory.add(f"The redis cache number {n}") for n in range(6)]
        assert memory.flush(timeout=30)
        assert {again(memory, note).status for note in notes} == {Status.FORMED}
        assert len(model.calls) == 6
        assert memory.admin.check() == []


def test_a_background_worker_takes_up_what_an_earlier_one_left(tmp_path: Path) -> None:
    with open_memory(tmp_path, formation="off") as memory:
        note = memory.add("The redis cache")
    with open_memory(tmp_path, formation="background") as memory:
        assert memory.flush(timeout=30)
        assert again(memory, note).status is Status.FORMED


def test_a_memory_that_is_dropped_releases_its_directory(tmp_path: Path) -> None:
    memory = open_memory(tmp_path, formation="background")
    memory.add("The redis cache")
    del memory
    gc.collect()
    with open_memory(tmp_path, embedder=HashEmbedder()) as again_opened:
        assert again_opened.count() == 1


# -- two forms, loops, threads ----------------------------------------------------------------


async def test_both_forms_do_the_same() -> None:
    clock = iter(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=n) for n in range(10_000))
    ticks = list(clock)

    def opened() -> AgenticMemory:
        moments = iter(ticks)
        return open_memory(model=chat_model(), clock=lambda: next(moments))

    texts = ["The redis cache", "Memcached instead", "Redis it is, with eviction"]
    sync, asynchronous = opened(), opened()
    for text in texts:
        assert sync.add(text) == await asynchronous.aadd(text)
    assert sync.search("eviction") == await asynchronous.asearch("eviction")
    assert sync.namespaces() == await asynchronous.anamespaces()
    recent = sync.recent()
    assert recent == await asynchronous.arecent()
    assert sync.admin.health() == await asynchronous.admin.ahealth()
    note = recent[0]
    assert sync.get(note) == await asynchronous.aget(note)
    assert sync.links(note) == await asynchronous.alinks(note)
    assert sync.history(note) == await asynchronous.ahistory(note)
    assert sync.update(note, "Changed") == await asynchronous.aupdate(note, "Changed")
    assert sync.revert(note) == await asynchronous.arevert(note)
    assert sync.admin.check() == await asynchronous.admin.acheck() == []
    assert sync.forget(note) == await asynchronous.aforget(note)
    sync.close()
    await asynchronous.aclose()


def test_several_event_loops_one_after_another() -> None:
    memory = open_memory(model=chat_model())
    for n in range(3):
        note = asyncio.run(memory.aadd(f"The redis cache number {n}"))
        assert asyncio.run(memory.aget(note)) is not None
    assert len(asyncio.run(memory.asearch("redis"))) == 3
    asyncio.run(memory.aclose())


async def test_the_sync_form_works_inside_a_running_loop(memory: AgenticMemory) -> None:
    note = memory.add("The redis cache")
    assert memory.search("redis")[0].note == note


def test_many_threads_lose_nothing() -> None:
    with open_memory(model=chat_model()) as memory, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: memory.add(f"The redis cache number {n}"), range(40)))
        assert memory.count() == 40
        memory.admin.retry()
        assert {note.status for note in memory.recent(limit=50)} == {Status.FORMED}
        assert memory.admin.check() == []


async def test_many_tasks_lose_nothing() -> None:
    async with open_memory(model=chat_model(latency=0.001)) as memory:
        await asyncio.gather(*(memory.aadd(f"The redis cache number {n}") for n in range(40)))
        assert await memory.acount() == 40
        await memory.admin.aretry()
        assert {note.status for note in await memory.arecent(limit=50)} == {Status.FORMED}
        assert await memory.admin.acheck() == []


async def test_a_cancelled_call_leaves_a_stored_note() -> None:
    async with open_memory(model=chat_model(latency=5.0)) as memory:
        task = asyncio.create_task(memory.aadd("The redis cache"))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await memory.arecent())[0].status is Status.RAW


# -- closing ----------------------------------------------------------------------------------


def test_use_after_close_says_so() -> None:
    memory = open_memory()
    assert not memory.closed
    memory.close()
    memory.close()
    assert memory.closed
    with pytest.raises(StoreClosedError):
        memory.add("The redis cache")


async def test_closing_asynchronously_twice() -> None:
    memory = open_memory()
    await memory.aclose()
    await memory.aclose()
    assert memory.closed
    with pytest.raises(AMemError):
        await memory.aadd("The redis cache")


# -- failing models ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    ["not json at all", "{", TimeoutError("slow"), {"keywords": []}],
    ids=["prose", "truncated", "timeout", "wrong"],
)
def test_whatever_the_model_does_the_note_is_stored_with_a_reason(reply: Any) -> None:
    model = ScriptedChatModel([reply], after="repeat")
    with open_memory(model=model, embedder=EMBEDDER) as memory:
        note = memory.add("The redis cache")
        assert (note.status, note.content) == (Status.RAW, "The redis cache")
        assert note.last_error
        assert memory.search("redis")[0].note.id == note.id
        assert memory.admin.health()["formation.failed"] == 1
        assert memory.usage().total.calls > 0


# -- what adapters need -----------------------------------------------------------------------


def test_what_an_adapter_counts_shows_in_health(memory: AgenticMemory) -> None:
    memory.admin.count_event("adapter.skipped")
    memory.admin.count_event("adapter.skipped")
    assert memory.admin.health()["adapter.skipped"] == 2


def test_a_memory_tells_how_it_was_opened_but_shows_no_key(tmp_path: Path) -> None:
    with open_memory(tmp_path, api_key="secret", neighbours=3) as memory:
        assert memory.options.location == tmp_path
        assert memory.options.formation_options.neighbours == 3
        assert "secret" not in repr(memory.options)
        assert repr(memory) == f"<AgenticMemory in {tmp_path / 'amem'}>"


async def test_what_forms_notes_is_loaded_before_a_loop_has_to_wait_for_it() -> None:
    async with await AgenticMemory.aopen(embedder=EMBEDDER) as memory:
        assert "own_graph" in vars(parts_of(memory))
    async with await AgenticMemory.aopen(embedder=EMBEDDER, formation="off") as memory:
        assert "own_graph" not in vars(parts_of(memory))
