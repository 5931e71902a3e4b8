"""What is serialised with a memory, and that the restored memory goes on where it was."""

import asyncio
import copy
import gc
import json
import logging
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Settings
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import InsertMethod, Memory, StaticMemoryBlock
from llama_index.core.workflow import Context
from llama_index.core.workflow.context_serializers import JsonSerializer, PickleSerializer

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import AMemMemory, AMemMemoryBlock
from amem_integrations.testing.llama_index import ScriptedFunctionCallingLLM, call_tool
from tests.embedders.test_llama_index import plain
from tests.llama_index.support import (
    ADD,
    FACT,
    LLAMA_INDEX_WARNS,
    QUESTION,
    assistant,
    contents,
    down,
    memory_of,
    text_of,
    user,
)
from tests.support import open_memory

pytestmark = LLAMA_INDEX_WARNS

Restore = Callable[[AMemMemory], AMemMemory]


def by_dict(memory: AMemMemory) -> AMemMemory:
    return AMemMemory.from_dict(json.loads(json.dumps(memory.to_dict())))


def by_json(memory: AMemMemory) -> AMemMemory:
    return AMemMemory.from_json(memory.to_json())


def by_pickle(memory: AMemMemory) -> AMemMemory:
    return pickle.loads(pickle.dumps(memory))


def in_another_process(program: str, given: str) -> str:
    """Return what a program prints that is given this text."""
    run = subprocess.run(
        [sys.executable, "-c", program],
        input=given,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("restore", [by_dict, by_json, by_pickle])
def test_a_restored_memory_has_its_settings_and_chat_and_goes_on_in_its_session(
    told: AgenticMemory, restore: Restore
) -> None:
    settings: dict[str, Any] = {
        "top_k": 2,
        "hops": 0,
        "ingest": "manual",
        "remember": "user",
        "max_tokens": 321,
        "token_limit": 4321,
        "chat_history_token_ratio": 0.5,
        "token_flush_size": 99,
        "document_token_size_estimate": 7,
        "session_id": "s1",
    }
    memory = memory_of(told, insert_method=InsertMethod.USER, **settings)
    memory.put_messages([user("ok"), assistant("Hi")])
    restored = restore(memory)
    assert {name: getattr(restored, name) for name in settings} == settings
    assert (restored.placement, restored.insert_method) == ("user", InsertMethod.USER)
    assert restored.namespace == ("calvin",)
    assert text_of(restored.get_all()) == "ok\nHi"
    assert FACT in text_of(restored.get(input=QUESTION))
    restored.put(user("ok"))
    assert contents(told) == [FACT, "ok", "ok"]
    assert told.recent(namespace="calvin")[0].session == "s1"


def test_no_key_is_serialised(tmp_path: Path) -> None:
    with open_memory(tmp_path, api_key="hunter2") as core:
        data = json.dumps(memory_of(core).to_dict())
    assert "hunter2" not in data
    assert str(tmp_path) in data


def test_notes_that_wait_to_be_written_are_serialised(
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


def test_memory_blocks_are_left_out_with_a_warning_and_can_be_given_again(
    core: AgenticMemory, caplog: pytest.LogCaptureFixture
) -> None:
    block = StaticMemoryBlock(name="rules", static_content="Answer in verse.")
    data = memory_of(core, memory_blocks=[block]).to_dict()
    assert "1 memory blocks are not serialised" in caplog.text
    assert AMemMemory.from_dict(data).get(input="Hi") == []
    assert "verse" in text_of(AMemMemory.from_dict(data, memory_blocks=[block]).get(input="Hi"))


def test_a_tokenizer_is_left_out_with_a_warning_and_can_be_given_again(
    core: AgenticMemory, caplog: pytest.LogCaptureFixture
) -> None:
    assert "tokenizer" not in str(memory_of(core).to_dict())
    assert "tokenizer" not in caplog.text
    data = memory_of(core, tokenizer_fn=str.split).to_dict()
    assert "The tokenizer is not serialised" in caplog.text
    assert AMemMemory.from_dict(data, tokenizer_fn=str.split).tokenizer_fn("One two") == [
        "One",
        "two",
    ]


def test_a_block_in_a_memory_that_is_pickled_stays_and_recalls(told: AgenticMemory) -> None:
    block = AMemMemoryBlock(told, namespace="calvin", name="known", top_k=2, priority=3)
    memory: Memory = pickle.loads(pickle.dumps(Memory.from_defaults(memory_blocks=[block])))
    (restored,) = memory.memory_blocks
    assert isinstance(restored, AMemMemoryBlock)
    assert (restored.name, restored.top_k, restored.priority) == ("known", 2, 3)
    assert FACT in asyncio.run(restored.aget([user(QUESTION)]))


# -- where the notes are -------------------------------------------------------------------------


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
    with AgenticMemory(tmp_path, embedder=plain()) as core:
        memory_of(core).put(user(FACT))
        memory = memory_of(core)
        memory.put_messages([user("Hello"), assistant("Hi")])
        data = memory.to_json()
    hello, hi, notes = json.loads(in_another_process(program, data))
    assert (hello, hi) == ("Hello", "Hi")
    assert FACT in notes


def test_the_directory_is_opened_again_when_nobody_has_it_open(tmp_path: Path) -> None:
    with AgenticMemory(tmp_path, embedder=plain()) as core:
        memory = memory_of(core)
        memory.put(user(FACT))
    data = memory.to_dict()
    Settings.embed_model = plain()
    try:
        restored = AMemMemory.from_dict(data)
        restored.reset()
        assert FACT in text_of(restored.get(input=QUESTION))
        restored.close()
    finally:
        Settings._embed_model = None
    assert restored.events == {}


def test_a_directory_that_cannot_be_opened_again_fails_no_turn(
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


@pytest.mark.parametrize("temporary", [True, False])
def test_a_directory_that_is_gone_draws_a_warning(
    temporary: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "notes"
    with AgenticMemory(None if temporary else place, embedder=plain()) as core:
        data = memory_of(core).to_dict()
    if temporary:
        data["place"]["token"] = "of another process"
    else:
        shutil.rmtree(place)
    restored = AMemMemory.from_dict(data, embed_model=plain())
    with caplog.at_level(logging.WARNING):
        restored.put(user(FACT))
    warning = "temporary directory that is gone" if temporary else f"{place} is gone"
    assert warning in caplog.text
    assert FACT in text_of(restored.get())
    assert restored.events == {}
    restored.close()


# -- the context of a workflow -------------------------------------------------------------------


@pytest.mark.parametrize("serializer", [JsonSerializer(), PickleSerializer()])
def test_contexts_restored_from_one_recall_and_go_their_own_ways(
    core: AgenticMemory, serializer: Any
) -> None:
    core.add("My cat is called Mog.", namespace="calvin")
    llm = ScriptedFunctionCallingLLM(["Noted."], after="repeat")
    agent = FunctionAgent(llm=llm)

    async def run() -> None:
        before = Context(agent)
        await agent.run(user_msg=FACT, memory=memory_of(core), ctx=before)
        data = json.loads(json.dumps(before.to_dict(serializer=serializer)))
        for question in ("What are my pets called?", "Pets?"):
            branch = Context.from_dict(agent, data, serializer)
            await agent.run(user_msg=question, ctx=branch)
            chat = await (await branch.store.get("memory")).aget_all()
            assert [message.content for message in chat] == [FACT, "Noted.", question, "Noted."]

    asyncio.run(run())
    assert [message.role for message in llm.calls[1].messages] == ["user", "assistant", "user"]
    assert "Mog" in llm.calls[1].text


def test_a_context_restored_in_another_process_goes_on(tmp_path: Path) -> None:
    program = """
import asyncio, json, sys
from llama_index.core import Settings
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context
from amem_integrations.testing.llama_index import ScriptedFunctionCallingLLM
from tests.embedders.test_llama_index import plain
Settings.embed_model = plain()
llm = ScriptedFunctionCallingLLM(["Rex and Mog."])

async def run():
    agent = FunctionAgent(llm=llm)
    context = Context.from_dict(agent, json.load(sys.stdin))
    await agent.run(user_msg="What are my pets called?", ctx=context)
    memory = await context.store.get("memory")
    chat = [message.content for message in await memory.aget_all()]
    await memory.aclose()
    print(json.dumps([llm.calls[0].text, chat, memory.events]))

asyncio.run(run())
"""
    agent = FunctionAgent(llm=ScriptedFunctionCallingLLM(["Noted."]))

    async def run(core: AgenticMemory) -> str:
        context = Context(agent)
        await agent.run(user_msg=FACT, memory=memory_of(core), ctx=context)
        return json.dumps(context.to_dict())

    with AgenticMemory(tmp_path, embedder=plain()) as core:
        core.add("My cat is called Mog.", namespace="calvin")
        data = asyncio.run(run(core))
    prompt, chat, events = json.loads(in_another_process(program, data))
    assert "Mog" in prompt
    assert chat == [FACT, "Noted.", "What are my pets called?", "Rex and Mog."]
    assert events == {}
    with AgenticMemory(tmp_path, embedder=plain()) as core:
        assert "What are my pets called?" in contents(core)


def test_an_edit_of_the_state_of_a_workflow_does_not_split_the_chat(core: AgenticMemory) -> None:
    async def cheer(ctx: Context) -> str:
        """Be glad."""
        async with ctx.store.edit_state() as state:
            state["mood"] = "glad"
        return "Done."

    llm = ScriptedFunctionCallingLLM([call_tool("cheer"), "Noted."])
    memory = memory_of(core)

    async def run() -> None:
        agent = FunctionAgent(llm=llm, tools=[cheer])
        context = Context(agent)
        await agent.run(user_msg=FACT, memory=memory, ctx=context)
        assert await context.store.get("mood") == "glad"
        assert await context.store.get("memory") is memory

    asyncio.run(run())
    assert memory.get_all()[-1].content == "Noted."
    assert copy.deepcopy(memory) is memory


def test_a_memory_that_only_a_context_holds_keeps_its_notes() -> None:
    llm = ScriptedFunctionCallingLLM(["Noted."], after="repeat")
    agent = FunctionAgent(llm=llm)

    async def run() -> None:
        context = Context(agent)
        memory = AMemMemory.from_defaults(embed_model=plain(), namespace="calvin")
        await agent.run(user_msg=FACT, memory=memory, ctx=context)
        del memory
        for _ in range(3):
            gc.collect()
            await agent.run(user_msg=QUESTION, ctx=context)
        kept = await context.store.get("memory")
        await kept.areset()
        assert FACT in str(await kept.aget(input=QUESTION))
        assert kept.events == {}

    asyncio.run(run())
