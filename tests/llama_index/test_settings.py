"""LlamaIndex's `Settings` and modules: which are read, and when they are loaded."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core import Settings

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import AMemMemory
from amem_integrations.testing import HashEmbedder
from amem_integrations.testing.llama_index import ScriptedLLM
from tests.embedders.test_llama_index import plain
from tests.llama_index.support import FACT, memory_of, user
from tests.support import judgement


@pytest.fixture
def settings() -> Iterator[Any]:
    Settings._llm = Settings._embed_model = None
    yield Settings
    Settings._llm = Settings._embed_model = None


def model_of(memory: AMemMemory) -> Any:
    core = memory._notes.source.core
    assert core is not None
    return core.options.model


def test_models_that_are_not_set_are_not_made(settings: Any) -> None:
    memory = AMemMemory.from_defaults(embed_model=HashEmbedder())
    assert model_of(memory) is None
    assert (settings._llm, settings._embed_model) == (None, None)
    memory.close()


def test_models_that_are_set_are_used_unless_others_are_given(
    core: AgenticMemory, settings: Any
) -> None:
    settings.llm = llm = ScriptedLLM(lambda messages: judgement(FACT))
    settings.embed_model = embed_model = plain()
    memory = AMemMemory.from_defaults(ingest="await")
    memory.put(user(FACT))
    memory.get(input="dog")
    assert len(llm.calls) == 1
    assert ("query", "dog") in embed_model.asked
    memory.close()
    mine = ScriptedLLM([])
    memory = AMemMemory.from_defaults(llm=mine, embed_model=HashEmbedder())
    assert model_of(memory) is mine
    memory.close()
    assert model_of(memory_of(core)) is None


def test_no_langgraph_is_loaded_without_a_model() -> None:
    program = """
import sys
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
memory.flush()
assert not {"langgraph", "langchain_core", "langchain"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
