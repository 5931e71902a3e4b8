"""LlamaIndex LLMs that say what a test tells them to say.

For tests of chat engines, agents and memories without a model: scripted answers and failures,
tool calls, streaming, in the sync and async forms, and a record of every prompt. No network.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    MessageRole,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.llms import callbacks
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import LLM, ToolSelection
from llama_index.core.tools import BaseTool
from pydantic import PrivateAttr

from amem_integrations.core.values import estimate_tokens
from amem_integrations.testing.script import Script

__all__ = ["LLMCall", "ScriptedFunctionCallingLLM", "ScriptedLLM", "call_tool"]

_F = TypeVar("_F", bound=Callable[..., Any])

Reply = str | Mapping[str, Any] | ChatMessage | BaseException
"""A text, a JSON object, a whole message, or an exception to raise."""

Replies = Iterable[Reply | Callable[[list[ChatMessage]], Reply]]


@dataclass(frozen=True)
class LLMCall:
    """One time that the LLM was asked.

    Attributes:
        messages: the prompt.
        tools: the names of those offered.
    """

    messages: list[ChatMessage]
    tools: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The whole prompt as text, a line "role: content" a message."""
        return "\n".join(f"{each.role.value}: {each.content or ''}" for each in self.messages)


def call_tool(name: str, /, **arguments: Any) -> ChatMessage:
    """Return a reply that calls a tool with these arguments.

    Examples:
        >>> from llama_index.core.llms import ChatMessage
        >>> from amem_integrations.testing.llama_index import ScriptedFunctionCallingLLM, call_tool
        >>> llm = ScriptedFunctionCallingLLM([call_tool("recall", query="the dog")])
        >>> response = llm.chat([ChatMessage(role="user", content="What is my dog called?")])
        >>> [call.tool_name for call in llm.get_tool_calls_from_response(response)]
        ['recall']
    """
    call = ToolCallBlock(tool_call_id=f"call_{name}", tool_name=name, tool_kwargs=arguments)
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=[call])


def _said(message: ChatMessage) -> str:
    """What a model would have written for this message, calls of tools included."""
    calls = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    return (message.content or "") + "".join(json.dumps(call.tool_kwargs) for call in calls)


def _chat(method: _F) -> _F:
    """LlamaIndex's own decorator, untyped, which reports each call to its observability."""
    return cast("Any", callbacks).llm_chat_callback()(method)


def _complete(method: _F) -> _F:
    return cast("Any", callbacks).llm_completion_callback()(method)


class ScriptedLLM(LLM):
    """A chat LLM without function calling that answers from a script: one reply a call.

    Args:
        replies: a reply each (a text, a JSON object, a whole message, or an exception to raise), or
            a function of the messages that makes one; or one such function for all calls. A JSON
            object is answered as text.
        **settings: the attributes below.

    Attributes:
        after: what happens when the script has run out: "error", or "repeat" the last reply.
        latency: seconds before each answer.
        model_name: as the LLM reports it.
        context_window: likewise, in tokens.

    Raises:
        ScriptExhaustedError: it is asked more often than the script has replies.

    Examples:
        >>> from amem_integrations.testing.llama_index import ScriptedLLM
        >>> ScriptedLLM(["Rex, you said."]).complete("What is my dog called?").text
        'Rex, you said.'
    """

    after: Literal["error", "repeat"] = "error"
    latency: float = 0.0
    model_name: str = "scripted"
    context_window: int = 32_000

    _script: Script[LLMCall] = PrivateAttr()

    def __init__(
        self, replies: Replies | Callable[[list[ChatMessage]], Reply], **settings: Any
    ) -> None:
        super().__init__(**settings)
        self._script = Script(replies, self.after, ChatMessage)

    @classmethod
    def class_name(cls) -> str:
        return "scripted_llm"

    @property
    def calls(self) -> list[LLMCall]:
        """Every call so far, in order."""
        return self._script.calls

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(
            context_window=self.context_window,
            is_chat_model=True,
            is_function_calling_model=isinstance(self, FunctionCallingLLM),
            model_name=self.model_name,
        )

    @_chat
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        time.sleep(self.latency)
        return self._answer(messages, kwargs)

    @_chat
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        await asyncio.sleep(self.latency)
        return self._answer(messages, kwargs)

    @_chat
    def stream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> Generator[ChatResponse, None, None]:
        def stream() -> Generator[ChatResponse, None, None]:
            time.sleep(self.latency)
            yield from _chunks(self._answer(messages, kwargs))

        return stream()

    @_chat
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> AsyncGenerator[ChatResponse, None]:
        async def stream() -> AsyncGenerator[ChatResponse, None]:
            await asyncio.sleep(self.latency)
            for chunk in _chunks(self._answer(messages, kwargs)):
                yield chunk

        return stream()

    @_complete
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return _completion(self.chat([ChatMessage(prompt)], **kwargs))

    @_complete
    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        return _completion(await self.achat([ChatMessage(prompt)], **kwargs))

    @_complete
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> Generator[CompletionResponse, None, None]:
        chunks = self.stream_chat([ChatMessage(prompt)], **kwargs)
        return (_completion(chunk) for chunk in chunks)

    @_complete
    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> AsyncGenerator[CompletionResponse, None]:
        chunks = await self.astream_chat([ChatMessage(prompt)], **kwargs)
        return (_completion(chunk) async for chunk in chunks)

    def _answer(self, messages: Sequence[ChatMessage], kwargs: Mapping[str, Any]) -> ChatResponse:
        tools = tuple(tool.metadata.get_name() for tool in kwargs.get("tools") or ())
        # What was sent, whatever becomes of these messages afterwards.
        asked = [message.model_copy(deep=True) for message in messages]
        reply: Reply = self._script.reply(LLMCall(asked, tools), list(messages))
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, ChatMessage):
            message = reply.model_copy(deep=True)
        elif not isinstance(reply, str) and tools:
            message = call_tool(tools[0], **reply)
        else:
            text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
            message = ChatMessage(role=MessageRole.ASSISTANT, content=text)
        usage = {
            "prompt_tokens": sum(estimate_tokens(each.content or "") for each in messages),
            "completion_tokens": estimate_tokens(_said(message)),
        }
        return ChatResponse(message=message, raw={"finish_reason": "stop", "usage": usage})


class ScriptedFunctionCallingLLM(ScriptedLLM, FunctionCallingLLM):
    """A `ScriptedLLM` that calls functions.

    A JSON object is answered as a call of the first tool where tools are offered; `call_tool` makes
    a reply that calls another.

    Its arguments and attributes are those of `ScriptedLLM`.

    Examples:
        >>> from llama_index.core.tools import FunctionTool
        >>> from amem_integrations.testing.llama_index import ScriptedFunctionCallingLLM
        >>> def recall(query: str) -> str:
        ...     return "Rex"
        >>> llm = ScriptedFunctionCallingLLM([{"query": "dog"}])
        >>> llm.predict_and_call([FunctionTool.from_defaults(recall)], "The dog?").response
        'Rex'
    """

    @classmethod
    def class_name(cls) -> str:
        return "scripted_function_calling_llm"

    def _prepare_chat_with_tools(
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        messages = list(chat_history or [])
        if user_msg is not None:
            messages.append(ChatMessage(user_msg) if isinstance(user_msg, str) else user_msg)
        return {"messages": messages, "tools": list(tools), **kwargs}

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        calls = [block for block in response.message.blocks if isinstance(block, ToolCallBlock)]
        if error_on_no_tool_call and not calls:
            raise ValueError("The scripted reply calls no tool.")
        return [
            ToolSelection(
                tool_id=call.tool_call_id or "",
                tool_name=call.tool_name,
                tool_kwargs=cast("dict[str, Any]", call.tool_kwargs),
            )
            for call in calls
        ]


def _chunks(response: ChatResponse) -> Generator[ChatResponse, None, None]:
    """The answer as it grows, a word a chunk; what is not text comes with the last one."""
    message = response.message
    pieces = re.findall(r"\S+\s*|\s+", message.content or "")
    said = ""
    for piece in pieces[:-1]:
        said += piece
        partial = ChatMessage(role=message.role, blocks=[TextBlock(text=said)])
        yield ChatResponse(message=partial, delta=piece)
    yield ChatResponse(message=message, delta="".join(pieces[-1:]), raw=response.raw)


def _completion(response: ChatResponse) -> CompletionResponse:
    return CompletionResponse(
        text=response.message.content or "", delta=response.delta, raw=response.raw
    )
