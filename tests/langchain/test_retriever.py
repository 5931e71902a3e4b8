"""Notes as documents."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from amem_integrations import AgenticMemory
from amem_integrations.errors import InvalidFilterError
from amem_integrations.langchain import AMemRetriever
from tests.support import chat_model, open_memory

NOTES = (
    "The cache evicts by LRU",
    "The cache holds a thousand entries",
    "Eviction of the cache was slow in March",
    "Lunch was pasta",
)
WHEN = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def memory() -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model()) as memory:
        for place, text in enumerate(NOTES):
            memory.add(
                text,
                namespace="calvin",
                session="monday",
                speaker="Calvin",
                sequence=place,
                occurred_at=WHEN,
                metadata={"place": place},
            )
        memory.add("Eve evicts the cache", namespace="eve")
        yield memory


@pytest.fixture
def retriever(memory: AgenticMemory) -> AMemRetriever:
    return AMemRetriever(memory=memory, namespace="calvin")


class TestStandard(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _open(self, memory: AgenticMemory) -> None:
        self.memory = memory

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return AMemRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory, "namespace": "calvin"}

    @property
    def retriever_query_example(self) -> str:
        return "How does the cache evict?"


def test_a_document_says_all_that_is_known_of_its_note(
    retriever: AMemRetriever, memory: AgenticMemory
) -> None:
    [document] = retriever.invoke("How does the cache evict by LRU?", k=1)
    note = memory.get(str(document.id), namespace="calvin")
    assert note is not None
    assert document.page_content == note.content == NOTES[0]
    about = document.metadata
    assert about["id"] == note.id
    assert about["keywords"] == list(note.keywords)
    assert about["tags"] == list(note.tags)
    assert about["context"] == note.context
    assert (
        {link["to"] for link in about["links"]}
        == {link.other(note.id) for link in note.links}
        != set()
    )
    assert (about["speaker"], about["session"]) == ("Calvin", "monday")
    assert about["occurred_at"] == WHEN.isoformat()
    assert about["metadata"] == {"place": 0}
    assert about["score"] == pytest.approx(sum(about["why"].values()))
    assert json.loads(json.dumps(about)) == about


async def test_both_forms_find_the_same_and_nothing_for_a_blank_query(
    retriever: AMemRetriever,
) -> None:
    query = "How does the cache evict?"
    assert await retriever.ainvoke(query, k=3) == retriever.invoke(query, k=3)
    assert retriever.invoke("  ") == await retriever.ainvoke("") == []


def test_documents_below_the_threshold_are_left_out(retriever: AMemRetriever) -> None:
    query = "How does the cache evict?"
    every = [document.metadata["relevance"] for document in retriever.invoke(query)]
    kept = retriever.invoke(query, min_relevance=every[1])
    assert [document.metadata["relevance"] for document in kept] == every[:2]


def test_a_question_about_nothing_stored_finds_no_document(memory: AgenticMemory) -> None:
    retriever = AMemRetriever(memory=memory, namespace="calvin", min_relevance=0.1)
    assert retriever.invoke("Which wombats live in Tasmania?") == []
    assert len(retriever.invoke("Which wombats live in Tasmania?", min_relevance=0)) == 4
    (best, *_) = retriever.invoke("How does the cache evict?")
    assert best.metadata["relevance"] > 0.1


def test_a_filter_narrows_what_is_found(retriever: AMemRetriever) -> None:
    found = retriever.invoke("cache", filter={"metadata.place": {"$gte": 1}})
    assert {document.page_content for document in found} == set(NOTES[1:])
    with pytest.raises(InvalidFilterError):
        retriever.invoke("cache", filter={"speaker": {"$near": 1}})


def test_only_its_own_namespace_is_searched(retriever: AMemRetriever) -> None:
    found = retriever.invoke("Eve evicts", k=10)
    assert {document.page_content for document in found} == set(NOTES)
    with pytest.raises(TypeError, match="namespace"):
        retriever.invoke("cache", namespace="eve")


def test_an_invalid_argument_is_refused(memory: AgenticMemory) -> None:
    with pytest.raises(ValidationError, match="namespace needs at least one label"):
        AMemRetriever(memory=memory, namespace=())
    with pytest.raises(ValidationError, match="k"):
        AMemRetriever(memory=memory, namespace="calvin", k=-1)
