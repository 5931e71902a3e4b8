"""Which chat model judges: from what a user gives to a `ports.ChatModel`.

One family of models a module. The table below says which module adapts which base class; a
family is looked for only if it has been imported already, since an object of it exists only then.
"""

import sys
from importlib import import_module
from typing import Any, cast

from amem_integrations.core.io import ChatModel
from amem_integrations.errors import InvalidInputError

# (module and name of the family's base class, our module and name of its adapter)
_FAMILIES = (
    (
        ("langchain_core.language_models.chat_models", "BaseChatModel"),
        ("amem_integrations.llms.langchain", "LangChainChatModel"),
    ),
    (
        ("llama_index.core.llms.llm", "LLM"),
        ("amem_integrations.llms.llama_index", "LlamaIndexChatModel"),
    ),
)


def resolve_chat_model(spec: object) -> ChatModel | None:
    """A ports.ChatModel from None, "provider:model", or a model of LangChain's or LlamaIndex's.

    None stays None: no model judges. Raises ModelUnavailableError when the model cannot be set
    up, and InvalidInputError when `spec` is none of these.
    """
    if spec is None:
        return None
    if isinstance(spec, str):
        from amem_integrations.llms.langchain import named

        return named(spec)
    for (module, base), (home, adapter) in _FAMILIES:
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(spec, getattr(loaded, base)):
            adapt: Any = getattr(import_module(home), adapter)
            return cast("ChatModel", adapt(spec))
    if _is_chat_model(spec):
        return cast("ChatModel", spec)
    raise InvalidInputError(
        f"model is a {type(spec).__name__}. Give a string 'provider:model', a LangChain chat "
        "model itself (its settings in its constructor, not bound to it), a LlamaIndex LLM, or "
        "None."
    )


def _is_chat_model(spec: object) -> bool:
    # Other libraries' models have `complete` and `acomplete` too, but no name of type str.
    return isinstance(getattr(spec, "name", None), str) and all(
        callable(getattr(spec, method, None)) for method in ("complete", "acomplete")
    )
