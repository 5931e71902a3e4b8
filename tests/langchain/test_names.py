"""The adapters' names, and what taking the package costs."""

import subprocess
import sys

import pytest

import amem_integrations.langchain


def test_the_names_are_these() -> None:
    assert amem_integrations.langchain.__all__ == [
        "AMemKeyValueStore",
        "AMemRetriever",
        "create_memory_tools",
    ]
    for name in amem_integrations.langchain.__all__:
        assert name in dir(amem_integrations.langchain)
        assert getattr(amem_integrations.langchain, name).__name__ == name
    with pytest.raises(AttributeError, match="AMemNothing"):
        amem_integrations.langchain.AMemNothing  # noqa: B018


def test_importing_it_loads_no_framework() -> None:
    program = (
        "import sys, amem_integrations.langchain, amem_integrations.langgraph;"
        "print({'langchain_core', 'langgraph', 'langchain', 'pydantic'} & set(sys.modules))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert printed == "set()\n"
