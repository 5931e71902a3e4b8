"""Agents with a memory: given to each run, read several times a turn, and never in the way."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.llms import ChatMessage
from pydantic import BaseModel

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import create_memory_tools
from amem_integrations.memory.search import find
from amem_integrations.testing.llama_index import (
    ScriptedFunctionCallingLLM,
    ScriptedLLM,
    call_tool,
)
from tests.llama_index.support import (
    AGENTS,
    FACT,
    FIND,
    LLAMA_INDEX_WARNS,
    QUESTION,
    code_act_agent,
    contents,
    memory_of,
    plainly,
    prompts,
    run_agent,
    stream_agent,
    with_weather,
)

pytestmark = LLAMA_INDEX_WARNS

Make = Callable[..., tuple[Any, ScriptedLLM]]


@pytest.mark.parametrize(("run", "streaming"), [(run_agent, False), (stream_agent, True)])
@pytest.mark.parametrize("make", AGENTS)
def test_the_next_session_of_the_user_recalls_what_was_said_and_nobody_else_does(
    core: AgenticMemory, make: Make, run: Callable[..., str], streaming: bool
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
def test_the_model_sees_the_notes_also_of_a_chat_with_a_system_message(
    told: AgenticMemory, make: Make
) -> None:
    agent, llm = make(plainly("Rex."))
    memory = memory_of(told)
    memory.put(ChatMessage(role="system", content="Be terse."))
    run_agent(agent, QUESTION, memory=memory)
    assert FACT in prompts(llm)


@pytest.mark.parametrize("make", AGENTS)
def test_a_turn_costs_one_search_however_often_the_agent_reads(
    told: AgenticMemory, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, llm = make(with_weather)
    memory = memory_of(told)
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
    assert run_agent(agent, QUESTION, memory=memory) == "It rains in Bern."
    assert len(reads) >= 3
    assert searches == [QUESTION]
    assert len(llm.calls) == 2
    assert all(FACT in call.text for call in llm.calls)
    # Tool calls and traces become no notes.
    assert contents(told) == [FACT, QUESTION, "It rains in Bern."]


@pytest.mark.parametrize("make", AGENTS)
def test_the_notes_come_in_one_message_before_the_question(told: AgenticMemory, make: Make) -> None:
    agent, llm = make(plainly("Rex."), system_prompt="You are kind.")
    run_agent(agent, QUESTION, memory=memory_of(told))
    messages = llm.calls[0].messages
    assert [message.role for message in messages] == ["system", "user"]
    assert "You are kind." in (messages[0].content or "")
    assert FACT in (messages[1].content or "")
    assert (messages[1].content or "").endswith(QUESTION)


def test_the_output_of_code_is_in_the_chat_and_nobodys_words(core: AgenticMemory) -> None:
    agent, _ = code_act_agent(with_weather)
    memory = memory_of(core)
    assert run_agent(agent, QUESTION, memory=memory) == "It rains in Bern."
    output = "Result of executing the code given:\n\nRain in Bern."
    assert output in [message.content for message in memory.get_all()]
    assert contents(core) == [QUESTION, "It rains in Bern."]


def test_an_agent_that_is_handed_the_chat_knows_the_notes(told: AgenticMemory) -> None:
    first = ScriptedFunctionCallingLLM(
        [call_tool("handoff", to_agent="vet", reason="It is about a dog.")]
    )
    second = ScriptedFunctionCallingLLM(["Rex."])
    workflow = AgentWorkflow(
        agents=[
            FunctionAgent(name="desk", description="Asks others", llm=first),
            FunctionAgent(name="vet", description="Knows dogs", llm=second),
        ],
        root_agent="desk",
    )
    memory = memory_of(told)
    assert run_agent(workflow, QUESTION, memory=memory) == "Rex."
    assert FACT in first.calls[0].text
    assert FACT in second.calls[0].text
    assert contents(told) == [FACT, QUESTION, "Rex."]


def test_the_state_of_an_agent_is_not_remembered_as_what_the_user_said(core: AgenticMemory) -> None:
    llm = ScriptedFunctionCallingLLM(["Noted."])
    memory = memory_of(core)
    run_agent(FunctionAgent(llm=llm, initial_state={"mood": "fine"}), FACT, memory=memory)
    assert "mood" in llm.calls[0].text
    assert contents(core) == [FACT, "Noted."]
    assert memory.get_all()[0].content == FACT


def test_structured_output_is_made_from_the_chat_with_the_notes(told: AgenticMemory) -> None:
    class Dog(BaseModel):
        name: str

    llm = ScriptedFunctionCallingLLM(["It is Rex.", {"name": "Rex"}])
    agent = FunctionAgent(llm=llm, output_cls=Dog)

    async def run() -> Any:
        return await agent.run(user_msg=QUESTION, memory=memory_of(told))

    assert asyncio.run(run()).structured_response == {"name": "Rex"}
    assert FACT in llm.calls[1].text


def test_an_agent_recalls_and_remembers_by_its_tools(told: AgenticMemory) -> None:
    llm = ScriptedFunctionCallingLLM(
        [
            call_tool("recall", query="dog name"),
            call_tool("remember", content="Calvin asked for the name of his dog."),
            "Rex.",
        ]
    )
    agent = FunctionAgent(llm=llm, tools=create_memory_tools(told, namespace="calvin"))
    assert run_agent(agent, QUESTION) == "Rex."
    assert FACT in (llm.calls[1].messages[-1].content or "")
    assert llm.calls[2].messages[-1].content == "Remembered."
    assert contents(told) == [FACT, "Calvin asked for the name of his dog."]
