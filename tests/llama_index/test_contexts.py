"""A memory in the context of a workflow, which is serialised as a matter of course."""

import asyncio
import copy
import gc
import json
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context
from llama_index.core.workflow.context_serializers import JsonSerializer, PickleSerializer

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import AMemMemory
from amem_integrations.testing.llama_index import ScriptedFunctionCallingLLM, call_tool
from tests.llama_index.support import LLAMA_INDEX_WARNS, contents, memory_of

pytestmark = LLAMA_INDEX_WARNS

FACT = "My dog is called Rex."
QUESTION = "What is the name of my dog?"


@pytest.mark.parametrize("serializer", [JsonSerializer(), PickleSerializer()])
def test_a_context_takes_its_memory_along(core: AgenticMemory, serializer: Any) -> None:
    core.add("My cat is called Mog.", namespace="calvin")
    llm = ScriptedFunctionCallingLLM(["Noted.", "Rex."])
    agent = FunctionAgent(llm=llm)

    async def run() -> None:
        before = Context(agent)
        await agent.run(user_msg=FACT, memory=memory_of(core), ctx=before)
        after = Context.from_dict(
            agent, json.loads(json.dumps(before.to_dict(serializer=serializer))), serializer
        )
        await agent.run(user_msg="What are my pets called?", ctx=after)

    asyncio.run(run())
    second = llm.calls[1]
    assert [message.role for message in second.messages] == ["user", "assistant", "user"]
    assert FACT in second.text
    assert "Mog" in second.text
    assert contents(core)[1:] == [FACT, "Noted.", "What are my pets called?", "Rex."]


def test_an_edit_of_a_workflows_state_does_not_split_the_chat(core: AgenticMemory) -> None:
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


def test_two_contexts_restored_from_one_go_their_own_ways(core: AgenticMemory) -> None:
    agent = FunctionAgent(llm=ScriptedFunctionCallingLLM(["Noted."], after="repeat"))

    async def run() -> None:
        before = Context(agent)
        await agent.run(user_msg=FACT, memory=memory_of(core), ctx=before)
        data = before.to_dict()
        for question in ("One?", "Two?"):
            branch = Context.from_dict(agent, data)
            await agent.run(user_msg=question, ctx=branch)
            chat = await (await branch.store.get("memory")).aget_all()
            assert [message.content for message in chat] == [FACT, "Noted.", question, "Noted."]

    asyncio.run(run())


def test_a_memory_rebuilt_by_hand_takes_the_place_of_the_restored_one(
    core: AgenticMemory,
) -> None:
    llm = ScriptedFunctionCallingLLM(["Noted.", "Rex."])
    agent = FunctionAgent(llm=llm)

    async def run() -> None:
        memory = memory_of(core)
        before = Context(agent)
        await agent.run(user_msg=FACT, memory=memory, ctx=before)
        after = Context.from_dict(agent, before.to_dict())
        await after.store.set("memory", AMemMemory.from_dict(memory.to_dict(), core=core))
        await agent.run(user_msg=QUESTION, ctx=after)
        assert len(await (await after.store.get("memory")).aget_all()) == 4

    asyncio.run(run())


def test_a_memory_that_only_a_context_holds_keeps_its_notes() -> None:
    from tests.embedders.test_llama_index import plain

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
