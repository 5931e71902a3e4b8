"""AgenticMemory in LangGraph: names resolve on first use, since each loads the framework."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amem_integrations.langchain.tools import create_memory_tools as create_memory_tools
    from amem_integrations.langgraph.graph import create_memory_graph as create_memory_graph
    from amem_integrations.langgraph.middleware import AMemMiddleware as AMemMiddleware
    from amem_integrations.langgraph.store import AMemStore as AMemStore

_PACKAGE = __name__.rpartition(".")[0]
_HOMES = {
    "AMemMiddleware": "langgraph.middleware",
    "AMemStore": "langgraph.store",
    "create_memory_graph": "langgraph.graph",
    "create_memory_tools": "langchain.tools",
}

__all__ = ["AMemMiddleware", "AMemStore", "create_memory_graph", "create_memory_tools"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{_PACKAGE}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
