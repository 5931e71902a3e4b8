"""Archiving: out of recall, still there, and back again as it was."""

import json
from dataclasses import replace

import pytest

from amem_integrations import AgenticMemory, Note, Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.revisions.archive import archive
from tests.support import again, open_memory


def found(memory: AgenticMemory, query: str, hops: int = 1) -> set[str]:
    return {hit.note.id for hit in memory.search(query, hops=hops)}


def same(one: Note, other: Note) -> bool:
    """Equal but for what every write changes."""
    return replace(one, version=0, revision=None, updated_at=other.updated_at) == replace(
        other, version=0, revision=None
    )


def archive_all(memory: AgenticMemory, notes: list[Note]) -> int:
    return memory.perform(lambda wiring, io: archive(io, notes, "too many"))


def test_search_does_not_follow_a_link_to_an_archived_note_or_through_it(
    memory: AgenticMemory,
) -> None:
    first = memory.add("The redis cache")
    second = memory.add("Memcached instead")
    assert first.id in found(memory, "memcached")
    memory.lifecycle.archive(first)
    assert found(memory, "memcached") == {second.id}


def test_archived_notes_are_listed(target: AgenticMemory) -> None:
    note = target.add("The redis cache")
    target.add("Violin lesson")
    assert target.lifecycle.archived() == []
    archived = target.lifecycle.archive(note)
    assert target.lifecycle.archived() == [archived]
    assert target.lifecycle.archived("elsewhere") == []


def test_archiving_is_a_revision_with_its_reason(target: AgenticMemory) -> None:
    note = target.lifecycle.archive(target.add("The redis cache"), reason="settled long ago")
    assert note.revision is not None
    assert (note.revision.kind, note.revision.reason) == ("archived", "settled long ago")
    assert note.revision.changes["status"].after == "archived"
    assert target.lifecycle.archive(note).version == note.version


def test_a_restored_note_is_what_it_was(memory: AgenticMemory) -> None:
    memory.add("The redis cache")
    note = memory.add("Memcached instead")
    memory.lifecycle.archive(note)
    assert same(memory.lifecycle.restore(note), note)
    assert note.id in found(memory, "memcached", hops=0)


def test_reverting_brings_back_what_was_archived_and_leaves_what_it_caused(
    memory: AgenticMemory,
) -> None:
    first = memory.add("The redis cache")
    note = memory.add("Memcached instead")
    evolved = again(memory, first)
    memory.lifecycle.archive(note)
    assert same(memory.revert(note), note)
    assert again(memory, first) == evolved


def test_a_note_that_was_skipped_is_so_again(target: AgenticMemory) -> None:
    (note,) = target.add_turn("ok, thanks").notes
    assert note.status is Status.SKIPPED
    target.lifecycle.archive(note)
    assert target.lifecycle.restore(note).status is Status.SKIPPED


def test_a_note_that_waits_to_be_formed_is_not_archived() -> None:
    with open_memory(formation="off") as memory:
        note = memory.add("The redis cache")
        with pytest.raises(InvalidInputError, match="waits to be formed"):
            memory.lifecycle.archive(note)
        assert archive_all(memory, [note]) == 0
        assert again(memory, note) == note


def test_one_that_was_changed_meanwhile_is_passed_over_and_the_others_are_not(
    target: AgenticMemory,
) -> None:
    stale, other = target.add("The redis cache"), target.add("Violin lesson")
    target.update(stale, metadata={"a": 1})
    assert archive_all(target, [stale, other]) == 1
    assert [note.id for note in target.lifecycle.archived()] == [other.id]


def test_saying_it_again_under_its_key_restores_it(target: AgenticMemory) -> None:
    target.lifecycle.archive(target.add("The redis cache", key="k"))
    assert target.add("The redis cache", key="k").status is Status.FORMED
    assert target.lifecycle.archived() == []


def test_adding_the_same_turn_again_restores_it(target: AgenticMemory) -> None:
    (note,) = target.add_turn("The cache holds 512 entries.", key="k").notes
    target.lifecycle.archive(note)
    (added,) = target.add_turn("The cache holds 512 entries.", key="k").notes
    assert (added.id, added.status) == (note.id, Status.FORMED)


def test_an_archived_note_is_exported_and_stays_archived() -> None:
    with open_memory() as memory, open_memory() as other:
        memory.lifecycle.archive(memory.add("The redis cache", key="k"))
        lines = list(memory.admin.export("default"))
        assert json.loads(lines[1])["status"] == "archived"
        other.admin.import_(lines, trust=True)
        assert [note.key for note in other.lifecycle.archived()] == ["k"]
        assert other.lifecycle.restore(other.lifecycle.archived()[0]).status is Status.FORMED


def test_an_archived_note_is_offered_to_no_new_note(memory: AgenticMemory) -> None:
    memory.lifecycle.archive(memory.add("The redis cache"))
    assert memory.add("The redis cache again").outgoing == ()


async def test_the_async_forms_do_the_same(target: AgenticMemory) -> None:
    note = await target.aadd("The redis cache")
    archived = await target.lifecycle.aarchive(note, reason="old")
    assert await target.lifecycle.aarchived() == [archived]
    assert same(await target.lifecycle.arestore(note), note)
