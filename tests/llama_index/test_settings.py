"""LlamaIndex's `Settings` are read when a model is missing, and only if someone has set them."""

from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core import Settings

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import AMemMemory
from amem_integrations.testing import HashEmbedder
from amem_integrations.testing.llama_index import ScriptedLLM
from tests.embedders.test_llama_index import plain
from tests.llama_index.support import memory_of, user
from tests.support import judgement


@pytest.fixture(autouse=True)
def settings() -> Iterator[Any]:
    Settings._llm = Settings._embed_model = None
    yield Settings
    Settings._llm = Settings._embed_model = None


def model_of(memory: AMemMemory) -> Any:
    core = memory._notes.source.core
    assert core is not None
    return core.options.model


def test_nothing_set_is_left_alone(settings: Any) -> None:
    memory = AMemMemory.from_defaults(embed_model=HashEmbedder())
    assert model_of(memory) is None
    assert (settings._llm, settings._embed_model) == (None, None)
    memory.close()


def test_what_is_set_is_used(settings: Any) -> None:
    settings.llm = llm = ScriptedLLM(lambda messages: judgement("My dog is called Rex."))
    settings.embed_model = embed_model = plain()
    memory = AMemMemory.from_defaults(ingest="await")
    memory.put(user("My dog is called Rex."))
    memory.get(input="dog")
    assert len(llm.calls) == 1
    assert ("query", "dog") in embed_model.asked
    memory.close()


def test_what_is_given_comes_first(settings: Any) -> None:
    settings.llm = ScriptedLLM([])
    settings.embed_model = plain()
    mine = ScriptedLLM([])
    memory = AMemMemory.from_defaults(llm=mine, embed_model=HashEmbedder())
    assert model_of(memory) is mine
    memory.close()


def test_a_memory_that_is_given_keeps_its_own_models(core: AgenticMemory, settings: Any) -> None:
    settings.llm = ScriptedLLM([])
    assert model_of(memory_of(core)) is None
