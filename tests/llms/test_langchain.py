"""A LangChain chat model as the one that judges: asked its best way, its failures told apart."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, MessagesState, StateGraph

from amem_integrations.core.analysis import ChatReply, ChatRequest, Message
from amem_integrations.errors import AnalysisError, InvalidInputError, ModelUnavailableError
from amem_integrations.llms.chat_models import resolve_chat_model
from amem_integrations.llms.langchain import LangChainChatModel
from amem_integrations.testing import ScriptedChatModel
from tests.analysts.test_prompts import UNDERSTANDING
from tests.llms.provider import Answer, Provider, called, failed, said

ANSWER = {"keywords": ["cache"], "tags": ["design"], "context": "About a cache."}
TEXT = '{"keywords": ["cache"], "tags": ["design"], "context": "About a cache."}'

Ask = Callable[..., ChatReply]


def request(step: str = "construct") -> ChatRequest:
    messages = [Message("system", "Judge."), Message("user", "A note.")]
    return ChatRequest(step, messages, UNDERSTANDING)


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Ask a model in its sync or in its async form."""

    def asked(model: LangChainChatModel, question: ChatRequest) -> ChatReply:
        if request.param == "sync":
            return model.complete(question)
        return asyncio.run(model.acomplete(question))

    return asked


def scripted(*replies: Any, **settings: Any) -> LangChainChatModel:
    return LangChainChatModel(ScriptedChatModel(replies, **settings))


def scripted_calls(model: LangChainChatModel) -> list[Any]:
    assert isinstance(model.model, ScriptedChatModel)
    return model.model.calls


# -- which model --------------------------------------------------------------------------


def test_a_langchain_model_is_adapted() -> None:
    model = ScriptedChatModel([TEXT])
    resolved = resolve_chat_model(model)
    assert isinstance(resolved, LangChainChatModel)
    assert resolved.model is model
    assert resolved.name == "ScriptedChatModel:scripted"


class Foreign:
    """Another library's model."""

    def complete(self, prompt: str) -> str:
        return ""

    async def acomplete(self, prompt: str) -> str:
        return ""


class Own(Foreign):
    name = "own"


def test_a_name_or_a_chat_model_of_our_own_kind_is_resolved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    named, own = resolve_chat_model("openai:gpt-4o-mini"), Own()
    assert named is not None
    assert named.name == "openai:gpt-4o-mini"
    assert resolve_chat_model(own) is own  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (Foreign(), InvalidInputError, "'provider:model'"),
        (
            ScriptedChatModel([TEXT]).bind(temperature=0),
            InvalidInputError,
            "settings in its constructor",
        ),
        ("  ", InvalidInputError, "empty"),
        ("nosuch:model", ModelUnavailableError, "'nosuch:model' names no known provider"),
        ("fireworks:some-model", ModelUnavailableError, "langchain-fireworks"),
        ("openai:gpt-4o-mini", ModelUnavailableError, "OPENAI_API_KEY"),
    ],
)
def test_what_is_no_model_or_cannot_be_set_up_is_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, spec: object, error: type[Exception], message: str
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(error, match=message):
        resolve_chat_model(spec)


def test_without_the_langchain_package_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(ModelUnavailableError, match=r"amem-integrations\[langchain\]"):
        resolve_chat_model("openai:gpt-4o-mini")


def test_resolving_nothing_loads_no_framework() -> None:
    code = (
        "import sys; from amem_integrations.llms.chat_models import resolve_chat_model;"
        "resolve_chat_model(None);"
        "import amem_integrations.analysts.llm;"
        "sys.exit(any(m.split('.')[0] in ('langchain', 'langchain_core', 'langgraph')"
        " for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- how it is asked ------------------------------------------------------------------------


def test_the_answer_comes_with_tokens_and_seconds(ask: Ask) -> None:
    usage = {"input_tokens": 40, "output_tokens": 9, "total_tokens": 49}
    reply = ask(scripted(ANSWER, usage=usage, latency=0.02), request())
    assert reply.data == ANSWER
    assert (reply.tokens_in, reply.tokens_out) == (40, 9)
    assert reply.seconds >= 0.02
    assert reply.notes == ("json_schema",)
    assert reply.model == "scripted"


def test_a_model_without_structured_output_and_tokens_is_asked_in_words(ask: Ask) -> None:
    model = LangChainChatModel(FakeListChatModel(responses=[f"Sure! {TEXT}"]))
    reply = ask(model, request())
    assert (reply.data, reply.tokens_in, reply.tokens_out) == (ANSWER, None, None)
    assert model.method == "plain"


@pytest.mark.parametrize(
    ("able", "used"),
    [
        (("json_schema", "function_calling"), "json_schema"),
        (("function_calling", "json_mode"), "function_calling"),
        (("json_mode",), "json_mode"),
        ((), "plain"),
    ],
)
def test_the_most_binding_way_that_the_model_has_is_used(
    ask: Ask, able: tuple[str, ...], used: str
) -> None:
    model = scripted(ANSWER, ANSWER, methods=able)
    assert ask(model, request()).data == ANSWER
    assert ask(model, request()).notes == (used,)
    assert len(scripted_calls(model)) == 2


def test_a_profile_that_rules_a_way_out_is_believed() -> None:
    model = scripted(ANSWER, profile={"structured_output": False, "tool_calling": False})
    assert model.method == "json_mode"


def test_the_schema_stands_in_the_prompt_only_where_nothing_else_carries_it(ask: Ask) -> None:
    plain, bound = scripted(ANSWER, methods=()), scripted(ANSWER)
    ask(plain, request())
    ask(bound, request())
    assert '"additionalProperties":false' in scripted_calls(plain)[0].messages[0].text
    assert scripted_calls(bound)[0].messages[0].text == "Judge."


def test_strict_mode_is_asked_for_where_the_model_knows_it(ask: Ask) -> None:
    with Provider(said(TEXT)).listening() as provider:
        ask(LangChainChatModel(provider.model()), request())
    sent = provider.requests[0]["response_format"]["json_schema"]
    assert sent["strict"] is True
    assert sent["schema"]["required"] == ["keywords", "tags", "context"]


def test_a_way_the_provider_rejects_is_left_for_the_next_and_remembered(ask: Ask) -> None:
    with Provider(failed(400), called(TEXT)).listening() as provider:
        model = LangChainChatModel(provider.model())
        assert ask(model, request()).data == ANSWER
        assert ask(model, request()).data == ANSWER
    assert ["tools" in sent for sent in provider.requests] == [False, True, True]


def test_a_way_that_brought_no_json_is_left_until_one_has_worked(ask: Ask) -> None:
    model = scripted("I'd rather chat.", ANSWER, "", ANSWER)
    replies = [ask(model, request()) for _ in range(4)]
    assert [reply.data for reply in replies] == [None, ANSWER, None, ANSWER]
    assert [*replies[0].notes, *replies[3].notes] == ["json_schema", "function_calling"]


def test_a_way_that_has_worked_is_not_given_up_for_one_rejected_request(ask: Ask) -> None:
    with Provider(said(TEXT), failed(400)).listening() as provider:
        model = LangChainChatModel(provider.model())
        ask(model, request())
        with pytest.raises(AnalysisError, match="rejects the request"):
            ask(model, request())
    assert len(provider.requests) == 2


def test_a_request_that_every_way_is_rejected_for_fails_as_a_bad_request(ask: Ask) -> None:
    with Provider(failed(400)).listening() as provider:
        model = LangChainChatModel(provider.model())
        with pytest.raises(AnalysisError) as caught:
            ask(model, request())
    assert (caught.value.reason, caught.value.retryable) == ("bad-request", False)
    assert model.method == "json_schema"


# -- what it answered -----------------------------------------------------------------------


def test_reasoning_blocks_are_not_part_of_the_answer(ask: Ask) -> None:
    blocks = [{"type": "reasoning", "reasoning": "{}"}, {"type": "text", "text": TEXT}]
    assert ask(scripted(AIMessage(blocks)), request()).data == ANSWER


def test_a_cut_off_answer_is_not_completed_and_says_nothing_against_the_way_of_asking(
    ask: Ask,
) -> None:
    model = scripted(AIMessage(TEXT[:40], response_metadata={"finish_reason": "length"}))
    reply = ask(model, request())
    assert (reply.data, reply.notes) == (None, ("json_schema", "truncated"))
    assert model.method == "json_schema"


def test_a_cut_off_answer_of_openai_is_a_reply_with_its_tokens(ask: Ask) -> None:
    with Provider(said(TEXT[:30], finish="length")).listening() as provider:
        reply = ask(LangChainChatModel(provider.model()), request())
    assert (reply.data, reply.text, reply.tokens_out) == (None, TEXT[:30], 7)
    assert "truncated" in reply.notes


@pytest.mark.parametrize(
    ("call", "data"), [(called(TEXT[:-1] + ",}"), ANSWER), (called(TEXT, name="other"), None)]
)
def test_broken_tool_arguments_are_read_as_text_and_another_tool_is_no_answer(
    ask: Ask, call: Answer, data: Any
) -> None:
    with Provider(failed(400), call).listening() as provider:
        assert ask(LangChainChatModel(provider.model()), request()).data == data


def test_a_model_that_hides_the_raw_message_is_an_error_that_says_so(ask: Ask) -> None:
    class Hiding(ScriptedChatModel):
        def with_structured_output(self, schema: Any, **options: Any) -> Any:
            return super().with_structured_output(schema, **{**options, "include_raw": False})

    with pytest.raises(AnalysisError, match="include_raw"):
        ask(LangChainChatModel(Hiding([ANSWER])), request())


# -- how it fails ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "reason", "retryable"),
    [
        (failed(401), "unauthorized", False),
        (failed(403), "forbidden", False),
        (failed(404), "not-found", False),
        (failed(429), "rate-limited", True),
        (failed(429, "insufficient_quota"), "quota", False),
        (failed(400, "content_filter"), "content-filter", False),
        (failed(400, "context_length_exceeded"), "too-long", False),
        (failed(503), "server", True),
        (Answer(body={}, delay=0.5), "timeout", True),
        (said(None, refusal="I will not."), "refusal", False),
        (said(TEXT, finish="content_filter"), "content-filter", False),
    ],
)
def test_a_provider_s_failure_is_classified(
    ask: Ask, answer: Answer, reason: str, retryable: bool
) -> None:
    with Provider(answer).listening() as provider:
        timeout = 0.2 if answer.delay else 5
        with pytest.raises(AnalysisError) as caught:
            ask(LangChainChatModel(provider.model(timeout=timeout)), request())
    assert (caught.value.reason, caught.value.retryable) == (reason, retryable)
    assert "SECRET" not in str(caught.value)
    assert "CONTENT" not in str(caught.value)


def test_a_provider_that_cannot_be_reached_is_a_transport_failure(ask: Ask) -> None:
    with Provider(said(TEXT)).listening() as provider:
        model = LangChainChatModel(provider.model())
    with pytest.raises(AnalysisError) as caught:
        ask(model, request())
    assert (caught.value.reason, caught.value.retryable) == ("transport", True)


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"retry_after": "7"}, 7.0, 7.0),
        ({"retry_after_ms": "250"}, 0.25, 0.25),
        ({"retry_after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0, 0.0),
        ({"retry_after": "Wed, 21 Oct 2999 07:28:00 GMT"}, 1e9, 1e11),
        *(({**header}, None, None) for header in ({}, {"retry_after": "soon"})),
        ({"retry_after": "nan"}, None, None),
    ],
)
def test_the_seconds_that_the_provider_asks_to_wait_are_kept(
    ask: Ask, headers: dict[str, str], least: float | None, most: float | None
) -> None:
    provider = Provider(failed(429, **headers))
    with provider.listening(), pytest.raises(AnalysisError) as caught:
        ask(LangChainChatModel(provider.model()), request())
    wait = caught.value.retry_after
    assert wait is None if least is None or most is None else least <= (wait or 0.0) <= most


def test_an_odd_error_is_final_and_names_its_type_only(ask: Ask) -> None:
    with pytest.raises(AnalysisError) as caught:
        ask(scripted(LookupError("the content of a note")), request())
    assert (caught.value.reason, caught.value.retryable) == ("error", False)
    assert "LookupError" in str(caught.value)
    assert "content of a note" not in str(caught.value)
    assert isinstance(caught.value.__cause__, LookupError)


@pytest.mark.parametrize(
    "error",
    [
        GraphInterrupt(),
        KeyboardInterrupt(),
        SystemExit(),
        AnalysisError("no", reason="mine", retryable=True),
    ],
)
def test_interrupts_and_our_own_errors_pass_through(ask: Ask, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        ask(scripted(error), request())
    assert caught.value is error


# -- within a graph of the user's -----------------------------------------------------------


class Recorder(BaseCallbackHandler):
    def __init__(self) -> None:
        self.seen: list[tuple[list[str], dict[str, Any]]] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.seen.append((kwargs["tags"], kwargs["metadata"]))


def graph_around(model: LangChainChatModel) -> Any:
    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(str(model.complete(request()).data))]}

    async def anode(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(str((await model.acomplete(request())).data))]}

    from langchain_core.runnables import RunnableLambda

    builder = StateGraph(MessagesState).add_node("judge", RunnableLambda(node, anode))
    return builder.add_edge(START, "judge").compile()


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "plain"])
async def test_its_tokens_never_reach_the_user_s_stream(method: str) -> None:
    ways = (method,) if method != "plain" else ()
    graph = graph_around(scripted(*[ANSWER] * 2, methods=ways))
    start = {"messages": [("user", "hi")]}
    streamed = [chunk async for chunk, _ in graph.astream(start, stream_mode="messages")]
    streamed += [chunk for chunk, _ in graph.stream(start, stream_mode="messages")]
    assert [chunk.text for chunk in streamed] == [str(ANSWER)] * 2


def test_callbacks_tags_and_metadata_of_the_surrounding_run_are_inherited() -> None:
    recorder = Recorder()
    config = {"callbacks": [recorder], "tags": ["mine"], "metadata": {"user": "u"}}
    graph_around(scripted(ANSWER)).invoke({"messages": [("user", "hi")]}, config)
    ((tags, metadata),) = recorder.seen
    assert {"mine", "nostream"} <= set(tags)
    assert metadata["user"] == "u"
    assert metadata["amem_step"] == "construct"
