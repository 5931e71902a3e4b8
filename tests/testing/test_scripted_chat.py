"""The scripted chat model: it says its script in every form that LangChain asks in."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import get_usage_metadata_callback
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.tools import tool
from pydantic import BaseModel, ValidationError

from amem_integrations.testing import ScriptedChatModel

SCHEMA: dict[str, Any] = {
    "title": "answer",
    "description": "An answer.",
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
}


class Word(BaseModel):
    """A word."""

    word: str


@tool
def lookup(word: str) -> str:
    """Look a word up."""
    return f"{word}: found"


# -- the script -----------------------------------------------------------------------------


def test_a_reply_may_be_a_text_an_object_or_a_message() -> None:
    model = ScriptedChatModel(["text", {"word": "käse"}, AIMessage("message", id="m")])
    texts = [model.invoke("hi").text for _ in range(3)]
    assert texts == ["text", '{"word": "käse"}', "message"]


# -- what was asked ---------------------------------------------------------------------------


def test_calls_keep_messages_settings_and_tags() -> None:
    model = ScriptedChatModel(["one", "two"])
    model.invoke("hi", {"tags": ["mine"]}, temperature=0.5)
    model.bind_tools([lookup]).invoke([HumanMessage("ho")])
    first, second = model.calls
    assert [message.text for message in first.messages] == ["hi"]
    assert first.kwargs["temperature"] == 0.5
    assert (first.tags, first.method) == (("mine",), None)
    assert second.kwargs["tools"][0]["function"]["name"] == "lookup"


# -- usage -----------------------------------------------------------------------------------


def test_usage_is_given_or_the_message_s_own_or_estimated() -> None:
    given = {"input_tokens": 5, "output_tokens": 6, "total_tokens": 11}
    own = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    model = ScriptedChatModel(["x", AIMessage("x", usage_metadata=own)], usage=given)
    assert [model.invoke("hi").usage_metadata for _ in range(2)] == [given, own]
    estimated = ScriptedChatModel(["a few words here"]).invoke("hi").usage_metadata
    assert estimated is not None
    assert estimated["output_tokens"] >= 4
    assert estimated["total_tokens"] == estimated["input_tokens"] + estimated["output_tokens"]


def test_usage_is_counted_under_the_model_s_name() -> None:
    with get_usage_metadata_callback() as counted:
        ScriptedChatModel(["x"], model_name="tiny").invoke("hi")
    assert counted.usage_metadata["tiny"]["total_tokens"] > 0


# -- streaming --------------------------------------------------------------------------------


def joined(chunks: list[AIMessageChunk]) -> AIMessageChunk:
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return whole


async def test_streams_come_in_pieces_that_join_to_the_reply() -> None:
    model = ScriptedChatModel(["one two\n three", "one two\n three"])
    for chunks in (list(model.stream("hi")), [chunk async for chunk in model.astream("hi")]):
        assert len(chunks) > 2
        whole = joined(chunks)
        assert whole.text == "one two\n three"
        assert whole.usage_metadata is not None
        assert whole.response_metadata["model_name"] == "scripted"


async def test_tool_calls_can_be_streamed() -> None:
    model = ScriptedChatModel([{"word": "a"}, {"word": "a"}])
    bound = model.bind_tools([lookup])
    for chunks in (list(bound.stream("hi")), [chunk async for chunk in bound.astream("hi")]):
        (call,) = joined(chunks).tool_calls
        assert (call["name"], call["args"]) == ("lookup", {"word": "a"})


# -- structured output and tools --------------------------------------------------------------


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json_mode"])
async def test_an_object_is_structured_output_by_every_method(method: str) -> None:
    model = ScriptedChatModel([{"word": "a"}] * 4)
    plain = model.with_structured_output(SCHEMA, method=method)
    typed = model.with_structured_output(Word, method=method)
    assert plain.invoke("hi") == await plain.ainvoke("hi") == {"word": "a"}
    assert typed.invoke("hi") == await typed.ainvoke("hi") == Word(word="a")
    assert [call.method for call in model.calls] == [method] * 4


def test_the_raw_message_comes_along_when_asked_for() -> None:
    model = ScriptedChatModel([{"word": "a"}, "not json"])
    structured = model.with_structured_output(SCHEMA, include_raw=True)
    good, bad = structured.invoke("hi"), structured.invoke("hi")
    assert (good["parsed"], good["parsing_error"]) == ({"word": "a"}, None)
    assert good["raw"].text == '{"word": "a"}'
    assert bad["parsed"] is None
    assert isinstance(bad["parsing_error"], ValueError)


def test_what_does_not_fit_the_class_is_raised() -> None:
    model = ScriptedChatModel([{"word": ["a"]}, "no"])
    structured = model.with_structured_output(Word)
    with pytest.raises(ValidationError):
        structured.invoke("hi")
    with pytest.raises(ValueError):
        structured.invoke("hi")


def test_text_where_a_tool_was_to_be_called_is_no_output() -> None:
    model = ScriptedChatModel([""])
    assert model.with_structured_output(SCHEMA, method="function_calling").invoke("hi") is None


def test_a_method_that_the_model_lacks_is_refused() -> None:
    model = ScriptedChatModel(["x"], methods=("function_calling",))
    with pytest.raises(ValueError, match="json_schema"):
        model.with_structured_output(SCHEMA)


@pytest.mark.parametrize(("choice", "called"), [("second", "second"), ("any", "lookup")])
def test_an_object_calls_the_chosen_tool_else_the_first(choice: str, called: str) -> None:
    @tool
    def second(word: str) -> str:
        """Another tool."""
        return word

    bound = ScriptedChatModel([{"word": "a"}]).bind_tools([lookup, second], tool_choice=choice)
    assert bound.invoke("hi").tool_calls[0]["name"] == called


async def test_it_drives_an_agent_through_a_tool_call() -> None:
    for ask in ("invoke", "ainvoke"):
        model = ScriptedChatModel([{"word": "a"}, lambda messages: f"{messages[-1].text}!"])
        agent: Any = create_agent(model, [lookup])
        start = {"messages": [("user", "hi")]}
        end = agent.invoke(start) if ask == "invoke" else await agent.ainvoke(start)
        assert end["messages"][-1].text == "a: found!"
