"""LlamaIndex's observability shows when notes are recalled and taken."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import AMemMemoryBlock, AMemRetriever
from amem_integrations.testing.llama_index import ScriptedLLM
from tests.llama_index.support import CHATS, memory_of, simple, user

Names = Callable[[], list[str]]


@pytest.fixture
def spans() -> Iterator[Names]:
    root, handler = get_dispatcher(), SimpleSpanHandler()
    root.add_span_handler(handler)
    yield lambda: [span.id_.partition("-")[0] for span in handler.completed_spans]
    root.span_handlers.remove(handler)


@pytest.mark.parametrize("chat", CHATS)
def test_a_turn_shows_one_recall_and_two_ingests(
    core: AgenticMemory, spans: Names, chat: Callable[[Any, str], str]
) -> None:
    chat(simple(ScriptedLLM(["Noted."]), memory_of(core)), "My dog is called Rex.")
    assert spans().count("AMemNotes.recall") == 1
    assert spans().count("AMemNotes.ingest") == 2


def test_a_recall_is_a_part_of_the_chat_that_asked(core: AgenticMemory) -> None:
    root, handler = get_dispatcher(), SimpleSpanHandler()
    root.add_span_handler(handler)
    try:
        simple(ScriptedLLM(["Noted."]), memory_of(core)).chat("Hello")
    finally:
        root.span_handlers.remove(handler)
    by_id = {span.id_: span for span in handler.completed_spans}
    (recall,) = [span for id, span in by_id.items() if id.startswith("AMemNotes.recall")]
    assert recall.parent_id is not None
    assert recall.parent_id.startswith("SimpleChatEngine.chat")


def test_a_block_and_a_retriever_show_too(core: AgenticMemory, spans: Names) -> None:
    block = AMemMemoryBlock(core, namespace="calvin")

    async def use() -> None:
        await block.aput([user("My dog is called Rex.")])
        await block.aget([user("dog")])
        await AMemRetriever(core, namespace="calvin").aretrieve("dog")

    asyncio.run(use())
    assert {"AMemNotes.ingest", "AMemNotes.recall", "AMemRetriever.aretrieve"} <= set(spans())
