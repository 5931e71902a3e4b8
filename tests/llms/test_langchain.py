"""A LangChain chat model as the one that judges: asked its best way, its failures told apart."""

import subprocess
import sys
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langgraph.errors import GraphInterrupt

from amem_integrations.errors import AnalysisError, InvalidInputError, ModelUnavailableError
from amem_integrations.llms.chat_models import resolve_chat_model
from amem_integrations.llms.langchain import LangChainChatModel
from amem_integrations.testing import ScriptedChatModel
from tests.llms.provider import ANSWER, TEXT, Answer, Ask, Provider, called, failed, request, said


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


def test_a_cut_off_answer_of_openai_is_a_reply_with_its_tokens(ask: Ask) -> None:
    with Provider(said(TEXT[:30], finish="length")).listening() as provider:
        model = LangChainChatModel(provider.model())
        reply = ask(model, request())
    assert (reply.data, reply.text, reply.tokens_out) == (None, TEXT[:30], 7)
    assert reply.notes == ("json_schema", "truncated")
    # It was asked in strict mode, and keeps to that way of asking.
    schema = provider.requests[0]["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["required"] == ["keywords", "tags", "context", "questions"]
    assert model.method == "json_schema"


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


@pytest.mark.parametrize(
    ("error", "reason", "retryable"),
    [(LookupError, "error", False), (ConnectionError, "transport", True)],
)
def test_any_other_error_is_told_by_its_type_only(
    ask: Ask, error: type[Exception], reason: str, retryable: bool
) -> None:
    with pytest.raises(AnalysisError) as caught:
        ask(scripted(error("the content of a note")), request())
    assert (caught.value.reason, caught.value.retryable) == (reason, retryable)
    assert error.__name__ in str(caught.value)
    assert "content of a note" not in str(caught.value)
    assert isinstance(caught.value.__cause__, error)


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
