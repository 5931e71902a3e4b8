"""Arguments of the wrong kind to what the lifecycle offers: refused as such, nothing is stored."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note
from amem_integrations.core.filters import match
from amem_integrations.errors import InvalidInputError
from amem_integrations.stores.uses import Use, save_use
from tests.support import again, open_memory

LESSON = "The violin lesson with Rosalyn is on Tuesday morning."
REPLY = "Rosalyn expects you on Tuesday."


@pytest.fixture(scope="module")
def memory() -> Iterator[AgenticMemory]:
    with open_memory(lifecycle=True) as opened:
        yield opened


@pytest.fixture
def note(memory: AgenticMemory) -> Iterator[Note]:
    note = memory.add(LESSON)
    yield note
    assert again(memory, note).version == note.version
    assert not memory.perform(lambda _, io: io.engine.count(match("kind", "use")))


@pytest.mark.parametrize("notes", [None, 5, [], [None], b"id", {None: 1}], ids=repr)
def test_a_report_of_what_is_no_note_is_refused(
    memory: AgenticMemory, note: Note, notes: Any
) -> None:
    with pytest.raises(InvalidInputError, match="note"):
        memory.lifecycle.feedback(notes)


@pytest.mark.parametrize(
    "said",
    [{"session": 7}, {"session": ""}, {"session": "\ud800"}, {"session": ["s"]}, {"query": 5}],
    ids=repr,
)
def test_a_report_with_a_session_or_query_that_is_no_text_is_refused(
    memory: AgenticMemory, note: Note, said: Any
) -> None:
    hits = memory.search("violin lesson")
    with pytest.raises(InvalidInputError, match=next(iter(said))):
        memory.lifecycle.feedback(note, **said)
    with pytest.raises(InvalidInputError, match=next(iter(said))):
        asyncio.run(memory.lifecycle.afeedback_from_reply(hits, REPLY, **said))
    assert memory.lifecycle.maintain().uses == 0


@pytest.mark.parametrize("hits", [None, "hits", [LESSON], 5], ids=repr)
def test_what_are_no_hits_cannot_have_been_used(
    memory: AgenticMemory, note: Note, hits: Any
) -> None:
    with pytest.raises(InvalidInputError, match="hits of a search"):
        memory.lifecycle.feedback_from_reply(hits, REPLY)


@pytest.mark.parametrize("reply", [None, 5, [REPLY], REPLY.encode()], ids=repr)
def test_a_reply_that_is_no_text_is_refused(memory: AgenticMemory, note: Note, reply: Any) -> None:
    with pytest.raises(InvalidInputError, match="reply must be text"):
        memory.lifecycle.feedback_from_reply(memory.search("violin lesson"), reply)


def test_a_session_that_was_stored_as_a_number_does_not_stop_maintenance() -> None:
    with open_memory(lifecycle=True) as memory:
        note = memory.add(LESSON)
        use = Use("8f7d1a5e-0b0a-4b43-9d5f-0d3c8a1f2b11", note.updated_at, (note.id,), "used")
        object.__setattr__(use, "session", 7)
        memory.perform(lambda _, io: save_use(io, note.namespace, use))
        assert memory.lifecycle.maintain().uses == 1
        assert again(memory, note).life.occasions[-1] == "7"


def test_hits_may_come_one_by_one() -> None:
    with open_memory(lifecycle=True) as memory:
        memory.add(LESSON)
        hits = memory.search("When is it?")
        assert memory.lifecycle.feedback_from_reply(iter(hits), REPLY) == hits  # type: ignore[arg-type]
        assert memory.lifecycle.feedback_from_reply(iter(()), REPLY) == []  # type: ignore[arg-type]
        assert memory.lifecycle.maintain().uses == 1


@pytest.mark.parametrize("proposal", [None, "id", 5], ids=repr)
@pytest.mark.parametrize("call", ["accept", "reject"])
def test_what_is_no_proposal_is_neither_accepted_nor_rejected(
    memory: AgenticMemory, note: Note, call: str, proposal: Any
) -> None:
    for given in (proposal, note):
        with pytest.raises(InvalidInputError, match="Expected a proposal"):
            getattr(memory, call)(given)


@pytest.mark.parametrize("plan", [None, "plan", []], ids=repr)
def test_what_is_no_plan_is_not_applied(memory: AgenticMemory, note: Note, plan: Any) -> None:
    with pytest.raises(InvalidInputError, match="Expected a plan"):
        memory.lifecycle.apply(plan)


@pytest.mark.parametrize(
    "limits",
    [
        *({"max_notes": wrong} for wrong in (-1, "3", True, 1.5)),
        *({"max_age": wrong} for wrong in (30, "30", timedelta(days=-1))),
        *({"similarity": wrong} for wrong in (2, "x", None, float("nan"))),
    ],
    ids=repr,
)
def test_limits_that_make_no_sense_are_refused(
    memory: AgenticMemory, note: Note, limits: Any
) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(limits))):
        memory.lifecycle.consolidate(dry_run=False, **limits)


@pytest.mark.parametrize("reason", [None, 5, ["a"], "\ud800"], ids=repr)
def test_a_reason_that_is_no_text_is_refused(
    memory: AgenticMemory, note: Note, reason: Any
) -> None:
    with pytest.raises(InvalidInputError, match="reason"):
        memory.lifecycle.archive(note, reason=reason)


@pytest.mark.parametrize("version", [{"only": "1"}, {"to_version": "1"}, {"to_version": 1.0}])
def test_a_version_that_is_no_number_is_refused(
    memory: AgenticMemory, note: Note, version: Any
) -> None:
    with pytest.raises(InvalidInputError, match="number of a version"):
        memory.revert(note, **version)
