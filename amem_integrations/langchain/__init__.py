"""AgenticMemory in LangChain: names resolve on first use, since each loads the framework."""

from typing import TYPE_CHECKING

from amem_integrations._lazy import attributes

if TYPE_CHECKING:
    from amem_integrations.langchain.key_value import AMemKeyValueStore as AMemKeyValueStore
    from amem_integrations.langchain.retriever import AMemRetriever as AMemRetriever
    from amem_integrations.langchain.tools import create_memory_tools as create_memory_tools

_HOMES = {
    "AMemKeyValueStore": ".key_value",
    "AMemRetriever": ".retriever",
    "create_memory_tools": ".tools",
}

__all__ = ["AMemKeyValueStore", "AMemRetriever", "create_memory_tools"]

__getattr__, __dir__ = attributes(__name__, _HOMES)
