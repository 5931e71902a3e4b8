"""What the extra brings and what importing the adapters loads."""

import subprocess
import sys
from importlib.metadata import distribution

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement

import amem_integrations.llama_index
from amem_integrations.llama_index import AMemMemory


def loaded_after(program: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return {name.partition(".")[0] for name in run.stdout.split()}


def requirements(name: str, extras: frozenset[str]) -> list[Requirement]:
    wanted = [Requirement(text) for text in distribution(name).requires or ()]
    environments = [{**default_environment(), "extra": extra} for extra in extras or {""}]
    return [
        each
        for each in wanted
        if each.marker is None or any(each.marker.evaluate(env) for env in environments)
    ]


def closure(*roots: Requirement) -> set[str]:
    """The distributions that an installation of these brings, as far as they are here."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = list(roots)
    while waiting:
        each = waiting.pop()
        place = (each.name.lower().replace("_", "-"), frozenset(each.extras))
        if place not in seen:
            seen.add(place)
            waiting += requirements(*place)
    return {name for name, _ in seen}


def test_the_public_names_are_these() -> None:
    assert amem_integrations.llama_index.__all__ == [
        "AMemMemory",
        "AMemMemoryBlock",
        "AMemRetriever",
        "create_memory_tools",
    ]
    assert set(amem_integrations.llama_index.__all__) <= set(dir(amem_integrations.llama_index))
    assert amem_integrations.llama_index.AMemMemory is AMemMemory


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = amem_integrations.llama_index.Nothing


def test_naming_the_package_loads_no_framework() -> None:
    loaded = loaded_after("import amem_integrations.llama_index")
    assert not loaded & {"llama_index", "langgraph", "langchain_core", "qdrant_client"}


def test_no_langgraph_is_loaded_until_a_note_is_formed() -> None:
    program = """
from llama_index.core.llms import ChatMessage
from amem_integrations import AgenticMemory
from amem_integrations.llama_index import (
    AMemMemory, AMemMemoryBlock, AMemRetriever, create_memory_tools,
)
from amem_integrations.testing import HashEmbedder
core = AgenticMemory(embedder=HashEmbedder())
memory = AMemMemory.from_defaults(core=core, namespace="calvin", ingest="manual")
AMemMemoryBlock(core, namespace="calvin")
AMemRetriever(core, namespace="calvin").retrieve("dog")
create_memory_tools(core, namespace="calvin")
memory.put(ChatMessage("My dog is called Rex."))
assert memory.get()
AMemMemory.from_dict(memory.to_dict()).get()
"""
    assert not loaded_after(program) & {"langgraph", "langchain_core", "langchain"}
    assert "langgraph" in loaded_after(f"{program}\nmemory.flush()")


def test_the_extra_brings_no_langchain_but_its_core() -> None:
    brought = closure(Requirement("llama-index-core"), *base_requirements())
    assert "llama-index-core" in brought
    langchain = {name for name in brought if name.startswith("langchain")}
    assert langchain <= {"langchain-core", "langchain-protocol"}
    assert "langchain" not in langchain


def base_requirements() -> list[Requirement]:
    """What pyproject.toml asks for, so that no installation of this package is needed."""
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    texts = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["llama-index"],
    ]
    wanted = [Requirement(text) for text in texts]
    return [each for each in wanted if each.marker is None or each.marker.evaluate()]
