"""AgenticMemory in LlamaIndex: names resolve on first use, since each loads the framework."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amem_integrations.llama_index.block import AMemMemoryBlock as AMemMemoryBlock
    from amem_integrations.llama_index.memory import AMemMemory as AMemMemory
    from amem_integrations.llama_index.retriever import AMemRetriever as AMemRetriever
    from amem_integrations.llama_index.tools import create_memory_tools as create_memory_tools

_HOMES = {
    "AMemMemory": "memory",
    "AMemMemoryBlock": "block",
    "AMemRetriever": "retriever",
    "create_memory_tools": "tools",
}

__all__ = ["AMemMemory", "AMemMemoryBlock", "AMemRetriever", "create_memory_tools"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
