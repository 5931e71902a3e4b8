"""Any LangChain chat model as a `ports.ChatModel`.

Asks for structured output in the best way the model can give it and reads the answer from the
raw message. Judging what the answer says is not done here.
"""

import inspect
import json
import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.core.io import run
from amem_integrations.errors import AnalysisError, InvalidInputError, ModelUnavailableError
from amem_integrations.llms.failures import classify, passes_through, refused, truncated
from amem_integrations.llms.json_answer import find_object
from amem_integrations.llms.json_hint import with_schema

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage

_LOG = logging.getLogger(__name__)

# From the most to the least binding. "plain" asks for JSON in words only.
METHODS = ("json_schema", "function_calling", "json_mode", "plain")


class _Caller(Protocol):
    async def __call__(self, runnable: Any, messages: Any, config: Any) -> Any: ...


async def _call_now(runnable: Any, messages: Any, config: Any) -> Any:
    return runnable.invoke(messages, config)


async def _call_awaiting(runnable: Any, messages: Any, config: Any) -> Any:
    return await runnable.ainvoke(messages, config)


class LangChainChatModel:
    """A LangChain chat model that answers within a JSON schema.

    The way of asking (METHODS) starts at the most binding one and steps down when the model or
    its provider rejects it, or when it gave no JSON; once one has worked, it stays.
    """

    def __init__(self, model: "BaseChatModel", *, name: str | None = None) -> None:
        self.model = model
        self.name = name or _name(model)
        self._methods = _possible(model)
        self._current = 0
        self._proven = False

    @property
    def method(self) -> str:
        """The way of asking that is in use."""
        return self._methods[self._current]

    def complete(self, request: ChatRequest) -> ChatReply:
        return run(self._complete(request, _call_now))

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        return await self._complete(request, _call_awaiting)

    async def _complete(self, request: ChatRequest, call: _Caller) -> ChatReply:
        started = time.perf_counter()
        place, answer = await self._ask(request, call)
        message = _raw(answer)
        if message is None:
            raise AnalysisError(
                f"{self.name} answered with a {type(answer).__name__} instead of a message; its "
                "with_structured_output does not honour include_raw=True.",
                reason="error",
                retryable=False,
            )
        cut_off = truncated(message.response_metadata)
        refusal = refused(message.response_metadata, refusal=_refuses(message), model=self.name)
        if refusal is not None:
            raise refusal
        text, data = _read(message, request.schema, cut_off=cut_off)
        method = self._methods[place]
        self._learn(place, worked=data is not None, cut_off=cut_off)
        usage = message.usage_metadata
        return ChatReply(
            text=text,
            data=data,
            tokens_in=usage["input_tokens"] if usage else None,
            tokens_out=usage["output_tokens"] if usage else None,
            seconds=time.perf_counter() - started,
            notes=(method, "truncated") if cut_off else (method,),
            model=_reported(message.response_metadata),
        )

    async def _ask(self, request: ChatRequest, call: _Caller) -> tuple[int, Any]:
        """The model's answer, and the place in the methods of the one that got it."""
        config = {
            # LangGraph keeps what bears this tag out of the user's token stream. Callbacks are
            # left out on purpose: those of the surrounding run are inherited.
            "tags": ["nostream"],
            "run_name": f"amem_{request.step}",
            "metadata": {"amem_step": request.step},
        }
        last = len(self._methods) - 1
        for place in range(self._current, last + 1):
            method = self._methods[place]
            try:
                runnable = _structured(self.model, method, request.schema)
                return place, await call(runnable, _messages(request, method), config)
            except Exception as error:
                if passes_through(error):
                    raise
                if (unfinished := _unfinished(error)) is not None:
                    return place, unfinished
                failure = classify(error, self.name)
                rejected = failure.reason == "bad-request" or isinstance(error, _UNSUPPORTED)
                if place == last or self._proven or not rejected:
                    raise failure from error
                _LOG.debug("%s does not take %s; trying the next way.", self.name, method)
        raise AssertionError("the last method either answers or raises")

    def _learn(self, place: int, *, worked: bool, cut_off: bool) -> None:
        if worked:
            self._current, self._proven = place, True
        elif not self._proven and not cut_off:
            self._current = min(place + 1, len(self._methods) - 1)


class _UnsupportedMethodError(Exception):
    pass


_UNSUPPORTED = (_UnsupportedMethodError, NotImplementedError)


def named(spec: str) -> LangChainChatModel:
    """The model "provider:model", set up by LangChain's `init_chat_model`.

    Raises ModelUnavailableError with what to install or set.
    """
    if not spec.strip():
        raise InvalidInputError("model is an empty string; give 'provider:model' or None.")
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise ModelUnavailableError(
            f"Naming a model ({spec!r}) needs the langchain package: "
            "pip install 'amem-integrations[langchain]'. A chat model object needs no extra."
        ) from error
    try:
        model = init_chat_model(spec)
    except ImportError as error:
        raise ModelUnavailableError(
            f"The provider of {spec!r} needs a package that is not installed: {error}"
        ) from error
    except Exception as error:
        # Of the kinds of ValueError, only the bare one is LangChain's own word on the name.
        if type(error) is ValueError:
            raise ModelUnavailableError(
                f"{spec!r} names no known provider. Write 'provider:model', for example "
                "'openai:gpt-4o-mini' or 'ollama:qwen3'."
            ) from error
        raise ModelUnavailableError(
            f"The model {spec!r} could not be set up ({type(error).__name__}). Most often its API "
            "key is missing: set the provider's environment variable, for example "
            "OPENAI_API_KEY, or build the chat model yourself and pass it."
        ) from error
    return LangChainChatModel(model, name=spec)


def _reported(metadata: Mapping[str, Any]) -> str | None:
    """The model that answered, by the provider's own word."""
    found = metadata.get("model_name") or metadata.get("model")
    return found if isinstance(found, str) else None


def _name(model: "BaseChatModel") -> str:
    for attribute in ("model_name", "model", "model_id"):
        value = getattr(model, attribute, None)
        if isinstance(value, str) and value:
            return f"{type(model).__name__}:{value}"
    return type(model).__name__


def _possible(model: "BaseChatModel") -> tuple[str, ...]:
    """METHODS without those the model's profile rules out."""
    profile = cast("Mapping[str, object]", getattr(model, "profile", None) or {})
    ruled_out = {
        method
        for method, ability in (
            ("json_schema", "structured_output"),
            ("function_calling", "tool_calling"),
        )
        if profile.get(ability) is False
    }
    return tuple(method for method in METHODS if method not in ruled_out)


def _structured(model: "BaseChatModel", method: str, schema: dict[str, object]) -> Any:
    if method == "plain":
        return model
    options: dict[str, Any] = {"include_raw": True, "method": method}
    try:
        known = inspect.signature(model.with_structured_output).parameters
        if method == "json_schema" and "strict" in known:
            options["strict"] = True
        return model.with_structured_output(schema, **options)
    except (NotImplementedError, ValueError, TypeError, AttributeError) as error:
        raise _UnsupportedMethodError(method) from error


def _messages(request: ChatRequest, method: str) -> list["BaseMessage"]:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    kinds = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
    asked = request.messages
    if method in ("json_mode", "plain"):
        asked = with_schema(asked, request.schema)
    return [kinds[each.role](each.content) for each in asked]


def _raw(answer: Any) -> "AIMessage | None":
    from langchain_core.messages import AIMessage

    if isinstance(answer, Mapping):
        answer = cast("Mapping[str, object]", answer).get("raw")
    return answer if isinstance(answer, AIMessage) else None


def _unfinished(error: Exception) -> "AIMessage | None":
    """The answer within openai's complaint that it reached its length limit."""
    from langchain_core.messages import AIMessage
    from langchain_core.messages.ai import UsageMetadata

    if type(error).__name__ != "LengthFinishReasonError":
        return None
    completion: Any = getattr(error, "completion", None)
    choices = getattr(completion, "choices", None)
    used = getattr(completion, "usage", None)
    return AIMessage(
        (choices[0].message.content or "") if choices else "",
        response_metadata={"finish_reason": "length"},
        usage_metadata=UsageMetadata(
            input_tokens=used.prompt_tokens,
            output_tokens=used.completion_tokens,
            total_tokens=used.total_tokens,
        )
        if used
        else None,
    )


def _refuses(message: "AIMessage") -> bool:
    if message.additional_kwargs.get("refusal"):
        return True
    return any(block["type"] == "refusal" for block in message.content_blocks)


def _read(
    message: "AIMessage", schema: dict[str, object], *, cut_off: bool
) -> tuple[str, dict[str, object] | None]:
    """The answer as text, and the object in it.

    LangChain's own parsers are not asked: they complete JSON that was cut off.
    """
    for call in () if cut_off else message.tool_calls:
        if call["name"] == schema.get("title"):
            return message.text or json.dumps(call["args"], ensure_ascii=False), call["args"]
    attempts = [call["args"] or "" for call in message.invalid_tool_calls]
    text = message.text or "\n".join(attempts)
    return text, find_object(text, schema)
