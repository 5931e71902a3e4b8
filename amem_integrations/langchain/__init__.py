"""AgenticMemory in LangChain: names resolve on first use, since each loads the framework."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amem_integrations.langchain.key_value import AMemKeyValueStore as AMemKeyValueStore
    from amem_integrations.langchain.retriever import AMemRetriever as AMemRetriever
    from amem_integrations.langchain.tools import create_memory_tools as create_memory_tools

_HOMES = {
    "AMemKeyValueStore": "key_value",
    "AMemRetriever": "retriever",
    "create_memory_tools": "tools",
}

__all__ = ["AMemKeyValueStore", "AMemRetriever", "create_memory_tools"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
