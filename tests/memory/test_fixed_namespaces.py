"""Adapters that are made for one user: nothing fills in a field of their namespace."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from amem_integrations import AgenticMemory, langchain, llama_index
from amem_integrations.core.namespace import fixed_namespace
from tests.support import open_memory

Make = Callable[[AgenticMemory, Any], object]

ADAPTERS: dict[str, Make] = {
    "AMemRetriever": lambda m, home: langchain.AMemRetriever(memory=m, namespace=home),
    "AMemKeyValueStore": lambda m, home: langchain.AMemKeyValueStore(m, namespace=home),
    "AMemMemory": lambda m, home: llama_index.AMemMemory.from_defaults(core=m, namespace=home),
    "AMemMemoryBlock": lambda m, home: llama_index.AMemMemoryBlock(m, namespace=home),
    "AMemRetriever of LlamaIndex": lambda m, home: llama_index.AMemRetriever(m, namespace=home),
    "tools of LlamaIndex": lambda m, home: llama_index.create_memory_tools(m, namespace=home),
}


@pytest.fixture(scope="module")
def memory() -> Iterator[AgenticMemory]:
    with open_memory(formation="off") as memory:
        yield memory


@pytest.mark.parametrize("make", ADAPTERS.values(), ids=ADAPTERS)
def test_a_field_that_nothing_fills_in_would_be_shared_by_all_users_and_is_refused(
    memory: AgenticMemory, make: Make
) -> None:
    for namespace in ("{user_id}", ("users", "{user_id}"), ["tenant-{org}", "calvin"]):
        with pytest.raises(ValueError, match="fills in"):
            make(memory, namespace)
    make(memory, ("users", "calvin"))


@pytest.mark.parametrize("label", ["{", "}", "{}", "{a b}", "{0}", '{"a": 1}', "{{"])
def test_other_braces_are_data(label: str) -> None:
    assert fixed_namespace(label) == (label,)
