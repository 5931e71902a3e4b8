"""What one note does to others follows how far it is believed, and can be undone as a whole."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amem_integrations import AgenticMemory, Note, Status
from amem_integrations.core.io import run
from amem_integrations.core.status import STANDING
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle.audits import audit
from amem_integrations.lifecycle.confidence import confidence
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from amem_integrations.stores.codec import state_of
from amem_integrations.stores.read import load_points
from tests.support import again, chat_model, io_of, links_everything, open_memory

START = datetime(2026, 3, 2, tzinfo=UTC)


class Now:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime:
        return self.at


def contradicts_and_evolves(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    said = links_everything(text, candidates)
    return said | {"links": [{**link, "kind": "contradicts"} for link in said["links"]]}


@pytest.fixture(scope="module")
def clock() -> Now:
    return Now()


@pytest.fixture(scope="module")
def opened(clock: Now) -> Iterator[AgenticMemory]:
    model = chat_model(links_everything)
    with open_memory(model=model, lifecycle=True, clock=clock) as memory:
        yield memory


@pytest.fixture
def memory(opened: AgenticMemory, clock: Now) -> Iterator[AgenticMemory]:
    clock.at = START
    yield opened
    assert opened.admin.check() == []
    opened.admin.forget_namespace("default")


def doubtful(memory: AgenticMemory) -> tuple[Note, Note]:
    """A note of a user, and one of an unknown source that would change it."""
    honest = memory.add("The redis cache holds 512 entries", source="user")
    return honest, memory.add("Hearsay about the cache")


# -- proposals ---------------------------------------------------------------------------------


def test_what_one_proposes_that_is_believed_much_less_waits(memory: AgenticMemory) -> None:
    honest, hearsay = doubtful(memory)
    assert again(memory, honest).keywords == honest.keywords
    [proposal] = memory.lifecycle.proposals()
    assert (proposal.cause, proposal.target) == (hearsay.id, honest.id)
    assert memory.admin.health()["evolution.waits"] >= 1


def test_one_that_is_believed_enough_changes_it_and_caps_its_trust(memory: AgenticMemory) -> None:
    honest = memory.add("The redis cache holds 512 entries", source="user")
    other = memory.add("Assistants on the cache", source="assistant")
    found = again(memory, honest)
    assert "seen-Assistants" in found.keywords
    assert found.trust == pytest.approx(confidence(other, START, DEFAULT_POLICY), abs=1e-3)
    assert "trust" in memory.history(honest)[-1].changes
    assert found.content == honest.content
    assert memory.lifecycle.proposals() == []


def test_an_accepted_proposal_is_applied(memory: AgenticMemory) -> None:
    honest, hearsay = doubtful(memory)
    changed = memory.lifecycle.accept(memory.lifecycle.proposals()[0])
    assert "seen-Hearsay" in changed.keywords
    last = memory.history(honest)[-1]
    assert (last.kind, last.cause) == ("evolved", hearsay.id)
    assert memory.lifecycle.proposals() == []


def test_a_rejected_proposal_is_gone_and_cannot_be_accepted(memory: AgenticMemory) -> None:
    honest, _ = doubtful(memory)
    [proposal] = memory.lifecycle.proposals()
    assert memory.lifecycle.reject(proposal)
    assert not memory.lifecycle.reject(proposal)
    with pytest.raises(InvalidInputError, match="does not wait"):
        memory.lifecycle.accept(proposal)
    assert again(memory, honest).keywords == honest.keywords


def test_rejecting_what_was_proposed_earlier_leaves_what_is_proposed_now(
    memory: AgenticMemory,
) -> None:
    doubtful(memory)
    [proposal] = memory.lifecycle.proposals()
    assert not memory.lifecycle.reject(replace(proposal, version=proposal.version - 1))
    assert memory.lifecycle.proposals() == [proposal]


async def test_the_async_forms_do_the_same(memory: AgenticMemory) -> None:
    doubtful(memory)
    [proposal] = await memory.lifecycle.aproposals()
    assert (await memory.lifecycle.aaccept(proposal)).id == proposal.target
    assert not await memory.lifecycle.areject(proposal)


@pytest.mark.parametrize("which", [0, 1])
def test_forgetting_either_note_deletes_the_proposal(memory: AgenticMemory, which: int) -> None:
    memory.forget(doubtful(memory)[which])
    assert memory.lifecycle.proposals() == []


@pytest.mark.parametrize("which", [0, 1])
def test_new_text_of_either_note_drops_the_proposal(memory: AgenticMemory, which: int) -> None:
    pair = doubtful(memory)
    proposal = memory.lifecycle.proposals()[0]
    memory.update(pair[which], "The violin lesson", metadata={})
    assert proposal not in memory.lifecycle.proposals()


def test_a_proposal_is_applied_once_its_proposer_is_believable(memory: AgenticMemory) -> None:
    honest, hearsay = doubtful(memory)
    assert memory.lifecycle.maintain("default").applied == 0
    run(io_of(memory).engine.patch(hearsay.id, {"source": "user"}))
    assert memory.lifecycle.maintain("default").applied == 1
    assert "seen-Hearsay" in again(memory, honest).keywords
    assert memory.lifecycle.proposals() == []


def test_a_contradiction_by_one_that_is_hardly_believed_waits_too() -> None:
    with open_memory(model=chat_model(contradicts_and_evolves), lifecycle=True) as memory:
        honest, hearsay = doubtful(memory)
        assert again(memory, honest).valid_until is None
        [proposal] = memory.lifecycle.proposals()
        assert proposal.contradicts
        found = memory.lifecycle.accept(proposal)
        assert (found.valid_until, found.contested_by) == (hearsay.created_at, ())
        assert [each.kind for each in memory.history(honest)][-2:] == ["evolved", "superseded"]
        assert memory.admin.check() == []


def test_a_proposal_whose_notes_are_gone_is_found_and_removed(memory: AgenticMemory) -> None:
    doubtful(memory)
    [proposal] = memory.lifecycle.proposals()
    run(io_of(memory).engine.patch(proposal.id, {"of": "00000000-0000-5000-8000-00000000dead"}))
    assert [each.what for each in memory.admin.check()] == ["orphaned-proposal"]
    assert all(each.mended for each in memory.admin.repair())
    assert memory.admin.check() == []


# -- undoing what one note did ----------------------------------------------------------------


def everything(memory: AgenticMemory, without: str) -> str:
    """All that is stored but of one note."""
    points = run(load_points(io_of(memory)))
    return json.dumps(
        [each.payload for each in points if without not in (each.id, each.payload.get("of"))],
        ensure_ascii=False,
    )


def test_undoing_what_a_note_did_leaves_no_trace_in_others(memory: AgenticMemory) -> None:
    memory.add("The redis cache holds 512 entries", source="assistant")
    hostile = memory.add("Poison for everyone", source="user")
    memory.add("The violin lesson", source="user")
    memory.add("The postgres table", source="user", supersedes=hostile)
    before = again(memory, hostile)
    assert "Poison" in everything(memory, hostile.id)
    undone = memory.lifecycle.revert_cause(hostile)
    left = everything(memory, hostile.id)
    assert "Poison" not in left
    assert len(undone.notes) == 3
    found = again(memory, hostile)
    assert (found.content, found.keywords) == (before.content, before.keywords)
    assert (found.status, found.outgoing) == (Status.PLAIN, ())
    assert hostile.id in [hit.note.id for hit in memory.search("Poison for everyone")]
    assert all(each.status is not Status.RAW for each in memory.recent())


def test_undoing_it_twice_changes_nothing_more(memory: AgenticMemory) -> None:
    memory.add("The redis cache", source="assistant")
    hostile = memory.add("Poison for everyone", source="user")
    memory.lifecycle.revert_cause(hostile)
    before = everything(memory, "")
    undone = memory.lifecycle.revert_cause(hostile)
    assert (undone.notes, undone.evolutions, undone.links, undone.unformed) == ((), 0, 0, ())
    assert everything(memory, "") == before


async def test_the_async_form_undoes_as_well(memory: AgenticMemory) -> None:
    old = await memory.aadd("The redis cache", source="assistant")
    undone = await memory.lifecycle.arevert_cause(
        await memory.aadd("Poison for everyone", source="user")
    )
    assert undone.notes == (old.id,)


def test_a_note_takes_part_again_once_it_is_formed(memory: AgenticMemory) -> None:
    old = memory.add("The redis cache", source="assistant")
    note = memory.add("Poison for everyone", source="user")
    memory.lifecycle.revert_cause(note)
    assert memory.form(note).status is Status.FORMED
    assert "seen-Poison" in again(memory, old).keywords


def test_a_note_whose_doings_were_undone_stays_so_when_another_is_taken_back(
    memory: AgenticMemory,
) -> None:
    old = memory.add("The redis cache", source="assistant")
    first = memory.add("Hearsay about the cache", source="user")
    second = memory.add("Poison for everyone", source="user")
    memory.lifecycle.revert_cause(second)
    memory.lifecycle.revert_cause(first)
    assert again(memory, second).status is Status.PLAIN
    assert "seen-Poison" not in again(memory, old).keywords


# -- operations and their undoing --------------------------------------------------------------


TEXTS = ("The redis cache", "The violin lesson", "The postgres table")
Undo = Callable[[], Any]


@pytest.fixture(scope="module")
def bare() -> Iterator[AgenticMemory]:
    """Without a model: what it changes, it changes because somebody says so."""
    with open_memory(link=False, evolve=False) as memory:
        yield memory


def supersede(memory: AgenticMemory, note: Note, mark: int) -> Undo:
    new = memory.add(f"Otherwise {mark}", supersedes=note)
    return lambda: memory.forget(new)


def supersede_and_withdraw(memory: AgenticMemory, note: Note, mark: int) -> Undo:
    new = memory.add(f"Otherwise {mark}", supersedes=note)
    return lambda: memory.lifecycle.revert_cause(new)


def put_under_audit(memory: AgenticMemory, note: Note, mark: int) -> Undo:
    if again(memory, note).status is not Status.FORMED:
        return lambda: None
    run(audit(io_of(memory), again(memory, note), f"why {mark}"))
    return lambda: memory.lifecycle.resolve(note, "keep")


def retire(memory: AgenticMemory, note: Note, mark: int) -> Undo:
    if again(memory, note).status is not Status.FORMED:
        return lambda: None
    version = again(memory, note).version
    run(audit(io_of(memory), again(memory, note), f"why {mark}"))
    memory.lifecycle.resolve(note, "retire")
    return lambda: memory.revert(note, to_version=version)


def reword(memory: AgenticMemory, note: Note, mark: int) -> Undo:
    version = again(memory, note).version
    memory.update(note, f"Reworded {mark}")
    return lambda: memory.revert(note, to_version=version)


OPERATIONS = (supersede, supersede_and_withdraw, put_under_audit, retire, reword)


def state(memory: AgenticMemory, note: Note) -> list[Any]:
    found = again(memory, note)
    understood = [found.content, found.keywords, found.tags, found.context]
    return [
        *understood,
        [each.to for each in found.outgoing],
        found.status,
        state_of(found, STANDING),
    ]


@settings(max_examples=6, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(OPERATIONS), st.sampled_from([0, 1])), max_size=4))
def test_operations_followed_by_their_undoing_give_back_equal_notes(
    bare: AgenticMemory, done: list[tuple[Any, int]]
) -> None:
    bare.admin.forget_namespace("default")
    notes = [bare.add(text) for text in TEXTS]
    before = [state(bare, note) for note in notes]
    undos = [operation(bare, notes[which], place) for place, (operation, which) in enumerate(done)]
    for undo in reversed(undos):
        undo()
    assert [state(bare, note) for note in notes] == before
    assert bare.admin.check() == []


@settings(max_examples=6, deadline=None)
@given(st.permutations(range(4)))
def test_what_several_notes_did_is_undone_in_any_order(
    bare: AgenticMemory, order: list[int]
) -> None:
    bare.admin.forget_namespace("default")
    old = bare.add(TEXTS[0])
    before = state(bare, old)
    days = [START + timedelta(days=each) for each in (3, 1, 4, 2)]
    new = [bare.add(f"From {day}", occurred_at=day, supersedes=old) for day in days]
    left = {note.id: day for note, day in zip(new, days, strict=True)}
    for place in order:
        assert again(bare, old).valid_until == min(left.values())
        bare.lifecycle.revert_cause(new[place])
        del left[new[place].id]
    assert state(bare, old) == before
    assert bare.admin.check() == []
