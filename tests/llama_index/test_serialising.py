"""What travels when a memory is serialised, and that what is restored goes on where it was."""

import asyncio
import gc
import json
import logging
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import InsertMethod, Memory, StaticMemoryBlock

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import AMemMemory, AMemMemoryBlock
from tests.llama_index.support import ADD, assistant, contents, down, memory_of, user
from tests.support import open_memory

FACT = "My dog is called Rex."
QUESTION = "What is the name of my dog?"

Restore = Callable[[AMemMemory], AMemMemory]


def by_dict(memory: AMemMemory) -> AMemMemory:
    return AMemMemory.from_dict(json.loads(json.dumps(memory.to_dict())))


def by_json(memory: AMemMemory) -> AMemMemory:
    return AMemMemory.from_json(memory.to_json())


def by_pickle(memory: AMemMemory) -> AMemMemory:
    return pickle.loads(pickle.dumps(memory))


RESTORES = [by_dict, by_json, by_pickle]


def text_of(messages: list[ChatMessage]) -> str:
    return "\n".join(message.content or "" for message in messages)


@pytest.mark.parametrize("restore", RESTORES)
def test_what_is_restored_has_the_chat_and_still_recalls(
    core: AgenticMemory, restore: Restore
) -> None:
    memory_of(core).put(user(FACT))
    memory = memory_of(core)
    memory.put_messages([user("Hello"), assistant("Hi")])
    restored = restore(memory)
    assert text_of(restored.get_all()) == "Hello\nHi"
    assert FACT in text_of(restored.get(input=QUESTION))


@pytest.mark.parametrize("restore", RESTORES)
def test_what_is_restored_goes_on_in_its_session(core: AgenticMemory, restore: Restore) -> None:
    memory = memory_of(core, session_id="s1")
    memory.put_messages([user("ok"), assistant("Hi")])
    restored = restore(memory)
    restored.put(user("ok"))
    assert contents(core) == ["ok", "Hi", "ok"]
    assert {note.session for note in core.recent(namespace="calvin")} == {"s1"}


@pytest.mark.parametrize("restore", RESTORES)
def test_every_setting_travels(core: AgenticMemory, restore: Restore) -> None:
    settings: dict[str, Any] = {
        "top_k": 2,
        "hops": 0,
        "ingest": "manual",
        "roles": ("user",),
        "scope": "session",
        "max_tokens": 321,
        "token_limit": 4321,
        "chat_history_token_ratio": 0.5,
        "token_flush_size": 99,
        "session_id": "s1",
    }
    restored = restore(memory_of(core, insert_method=InsertMethod.USER, **settings))
    assert {name: getattr(restored, name) for name in settings} == settings
    assert (restored.placement, restored.insert_method) == ("user", InsertMethod.USER)
    assert restored.namespace == ("calvin",)


def test_nothing_secret_travels(tmp_path: Path) -> None:
    with open_memory(tmp_path, api_key="hunter2") as core:
        data = json.dumps(memory_of(core).to_dict())
    assert "hunter2" not in data
    assert str(tmp_path) in data


def test_notes_that_wait_to_be_written_travel(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = memory_of(core)
    with monkeypatch.context() as patch:
        patch.setattr(ADD, down)
        memory.put(user(FACT))
    restored = by_dict(memory)
    assert core.count() == 0
    assert restored.flush(10)
    assert contents(core) == [FACT]


def test_a_chat_in_a_database_is_read_from_there_again(core: AgenticMemory, tmp_path: Path) -> None:
    uri = f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}"
    memory = memory_of(core, async_database_uri=uri, table_name="talks")
    memory.put(user(FACT))
    data = memory.to_dict()
    assert FACT not in json.dumps(data)
    restored = AMemMemory.from_dict(data)
    assert text_of(restored.get_all()) == FACT
    restored.put(user(FACT))
    assert contents(core) == [FACT, FACT]


def test_what_stays_behind_is_said_and_can_be_given_again(
    core: AgenticMemory, caplog: pytest.LogCaptureFixture
) -> None:
    block = StaticMemoryBlock(name="rules", static_content="Answer in verse.")
    memory = memory_of(core, memory_blocks=[block])
    data = memory.to_dict()
    assert "1 memory blocks are not serialised" in caplog.text
    assert AMemMemory.from_dict(data).get(input="Hi") == []
    assert "verse" in text_of(AMemMemory.from_dict(data, memory_blocks=[block]).get(input="Hi"))


# -- where the notes are -------------------------------------------------------------------------


def test_it_opens_the_place_again_when_nobody_has_it_open(tmp_path: Path) -> None:
    from llama_index.core import Settings

    from tests.embedders.test_llama_index import plain

    with AgenticMemory(tmp_path, embedder=plain()) as core:
        memory = memory_of(core)
        memory.put(user(FACT))
        data = memory.to_dict()
    Settings.embed_model = plain()
    try:
        restored = AMemMemory.from_dict(data)
        assert FACT in text_of(restored.get(input="dog")) or restored.get_all()
        restored.reset()
        assert FACT in text_of(restored.get(input=QUESTION))
        restored.close()
    finally:
        Settings._embed_model = None
    assert restored.events == {}


def test_a_place_that_cannot_be_opened_again_fails_no_turn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_memory(tmp_path) as core:
        memory = memory_of(core)
        data = memory.to_dict()
    del core, memory
    gc.collect()
    restored = AMemMemory.from_dict(data, embed_model=lambda texts: [[1.0, 0.0]] * len(texts))
    restored.put(user(FACT))
    assert text_of(restored.get()) == FACT
    assert restored.events == {"ingest.failed": 1, "recall.failed": 1}
    assert "StoreMismatchError" in caplog.text


def test_another_process_goes_on_with_the_notes_and_the_chat(tmp_path: Path) -> None:
    program = """
import json, sys
from llama_index.core import Settings
from amem_integrations.llama_index import AMemMemory
from tests.embedders.test_llama_index import plain
Settings.embed_model = plain()
memory = AMemMemory.from_json(sys.stdin.read())
print(json.dumps([message.content for message in memory.get(input="dog")]))
memory.close()
"""
    from tests.embedders.test_llama_index import plain

    with AgenticMemory(tmp_path, embedder=plain()) as core:
        memory_of(core).put(user(FACT))
        memory = memory_of(core)
        memory.put_messages([user("Hello"), assistant("Hi")])
        data = memory.to_json()
    run = subprocess.run(
        [sys.executable, "-c", program],
        input=data,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
    hello, hi, notes = json.loads(run.stdout)
    assert (hello, hi) == ("Hello", "Hi")
    assert FACT in notes


def test_notes_of_a_temporary_directory_that_is_gone_are_missed_aloud(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from tests.embedders.test_llama_index import plain

    with open_memory(embedder=plain()) as core:
        data = memory_of(core).to_dict()
    data["place"]["token"] = "of another process"
    restored = AMemMemory.from_dict(data, embed_model=plain())
    with caplog.at_level(logging.WARNING):
        restored.put(user(FACT))
    assert "temporary directory that is gone" in caplog.text
    assert FACT in text_of(restored.get())
    restored.close()


# -- blocks --------------------------------------------------------------------------------------


def test_a_block_in_a_memory_that_is_pickled_stays_and_recalls(core: AgenticMemory) -> None:
    core.add(FACT, namespace="calvin")
    block = AMemMemoryBlock(core, namespace="calvin", name="known", top_k=2, priority=3)
    memory: Memory = pickle.loads(pickle.dumps(Memory.from_defaults(memory_blocks=[block])))
    (restored,) = memory.memory_blocks
    assert isinstance(restored, AMemMemoryBlock)
    assert (restored.name, restored.top_k, restored.priority) == ("known", 2, 3)
    assert FACT in asyncio.run(restored.aget([user(QUESTION)]))
