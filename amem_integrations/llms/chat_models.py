"""Which chat model a user means: a name, or an object of either framework."""

import sys
from importlib import import_module
from typing import cast

from amem_integrations.core.io import ChatModel
from amem_integrations.errors import InvalidInputError

# By module and name of a framework's base class: the module and name of our adapter.
_ADAPTERS = {
    ("langchain_core.language_models.chat_models", "BaseChatModel"): (
        "amem_integrations.llms.langchain",
        "LangChainChatModel",
    ),
    ("llama_index.core.llms.llm", "LLM"): (
        "amem_integrations.llms.llama_index",
        "LlamaIndexChatModel",
    ),
}


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
    for (module, base), (home, adapter) in _ADAPTERS.items():
        # An object of a framework exists only where the framework has been imported.
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(spec, getattr(loaded, base)):
            return getattr(import_module(home), adapter)(spec)
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
