"""A chat model that says what a test tells it to say.

For tests of agents and memories without a model: scripted answers and failures, latency, token
usage, structured output and tools, in the sync, async and streaming forms. No network.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_json_schema, convert_to_openai_tool
from pydantic import BaseModel, PrivateAttr

from amem_integrations.core.values import estimate_tokens
from amem_integrations.testing.script import Script

Reply = str | Mapping[str, Any] | AIMessage | BaseException
"""A text, a JSON object, a whole message, or an exception to raise."""

Replies = Iterable[Reply | Callable[[list[BaseMessage]], Reply]]


@dataclass(frozen=True)
class Call:
    """One time that the model was asked.

    Attributes:
        messages: the prompt.
        kwargs: what else it was given, such as bound tools.
        tags: of the run.
        method: "json_schema", "function_calling" or "json_mode" when structured output was asked
            for, else None.
    """

    messages: list[BaseMessage]
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    tags: tuple[str, ...] = ()
    method: str | None = None


class ScriptedChatModel(BaseChatModel):
    """Answers from a script: one reply a call, in order; a LangChain chat model.

    Args:
        replies: a reply each (a text, a JSON object, a whole message, or an exception to raise), or
            a function of the messages that makes one; or one such function for all calls. A JSON
            object is answered as a tool call where tools are bound, else as text.
        **settings: the attributes below.

    Attributes:
        after: what happens when the script has run out: "error" or "repeat" the last reply.
        latency: seconds before each answer.
        usage: token counts of each answer; estimated from the texts when not given. A message that
            has its own usage keeps it.
        model_name: as the model reports it.
        methods: the ways of structured output it can do; asking for another raises ValueError, as
            real models do.

    Raises:
        ScriptExhaustedError: it is asked more often than the script has replies.

    Examples:
        >>> from amem_integrations import AgenticMemory
        >>> from amem_integrations.testing import ScriptedChatModel
        >>> said = {"keywords": ["boat", "Susie"], "tags": ["boats", "names"], "context": "A name."}
        >>> with AgenticMemory(model=ScriptedChatModel([said])) as memory:
        ...     print(memory.add("My boat is called Susie").context)
        A name.
    """

    after: Literal["error", "repeat"] = "error"
    latency: float = 0.0
    usage: UsageMetadata | None = None
    model_name: str = "scripted"
    methods: tuple[str, ...] = ("json_schema", "function_calling", "json_mode")

    _script: Script[Call] = PrivateAttr()

    def __init__(
        self, replies: Replies | Callable[[list[BaseMessage]], Reply], **settings: Any
    ) -> None:
        super().__init__(**settings)
        self._script = Script(replies, self.after, AIMessage)

    @property
    def calls(self) -> list[Call]:
        """Every call so far, in order."""
        return self._script.calls

    @property
    def _llm_type(self) -> str:
        return "scripted-chat-model"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        bound = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=bound, tool_choice=tool_choice, **kwargs)

    def with_structured_output(
        self,
        schema: dict[str, Any] | type,
        *,
        include_raw: bool = False,
        method: str = "json_schema",
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, Any]:
        if method not in self.methods:
            raise ValueError(f"This model has no structured output by {method!r}.")
        asked: Runnable[LanguageModelInput, AIMessage]
        if method == "function_calling":
            asked = self.bind_tools([schema], tool_choice="any", structured_by=method, **kwargs)
        else:
            asked = self.bind(
                response_format={"type": method, "schema": convert_to_json_schema(schema)},
                strict=strict,
                structured_by=method,
                **kwargs,
            )

        def parse(message: AIMessage) -> Any:
            try:
                parsed, problem = _parsed(message, schema), None
            except (ValueError, OutputParserException) as error:
                parsed, problem = None, error
            if include_raw:
                return {"raw": message, "parsed": parsed, "parsing_error": problem}
            if problem is not None:
                raise problem
            return parsed

        return asked | RunnableLambda(parse)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self._reply(messages, kwargs, run_manager)
        if self.latency:
            time.sleep(self.latency)
        message = self._message(reply, messages, kwargs)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self._reply(messages, kwargs, run_manager)
        if self.latency:
            await asyncio.sleep(self.latency)
        message = self._message(reply, messages, kwargs)
        return ChatResult(generations=[ChatGeneration(message=message)])

    # LangChain itself reports the chunks to callbacks.
    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        reply = self._reply(messages, kwargs, run_manager)
        if self.latency:
            time.sleep(self.latency)
        yield from _chunks(self._message(reply, messages, kwargs))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        reply = self._reply(messages, kwargs, run_manager)
        if self.latency:
            await asyncio.sleep(self.latency)
        for chunk in _chunks(self._message(reply, messages, kwargs)):
            yield chunk

    def _reply(
        self,
        messages: list[BaseMessage],
        kwargs: Mapping[str, Any],
        run_manager: CallbackManagerForLLMRun | AsyncCallbackManagerForLLMRun | None,
    ) -> Reply:
        tags = tuple(run_manager.tags) if run_manager else ()
        asked = {key: value for key, value in kwargs.items() if key != "structured_by"}
        call = Call(list(messages), asked, tags, kwargs.get("structured_by"))
        return self._script.reply(call, list(messages))

    def _message(
        self, reply: Reply, messages: list[BaseMessage], kwargs: Mapping[str, Any]
    ) -> AIMessage:
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, AIMessage):
            message = reply.model_copy(deep=True)
        elif isinstance(reply, str):
            message = AIMessage(reply)
        else:
            message = _object_message(reply, kwargs)
        if message.usage_metadata is None:
            message.usage_metadata = self.usage or _estimate(messages, message)
        message.response_metadata.setdefault("model_name", self.model_name)
        return message


def _object_message(reply: Mapping[str, Any], kwargs: Mapping[str, Any]) -> AIMessage:
    tools = kwargs.get("tools")
    if not tools:
        return AIMessage(json.dumps(dict(reply), ensure_ascii=False))
    names = [tool["function"]["name"] for tool in tools]
    chosen = kwargs.get("tool_choice")
    name = chosen if chosen in names else names[0]
    call = {"name": name, "args": dict(reply), "id": "call_1", "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


def _parsed(message: AIMessage, schema: dict[str, Any] | type) -> Any:
    if message.tool_calls:
        found: Any = message.tool_calls[0]["args"]
    elif message.text:
        found = json.loads(message.text)
    else:
        return None
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return schema.model_validate(found)
    return found


def _chunks(message: AIMessage) -> Iterator[ChatGenerationChunk]:
    """The message in pieces, a word each; what is not text comes with the last piece."""
    pieces = re.findall(r"\S+\s*|\s+", message.text) if isinstance(message.content, str) else []
    for piece in pieces:
        yield ChatGenerationChunk(message=AIMessageChunk(content=piece, id=message.id))
    rest = AIMessageChunk(
        content="" if pieces or message.content == "" else cast("list[Any]", message.content),
        id=message.id,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
        usage_metadata=message.usage_metadata,
        tool_call_chunks=[
            {
                "name": call["name"],
                "args": json.dumps(call["args"]),
                "id": call["id"],
                "index": place,
                "type": "tool_call_chunk",
            }
            for place, call in enumerate(message.tool_calls)
        ],
        chunk_position="last",
    )
    yield ChatGenerationChunk(message=rest)


def _estimate(messages: Sequence[BaseMessage], answer: AIMessage) -> UsageMetadata:
    asked = sum(estimate_tokens(message.text) for message in messages)
    said = estimate_tokens(answer.text) + sum(
        estimate_tokens(json.dumps(call["args"])) for call in answer.tool_calls
    )
    return UsageMetadata(input_tokens=asked, output_tokens=said, total_tokens=asked + said)
