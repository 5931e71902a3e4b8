"""What users of other LlamaIndex memories complain of, in the words of their complaints."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock, Memory

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import AMemMemoryBlock
from amem_integrations.llama_index.chat_store import InProcessChatStore
from amem_integrations.testing import HashEmbedder
from amem_integrations.testing.llama_index import ScriptedLLM
from tests.llama_index.support import ADD, assistant, contents, down, memory_of, simple, user
from tests.support import open_memory

FACT = "My dog is called Rex."
QUESTION = "What is the name of my dog?"


def text_of(messages: list[ChatMessage]) -> str:
    return "\n".join(message.content or "" for message in messages)


def composed(block: BaseMemoryBlock[Any], session: str, *others: BaseMemoryBlock[Any]) -> Memory:
    """A memory of its user's own making, whose queue overflows soon."""
    return Memory.from_defaults(
        session_id=session,
        memory_blocks=[block, *others],
        token_limit=400,
        chat_history_token_ratio=0.1,
        token_flush_size=10,
        chat_store=InProcessChatStore(),
    )


async def overflow(memory: Memory) -> None:
    for n in range(12):
        await memory.aput(user(f"Topic {n} is here"))
        await memory.aput(assistant("Fine."))


# -- "a block keeps the filter of the first session" ---------------------------------------------


async def test_sessions_that_share_a_block_do_not_share_its_filter(core: AgenticMemory) -> None:
    block = AMemMemoryBlock(core, namespace="calvin")
    for session in ("s1", "s2"):
        memory = composed(block, session)
        await memory.aput(user(f"The dog of {session} is Rex."))
        await overflow(memory)
    notes = core.recent(namespace="calvin", limit=100)
    assert {note.session for note in notes} == {"s1", "s2"}
    recalled = await block.aget([user("dog")], session_id="s2")
    assert "The dog of s1" in recalled
    assert "The dog of s2" in recalled


# -- "messages that leave the queue are lost when a block fails" ---------------------------------


async def test_messages_flushed_into_a_failing_store_are_written_later(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = AMemMemoryBlock(core, namespace="calvin")
    memory = composed(block, "s1")
    with monkeypatch.context() as patch:
        patch.setattr(ADD, down)
        await memory.aput(user(FACT))
        await overflow(memory)
        assert core.count() == 0
    assert block.events["ingest.failed"] > 0
    await overflow(memory)
    assert FACT in contents(core)


# -- "the input is ignored when it is a message" -------------------------------------------------


def test_a_message_as_input_is_the_question(core: AgenticMemory) -> None:
    core.add(FACT, namespace="calvin")
    assert FACT in text_of(memory_of(core).get(input=user(QUESTION)))
    assert FACT in text_of(asyncio.run(memory_of(core).aget(input=user(QUESTION))))


# -- "no such table" when a memory is first read by many -----------------------------------------


@pytest.mark.parametrize("kept", ["in the process", "in a file", "in memory by SQLite"])
def test_many_may_read_a_memory_first(core: AgenticMemory, tmp_path: Path, kept: str) -> None:
    uri = {
        "in the process": None,
        "in a file": f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}",
        "in memory by SQLite": "sqlite+aiosqlite:///:memory:",
    }[kept]
    memory = memory_of(core, async_database_uri=uri)

    async def read() -> list[list[ChatMessage]]:
        return await asyncio.gather(*(memory.aget() for _ in range(10)))

    assert asyncio.run(read()) == [[]] * 10


# -- "Detected nested async" ---------------------------------------------------------------------


@pytest.mark.parametrize("in_file", [False, True])
def test_sync_methods_work_where_a_loop_is_running(
    core: AgenticMemory, tmp_path: Path, in_file: bool
) -> None:
    settings = {"async_database_uri": f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}"}
    core.add(FACT, namespace="calvin")

    async def use() -> None:
        memory = memory_of(core, **(settings if in_file else {}))
        memory.put(user(QUESTION))
        assert FACT in text_of(memory.get())
        memory.set([user("One")])
        assert text_of(memory.get_all()) == "One"
        memory.reset()
        assert memory.get_all() == []

    asyncio.run(use())


# -- "a sync memory blocks my async engine" ------------------------------------------------------


async def test_an_async_engine_is_never_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(HashEmbedder):
        async def aembed_query(self, text: str) -> list[float]:
            await asyncio.sleep(0.2)
            return self.embed_query(text)

        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            await asyncio.sleep(0.2)
            return self.embed_documents(texts)

    core = await AgenticMemory.aopen(embedder=Slow(), formation="off")
    beats = 0

    async def heart() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    beating = asyncio.create_task(heart())
    await simple(ScriptedLLM(["Noted."]), memory_of(core, ingest="manual")).achat(FACT)
    beating.cancel()
    await core.aclose()
    # Three waits of 0.2 s: embedding the message, the question, the answer.
    assert beats > 20


# -- "get() took a minute" -----------------------------------------------------------------------


def test_reading_a_long_chat_embeds_one_question_and_nothing_else() -> None:
    embedded: list[str] = []

    class Counting(HashEmbedder):
        def embed_query(self, text: str) -> list[float]:
            embedded.append(text)
            return super().embed_query(text)

    with open_memory(embedder=Counting(), formation="off") as core:
        history = [user(f"Message {n} about the dog") for n in range(150)]
        memory = memory_of(core, chat_history=history, ingest="manual")
        memory.put(user(QUESTION))
        embedded.clear()
        for _ in range(5):
            memory.get()
    assert embedded == [QUESTION]
