"""What LangChain's callbacks see of a formation: its runs without what was said in them.

Between the handlers of the caller (LangSmith, OpenTelemetry, one's own) and the runs inside
stands a veil, which passes on names, times, tags, metadata and token counts, and nothing else.
"""

# LangChain has no switch for a part of a trace: what a run is given and what it returns goes to
# every handler in reach. So inside a veil none is in reach but the veil itself, neither by
# inheritance nor by LangChain's context variables. What gets around this asks for content by
# itself: callbacks on the model, `set_debug`, and instrumentation that patches LangChain or the
# provider's client, which has switches of its own.

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from langchain_core.callbacks import (
    AsyncCallbackHandler,
    AsyncCallbackManager,
    BaseCallbackHandler,
    BaseCallbackManager,
    CallbackManager,
)
from langchain_core.callbacks.manager import ahandle_event, handle_event
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables.config import (
    RunnableConfig,
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

T = TypeVar("T")

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


class HiddenError(Exception):
    """Stands for an error whose message may quote content; it names the kind."""


@contextmanager
def veil() -> Generator[None]:
    """What runs inside is seen by the surrounding handlers without content."""
    config = ensure_config()
    outer = get_callback_manager_for_config(config)
    if not _needs_veil(outer):
        yield
        return
    with _only(config, _veiled(CallbackManager, _Veil, outer)):
        yield


@contextmanager
def aveil() -> Generator[None]:
    """`veil` for what is awaited inside."""
    config = ensure_config()
    outer = get_async_callback_manager_for_config(config)
    if not _needs_veil(outer):
        yield
        return
    with _only(config, _veiled(AsyncCallbackManager, _AsyncVeil, outer)):
        yield


def _needs_veil(outer: BaseCallbackManager) -> bool:
    handlers = outer.handlers
    return bool(handlers) and not any(isinstance(one, _Veil | _AsyncVeil) for one in handlers)


def _veiled(
    manager: type[BaseCallbackManager],
    handler: "type[_Veil | _AsyncVeil]",
    outer: BaseCallbackManager,
) -> BaseCallbackManager:
    return manager(
        [handler(outer.handlers)],
        [handler(outer.inheritable_handlers)],
        outer.parent_run_id,
        tags=outer.tags,
        inheritable_tags=outer.inheritable_tags,
        metadata=outer.metadata,
        inheritable_metadata=outer.inheritable_metadata,
    )


@contextmanager
def _only(config: RunnableConfig, callbacks: BaseCallbackManager) -> Generator[None]:
    """Everything that LangChain takes from the context is as it was, but the callbacks."""
    ambient: RunnableConfig = {**config, "callbacks": callbacks}
    hooks: Sequence[Any] = getattr(tracers, "_configure_hooks", ())
    with ExitStack() as stack:
        stack.enter_context(_set(var_child_runnable_config, ambient))
        for variable in (tracers.tracing_v2_callback_var, *(hook[0] for hook in hooks)):
            stack.enter_context(_set(variable, None))
        stack.enter_context(tracing_context(enabled=False, parent=False))
        yield


@contextmanager
def _set(variable: ContextVar[T], value: T) -> Generator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


class VeiledModel:
    """A chat model whose questions and answers are left out of the caller's traces."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self.name = model.name

    def complete(self, request: ChatRequest) -> ChatReply:
        with veil():
            return self.model.complete(request)

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        with aveil():
            return await self.model.acomplete(request)


class _Veil(BaseCallbackHandler):
    """Passes events on to `handlers`, emptied. Events that are not named here are dropped."""

    run_inline = True
    # Of those handlers' errors, the ones that they want raised come through.
    raise_error = True

    def __init__(self, handlers: list[BaseCallbackHandler]) -> None:
        self._handlers = handlers
        self._tracing = _tracing()

    def _tell(self, *event: Any, **about: Any) -> None:
        with tracing_context(**self._tracing):
            handle_event(self._handlers, *event, **about)

    def on_chain_start(self, *given: Any, **known: Any) -> None:
        self._tell(*_chain_start(*given), **_run(known))

    def on_chain_end(self, *given: Any, **known: Any) -> None:
        self._tell("on_chain_end", "ignore_chain", {}, **_run(known))

    def on_chain_error(self, error: BaseException, **known: Any) -> None:
        self._tell(*_error("chain", error), **_run(known))

    def on_chat_model_start(self, *given: Any, **known: Any) -> None:
        self._tell(*_model_start(*given), **_run(known), **_asked(known))

    def on_llm_end(self, response: LLMResult, **known: Any) -> None:
        self._tell(*_model_end(response), **_run(known))

    def on_llm_error(self, error: BaseException, **known: Any) -> None:
        self._tell(*_error("llm", error), **_run(known))


class _AsyncVeil(AsyncCallbackHandler):
    """`_Veil`, awaited."""

    run_inline = True
    raise_error = True

    def __init__(self, handlers: list[BaseCallbackHandler]) -> None:
        self._handlers = handlers
        self._tracing = _tracing()

    async def _tell(self, *event: Any, **about: Any) -> None:
        with tracing_context(**self._tracing):
            await ahandle_event(self._handlers, *event, **about)

    async def on_chain_start(self, *given: Any, **known: Any) -> None:
        await self._tell(*_chain_start(*given), **_run(known))

    async def on_chain_end(self, *given: Any, **known: Any) -> None:
        await self._tell("on_chain_end", "ignore_chain", {}, **_run(known))

    async def on_chain_error(self, error: BaseException, **known: Any) -> None:
        await self._tell(*_error("chain", error), **_run(known))

    async def on_chat_model_start(self, *given: Any, **known: Any) -> None:
        await self._tell(*_model_start(*given), **_run(known), **_asked(known))

    async def on_llm_end(self, response: LLMResult, **known: Any) -> None:
        await self._tell(*_model_end(response), **_run(known))

    async def on_llm_error(self, error: BaseException, **known: Any) -> None:
        await self._tell(*_error("llm", error), **_run(known))


def _tracing() -> dict[str, Any]:
    """LangSmith's context as it is outside of the veil; inside, its handlers take no runs."""
    context = get_tracing_context()
    return {**context, "enabled": True if context["enabled"] is None else context["enabled"]}


# The event, what makes a handler ignore it, and its emptied arguments.


def _chain_start(serialized: Any, inputs: object) -> tuple[Any, ...]:
    return "on_chain_start", "ignore_chain", _picked(serialized, _CLASS), {}


def _model_start(serialized: Any, messages: Sequence[object]) -> tuple[Any, ...]:
    nothing: list[list[object]] = [[] for _ in messages]
    return "on_chat_model_start", "ignore_chat_model", _picked(serialized, _CLASS), nothing


def _model_end(response: LLMResult) -> tuple[Any, ...]:
    counts = _picked(response.llm_output, _ANSWER)
    unsaid = LLMResult(
        generations=[[_unsaid(one) for one in several] for several in response.generations],
        llm_output=counts,
    )
    return "on_llm_end", "ignore_llm", unsaid


def _unsaid(generation: object) -> ChatGeneration:
    message = getattr(generation, "message", None)
    return ChatGeneration(
        message=AIMessage(
            "",
            usage_metadata=getattr(message, "usage_metadata", None),
            response_metadata=_picked(getattr(message, "response_metadata", None), _ANSWER),
        )
    )


def _error(kind: str, error: BaseException) -> tuple[Any, ...]:
    hidden = HiddenError(f"{type(error).__name__}; its message is left out of traces")
    return f"on_{kind}_error", f"ignore_{kind}", hidden


def _run(known: Mapping[str, Any]) -> dict[str, Any]:
    return _picked(known, _RUN)


def _asked(known: Mapping[str, Any]) -> dict[str, Any]:
    return {"invocation_params": _picked(known.get("invocation_params"), _MODEL)}


def _picked(values: Mapping[str, Any] | None, names: Sequence[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values} if values else {}
