"""Copies of an open memory: it is shared, and never pickled."""

import copy
import pickle
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.langchain import AMemRetriever
from amem_integrations.langgraph import AMemStore


def test_copies_share_the_open_memory(raw_memory: AgenticMemory) -> None:
    retriever = AMemRetriever(memory=raw_memory, namespace="calvin")
    assert retriever.model_copy(deep=True).memory is raw_memory
    store = AMemStore(raw_memory)
    kept = copy.deepcopy({"memory": raw_memory, "store": store})
    assert kept == {"memory": raw_memory, "store": store}
    assert copy.copy(raw_memory) is raw_memory


@pytest.mark.parametrize("part", [lambda memory: memory, AMemStore, lambda memory: memory.admin])
def test_pickling_says_what_to_do(raw_memory: AgenticMemory, part: Any) -> None:
    with pytest.raises(TypeError, match="location"):
        pickle.dumps(part(raw_memory))
