"""What an answer made use of is reported, where the memory keeps notes by their use."""

from collections.abc import Iterator

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.filters import match
from amem_integrations.core.io import run
from amem_integrations.errors import StoreWriteError
from amem_integrations.stores.uses import all_uses
from tests.llama_index.support import assistant, memory_of, user
from tests.support import io_of, open_memory

LESSON = "The violin lesson with Rosalyn is on Tuesday morning"
ASKED = "When do I have to be where?"
ANSWER = "On Tuesday morning you play the violin."


@pytest.fixture(scope="module")
def shared() -> Iterator[AgenticMemory]:
    with open_memory(formation="off", lifecycle=True) as memory:
        yield memory


@pytest.fixture
def core(shared: AgenticMemory) -> Iterator[AgenticMemory]:
    shared.add(LESSON, namespace="calvin")
    yield shared
    shared.admin.forget_namespace("calvin")


def reported(core: AgenticMemory) -> list[tuple[int, str | None]]:
    uses = run(all_uses(io_of(core), ("calvin",)))
    return [(len(use.notes), use.session) for use in uses]


def test_the_notes_that_an_answer_used_are_reported_once(core: AgenticMemory) -> None:
    memory = memory_of(core, session_id="monday")
    memory.put(user(ASKED))
    memory.get()
    memory.put(assistant(ANSWER))
    memory.put(assistant(ANSWER))
    assert reported(core) == [(1, "monday")]


async def test_the_notes_that_an_answer_used_are_reported_async(core: AgenticMemory) -> None:
    memory = memory_of(core, session_id="monday")
    await memory.aput(user(ASKED))
    await memory.aget()
    await memory.aput(assistant(ANSWER))
    assert reported(core) == [(1, "monday")]


def test_an_answer_to_which_nothing_was_recalled_reports_nothing(core: AgenticMemory) -> None:
    memory = memory_of(core)
    memory.put_messages([user(ASKED), assistant(ANSWER)])
    assert reported(core) == []


def test_a_report_that_fails_is_counted_and_fails_no_turn(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise StoreWriteError("The disk is full.")

    monkeypatch.setattr("amem_integrations.lifecycle.feedback.save_use", full)
    memory = memory_of(core)
    memory.put(user(ASKED))
    memory.get()
    memory.put(assistant(ANSWER))
    assert memory.events["feedback.failed"] == 1


def test_without_a_policy_nothing_is_reported() -> None:
    with open_memory(formation="off") as core:
        core.add(LESSON, namespace="calvin")
        memory = memory_of(core)
        memory.put(user(ASKED))
        memory.get()
        memory.put(assistant(ANSWER))
        assert run(io_of(core).engine.count(match("kind", "use"))) == 0
