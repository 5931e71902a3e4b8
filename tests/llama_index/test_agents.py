"""Agents with a memory: given to each run, read several times a turn, and never in the way."""

from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context
from pydantic import BaseModel

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import AMemRetriever, create_memory_tools
from amem_integrations.memory.search import find
from amem_integrations.testing.llama_index import (
    ScriptedFunctionCallingLLM,
    ScriptedLLM,
    call_tool,
)
from tests.llama_index.support import (
    AGENTS,
    FIND,
    LLAMA_INDEX_WARNS,
    RUNS,
    contents,
    memory_of,
    plainly,
    run_agent,
    with_weather,
)

pytestmark = LLAMA_INDEX_WARNS

Make = Callable[..., tuple[Any, ScriptedLLM]]
Run = Callable[..., str]

FACT = "My dog is called Rex."
QUESTION = "What is the name of my dog?"


def prompts(llm: ScriptedLLM) -> str:
    return "\n".join(call.text for call in llm.calls)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("make", AGENTS)
@pytest.mark.parametrize("streaming", [True, False])
def test_what_one_session_told_reaches_the_prompt_of_the_next_and_of_nobody_else(
    core: AgenticMemory, make: Make, run: Run, streaming: bool
) -> None:
    agent, _ = make(plainly("Noted."), streaming=streaming)
    assert run(agent, FACT, memory=memory_of(core)) == "Noted."
    agent, llm = make(plainly("Rex."), streaming=streaming)
    assert run(agent, QUESTION, memory=memory_of(core)) == "Rex."
    assert FACT in prompts(llm)
    agent, llm = make(plainly("No idea."), streaming=streaming)
    run(agent, QUESTION, memory=memory_of(core, "hobbes"))
    assert QUESTION in prompts(llm)
    assert "Rex" not in prompts(llm)


@pytest.mark.parametrize("make", AGENTS)
def test_only_what_was_said_becomes_a_note(core: AgenticMemory, make: Make) -> None:
    agent, llm = make(with_weather)
    memory = memory_of(core)
    assert run_agent(agent, "How is the weather?", memory=memory) == "It rains in Bern."
    assert len(llm.calls) == 2
    assert contents(core) == ["How is the weather?", "It rains in Bern."]


@pytest.mark.parametrize("make", AGENTS)
def test_a_turn_costs_one_search_however_often_the_agent_reads(
    core: AgenticMemory, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    core.add(FACT, namespace="calvin")
    agent, llm = make(with_weather)
    memory = memory_of(core)
    reads, searches = [], []
    aget = type(memory).aget

    async def counted_read(self: Any, *args: Any, **kwargs: Any) -> Any:
        reads.append(args)
        return await aget(self, *args, **kwargs)

    async def counted_search(wiring: Any, io: Any, query: str, **kwargs: Any) -> Any:
        searches.append(query)
        return await find(wiring, io, query, **kwargs)

    monkeypatch.setattr(type(memory), "aget", counted_read)
    monkeypatch.setattr(FIND, counted_search)
    run_agent(agent, QUESTION, memory=memory)
    assert len(reads) >= 3
    assert searches == [QUESTION]
    assert all(FACT in call.text for call in llm.calls)


@pytest.mark.parametrize("make", AGENTS)
def test_the_notes_come_in_one_message_before_the_question(core: AgenticMemory, make: Make) -> None:
    core.add(FACT, namespace="calvin")
    agent, llm = make(plainly("Rex."), system_prompt="You are kind.")
    run_agent(agent, QUESTION, memory=memory_of(core))
    messages = llm.calls[0].messages
    assert [message.role for message in messages] == ["system", "user"]
    assert "You are kind." in (messages[0].content or "")
    assert FACT in (messages[1].content or "")
    assert (messages[1].content or "").endswith(QUESTION)


def test_an_agent_goes_on_in_a_context_of_its_own(core: AgenticMemory) -> None:
    import asyncio

    llm = ScriptedFunctionCallingLLM(["Noted.", "Rex."])
    agent = FunctionAgent(llm=llm)

    async def talk() -> None:
        context = Context(agent)
        await agent.run(user_msg=FACT, memory=memory_of(core), ctx=context)
        await agent.run(user_msg=QUESTION, ctx=context)

    asyncio.run(talk())
    assert [m.content for m in llm.calls[1].messages] == [FACT, "Noted.", QUESTION]
    assert contents(core) == [FACT, "Noted.", QUESTION, "Rex."]


def test_structured_output_is_made_from_the_chat_with_the_notes(core: AgenticMemory) -> None:
    class Dog(BaseModel):
        name: str

    core.add(FACT, namespace="calvin")
    llm = ScriptedFunctionCallingLLM(["It is Rex.", {"name": "Rex"}])
    agent = FunctionAgent(llm=llm, output_cls=Dog)

    async def run() -> Any:
        return await agent.run(user_msg=QUESTION, memory=memory_of(core))

    import asyncio

    assert asyncio.run(run()).structured_response == {"name": "Rex"}
    assert FACT in llm.calls[1].text


def test_an_agent_recalls_and_remembers_by_its_tools(core: AgenticMemory) -> None:
    core.add(FACT, namespace="calvin")
    llm = ScriptedFunctionCallingLLM(
        [
            call_tool("recall", query="dog name"),
            call_tool("remember", content="Calvin asked for the name of his dog."),
            "Rex.",
        ]
    )
    agent = FunctionAgent(llm=llm, tools=create_memory_tools(core, namespace="calvin"))
    assert run_agent(agent, QUESTION) == "Rex."
    assert FACT in (llm.calls[1].messages[-1].content or "")
    assert llm.calls[2].messages[-1].content == "Remembered."
    assert contents(core) == [FACT, "Calvin asked for the name of his dog."]


def test_an_agent_asks_the_notes_through_a_query_engine_tool(core: AgenticMemory) -> None:
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.tools import QueryEngineTool

    core.add(FACT, namespace="calvin")
    answers = ScriptedLLM(["The dog is Rex."])
    engine = RetrieverQueryEngine.from_args(AMemRetriever(core, namespace="calvin"), llm=answers)
    tool = QueryEngineTool.from_defaults(engine, name="notes", description="What is known.")
    llm = ScriptedFunctionCallingLLM([call_tool("notes", input="dog name"), "Rex."])
    assert run_agent(FunctionAgent(llm=llm, tools=[tool]), QUESTION) == "Rex."
    assert FACT in answers.calls[0].text
    assert llm.calls[1].messages[-1].content == "The dog is Rex."
