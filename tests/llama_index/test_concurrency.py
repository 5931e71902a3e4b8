"""Many at once: tasks, threads, event loops. Nothing said is lost, and nothing deadlocks."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import AMemMemory
from amem_integrations.testing.llama_index import ScriptedLLM
from tests.llama_index.support import ADD, CHATS, assistant, contents, memory_of, simple, user
from tests.support import open_memory

MANY = 8


@pytest.fixture(params=["in the process", "in a file"])
def memory(core: AgenticMemory, tmp_path: Path, request: pytest.FixtureRequest) -> AMemMemory:
    file = f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}"
    return memory_of(core, async_database_uri=file if request.param == "in a file" else None)


def texts(memory: AMemMemory) -> set[str | None]:
    return {message.content for message in memory.get_all()}


def test_all_of_eight_parallel_puts_are_kept(core: AgenticMemory, memory: AMemMemory) -> None:
    said = {f"Fact {n}" for n in range(MANY)}

    async def put() -> None:
        await asyncio.gather(*(memory.aput(user(text)) for text in said))

    asyncio.run(put())
    assert texts(memory) == said == set(contents(core))


def test_all_puts_from_eight_threads_are_kept(core: AgenticMemory, memory: AMemMemory) -> None:
    said = [f"Fact {n}" for n in range(MANY)]
    with ThreadPoolExecutor(MANY) as threads:
        list(threads.map(lambda text: memory.put(user(text)), said))
    assert texts(memory) == set(said) == set(contents(core))


def test_all_puts_from_loops_in_several_threads_are_kept(
    core: AgenticMemory, memory: AMemMemory
) -> None:
    def on_a_loop(thread: int) -> None:
        async def put() -> None:
            await asyncio.gather(*(memory.aput(user(f"{thread}: {n}")) for n in range(3)))

        asyncio.run(put())

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(on_a_loop, range(3)))
    assert len(texts(memory)) == 9
    assert core.count("calvin") == 9


def test_the_same_words_said_at_once_are_each_kept(core: AgenticMemory) -> None:
    memory = memory_of(core)
    with ThreadPoolExecutor(MANY) as threads:
        list(threads.map(lambda _: memory.put(user("ok")), range(MANY)))
    assert contents(core) == ["ok"] * MANY


@pytest.mark.parametrize("sync", [True, False])
def test_an_overflowing_queue_archives_each_message_once(core: AgenticMemory, sync: bool) -> None:
    memory = memory_of(core, token_limit=60, token_flush_size=10)
    said = [f"Fact number {n}" for n in range(30)]
    if sync:
        with ThreadPoolExecutor(MANY) as threads:
            list(threads.map(lambda text: memory.put(user(text)), said))
    else:

        async def put() -> None:
            await asyncio.gather(*(memory.aput(user(text)) for text in said))

        asyncio.run(put())
    memory.put(user("Last"))
    assert texts(memory) == {*said, "Last"}
    assert 0 < len(asyncio.run(memory.sql_store.get_messages(memory.session_id))) < 31


def test_a_sync_put_within_a_loop_does_not_wait_for_the_tasks_of_that_loop(
    core: AgenticMemory,
) -> None:
    memory = memory_of(core)

    async def mixed() -> None:
        tasks = [asyncio.create_task(memory.aput(user(f"Async {n}"))) for n in range(MANY)]
        await asyncio.sleep(0)
        memory.put(user("Sync"))
        await asyncio.gather(*tasks)

    asyncio.run(asyncio.wait_for(mixed(), 30))
    assert len(texts(memory)) == MANY + 1


@pytest.mark.parametrize("chat", CHATS)
def test_sessions_side_by_side_do_not_disturb_each_other(
    core: AgenticMemory, chat: Callable[[Any, str], str]
) -> None:
    def talk(n: int) -> list[str | None]:
        memory = memory_of(core, f"user {n}")
        engine = simple(ScriptedLLM([f"Answer {n}"], after="repeat"), memory)
        for turn in range(2):
            chat(engine, f"Message {turn} of {n}")
        return [message.content for message in memory.get_all()]

    with ThreadPoolExecutor(4) as threads:
        talks = list(threads.map(talk, range(4)))
    for n, said in enumerate(talks):
        assert said == [f"Message 0 of {n}", f"Answer {n}", f"Message 1 of {n}", f"Answer {n}"]
        assert contents(core, f"user {n}") == said


def test_reading_and_writing_at_once_goes_on(core: AgenticMemory) -> None:
    memory = memory_of(core)

    async def run() -> None:
        writes = [memory.aput_messages([user(f"Q{n}"), assistant(f"A{n}")]) for n in range(MANY)]
        reads = [memory.aget(input="Q") for _ in range(MANY)]
        await asyncio.gather(*writes, *reads)

    asyncio.run(run())
    assert len(memory.get_all()) == 2 * MANY
    assert memory.events == {}


def test_a_cancelled_put_leaves_its_note_to_the_next_one(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = memory_of(core)

    async def forever(*args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(60)

    async def run() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(ADD, forever)
            put = asyncio.create_task(memory.aput(user("First")))
            await asyncio.sleep(0.05)
            put.cancel()
            await asyncio.wait([put])
        await memory.aput(user("Second"))

    asyncio.run(run())
    assert contents(core) == ["First", "Second"]


def test_a_memory_is_opened_once_by_however_many_ask_first(tmp_path: Path) -> None:
    from tests.embedders.test_llama_index import plain

    with open_memory(tmp_path, embedder=plain()) as core:
        data = memory_of(core).to_dict()
    memory = AMemMemory.from_dict(data, embed_model=plain())
    with ThreadPoolExecutor(MANY) as threads:
        list(threads.map(lambda n: memory.put(user(f"Fact {n}")), range(MANY)))
    opened = memory._notes.source.core
    assert opened is not None
    assert opened.count("calvin") == MANY
    memory.close()
    assert opened.closed
