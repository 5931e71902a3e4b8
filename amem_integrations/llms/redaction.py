"""Redacted traces: LangChain's callbacks see the runs of a formation without their content.

Handlers of the caller (LangSmith, OpenTelemetry, one's own) get names, times, tags, metadata and
token counts, and nothing else.
"""

# LangChain has no switch for a part of a trace, so no handler is in reach inside but the redactor,
# neither by inheritance nor by context variables. Callbacks on the model, `set_debug`, and
# instrumentation that patches LangChain or the provider's client still see content.

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackHandler,
    BaseCallbackHandler,
    BaseCallbackManager,
)
from langchain_core.callbacks.manager import ahandle_event, handle_event
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables.config import (
    ensure_config,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    var_child_runnable_config,
)
from langchain_core.tracers import context as tracers
from langsmith.run_helpers import (
    get_tracing_context,
    tracing_context,  # pyright: ignore[reportUnknownVariableType]
)

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.core.io import ChatModel

_RUN = ("run_id", "parent_run_id", "tags", "metadata", "name", "run_type")
_CLASS = ("lc", "type", "id", "name")
_MODEL = ("_type", "model", "model_name")
_ANSWER = (
    "finish_reason",
    "model_name",
    "model_provider",
    "model",
    "service_tier",
    "stop_reason",
    "token_usage",
    "usage",
)


class RedactedError(Exception):
    """Stands for an error whose message may quote content; it names the kind."""


class RedactedModel:
    """A chat model whose questions and answers are left out of the caller's traces."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self.name = model.name

    def complete(self, request: ChatRequest) -> ChatReply:
        with redaction():
            return self.model.complete(request)

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        with redaction(awaited=True):
            return await self.model.acomplete(request)


@contextmanager
def redaction(*, awaited: bool = False) -> Generator[None]:
    """Show the surrounding handlers the runs inside without content.

    awaited: whether the runs inside are awaited.
    """
    config = ensure_config()
    if awaited:
        configured, redactor = get_async_callback_manager_for_config, _AsyncRedactor
    else:
        configured, redactor = get_callback_manager_for_config, _Redactor
    callbacks: BaseCallbackManager = configured(config)
    handlers = callbacks.handlers
    if not handlers or any(isinstance(handler, _Redactor) for handler in handlers):
        yield
        return
    callbacks = callbacks.copy()
    callbacks.handlers = [redactor(handlers)]
    callbacks.inheritable_handlers = [redactor(callbacks.inheritable_handlers)]
    hooks: Sequence[Any] = getattr(tracers, "_configure_hooks", ())
    values: dict[Any, Any] = {tracers.tracing_v2_callback_var: None}
    values.update((hook[0], None) for hook in hooks)
    values[var_child_runnable_config] = {**config, "callbacks": callbacks}
    with ExitStack() as stack:
        for variable, value in values.items():
            stack.callback(variable.reset, variable.set(value))
        stack.enter_context(tracing_context(enabled=False, parent=False))
        yield


class _Redactor(BaseCallbackHandler):
    """Passes the events of `_EVENTS` on to `handlers`, redacted, and drops all others."""

    run_inline = True
    # Handlers that want their errors raised get them raised.
    raise_error = True

    def __init__(self, handlers: list[BaseCallbackHandler]) -> None:
        self.handlers = handlers
        # LangSmith's context of the outside; inside, its handlers take no runs.
        context = get_tracing_context()
        enabled = context["enabled"]
        self.tracing: dict[str, Any] = {
            **context,
            "enabled": True if enabled is None else enabled,
        }


class _AsyncRedactor(_Redactor, AsyncCallbackHandler):
    pass


def _chain_start(serialized: Any, inputs: object) -> tuple[object, ...]:
    return _picked(serialized, _CLASS), {}


def _chain_end(outputs: object) -> tuple[object, ...]:
    return ({},)


def _model_start(serialized: Any, messages: Sequence[object]) -> tuple[object, ...]:
    return _picked(serialized, _CLASS), [list[object]() for _ in messages]


def _model_end(response: LLMResult) -> tuple[object, ...]:
    result = LLMResult(
        generations=[[_without_text(one) for one in several] for several in response.generations],
        llm_output=_picked(response.llm_output, _ANSWER),
    )
    return (result,)


def _without_text(generation: object) -> ChatGeneration:
    message = getattr(generation, "message", None)
    return ChatGeneration(
        message=AIMessage(
            "",
            usage_metadata=getattr(message, "usage_metadata", None),
            response_metadata=_picked(getattr(message, "response_metadata", None), _ANSWER),
        )
    )


def _error(error: BaseException) -> tuple[object, ...]:
    return (RedactedError(f"{type(error).__name__}; its message is left out of traces"),)


# By event: the attribute by which a handler ignores it, and what makes its arguments.
_EVENTS: dict[str, tuple[str, Callable[..., tuple[object, ...]]]] = {
    "on_chain_start": ("ignore_chain", _chain_start),
    "on_chain_end": ("ignore_chain", _chain_end),
    "on_chain_error": ("ignore_chain", _error),
    "on_chat_model_start": ("ignore_chat_model", _model_start),
    "on_llm_end": ("ignore_llm", _model_end),
    "on_llm_error": ("ignore_llm", _error),
}


def _pass_on(event: str, ignore: str, redact: Callable[..., tuple[object, ...]]) -> None:
    """Give both redactors their method for an event."""

    def about(values: Mapping[str, Any]) -> dict[str, Any]:
        kept = _picked(values, _RUN)
        if "invocation_params" in values:
            kept["invocation_params"] = _picked(values["invocation_params"], _MODEL)
        return kept

    def on_event(self: _Redactor, *args: Any, **values: Any) -> None:
        with tracing_context(**self.tracing):
            handle_event(self.handlers, event, ignore, *redact(*args), **about(values))

    async def on_event_async(self: _AsyncRedactor, *args: Any, **values: Any) -> None:
        with tracing_context(**self.tracing):
            await ahandle_event(self.handlers, event, ignore, *redact(*args), **about(values))

    setattr(_Redactor, event, on_event)
    setattr(_AsyncRedactor, event, on_event_async)


for _event, (_ignore, _redact) in _EVENTS.items():
    _pass_on(_event, _ignore, _redact)


def _picked(values: Mapping[str, Any] | None, names: Sequence[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values} if values else {}
