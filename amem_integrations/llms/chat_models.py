"""Which chat model a caller means: its name, or a model of either framework."""

import sys
from importlib import import_module
from typing import cast

from amem_integrations.core.io import ChatModel
from amem_integrations.errors import InvalidInputError

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
