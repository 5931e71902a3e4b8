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
from tests.embedders.test_llama_index import plain
from tests.llama_index.support import (
    ADD,
    FACT,
    QUESTION,
    achat,
    contents,
    memory_of,
    simple,
    stream_chat,
    text_of,
    user,
)
from tests.support import open_memory

MANY = 8


def file_in(directory: Path) -> str:
    return f"sqlite+aiosqlite:///{directory / 'chat.db'}"


@pytest.fixture(params=["in the process", "in a file"])
def memory(core: AgenticMemory, tmp_path: Path, request: pytest.FixtureRequest) -> AMemMemory:
    uri = file_in(tmp_path) if request.param == "in a file" else None
    return memory_of(core, async_database_uri=uri)


def texts(memory: AMemMemory) -> list[str]:
    return sorted(message.content or "" for message in memory.get_all())


# -- ways to put many messages at once --------------------------------------------------------


def in_tasks(memory: AMemMemory, said: list[str]) -> None:
    async def put() -> None:
        reads = [memory.aget(input="Fact") for _ in said]
        await asyncio.gather(*(memory.aput(user(text)) for text in said), *reads)

    asyncio.run(put())


def in_threads(memory: AMemMemory, said: list[str]) -> None:
    with ThreadPoolExecutor(MANY) as threads:
        list(threads.map(lambda text: memory.put(user(text)), said))


def in_loops_of_threads(memory: AMemMemory, said: list[str]) -> None:
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda n: in_tasks(memory, said[n::3]), range(3)))


def in_loops_that_come_and_go(memory: AMemMemory, said: list[str]) -> None:
    for n, text in enumerate(said):
        if n % 2:
            memory.put(user(text))
        else:
            asyncio.run(memory.aput(user(text)))


WAYS = [in_tasks, in_threads, in_loops_of_threads, in_loops_that_come_and_go]
Way = Callable[[AMemMemory, list[str]], None]


@pytest.mark.parametrize("way", WAYS)
def test_all_messages_put_at_once_are_kept(
    core: AgenticMemory, memory: AMemMemory, way: Way
) -> None:
    # The same words said twice are two messages.
    said = sorted([*(f"Fact {n}" for n in range(MANY)), "ok", "ok"])
    way(memory, said)
    assert texts(memory) == sorted(contents(core)) == said
    assert memory.events == {}


@pytest.mark.parametrize("way", [in_tasks, in_threads])
def test_an_overflowing_queue_archives_each_message_once(core: AgenticMemory, way: Way) -> None:
    memory = memory_of(core, token_limit=60, token_flush_size=10)
    said = [f"Fact number {n}" for n in range(30)]
    way(memory, said)
    memory.put(user("Last"))
    assert texts(memory) == sorted([*said, "Last"])
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


def test_sync_methods_work_where_a_loop_is_running(told: AgenticMemory, memory: AMemMemory) -> None:
    async def use() -> None:
        memory.put(user(QUESTION))
        assert FACT in text_of(memory.get())
        memory.set([user("One")])
        assert text_of(memory.get_all()) == "One"
        memory.reset()
        assert memory.get_all() == []

    asyncio.run(use())


@pytest.mark.parametrize("uri", [None, "sqlite+aiosqlite:///:memory:", "file"])
def test_many_may_read_a_memory_first(core: AgenticMemory, tmp_path: Path, uri: Any) -> None:
    uri = file_in(tmp_path) if uri == "file" else uri
    memory = memory_of(core, async_database_uri=uri)

    async def read() -> list[Any]:
        return await asyncio.gather(*(memory.aget() for _ in range(10)))

    assert asyncio.run(read()) == [[]] * 10


@pytest.mark.parametrize("chat", [achat, stream_chat])
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


def test_a_cancelled_put_leaves_its_note_to_the_next_one(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = memory_of(core)

    async def run() -> None:
        asked = asyncio.Event()

        async def forever(*args: Any, **kwargs: Any) -> Any:
            asked.set()
            await asyncio.sleep(60)

        with monkeypatch.context() as patch:
            patch.setattr(ADD, forever)
            put = asyncio.create_task(memory.aput(user("First")))
            await asked.wait()
            put.cancel()
            await asyncio.wait([put])
        await memory.aput(user("Second"))

    asyncio.run(run())
    assert contents(core) == ["First", "Second"]


def test_a_memory_is_opened_once_by_however_many_ask_first(tmp_path: Path) -> None:
    with open_memory(tmp_path, embedder=plain()) as core:
        data = memory_of(core).to_dict()
    memory = AMemMemory.from_dict(data, embed_model=plain())
    in_threads(memory, [f"Fact {n}" for n in range(MANY)])
    opened = memory._notes.source.core
    assert opened is not None
    assert opened.count("calvin") == MANY
    memory.close()
    assert opened.closed
