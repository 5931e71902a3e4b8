"""AgenticMemory in LangGraph: names resolve on first use, since each loads the framework."""

from typing import TYPE_CHECKING

from amem_integrations._lazy import attributes

if TYPE_CHECKING:
    from amem_integrations.langchain.tools import create_memory_tools as create_memory_tools
    from amem_integrations.langgraph.graph import create_memory_graph as create_memory_graph
    from amem_integrations.langgraph.middleware import AMemMiddleware as AMemMiddleware
    from amem_integrations.langgraph.store import AMemStore as AMemStore

_HOMES = {
    "AMemMiddleware": ".middleware",
    "AMemStore": ".store",
    "create_memory_graph": ".graph",
    "create_memory_tools": "..langchain.tools",
}

__all__ = ["AMemMiddleware", "AMemStore", "create_memory_graph", "create_memory_tools"]

__getattr__, __dir__ = attributes(__name__, _HOMES)
