"""Whatever a user does to a note, one undo gives back all that was before it, and a second redoes.

What may differ after an undo, and is not compared: versions, histories and times of change; counts
of use (`life`), which are no revisions; the order of terms and links, since a term that was taken
back and is added again comes last. Where a note's text comes back, notes that were understood in
its light are formed again, oldest first, and the same model says the same of them. Statistics do
not form those again, so the links that they had to the note are not made anew.
"""

import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note, Status
from amem_integrations.core.io import run
from amem_integrations.lifecycle.audits import audit
from amem_integrations.stores.codec import note_from, state_of
from amem_integrations.stores.read import load_points
from tests.support import again, chat_model, io_of, links_everything, open_memory

Act = Callable[[AgenticMemory, Note, Note], Note]

STORIES = int(os.environ.get("AMEM_TEST_EXAMPLES", "4"))

TEXTS = [
    "The redis cache holds 512 entries in the cellar",
    "The redis cache evicts entries by age",
    "Violin lessons begin in autumn",
    "The violin stands in the cellar beside the cache",
]


def snapshot(memory: AgenticMemory) -> dict[str, Any]:
    """All notes with what is compared, by their keys or texts."""
    found: dict[str, Any] = {}
    for point in run(load_points(io_of(memory))):
        if point.payload["kind"] != "note":
            continue
        note = note_from(point)
        state = state_of(note)
        links = ((link["to"], link["kind"], link["reason"]) for link in state["links"])
        state |= {"links": sorted(links)}
        state |= {name: sorted(state[name]) for name in ("keywords", "tags")}
        [stored] = run(io_of(memory).engine.get([note.id], vectors=True))
        dense = [[round(x, 4) for x in vector] for vector in stored.dense]
        found[note.key] = state | {"dense": dense, "failure": (note.attempts, note.last_error)}
    return found


def differences(
    before: dict[str, Any], after: dict[str, Any], changed: str = ""
) -> dict[tuple[str, str], Any]:
    """By note and field, both values; without links of statistics to the note `changed`."""
    for state in (*before.values(), *after.values()):
        kinds = ("shared-words", "related", "sequence")
        state["links"] = [
            link for link in state["links"] if link[0] != changed or link[1] not in kinds
        ]
    return {
        (key, name): (value, after[key][name])
        for key, state in before.items()
        for name, value in state.items()
        if after[key][name] != value
    }


@pytest.fixture(params=["statistics", "model"], scope="module")
def opened(request: pytest.FixtureRequest) -> Iterator[AgenticMemory]:
    model = chat_model(links_everything) if request.param == "model" else None
    with open_memory(model=model, lifecycle=True) as memory:
        yield memory


@pytest.fixture
def memory(opened: AgenticMemory) -> Iterator[AgenticMemory]:
    yield opened
    assert opened.admin.check() == []
    opened.admin.forget_namespace("default")


def told(memory: AgenticMemory) -> list[Note]:
    for number, text in enumerate(TEXTS):
        memory.add(text, key=f"n{number}", session=f"s{number}")
    return [again(memory, note) for note in reversed(memory.recent())]


def updated(memory: AgenticMemory, note: Note, other: Note) -> Note:
    return memory.update(note, f"{note.content}, and the violin in the attic")


def written_again(memory: AgenticMemory, note: Note, other: Note) -> Note:
    return memory.add("The redis cache holds 900 entries", key=note.key)


def superseding(memory: AgenticMemory, note: Note, other: Note) -> Note:
    return memory.add(note.content, key=note.key, supersedes=other)


def superseded(memory: AgenticMemory, note: Note, other: Note) -> Note:
    memory.add(other.content, key=other.key, supersedes=note)
    return note


def corrected_and_superseding(memory: AgenticMemory, note: Note, other: Note) -> Note:
    return memory.add("The redis cache is in the attic", key=note.key, supersedes=other)


def archived(memory: AgenticMemory, note: Note, other: Note) -> Note:
    return memory.lifecycle.archive(note)


ACTS: list[Act] = [
    updated,
    written_again,
    superseding,
    superseded,
    corrected_and_superseding,
    archived,
]


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_one_undo_takes_one_act_back_and_a_second_redoes_it(
    memory: AgenticMemory, act: Act, place: int
) -> None:
    notes = told(memory)
    note = notes[place]
    before = snapshot(memory)
    act(memory, note, notes[(place + 2) % 4])
    after = snapshot(memory)
    assert after != before
    for expected in (before, after, before):
        memory.revert(note)
        assert differences(expected, snapshot(memory), note.id) == {}
    assert "parked" not in memory.admin.health()


@pytest.mark.parametrize("seed", range(STORIES))
def test_in_any_story_an_undo_takes_back_the_last_act(memory: AgenticMemory, seed: int) -> None:
    """Notes that are formed again may be understood in another order, so by a model otherwise."""
    draw = random.Random(seed)
    told(memory)
    for _ in range(4):
        note, other = draw.sample(sorted(memory.recent(), key=lambda note: note.key), 2)
        act = draw.choice(ACTS)
        if act in (superseding, superseded) and Status.ARCHIVED in (note.status, other.status):
            # Writing the same again restores a note, which is an act of its own.
            continue
        if any(link.kind == "contradicts" for link in (*note.links, *other.links)):
            # Two that take each other's place cannot be told apart.
            continue
        before = snapshot(memory)
        act(memory, note, other)
        after = snapshot(memory)
        for expected in (before, after) if before != after else ():
            memory.revert(note)
            assert what_stays(expected) == what_stays(snapshot(memory))
            assert memory.admin.check() == []


def what_stays(notes: dict[str, Any]) -> dict[str, Any]:
    stays = ("content", "status", "valid_until", "contested_by", "merged_into", "failure")
    return {
        key: {name: state[name] for name in stays}
        | {"supersedes": [link for link in state["links"] if link[1] == "contradicts"]}
        for key, state in notes.items()
    }


@pytest.mark.parametrize("side", [0, 1])
def test_undoing_a_merge_from_either_side_undoes_both_halves(
    memory: AgenticMemory, side: int
) -> None:
    told(memory)
    pair = [memory.add("The parcel desk closes at six", key=key, session=key) for key in "ab"]
    before = snapshot(memory)
    memory.lifecycle.consolidate(dry_run=False, similarity=0.1)
    after = snapshot(memory)
    assert after["b"]["merged_into"] == pair[0].id
    for expected in (before, after, before):
        memory.revert(pair[side])
        assert differences(expected, snapshot(memory)) == {}
    # From the other side, too.
    memory.revert(pair[1 - side])
    assert differences(after, snapshot(memory)) == {}


@pytest.mark.parametrize("decision", ["keep", "retire", "correct"])
def test_undoing_a_decision_puts_the_note_under_audit_again(
    memory: AgenticMemory, decision: Any
) -> None:
    note = told(memory)[1]
    run(audit(io_of(memory), note, "it was contradicted"))
    before = snapshot(memory)
    text = "The redis cache evicts by use" if decision == "correct" else None
    memory.lifecycle.resolve(note, decision, text)
    after = snapshot(memory)
    # While a note is under audit it is not formed, so what its old text had changed in others, and
    # they in its new text, is missing: only the note itself is as it was.
    corrected = decision == "correct"
    for expected in (before,) if corrected else (before, after):
        memory.revert(note)
        now = snapshot(memory)
        if corrected:
            expected, now = ({"n1": notes["n1"]} for notes in (expected, now))
        assert differences(expected, now, note.id) == {}


def test_old_text_is_found_as_before_while_it_waits_to_be_formed_again() -> None:
    with open_memory(formation="off") as memory:
        note = memory.form(memory.add(TEXTS[0]))
        memory.update(note, "The violin stands in the attic")
        undone = memory.revert(note)
        assert (undone.status, undone.attempts, undone.last_error) == (Status.RAW, 0, None)
        assert (undone.content, undone.keywords) == (note.content, note.keywords)
        assert memory.search(TEXTS[0])[0].note.id == note.id
        assert memory.resume() == 1
        assert again(memory, note).keywords == note.keywords


def test_what_a_newer_note_changed_is_undone_alone() -> None:
    with open_memory(model=chat_model(links_everything)) as memory:
        note = memory.add(TEXTS[0])
        changed = memory.update(note, "The redis cache is in the attic")
        memory.add(TEXTS[2])
        undone = memory.revert(note)
        assert (undone.content, undone.keywords) == (changed.content, changed.keywords)


def test_what_followed_from_the_update_by_itself_is_undone_with_it() -> None:
    with open_memory(model=chat_model(links_everything)) as memory:
        note = memory.add(TEXTS[0])
        memory.add(TEXTS[2])
        memory.update(note, "The redis cache is in the attic")
        assert memory.history(note)[-1].kind == "evolved"
        assert memory.revert(note).content == note.content
