"""Any LlamaIndex LLM as a `ports.ChatModel`.

One that calls functions is asked by way of a function whose parameters are the answer's schema,
any other one in words, with the schema in the prompt. Judging the answer is not done here.
"""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.core.io import run
from amem_integrations.llms.failures import classify, passes_through, refused, truncated
from amem_integrations.llms.json_answer import find_object
from amem_integrations.llms.json_hint import with_schema

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse
    from llama_index.core.llms.function_calling import FunctionCallingLLM
    from llama_index.core.llms.llm import LLM
    from llama_index.core.tools import BaseTool

# From the more to the less binding. "plain" asks for JSON in words only.
METHODS = ("function_calling", "plain")

_INPUT_TOKENS = ("prompt_tokens", "input_tokens", "prompt_token_count", "prompt_eval_count")
_OUTPUT_TOKENS = ("completion_tokens", "output_tokens", "candidates_token_count", "eval_count")
_ENDINGS = ("finish_reason", "stop_reason", "done_reason")


class _Caller(Protocol):
    async def __call__(
        self, model: "LLM", messages: "list[ChatMessage]", tool: "BaseTool | None"
    ) -> "ChatResponse": ...


def _call(model: "LLM", messages: "list[ChatMessage]", tool: "BaseTool | None") -> "ChatResponse":
    if tool is None:
        return model.chat(messages)
    calling = cast("FunctionCallingLLM", model)
    return calling.chat_with_tools([tool], chat_history=messages, tool_required=True)


async def _call_now(
    model: "LLM", messages: "list[ChatMessage]", tool: "BaseTool | None"
) -> "ChatResponse":
    return _call(model, messages, tool)


async def _call_awaiting(
    model: "LLM", messages: "list[ChatMessage]", tool: "BaseTool | None"
) -> "ChatResponse":
    from llama_index.core.llms.custom import CustomLLM

    # By name, because LlamaIndex wraps an inherited method anew in every subclass.
    if type(model).achat.__qualname__ == CustomLLM.achat.__qualname__:
        # This async form is the sync one, which would hold up the loop.
        return await asyncio.to_thread(_call, model, messages, tool)
    if tool is None:
        return await model.achat(messages)
    calling = cast("FunctionCallingLLM", model)
    return await calling.achat_with_tools([tool], chat_history=messages, tool_required=True)


class LlamaIndexChatModel:
    """A LlamaIndex LLM that answers within a JSON schema.

    It is asked by function call if it can be; when its provider rejects that, or it gave no
    object, in words. Once a way has worked, it stays.
    """

    def __init__(self, model: "LLM", *, name: str | None = None) -> None:
        self.model = model
        self.name = name or _name(model)
        self._methods = METHODS if _calls_functions(model) else METHODS[-1:]
        self._proven = False

    @property
    def method(self) -> str:
        """The way of asking that is in use."""
        return self._methods[0]

    def complete(self, request: ChatRequest) -> ChatReply:
        return run(self._complete(request, _call_now))

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        return await self._complete(request, _call_awaiting)

    async def _complete(self, request: ChatRequest, call: _Caller) -> ChatReply:
        started = time.perf_counter()
        methods = self._methods
        method, response = await self._ask(request, methods, call)
        facts = _facts(response)
        cut_off = truncated(facts)
        refusal = refused(facts, refusal=bool(facts.get("refusal")), model=self.name)
        if refusal is not None:
            raise refusal
        text, data = self._read(response, request.schema, cut_off=cut_off)
        if data is not None:
            self._methods, self._proven = (method,), True
        elif not self._proven and not cut_off:
            self._methods = METHODS[-1:]
        return ChatReply(
            text=text,
            data=data,
            tokens_in=_count(facts, _INPUT_TOKENS),
            tokens_out=_count(facts, _OUTPUT_TOKENS),
            seconds=time.perf_counter() - started,
            notes=(method, "truncated") if cut_off else (method,),
        )

    async def _ask(
        self, request: ChatRequest, methods: Sequence[str], call: _Caller
    ) -> tuple[str, "ChatResponse"]:
        """The model's answer, and the method that got it."""
        for method in methods:
            try:
                tool = _tool(request.schema) if method == "function_calling" else None
                return method, await call(self.model, self._messages(request, method), tool)
            except Exception as error:
                if passes_through(error):
                    raise
                failure = classify(error, self.name)
                rejected = failure.reason == "bad-request" or isinstance(error, NotImplementedError)
                if method == methods[-1] or not rejected:
                    raise failure from error
        raise AssertionError("the last method either answers or raises")

    def _messages(self, request: ChatRequest, method: str) -> "list[ChatMessage]":
        from llama_index.core.base.llms.types import ChatMessage, MessageRole

        roles = {"system": self.model.metadata.system_role, "assistant": MessageRole.ASSISTANT}
        messages = request.messages
        if method == "plain":
            messages = with_schema(messages, request.schema)
        return [
            ChatMessage(role=roles.get(each.role, MessageRole.USER), content=each.content)
            for each in messages
        ]

    def _read(
        self, response: "ChatResponse", schema: dict[str, object], *, cut_off: bool
    ) -> tuple[str, dict[str, object] | None]:
        """The answer as text, and the object in it.

        LlamaIndex completes the arguments of a call that was cut off; then they are not taken.
        """
        text = response.message.content or ""
        for name, arguments in () if cut_off else self._tool_calls(response):
            if name == schema.get("title") and arguments:
                return text or json.dumps(arguments, ensure_ascii=False), arguments
        return text, find_object(text, schema)

    def _tool_calls(self, response: "ChatResponse") -> list[tuple[str, dict[str, Any]]]:
        if not _calls_functions(self.model):
            return []
        calling = cast("FunctionCallingLLM", self.model)
        try:
            calls = calling.get_tool_calls_from_response(response, error_on_no_tool_call=False)
        except (NotImplementedError, ValueError):
            return []
        return [(call.tool_name, call.tool_kwargs) for call in calls]


def _name(model: "LLM") -> str:
    name = model.metadata.model_name
    return type(model).__name__ if name == "unknown" else f"{type(model).__name__}:{name}"


def _calls_functions(model: "LLM") -> bool:
    from llama_index.core.llms.function_calling import FunctionCallingLLM

    return isinstance(model, FunctionCallingLLM) and model.metadata.is_function_calling_model


def _tool(schema: dict[str, object]) -> "BaseTool":
    """A function whose parameters are `schema`; it is never called."""
    from llama_index.core.tools import FunctionTool
    from pydantic import BaseModel

    class Answer(BaseModel):
        @classmethod
        def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> Any:
            return schema

    def answer(**parameters: Any) -> None: ...

    return FunctionTool.from_defaults(
        answer,
        name=str(schema["title"]),
        description=str(schema.get("description", "The answer.")),
        fn_schema=Answer,
    )


def _facts(response: "ChatResponse") -> Mapping[str, Any]:
    """How the answer ended and what it took, wherever the integration has put that."""
    raw = response.raw
    choice = _first(_look(raw, "choices"))
    usage: object = _look(raw, "usage") or _look(raw, "usage_metadata")
    places: list[object] = [response.additional_kwargs, usage, choice, raw]  # pyright: ignore[reportUnknownMemberType]
    found: dict[str, Any] = {"refusal": _look(_look(choice, "message"), "refusal")}
    for name in (*_ENDINGS, *_INPUT_TOKENS, *_OUTPUT_TOKENS):
        values = [_look(place, name) for place in places]
        found[name] = next((value for value in values if value is not None), None)
    return found


def _first(values: object) -> object:
    return next(iter(cast("list[object]", values)), None) if isinstance(values, list) else None


def _look(place: object, name: str) -> Any:
    if isinstance(place, Mapping):
        return cast("Mapping[str, Any]", place).get(name)
    return getattr(place, name, None)


def _count(facts: Mapping[str, Any], names: Sequence[str]) -> int | None:
    return next((facts[name] for name in names if isinstance(facts[name], int)), None)
