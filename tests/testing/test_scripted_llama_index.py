"""The scripted LlamaIndex LLMs: chunks, tools, and the record of their calls."""

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool

from amem_integrations.testing.llama_index import (
    ScriptedFunctionCallingLLM,
    ScriptedLLM,
    call_tool,
)

QUESTION = [ChatMessage("How are you?")]


def test_an_answer_is_streamed_a_word_a_chunk() -> None:
    chunks = list(ScriptedLLM(["a bc d"]).stream_chat(QUESTION))
    assert [chunk.delta for chunk in chunks] == ["a ", "bc ", "d"]
    assert [chunk.message.content for chunk in chunks] == ["a ", "a bc ", "a bc d"]


def test_the_record_is_not_changed_by_what_becomes_of_the_messages() -> None:
    llm = ScriptedLLM(["a"])
    message = ChatMessage("before")
    llm.chat([message])
    message.blocks[0].text = "after"
    assert llm.calls[0].text == "user: before"


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
    llm = ScriptedFunctionCallingLLM([call_tool("time", zone="UTC"), "hello"])
    (call,) = llm.get_tool_calls_from_response(llm.chat(QUESTION))
    assert (call.tool_name, call.tool_kwargs) == ("time", {"zone": "UTC"})
    with pytest.raises(ValueError, match="calls no tool"):
        llm.get_tool_calls_from_response(llm.chat(QUESTION))


def test_only_one_of_the_two_calls_functions() -> None:
    assert not ScriptedLLM([]).metadata.is_function_calling_model
    assert ScriptedFunctionCallingLLM([]).metadata.is_function_calling_model
