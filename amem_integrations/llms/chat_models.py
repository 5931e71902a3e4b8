"""Chat models of both frameworks behind one interface: which is meant, and how it gives JSON."""

import json
import re
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from amem_integrations.core.analysis import ChatReply, ChatRequest, Message
from amem_integrations.core.io import ChatModel, run
from amem_integrations.errors import AnalysisError, InvalidInputError
from amem_integrations.llms.failures import classify, is_interrupt, refused, truncated

MAX_CHARS = 1_000_000
_MAX_STARTS = 50

_REASONING = re.compile(r"\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.S | re.I)
# What is near to JSON: other quotes, comments, commas before a bracket, Python's constants. A
# string that never ends is taken whole: tried again from each of its quotes it would cost n².
_NEAR_JSON = re.compile(
    r"""("(?:[^"\\]|\\.)*+"?)"""
    r"""|(?<=[\s{\[,:])'((?:[^'\\]|\\.|'(?!\s*[,:}\]]))*+)'?"""
    r"""|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=(?:\s|//[^\n]*)*+[}\]])|\b(?:True|False|None)\b""",
    re.S,
)
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}

# Our adapters, by module and class, each with the module and name of its framework's base class.
_ADAPTERS = (
    ("langchain", "LangChainChatModel", "langchain_core.language_models.chat_models.BaseChatModel"),
    ("llama_index", "LlamaIndexChatModel", "llama_index.core.llms.llm.LLM"),
)


def resolve_chat_model(spec: object) -> ChatModel | None:
    """Return the chat model that `spec` means; None for None.

    spec: "provider:model", a chat model of LangChain's or LlamaIndex's, or any object with
        `name`, `complete` and `acomplete`.

    Raises ModelUnavailableError if the model cannot be set up, InvalidInputError for anything
    else.
    """
    if spec is None:
        return None
    if isinstance(spec, str):
        return import_module("amem_integrations.llms.langchain").model_by_name(spec)
    for home, adapter, base in _ADAPTERS:
        # An object of a framework exists only where the framework has been imported.
        module, _, name = base.rpartition(".")
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(spec, getattr(loaded, name)):
            return getattr(import_module(f"amem_integrations.llms.{home}"), adapter)(spec)
    # Other libraries' models have `complete` and `acomplete` too, but no name of type str.
    if isinstance(getattr(spec, "name", None), str) and all(
        callable(getattr(spec, method, None)) for method in ("complete", "acomplete")
    ):
        return cast("ChatModel", spec)
    raise InvalidInputError(
        f"model is a {type(spec).__name__}. Give a string 'provider:model', a LangChain chat "
        "model itself (its settings in its constructor, not bound to it), a LlamaIndex LLM, or "
        "None."
    )


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


def find_object(text: str, schema: Mapping[str, object]) -> dict[str, object] | None:
    """Return the JSON object in `text` that answers `schema`, or None.

    Reasoning, prose and fences around it are tolerated, as are trailing commas, comments, single
    quotes and line breaks in strings; it may stand under one outer key, or in a string of JSON. An
    object that was cut off is not completed, as it would be by the libraries that repair JSON.
    Of several objects, the one with the most of the schema's properties is taken, and of those the
    last: models draft first and answer then. One that lacks required properties is taken only if it
    is the first thing in braces, for inside a broken answer there may be whole smaller objects.
    """
    if len(text) > MAX_CHARS:
        return None
    reasoning = _REASONING.match(text)
    answer = text[reasoning.end() :] if reasoning else text
    encoded = _read_json(answer.strip("`\n ")) if answer.lstrip("`\n ").startswith('"') else None
    if isinstance(encoded, str):
        answer = encoded
    return _best_object(answer, schema) or _best_object(_NEAR_JSON.sub(_as_json, answer), schema)


def unwrap(found: Mapping[str, Any], schema: Mapping[str, object]) -> dict[str, Any]:
    """Return the object that stands under the one key of `found`, if that key is not asked for."""
    properties = cast("Mapping[str, object]", schema.get("properties", {}))
    if len(found) == 1 and not found.keys() & properties.keys():
        (inner,) = found.values()
        inner = _read_json(inner) if isinstance(inner, str) else inner
        if isinstance(inner, dict):
            return cast("dict[str, Any]", inner)
    return dict(found)


def _read_json(text: str) -> Any:
    try:
        return json.loads(text, strict=False, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None


def _as_json(found: re.Match[str]) -> str:
    """Return as JSON what `_NEAR_JSON` found."""
    if found[1] is not None or (found[2] is not None and not found[0].endswith("'")):
        return found[0]
    if found[2] is None:
        return _CONSTANTS.get(found[0], "")
    # Of the escapes, \\' is none in JSON; a double quote needs one.
    inner = re.sub(
        r"""\\(.)|\"""",
        lambda m: "'" if m[1] == "'" else m[0] if m[1] else '\\"',
        found[2],
        flags=re.S,
    )
    return f'"{inner}"'


def _best_object(text: str, schema: Mapping[str, object]) -> dict[str, object] | None:
    properties = cast("Mapping[str, object]", schema.get("properties", {}))
    required = set(cast("list[str]", schema.get("required", [])))
    best: dict[str, object] | None = None
    best_fit = 1
    for first, found in _objects(text):
        found = unwrap(found, schema)
        fit = len(properties.keys() & found.keys())
        if fit >= best_fit and (first or found.keys() >= required):
            best, best_fit = found, fit
    return best


def _objects(text: str) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Yield each whole outermost object, and whether it is the first thing in braces."""
    # NaN and Infinity are not JSON, though Python reads them.
    decoder = json.JSONDecoder(parse_constant=lambda _: None, strict=False)
    start = first = text.find("{")
    for _ in range(_MAX_STARTS):
        if start < 0:
            return
        end = start + 1
        try:
            found, end = decoder.raw_decode(text, start)
            yield start == first, found
        except (ValueError, RecursionError):
            pass
        start = text.find("{", end)
