"""The names of the LangChain and LangGraph adapters, and what importing them costs."""

import importlib
import subprocess
import sys

import pytest

NAMES = {
    "langchain": ["AMemKeyValueStore", "AMemRetriever", "create_memory_tools"],
    "langgraph": ["AMemMiddleware", "AMemStore", "create_memory_graph", "create_memory_tools"],
}


@pytest.mark.parametrize("room", NAMES)
def test_the_names_are_these(room: str) -> None:
    module = importlib.import_module(f"amem_integrations.{room}")
    assert module.__all__ == NAMES[room]
    for name in NAMES[room]:
        assert name in dir(module)
        assert getattr(module, name).__name__ == name
    with pytest.raises(AttributeError, match="AMemNothing"):
        module.AMemNothing  # noqa: B018


def test_importing_them_loads_no_framework() -> None:
    program = (
        "import sys, amem_integrations.langchain, amem_integrations.langgraph;"
        "print({'langchain_core', 'langgraph', 'langchain', 'pydantic'} & set(sys.modules))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert printed == "set()\n"
