"""The scripted LlamaIndex LLMs, as their users rely on them."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.tools import FunctionTool

from amem_integrations.testing import ScriptExhaustedError
from amem_integrations.testing.llama_index import (
    ScriptedFunctionCallingLLM,
    ScriptedLLM,
    call_tool,
)

QUESTION = [ChatMessage("How are you?")]


def chat(llm: ScriptedLLM) -> str | None:
    return llm.chat(QUESTION).message.content


def achat(llm: ScriptedLLM) -> str | None:
    return asyncio.run(llm.achat(QUESTION)).message.content


def stream(llm: ScriptedLLM) -> str | None:
    return _told(list(llm.stream_chat(QUESTION)))


def astream(llm: ScriptedLLM) -> str | None:
    async def collect() -> list[ChatResponse]:
        return [chunk async for chunk in await llm.astream_chat(QUESTION)]

    return _told(asyncio.run(collect()))


def _told(chunks: list[ChatResponse]) -> str | None:
    assert "".join(chunk.delta or "" for chunk in chunks) == chunks[-1].message.content
    return chunks[-1].message.content


def complete(llm: ScriptedLLM) -> str:
    return llm.complete("How are you?").text


def acomplete(llm: ScriptedLLM) -> str:
    return asyncio.run(llm.acomplete("How are you?")).text


def stream_complete(llm: ScriptedLLM) -> str:
    return list(llm.stream_complete("How are you?"))[-1].text


def astream_complete(llm: ScriptedLLM) -> str:
    async def collect() -> list[Any]:
        return [chunk async for chunk in await llm.astream_complete("How are you?")]

    return asyncio.run(collect())[-1].text


FORMS = [chat, achat, stream, astream, complete, acomplete, stream_complete, astream_complete]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("family", [ScriptedLLM, ScriptedFunctionCallingLLM])
def test_every_form_gives_the_scripted_replies_in_order(
    family: type[ScriptedLLM], form: Callable[[ScriptedLLM], Any]
) -> None:
    llm = family(["Fine, thank you.", "Still  fine."])
    assert (form(llm), form(llm)) == ("Fine, thank you.", "Still  fine.")
    assert [call.text for call in llm.calls] == ["user: How are you?"] * 2


@pytest.mark.parametrize("form", FORMS)
def test_every_form_raises_the_scripted_failure(form: Callable[[ScriptedLLM], Any]) -> None:
    with pytest.raises(TimeoutError, match="slow"):
        form(ScriptedLLM([TimeoutError("slow")]))


def test_an_answer_is_streamed_a_word_a_chunk() -> None:
    chunks = list(ScriptedLLM(["a bc d"]).stream_chat(QUESTION))
    assert [chunk.delta for chunk in chunks] == ["a ", "bc ", "d"]
    assert [chunk.message.content for chunk in chunks] == ["a ", "a bc ", "a bc d"]


def test_a_function_answers_by_the_messages() -> None:
    llm = ScriptedLLM(lambda messages: f"You said {messages[-1].content}")
    assert chat(llm) == "You said How are you?"


def test_a_script_that_has_run_out_says_so() -> None:
    llm = ScriptedLLM(["once"])
    chat(llm)
    with pytest.raises(ScriptExhaustedError, match="Call 2, but the script has 1 replies"):
        chat(llm)


def test_the_last_reply_can_be_repeated() -> None:
    llm = ScriptedLLM(["a", "b"], after="repeat")
    assert [chat(llm) for _ in range(3)] == ["a", "b", "b"]


def test_one_text_instead_of_a_list_is_refused() -> None:
    with pytest.raises(TypeError, match="a list of replies"):
        ScriptedLLM("hello")


def test_the_record_is_not_changed_by_what_becomes_of_the_messages() -> None:
    llm = ScriptedLLM(["a"])
    message = ChatMessage("before")
    llm.chat([message])
    message.blocks[0].text = "after"
    assert llm.calls[0].text == "user: before"


def test_latency_is_kept() -> None:
    started = time.perf_counter()
    chat(ScriptedLLM(["a"], latency=0.02))
    assert time.perf_counter() - started >= 0.02


def test_an_object_is_a_call_of_the_first_tool_offered() -> None:
    def weather(city: str) -> str:
        """The weather."""
        return f"Rain in {city}"

    llm = ScriptedFunctionCallingLLM([{"city": "Bern"}])
    response = llm.chat_with_tools([FunctionTool.from_defaults(weather)], user_msg="Weather?")
    (call,) = llm.get_tool_calls_from_response(response)
    assert (call.tool_name, call.tool_kwargs) == ("weather", {"city": "Bern"})
    assert llm.calls[0].tools == ("weather",)


def test_a_reply_can_call_any_tool() -> None:
    llm = ScriptedFunctionCallingLLM([call_tool("time", zone="UTC")])
    (call,) = llm.get_tool_calls_from_response(llm.chat(QUESTION))
    assert (call.tool_name, call.tool_kwargs) == ("time", {"zone": "UTC"})


def test_no_call_where_one_is_needed_is_an_error() -> None:
    llm = ScriptedFunctionCallingLLM(["hello"])
    with pytest.raises(ValueError, match="calls no tool"):
        llm.get_tool_calls_from_response(llm.chat(QUESTION))


def test_only_one_of_the_two_calls_functions() -> None:
    assert not ScriptedLLM([]).metadata.is_function_calling_model
    assert ScriptedFunctionCallingLLM([]).metadata.is_function_calling_model
