"""A chat model that answers with one JSON object, whatever way its provider has for that."""

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amem_integrations.core.analysis import ChatReply, ChatRequest, Message
from amem_integrations.core.io import run
from amem_integrations.errors import AnalysisError
from amem_integrations.llms.failures import classify, is_interrupt, refused, truncated
from amem_integrations.llms.json_answers import find_object, unwrap


@dataclass(frozen=True, slots=True)
class Answer:
    """A framework's answer: its text, or the arguments of a call of the schema's tool.

    metadata: how the answer ended, as the provider says it. refusal: whether the answer itself
    says that the model refused.
    """

    text: str
    arguments: dict[str, Any] | None
    metadata: Mapping[str, Any]
    refusal: bool = False
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None


class StructuredChatModel:
    """Base of the adapters: a framework's chat model that answers within a JSON schema.

    methods: the ways of asking, the most binding first. The model steps down to the next way
        when its provider rejects one, or when no JSON came; a way that has worked stays.
    """

    def __init__(self, name: str, methods: Sequence[str]) -> None:
        self.name = name
        self._methods = tuple(methods)
        self._proven = False

    @property
    def method(self) -> str:
        """The way of asking that is in use."""
        return self._methods[0]

    def complete(self, request: ChatRequest) -> ChatReply:
        async def call(method: str) -> Any:
            return self._call(request, method)

        return run(self._complete(request, call))

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        return await self._complete(request, lambda method: self._acall(request, method))

    def _call(self, request: ChatRequest, method: str) -> Any:
        """Return the framework's answer; raise NotImplementedError if it has no such method."""
        raise NotImplementedError

    async def _acall(self, request: ChatRequest, method: str) -> Any:
        raise NotImplementedError

    def _parse(self, raw: Any, schema: Mapping[str, object]) -> Answer:
        raise NotImplementedError

    def _unfinished(self, error: Exception) -> Any:
        """Return the cut-off answer that `error` carries, if any."""
        return None

    async def _complete(
        self, request: ChatRequest, call: Callable[[str], Awaitable[Any]]
    ) -> ChatReply:
        started = time.perf_counter()
        methods = self._methods
        place, raw = await self._ask(methods, call)
        answer = self._parse(raw, request.schema)
        cut_off = truncated(answer.metadata)
        refusal = refused(answer.metadata, refusal=answer.refusal, model=self.name)
        if refusal is not None:
            raise refusal
        # The frameworks complete arguments that were cut off; then they are not taken.
        data = None if cut_off or not answer.arguments else unwrap(answer.arguments, request.schema)
        text = answer.text or ("" if data is None else json.dumps(data, ensure_ascii=False))
        if data is None:
            data = find_object(answer.text, request.schema)
        if data is not None:
            self._methods, self._proven = methods[place : place + 1], True
        elif not self._proven and not cut_off:
            self._methods = methods[place + 1 :] or methods[-1:]
        return ChatReply(
            text=text,
            data=data,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            seconds=time.perf_counter() - started,
            notes=(methods[place], "truncated") if cut_off else (methods[place],),
            model=answer.model,
        )

    async def _ask(
        self, methods: Sequence[str], call: Callable[[str], Awaitable[Any]]
    ) -> tuple[int, Any]:
        """Return the place of the method that got an answer, and the answer."""
        for place, method in enumerate(methods):
            try:
                return place, await call(method)
            except Exception as error:
                if is_interrupt(error) or isinstance(error, AnalysisError):
                    raise
                if (unfinished := self._unfinished(error)) is not None:
                    return place, unfinished
                failure = classify(error, self.name)
                rejected = failure.reason == "bad-request" or isinstance(error, NotImplementedError)
                if method == methods[-1] or not rejected:
                    raise failure from error
        raise AssertionError("the last method either answers or raises")


def with_schema(messages: Sequence[Message], schema: Mapping[str, object]) -> list[Message]:
    """Return the messages with a request for one JSON object of `schema` in the system message."""
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    hint = f"Answer with one JSON object and nothing else. Its JSON schema: {text}"
    if messages and messages[0].role == "system":
        return [Message("system", f"{messages[0].content}\n{hint}"), *messages[1:]]
    return [Message("system", hint), *messages]
