"""A LlamaIndex LLM as the judge: asked by function or in words, its failures told apart."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.llms.function_calling import FunctionCallingLLM

from amem_integrations.core.analysis import ChatReply, ChatRequest, Message
from amem_integrations.errors import AnalysisError
from amem_integrations.llms.chat_models import resolve_chat_model
from amem_integrations.llms.llama_index import LlamaIndexChatModel
from amem_integrations.testing.llama_index import (
    ScriptedFunctionCallingLLM,
    ScriptedLLM,
    call_tool,
)
from tests.analysts.test_prompts import UNDERSTANDING
from tests.support import judgement, open_memory

ANSWER = {"keywords": ["cache"], "tags": ["design"], "context": "About a cache."}
TEXT = '{"keywords": ["cache"], "tags": ["design"], "context": "About a cache."}'

Ask = Callable[..., ChatReply]


def request(*messages: Message) -> ChatRequest:
    asked = list(messages) or [Message("system", "Judge."), Message("user", "A note.")]
    return ChatRequest("construct", asked, UNDERSTANDING)


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Ask a model in its sync or in its async form."""

    def asked(model: LlamaIndexChatModel, question: ChatRequest) -> ChatReply:
        if request.param == "sync":
            return model.complete(question)
        return asyncio.run(model.acomplete(question))

    return asked


class RawLLM(ScriptedFunctionCallingLLM):
    """Gives the raw response and further facts that it is told to."""

    raw: Any = None
    facts: dict[str, Any] = {}  # noqa: RUF012 - a pydantic field

    def _answer(self, messages: Any, kwargs: Any) -> ChatResponse:
        response = super()._answer(messages, kwargs)
        response.raw = self.raw
        response.additional_kwargs = self.facts
        return response


class Told:
    """An object with attributes, as providers' clients answer."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class ProviderError(Exception):
    def __init__(self, status_code: int) -> None:
        super().__init__("the provider's words")
        self.status_code = status_code


# -- which model ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("llm", "name"),
    [(ScriptedLLM([], model_name="tiny"), "ScriptedLLM:tiny"), (MockLLM(), "MockLLM")],
)
def test_a_llama_index_llm_becomes_a_chat_model_named_by_class_and_model(
    llm: Any, name: str
) -> None:
    model = resolve_chat_model(llm)
    assert model is not None
    assert model.name == name


@pytest.mark.parametrize(
    ("home", "model", "unwanted"),
    [
        ("amem_integrations.testing", "ScriptedChatModel", ("llama_index",)),
        ("amem_integrations.testing.llama_index", "ScriptedLLM", ("langchain", "langgraph")),
    ],
)
def test_resolving_a_model_imports_no_other_framework(
    home: str, model: str, unwanted: tuple[str, ...]
) -> None:
    program = f"""
import sys
from amem_integrations.llms.chat_models import resolve_chat_model
from {home} import {model}
resolve_chat_model({model}([]))
print(*(name for name in sys.modules if name.startswith({unwanted})))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.stdout.strip(), run.returncode) == ("", 0), run.stderr


# -- how it is asked --------------------------------------------------------------------------


def test_one_that_calls_functions_is_asked_by_a_function_with_the_schema(ask: Ask) -> None:
    llm = ScriptedFunctionCallingLLM([ANSWER])
    reply = ask(LlamaIndexChatModel(llm), request())
    assert reply.data == ANSWER
    assert reply.notes == ("function_calling",)
    (call,) = llm.calls
    assert call.tools == ("understanding",)
    assert call.text == "system: Judge.\nuser: A note."


def test_the_function_offered_has_the_schema_as_its_parameters() -> None:
    offered: list[Any] = []

    class Offered(ScriptedFunctionCallingLLM):
        def _prepare_chat_with_tools(
            self, tools: Any, tool_required: bool = False, **kwargs: Any
        ) -> dict[str, Any]:
            offered.extend(tool.metadata.to_openai_tool() for tool in tools)
            offered.append(tool_required)
            return super()._prepare_chat_with_tools(tools, **kwargs)

    LlamaIndexChatModel(Offered([ANSWER])).complete(request())
    tool, required = offered
    schema: Any = UNDERSTANDING
    assert tool["function"]["parameters"]["properties"] == schema["properties"]
    assert tool["function"]["parameters"]["required"] == schema["required"]
    assert required is True


def test_one_without_functions_is_asked_in_words_with_the_schema(ask: Ask) -> None:
    llm = ScriptedLLM([ANSWER])
    reply = ask(LlamaIndexChatModel(llm), request())
    assert (reply.data, reply.notes) == (ANSWER, ("plain",))
    assert '"required":["keywords","tags","context"]' in llm.calls[0].text


def test_braces_in_a_note_reach_the_model_as_they_are(ask: Ask) -> None:
    llm = ScriptedFunctionCallingLLM([ANSWER])
    ask(LlamaIndexChatModel(llm), request(Message("user", "{{a}} {query_str} {")))
    assert llm.calls[0].messages[0].content == "{{a}} {query_str} {"


def test_json_wrapped_in_other_text_is_understood(ask: Ask) -> None:
    answer = f"<think>a\nb {{}}</think>Sure:\n```\n{TEXT[:-1]},}}\n``` Anything else?"
    assert ask(LlamaIndexChatModel(ScriptedLLM([answer])), request()).data == ANSWER


def test_one_that_answers_in_words_although_asked_by_function_is_understood(ask: Ask) -> None:
    reply = ask(LlamaIndexChatModel(ScriptedFunctionCallingLLM([f"Well: {TEXT}"])), request())
    assert (reply.data, reply.notes) == (ANSWER, ("function_calling",))


@pytest.mark.parametrize("call", [call_tool("weather", city="Bern"), call_tool("understanding")])
def test_a_call_of_another_function_or_without_arguments_is_no_answer(call: Any) -> None:
    llm = ScriptedFunctionCallingLLM([call])
    assert LlamaIndexChatModel(llm).complete(request()).data is None


def test_one_that_gave_no_object_by_function_is_asked_in_words_from_then_on() -> None:
    model = LlamaIndexChatModel(ScriptedFunctionCallingLLM(["Hm.", ANSWER]))
    assert model.complete(request()).data is None
    assert model.complete(request()).notes == ("plain",)


def test_once_a_way_has_worked_it_stays() -> None:
    model = LlamaIndexChatModel(ScriptedFunctionCallingLLM([ANSWER, "Hm.", ANSWER]))
    methods = [model.complete(request()).notes for _ in range(3)]
    assert methods == [("function_calling",)] * 3


def test_a_provider_that_rejects_functions_is_asked_in_words(ask: Ask) -> None:
    model = LlamaIndexChatModel(ScriptedFunctionCallingLLM([ProviderError(400), TEXT]))
    assert ask(model, request()).notes == ("plain",)
    assert model.method == "plain"


def test_one_whose_calls_cannot_be_read_is_read_as_text() -> None:
    class Unreadable(ScriptedFunctionCallingLLM):
        def get_tool_calls_from_response(self, *args: Any, **kwargs: Any) -> Any:
            return FunctionCallingLLM.get_tool_calls_from_response(self, *args, **kwargs)

    assert LlamaIndexChatModel(Unreadable([TEXT])).complete(request()).data == ANSWER


def test_the_system_role_is_the_one_the_model_knows() -> None:
    class Cohere(ScriptedLLM):
        @property
        def metadata(self) -> Any:
            return super().metadata.model_copy(update={"system_role": MessageRole.CHATBOT})

    llm = Cohere([ANSWER])
    LlamaIndexChatModel(llm).complete(request())
    assert [message.role for message in llm.calls[0].messages] == ["chatbot", "user"]


async def test_an_llm_that_can_only_block_is_awaited_in_a_thread() -> None:
    threads: list[int] = []

    class Local(CustomLLM):
        @property
        def metadata(self) -> Any:
            return MockLLM().metadata

        @llm_completion_callback()
        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            threads.append(threading.get_ident())
            return MockLLM().complete(TEXT)

        @llm_completion_callback()
        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            raise AssertionError("not streamed")

    reply = await LlamaIndexChatModel(Local()).acomplete(request())
    assert reply.data == ANSWER
    assert threads != [threading.get_ident()]


# -- what it took, and how it ended -------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "facts"),
    [
        ({"usage": {"prompt_tokens": 7, "completion_tokens": 3}}, {}),
        (Told(usage=Told(input_tokens=7, output_tokens=3)), {}),
        ({"usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 3}}, {}),
        ({"prompt_eval_count": 7, "eval_count": 3}, {}),
        (None, {"prompt_tokens": 7, "completion_tokens": 3}),
    ],
    ids=["openai", "anthropic", "gemini", "ollama", "counted by the integration"],
)
def test_tokens_are_read_from_wherever_the_integration_puts_them(
    raw: Any, facts: dict[str, Any]
) -> None:
    reply = LlamaIndexChatModel(RawLLM([ANSWER], raw=raw, facts=facts)).complete(request())
    assert (reply.tokens_in, reply.tokens_out) == (7, 3)


@pytest.mark.parametrize("raw", [None, "text", 7, {"choices": "odd"}, {"choices": []}])
def test_tokens_that_are_not_told_are_not_invented(raw: Any) -> None:
    reply = LlamaIndexChatModel(RawLLM([ANSWER], raw=raw)).complete(request())
    assert (reply.tokens_in, reply.tokens_out) == (None, None)


@pytest.mark.parametrize(
    "raw",
    [
        Told(choices=[Told(finish_reason="length")]),
        {"choices": [{"finish_reason": "length"}]},
        {"stop_reason": "max_tokens"},
        {"done_reason": "length"},
    ],
    ids=["object", "dict", "anthropic", "ollama"],
)
def test_a_call_that_was_cut_off_is_no_answer_though_its_arguments_were_completed(
    ask: Ask, raw: Any
) -> None:
    reply = ask(LlamaIndexChatModel(RawLLM([ANSWER], raw=raw)), request())
    assert reply.data is None
    assert reply.notes == ("function_calling", "truncated")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (Told(choices=[Told(message=Told(refusal="I cannot."))]), "refusal"),
        ({"stop_reason": "refusal"}, "refusal"),
        ({"choices": [{"finish_reason": "content_filter"}]}, "content-filter"),
    ],
)
def test_a_refusal_is_told_apart(ask: Ask, raw: Any, reason: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        ask(LlamaIndexChatModel(RawLLM(["No."], raw=raw)), request())
    assert (caught.value.reason, caught.value.retryable) == (reason, False)


@pytest.mark.parametrize(
    ("error", "reason", "retryable"),
    [
        (TimeoutError(), "timeout", True),
        (ProviderError(429), "rate-limited", True),
        (ProviderError(401), "unauthorized", False),
        (RuntimeError("secret content"), "error", False),
    ],
)
def test_a_failure_says_whether_it_may_pass_and_quotes_nothing(
    ask: Ask, error: Exception, reason: str, retryable: bool
) -> None:
    with pytest.raises(AnalysisError) as caught:
        ask(LlamaIndexChatModel(ScriptedLLM([error])), request())
    assert (caught.value.reason, caught.value.retryable) == (reason, retryable)
    assert "secret content" not in str(caught.value)
    assert "provider's words" not in str(caught.value)


# -- as the judge of a memory -------------------------------------------------------------------


@pytest.mark.parametrize("family", [ScriptedLLM, ScriptedFunctionCallingLLM])
def test_a_note_is_formed_by_a_llama_index_llm(family: type[ScriptedLLM]) -> None:
    def judge(messages: list[ChatMessage]) -> Any:
        return judgement("The redis cache")

    with open_memory(model=family(judge)) as memory:
        note = memory.add("The redis cache")
        assert note.keywords == ("redis", "cache")
        assert memory.usage().total.calls == 1
        assert memory.usage().total.estimated == 0
