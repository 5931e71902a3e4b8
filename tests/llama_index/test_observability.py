"""LlamaIndex shows recall and ingest as spans; a policy learns which notes an answer used."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler

from amem_integrations import AgenticMemory
from amem_integrations.core.io import run
from amem_integrations.errors import StoreWriteError
from amem_integrations.llama_index import AMemMemoryBlock, AMemRetriever
from amem_integrations.stores.uses import all_uses
from amem_integrations.testing.llama_index import ScriptedLLM
from tests.llama_index.support import CHATS, assistant, memory_of, simple, user
from tests.support import io_of, open_memory

LESSON = "The violin lesson with Rosalyn is on Tuesday morning"
ASKED = "When do I have to be where?"
ANSWER = "On Tuesday morning you play the violin."

# -- spans ---------------------------------------------------------------------------------------


@pytest.fixture
def spans() -> Iterator[SimpleSpanHandler]:
    root, handler = get_dispatcher(), SimpleSpanHandler()
    root.add_span_handler(handler)
    yield handler
    root.span_handlers.remove(handler)


def names(spans: SimpleSpanHandler) -> list[str]:
    return [span.id_.partition("-")[0] for span in spans.completed_spans]


@pytest.mark.parametrize("chat", CHATS)
def test_a_turn_shows_one_recall_and_two_ingests(
    core: AgenticMemory, spans: SimpleSpanHandler, chat: Callable[[Any, str], str]
) -> None:
    chat(simple(ScriptedLLM(["Noted."]), memory_of(core)), "My dog is called Rex.")
    assert names(spans).count("AMemNotes.recall") == 1
    assert names(spans).count("AMemNotes.ingest") == 2
    (recall,) = [span for span in spans.completed_spans if span.id_.startswith("AMemNotes.recall")]
    assert (recall.parent_id or "").startswith("SimpleChatEngine.")


def test_a_block_and_a_retriever_show_too(core: AgenticMemory, spans: SimpleSpanHandler) -> None:
    block = AMemMemoryBlock(core, namespace="calvin")

    async def use() -> None:
        await block.aput([user("My dog is called Rex.")])
        await block.aget([user("dog")])
        await AMemRetriever(core, namespace="calvin").aretrieve("dog")

    asyncio.run(use())
    assert {"AMemNotes.ingest", "AMemNotes.recall", "AMemRetriever.aretrieve"} <= set(names(spans))


# -- feedback ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learning() -> Iterator[AgenticMemory]:
    with open_memory(formation="off") as memory:
        yield memory


@pytest.fixture
def lesson(learning: AgenticMemory) -> Iterator[AgenticMemory]:
    learning.add(LESSON, namespace="calvin")
    yield learning
    learning.admin.forget_namespace("calvin")


def reported(core: AgenticMemory) -> list[tuple[int, str | None]]:
    uses = run(all_uses(io_of(core), ("calvin",)))
    return [(len(use.notes), use.session) for use in uses]


def test_the_notes_that_an_answer_used_are_reported_once(lesson: AgenticMemory) -> None:
    memory = memory_of(lesson, session_id="monday")
    memory.put(user(ASKED))
    memory.get()
    memory.put(assistant(ANSWER))
    memory.put(assistant(ANSWER))
    assert reported(lesson) == [(1, "monday")]


async def test_the_notes_that_an_answer_used_are_reported_async(lesson: AgenticMemory) -> None:
    memory = memory_of(lesson, session_id="monday")
    await memory.aput_messages([user("Hello"), assistant(ANSWER)])
    assert reported(lesson) == []
    await memory.aput(user(ASKED))
    await memory.aget()
    await memory.aput(assistant(ANSWER))
    assert reported(lesson) == [(1, "monday")]


def test_a_report_that_fails_is_counted_and_fails_no_turn(
    lesson: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise StoreWriteError("The disk is full.")

    monkeypatch.setattr("amem_integrations.lifecycle.feedback.save_use", full)
    memory = memory_of(lesson)
    memory.put(user(ASKED))
    memory.get()
    memory.put(assistant(ANSWER))
    assert memory.events["feedback.failed"] == 1


def test_without_a_lifecycle_nothing_is_reported() -> None:
    with open_memory(lifecycle=False) as core:
        core.add(LESSON, namespace="calvin")
        memory = memory_of(core)
        memory.put(user(ASKED))
        memory.get()
        memory.put(assistant(ANSWER))
        assert reported(core) == []
