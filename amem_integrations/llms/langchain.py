"""LangChain's chat models as chat models of a memory."""

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from amem_integrations.core.analysis import ChatRequest
from amem_integrations.errors import AnalysisError, InvalidInputError, ModelUnavailableError
from amem_integrations.llms.structured import Answer, StructuredChatModel, with_schema

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage

# From the most to the least binding. "plain" asks for JSON in words only.
METHODS = ("json_schema", "function_calling", "json_mode", "plain")
# What a model's profile says of methods that it may lack.
_ABILITIES = {"json_schema": "structured_output", "function_calling": "tool_calling"}


class LangChainChatModel(StructuredChatModel):
    """A LangChain chat model that answers within a JSON schema."""

    def __init__(self, model: "BaseChatModel", *, name: str | None = None) -> None:
        profile = cast("Mapping[str, object]", getattr(model, "profile", None) or {})
        super().__init__(
            name or _name(model),
            [each for each in METHODS if profile.get(_ABILITIES.get(each, "")) is not False],
        )
        self.model = model

    def _call(self, request: ChatRequest, method: str) -> Any:
        runnable = _structured(self.model, method, request.schema)
        return runnable.invoke(_messages(request, method), _config(request))

    async def _acall(self, request: ChatRequest, method: str) -> Any:
        runnable = _structured(self.model, method, request.schema)
        return await runnable.ainvoke(_messages(request, method), _config(request))

    def _parse(self, raw: Any, schema: Mapping[str, object]) -> Answer:
        """Read the raw message: LangChain's own parsers complete JSON that was cut off."""
        from langchain_core.messages import AIMessage

        parsed = cast("Mapping[str, object]", raw) if isinstance(raw, Mapping) else {"raw": raw}
        message = parsed.get("raw")
        if not isinstance(message, AIMessage):
            raise AnalysisError(
                f"{self.name} answered with a {type(cast('object', raw)).__name__} instead of a "
                "message; its with_structured_output does not honour include_raw=True.",
                reason="error",
                retryable=False,
            )
        arguments = [
            call["args"] for call in message.tool_calls if call["name"] == schema.get("title")
        ]
        invalid = [call["args"] or "" for call in message.invalid_tool_calls]
        metadata, usage = message.response_metadata, message.usage_metadata
        model = metadata.get("model_name") or metadata.get("model")
        return Answer(
            message.text or "\n".join(invalid),
            arguments[0] if arguments else None,
            metadata,
            refusal=bool(message.additional_kwargs.get("refusal"))
            or any(block["type"] == "refusal" for block in message.content_blocks),
            tokens_in=usage["input_tokens"] if usage else None,
            tokens_out=usage["output_tokens"] if usage else None,
            model=model if isinstance(model, str) else None,
        )

    def _unfinished(self, error: Exception) -> "AIMessage | None":
        """Return the answer within openai's error for an answer that reached its length limit."""
        from langchain_core.messages import AIMessage
        from langchain_core.messages.ai import UsageMetadata

        if type(error).__name__ != "LengthFinishReasonError":
            return None
        completion: Any = getattr(error, "completion", None)
        choices = getattr(completion, "choices", None)
        used = getattr(completion, "usage", None)
        usage = used and UsageMetadata(
            input_tokens=used.prompt_tokens,
            output_tokens=used.completion_tokens,
            total_tokens=used.total_tokens,
        )
        return AIMessage(
            (choices[0].message.content or "") if choices else "",
            response_metadata={"finish_reason": "length"},
            usage_metadata=usage,
        )


def model_by_name(spec: str) -> LangChainChatModel:
    """Return the model "provider:model", set up by LangChain's `init_chat_model`.

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
        # A bare ValueError is LangChain's own error about the name; a kind of it is not.
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


def _name(model: "BaseChatModel") -> str:
    for attribute in ("model_name", "model", "model_id"):
        value = getattr(model, attribute, None)
        if isinstance(value, str) and value:
            return f"{type(model).__name__}:{value}"
    return type(model).__name__


def _config(request: ChatRequest) -> dict[str, Any]:
    # LangGraph keeps runs with this tag out of the user's token stream. The callbacks of the
    # surrounding run are inherited.
    return {
        "tags": ["nostream"],
        "run_name": f"amem_{request.step}",
        "metadata": {"amem_step": request.step},
    }


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
        raise NotImplementedError(method) from error


def _messages(request: ChatRequest, method: str) -> list["BaseMessage"]:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    classes = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
    messages = request.messages
    if method in ("json_mode", "plain"):
        messages = with_schema(messages, request.schema)
    return [classes[message.role](message.content) for message in messages]
