"""A LlamaIndex LLM as the judge: asked by function or in words, its failures told apart."""

import threading
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.llms.function_calling import FunctionCallingLLM

from amem_integrations.core.analysis import Message
from amem_integrations.errors import AnalysisError
from amem_integrations.llms.chat_models import resolve_chat_model
from amem_integrations.llms.llama_index import LlamaIndexChatModel
from amem_integrations.testing.llama_index import (
    ScriptedFunctionCallingLLM,
    ScriptedLLM,
    call_tool,
)
from tests.analysts.test_prompts import UNDERSTANDING
from tests.llms.provider import ANSWER, TEXT, Ask, request
from tests.support import judgement, open_memory


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


# -- how it is asked --------------------------------------------------------------------------


def test_one_that_calls_functions_is_asked_by_a_function_with_the_schema(ask: Ask) -> None:
    offered: list[Any] = []

    class Offered(ScriptedFunctionCallingLLM):
        def _prepare_chat_with_tools(
            self, tools: Any, tool_required: bool = False, **kwargs: Any
        ) -> dict[str, Any]:
            offered.extend(tool.metadata.to_openai_tool() for tool in tools)
            offered.append(tool_required)
            return super()._prepare_chat_with_tools(tools, **kwargs)

    llm = Offered([ANSWER])
    braces = [Message("system", "Judge."), Message("user", "{{a}} {query_str} {")]
    reply = ask(LlamaIndexChatModel(llm), request(*braces))
    assert (reply.data, reply.notes) == (ANSWER, ("function_calling",))
    assert llm.calls[0].text == "system: Judge.\nuser: {{a}} {query_str} {"
    tool, required = offered
    schema: Any = UNDERSTANDING
    assert tool["function"]["name"] == "understanding"
    assert tool["function"]["parameters"]["properties"] == schema["properties"]
    assert tool["function"]["parameters"]["required"] == schema["required"]
    assert required is True


@pytest.mark.parametrize("error", [None, ProviderError(400), NotImplementedError()])
def test_one_that_cannot_call_functions_is_asked_in_words_with_the_schema(
    ask: Ask, error: Exception | None
) -> None:
    llm = ScriptedFunctionCallingLLM([error, TEXT]) if error else ScriptedLLM([f"Well: {TEXT}"])
    model = LlamaIndexChatModel(llm)
    reply = ask(model, request())
    assert (reply.data, reply.notes, model.method) == (ANSWER, ("plain",), "plain")
    assert '"required":["keywords","tags","context","questions"]' in llm.calls[-1].text


def test_one_whose_calls_cannot_be_read_is_read_as_text(ask: Ask) -> None:
    class Unreadable(ScriptedFunctionCallingLLM):
        def get_tool_calls_from_response(self, *args: Any, **kwargs: Any) -> Any:
            return FunctionCallingLLM.get_tool_calls_from_response(self, *args, **kwargs)

    reply = ask(LlamaIndexChatModel(Unreadable([f"Well: {TEXT}"])), request())
    assert (reply.data, reply.notes) == (ANSWER, ("function_calling",))


def test_a_failure_quotes_nothing_of_the_provider(ask: Ask) -> None:
    with pytest.raises(AnalysisError) as caught:
        ask(LlamaIndexChatModel(ScriptedLLM([ProviderError(429)])), request())
    assert (caught.value.reason, caught.value.retryable) == ("rate-limited", True)
    assert "provider's words" not in str(caught.value)


@pytest.mark.parametrize("call", [call_tool("weather", city="Bern"), call_tool("understanding")])
def test_a_call_of_another_function_or_without_arguments_is_no_answer(call: Any) -> None:
    llm = ScriptedFunctionCallingLLM([call])
    assert LlamaIndexChatModel(llm).complete(request()).data is None


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
    ("raw", "facts", "tokens"),
    [
        ({"usage": {"prompt_tokens": 7, "completion_tokens": 3}}, {}, (7, 3)),
        (Told(usage=Told(input_tokens=7, output_tokens=3)), {}, (7, 3)),
        ({"usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 3}}, {}, (7, 3)),
        ({"prompt_eval_count": 7, "eval_count": 3}, {}, (7, 3)),
        (None, {"prompt_tokens": 7, "completion_tokens": 3}, (7, 3)),
        ("text", {}, (None, None)),
        ({"choices": "odd"}, {}, (None, None)),
    ],
    ids=["openai", "anthropic", "gemini", "ollama", "by the integration", "text", "none"],
)
def test_tokens_are_read_from_wherever_the_integration_puts_them_and_never_invented(
    raw: Any, facts: dict[str, Any], tokens: tuple[int | None, int | None]
) -> None:
    reply = LlamaIndexChatModel(RawLLM([ANSWER], raw=raw, facts=facts)).complete(request())
    assert (reply.tokens_in, reply.tokens_out) == tokens


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
