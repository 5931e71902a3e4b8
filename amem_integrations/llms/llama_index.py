"""LlamaIndex's LLMs as chat models of a memory.

One that calls functions is asked by way of a function whose parameters are the answer's schema,
any other one in words, with the schema in the prompt.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from amem_integrations.core.analysis import ChatRequest
from amem_integrations.llms.structured import Answer, StructuredChatModel, with_schema

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse
    from llama_index.core.llms.llm import LLM
    from llama_index.core.tools import BaseTool

# From the more to the less binding. "plain" asks for JSON in words only.
METHODS = ("function_calling", "plain")

_INPUT_TOKENS = ("prompt_tokens", "input_tokens", "prompt_token_count", "prompt_eval_count")
_OUTPUT_TOKENS = ("completion_tokens", "output_tokens", "candidates_token_count", "eval_count")
_ENDINGS = ("finish_reason", "stop_reason", "done_reason")


class LlamaIndexChatModel(StructuredChatModel):
    """A LlamaIndex LLM that answers within a JSON schema."""

    def __init__(self, model: "LLM", *, name: str | None = None) -> None:
        from llama_index.core.llms.function_calling import FunctionCallingLLM

        self.model: Any = model
        self._calls_functions = (
            isinstance(model, FunctionCallingLLM) and model.metadata.is_function_calling_model
        )
        known, kind = model.metadata.model_name, type(model).__name__
        super().__init__(
            name or (kind if known == "unknown" else f"{kind}:{known}"),
            METHODS if self._calls_functions else METHODS[-1:],
        )

    def _call(self, request: ChatRequest, method: str) -> Any:
        messages = self._messages(request, method)
        if method == "plain":
            return self.model.chat(messages)
        tools = [_tool(request.schema)]
        return self.model.chat_with_tools(tools, chat_history=messages, tool_required=True)

    async def _acall(self, request: ChatRequest, method: str) -> Any:
        from llama_index.core.llms.custom import CustomLLM

        # The async form of a CustomLLM is the sync one, which would block the loop. It is known
        # by name, because LlamaIndex wraps an inherited method anew in every subclass.
        own: Any = type(cast("object", self.model))
        if own.achat.__qualname__ == CustomLLM.achat.__qualname__:
            return await asyncio.to_thread(self._call, request, method)
        messages = self._messages(request, method)
        if method == "plain":
            return await self.model.achat(messages)
        tools = [_tool(request.schema)]
        return await self.model.achat_with_tools(tools, chat_history=messages, tool_required=True)

    def _messages(self, request: ChatRequest, method: str) -> "list[ChatMessage]":
        from llama_index.core.base.llms.types import ChatMessage, MessageRole

        roles = {"system": self.model.metadata.system_role, "assistant": MessageRole.ASSISTANT}
        messages = request.messages
        if method == "plain":
            messages = with_schema(messages, request.schema)
        return [
            ChatMessage(role=roles.get(message.role, MessageRole.USER), content=message.content)
            for message in messages
        ]

    def _parse(self, raw: Any, schema: Mapping[str, object]) -> Answer:
        facts = _facts(raw)
        calls = (
            arguments for name, arguments in self._tool_calls(raw) if name == schema.get("title")
        )
        return Answer(
            raw.message.content or "",
            next(calls, None) or None,
            facts,
            refusal=bool(facts.get("refusal")),
            tokens_in=_count(facts, _INPUT_TOKENS),
            tokens_out=_count(facts, _OUTPUT_TOKENS),
        )

    def _tool_calls(self, response: "ChatResponse") -> list[tuple[str, dict[str, Any]]]:
        if not self._calls_functions:
            return []
        try:
            calls = self.model.get_tool_calls_from_response(response, error_on_no_tool_call=False)
        except (NotImplementedError, ValueError):
            return []
        return [(call.tool_name, call.tool_kwargs) for call in calls]


def _tool(schema: Mapping[str, object]) -> "BaseTool":
    """Return a function whose parameters are `schema`; it is never called."""
    from llama_index.core.tools import FunctionTool
    from pydantic import BaseModel

    class Parameters(BaseModel):
        @classmethod
        def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> Any:
            return schema

    def answer(**parameters: Any) -> None: ...

    return FunctionTool.from_defaults(
        answer,
        name=str(schema["title"]),
        description=str(schema.get("description", "The answer.")),
        fn_schema=Parameters,
    )


def _facts(response: "ChatResponse") -> Mapping[str, Any]:
    """Return how the answer ended and its tokens, wherever the integration has put that."""
    raw = response.raw
    choices: object = _get(raw, "choices")
    choice = next(iter(cast("list[object]", choices)), None) if isinstance(choices, list) else None
    usage: object = _get(raw, "usage") or _get(raw, "usage_metadata")
    places: list[object] = [response.additional_kwargs, usage, choice, raw]  # pyright: ignore[reportUnknownMemberType]
    facts: dict[str, Any] = {"refusal": _get(_get(choice, "message"), "refusal")}
    for name in (*_ENDINGS, *_INPUT_TOKENS, *_OUTPUT_TOKENS):
        values = (_get(place, name) for place in places)
        facts[name] = next((value for value in values if value is not None), None)
    return facts


def _get(place: object, name: str) -> Any:
    if isinstance(place, Mapping):
        return cast("Mapping[str, Any]", place).get(name)
    return getattr(place, name, None)


def _count(facts: Mapping[str, Any], names: Sequence[str]) -> int | None:
    return next((facts[name] for name in names if isinstance(facts[name], int)), None)
