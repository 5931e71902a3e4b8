"""The LangGraph adapters' names."""

import pytest

import amem_integrations.langgraph


def test_the_names_are_these() -> None:
    assert amem_integrations.langgraph.__all__ == [
        "AMemMiddleware",
        "AMemStore",
        "create_memory_graph",
        "create_memory_tools",
    ]
    for name in amem_integrations.langgraph.__all__:
        assert name in dir(amem_integrations.langgraph)
        assert getattr(amem_integrations.langgraph, name).__name__ == name
    with pytest.raises(AttributeError, match="AMemNothing"):
        amem_integrations.langgraph.AMemNothing  # noqa: B018
