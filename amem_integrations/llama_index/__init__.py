"""AgenticMemory in LlamaIndex: names resolve on first use, since each loads the framework."""

from typing import TYPE_CHECKING

from amem_integrations._lazy import attributes

if TYPE_CHECKING:
    from amem_integrations.llama_index.block import AMemMemoryBlock as AMemMemoryBlock
    from amem_integrations.llama_index.memory import AMemMemory as AMemMemory
    from amem_integrations.llama_index.retriever import AMemRetriever as AMemRetriever
    from amem_integrations.llama_index.retriever import NoteWithScore as NoteWithScore
    from amem_integrations.llama_index.tools import create_memory_tools as create_memory_tools

_HOMES = {
    "AMemMemory": ".memory",
    "AMemMemoryBlock": ".block",
    "AMemRetriever": ".retriever",
    "NoteWithScore": ".retriever",
    "create_memory_tools": ".tools",
}

__all__ = ["AMemMemory", "AMemMemoryBlock", "AMemRetriever", "NoteWithScore", "create_memory_tools"]

__getattr__, __dir__ = attributes(__name__, _HOMES)
