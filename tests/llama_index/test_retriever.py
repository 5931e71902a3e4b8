"""AMemRetriever: notes as nodes."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from llama_index.core.postprocessor import (
    LongContextReorder,
    MetadataReplacementPostProcessor,
    SimilarityPostprocessor,
)
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever, RouterRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import RetrieverTool

from amem_integrations import AgenticMemory
from amem_integrations.errors import InvalidInputError, StoreClosedError
from amem_integrations.llama_index import AMemRetriever, NoteWithScore
from amem_integrations.recall.signals import SIGNALS
from amem_integrations.testing.llama_index import ScriptedLLM
from tests.llama_index.support import FACT, QUESTION
from tests.support import chat_model, open_memory

Retrieve = Callable[..., list[NodeWithScore]]


def retrieve(retriever: AMemRetriever, query: Any) -> list[NodeWithScore]:
    return retriever.retrieve(query)


def aretrieve(retriever: AMemRetriever, query: Any) -> list[NodeWithScore]:
    return asyncio.run(retriever.aretrieve(query))


both_forms = pytest.mark.parametrize("form", [retrieve, aretrieve])


@both_forms
def test_a_node_has_the_note_and_the_reason_why_it_was_found(form: Retrieve) -> None:
    with open_memory(model=chat_model()) as core:
        first = core.add(FACT, namespace="calvin")
        second = core.add(
            "Rex eats fish.",
            namespace="calvin",
            speaker="Calvin",
            session="s1",
            occurred_at=datetime(2026, 3, 1, tzinfo=UTC),
            metadata={"mood": "fine"},
        )
        query = "What does Rex eat?"
        nodes = form(AMemRetriever(core, namespace="calvin"), query)
        hits = core.search(query, namespace="calvin", min_relevance=0)
        scores = {hit.note.id: hit.relevance for hit in hits}
    assert {found.node.node_id: found.score for found in nodes} == scores
    (node,) = [each.node for each in nodes if each.node.node_id == second.id]
    assert isinstance(node, TextNode)
    assert node.text == second.content
    assert node.metadata["keywords"] == list(second.keywords)
    assert node.metadata["tags"] == list(second.tags)
    assert node.metadata["context"] == second.context
    assert [link["to"] for link in node.metadata["links"]] == [first.id]
    assert node.metadata["links"][0]["reason"]
    assert (node.metadata["speaker"], node.metadata["session"]) == ("Calvin", "s1")
    assert node.metadata["time"] == "2026-03-01T00:00:00+00:00"
    assert node.metadata["created_at"] == second.created_at.isoformat()
    assert node.metadata["metadata"] == {"mood": "fine"}
    for found in nodes:
        assert isinstance(found, NoteWithScore)
        assert set(found.why) <= {*SIGNALS, "link"}
        assert sum(found.why.values()) > 0


def test_a_model_is_shown_time_and_speaker_and_an_index_embeds_what_was_understood(
    core: AgenticMemory,
) -> None:
    core.add(FACT, namespace="calvin", speaker="Calvin")
    (found,) = AMemRetriever(core, namespace="calvin").retrieve(QUESTION)
    shown = found.node.get_content(MetadataMode.LLM)
    lines = [line for line in shown.splitlines() if line]
    assert [line.partition(":")[0] for line in lines[:-1]] == ["time", "speaker"]
    assert lines[-1] == FACT
    embedded = found.node.get_content(MetadataMode.EMBED)
    names = {line.partition(":")[0] for line in embedded.splitlines() if ":" in line}
    assert names == {"keywords", "tags", "context", "questions"}


@both_forms
def test_it_finds_as_many_notes_of_its_namespace_as_it_may_by_its_filter(
    core: AgenticMemory, form: Retrieve
) -> None:
    for n in range(6):
        core.add(f"Dog number {n}", namespace="calvin", session=f"s{n % 2}")
    core.add("Dog of Hobbes", namespace="hobbes", session="s1")
    retriever = AMemRetriever(core, namespace="calvin", top_k=2, filter={"session": "s1"})
    nodes = form(retriever, "dog")
    assert len(nodes) == 2
    assert {node.metadata["session"] for node in nodes} == {"s1"}
    assert all("number" in node.text for node in nodes)
    assert form(retriever, QueryBundle(" ")) == []


@pytest.mark.parametrize("wrong", [{"top_k": -1}, {"top_k": 0}, {"hops": -1}])
def test_an_invalid_argument_is_refused(core: AgenticMemory, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        AMemRetriever(core, namespace="calvin", **wrong)


@both_forms
def test_errors_are_raised(form: Retrieve) -> None:
    core = open_memory()
    core.close()
    with pytest.raises(StoreClosedError):
        form(AMemRetriever(core, namespace="calvin"), QUESTION)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_query_engine_answers_from_the_notes(told: AgenticMemory, is_async: bool) -> None:
    llm = ScriptedLLM(["Rex."])
    engine = RetrieverQueryEngine.from_args(AMemRetriever(told, namespace="calvin"), llm=llm)
    answer = asyncio.run(engine.aquery(QUESTION)) if is_async else engine.query(QUESTION)
    assert str(answer) == "Rex."
    assert FACT in llm.calls[0].text
    assert "keywords" not in llm.calls[0].text
    assert answer.source_nodes[0].node.text == FACT  # type: ignore[attr-defined]


# -- in the retrievers and engines of others -----------------------------------------------------

DOGS = [FACT, "Rex the dog eats fish.", "The dog sleeps in the kitchen."]


@pytest.fixture
def dogs(core: AgenticMemory) -> AMemRetriever:
    core.add_many(DOGS, namespace="calvin")
    core.add("The dog of Hobbes is a cat.", namespace="hobbes")
    return AMemRetriever(core, namespace="calvin")


def test_what_depends_on_the_query_is_not_part_of_a_node(dogs: AMemRetriever) -> None:
    first, second = (
        {found.node.node_id: found for found in dogs.retrieve(query)}
        for query in (QUESTION, "Where does the dog sleep?")
    )
    assert first.keys() == second.keys()
    for id, found in first.items():
        assert found.node == second[id].node
        assert found.node.hash == second[id].node.hash


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("mode", FUSION_MODES)
def test_fused_over_several_queries_each_note_is_found_once(
    dogs: AMemRetriever, mode: FUSION_MODES, is_async: bool
) -> None:
    queries = ScriptedLLM(["What does the dog eat?\nWhere does the dog sleep?"])
    fusion = QueryFusionRetriever(
        [dogs, dogs], llm=queries, mode=mode, num_queries=3, similarity_top_k=len(DOGS)
    )
    found = asyncio.run(fusion.aretrieve(QUESTION)) if is_async else fusion.retrieve(QUESTION)
    assert sorted(node.text for node in found) == sorted(DOGS)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_router_asks_the_notes_it_chose(
    core: AgenticMemory, dogs: AMemRetriever, is_async: bool
) -> None:
    tools = [
        RetrieverTool.from_defaults(
            AMemRetriever(core, namespace=who), name=who, description=f"Notes of {who}."
        )
        for who in ("hobbes", "calvin")
    ]
    llm = ScriptedLLM([json.dumps([{"choice": 2, "reason": "It is his dog."}])])
    router = RouterRetriever(LLMSingleSelector.from_defaults(llm=llm), tools, llm=llm)
    found = asyncio.run(router.aretrieve(QUESTION)) if is_async else router.retrieve(QUESTION)
    assert sorted(node.text for node in found) == sorted(DOGS)


def test_postprocessors_take_its_scores_and_metadata(dogs: AMemRetriever) -> None:
    nodes = dogs.retrieve(QUESTION)
    best = max(node.score or 0.0 for node in nodes)
    kept = SimilarityPostprocessor(similarity_cutoff=best).postprocess_nodes(nodes)
    assert [node.score for node in kept] == [best]
    reordered = LongContextReorder().postprocess_nodes(nodes)
    assert sorted(node.text for node in reordered) == sorted(DOGS)
    replaced = MetadataReplacementPostProcessor("context").postprocess_nodes(nodes)
    assert [node.text for node in replaced] == [node.metadata["context"] for node in nodes]


def test_it_is_a_tool_as_any_retriever(told: AgenticMemory) -> None:
    tool = RetrieverTool.from_defaults(
        AMemRetriever(told, namespace="calvin"), name="notes", description="What is known."
    )
    assert FACT in tool(QUESTION).content
