"""Archiving: out of recall, still there, and back again as it was."""

import json
from dataclasses import replace

import pytest

from amem_integrations import AgenticMemory, Note, Status
from amem_integrations.errors import InvalidInputError, NoteNotFoundError
from amem_integrations.revisions.archive import archive
from tests.support import EMBEDDER, again, chat_model, open_memory


def found(memory: AgenticMemory, query: str, hops: int = 1) -> set[str]:
    return {hit.note.id for hit in memory.search(query, hops=hops)}


def same(one: Note, other: Note) -> bool:
    """Equal but for what every write changes."""
    return replace(one, version=0, revision=None, updated_at=other.updated_at) == replace(
        other, version=0, revision=None
    )


def archive_all(memory: AgenticMemory, notes: list[Note]) -> int:
    return memory.perform(lambda wiring, io: archive(io, notes, "too many"))


def test_an_archived_note_is_not_found() -> None:
    with open_memory() as memory:
        note = memory.add("The redis cache")
        memory.lifecycle.archive(note, reason="old")
        assert found(memory, "redis cache") == set()


def test_search_does_not_follow_a_link_to_an_archived_note_or_through_it() -> None:
    with open_memory(model=chat_model()) as memory:
        first = memory.add("The redis cache")
        second = memory.add("Memcached instead")
        assert first.id in found(memory, "memcached")
        memory.lifecycle.archive(first)
        assert found(memory, "memcached") == {second.id}


def test_an_archived_note_is_still_read_with_its_links() -> None:
    with open_memory(model=chat_model()) as memory:
        first = memory.add("The redis cache")
        second = memory.add("Memcached instead")
        archived = memory.lifecycle.archive(first)
        assert archived.status is Status.ARCHIVED
        assert again(memory, first) == archived
        assert archived.links == again(memory, second).links != ()


def test_archived_notes_are_listed() -> None:
    with open_memory() as memory:
        note = memory.add("The redis cache")
        memory.add("Violin lesson")
        assert memory.lifecycle.archived() == []
        archived = memory.lifecycle.archive(note)
        assert memory.lifecycle.archived() == [archived]
        assert memory.lifecycle.archived("elsewhere") == []


def test_archiving_is_a_revision_with_its_reason() -> None:
    with open_memory() as memory:
        note = memory.lifecycle.archive(memory.add("The redis cache"), reason="settled long ago")
        assert note.revision is not None
        assert (note.revision.kind, note.revision.reason) == ("archived", "settled long ago")
        assert note.revision.changes["status"].after == "archived"
        assert memory.lifecycle.archive(note).version == note.version


def test_a_restored_note_is_what_it_was() -> None:
    with open_memory(model=chat_model()) as memory:
        memory.add("The redis cache")
        note = memory.add("Memcached instead")
        memory.lifecycle.archive(note)
        assert same(memory.lifecycle.restore(note), note)
        assert note.id in found(memory, "memcached", hops=0)
        assert memory.admin.check() == []


def test_reverting_brings_back_what_was_archived_and_leaves_what_it_caused() -> None:
    with open_memory(model=chat_model()) as memory:
        first = memory.add("The redis cache")
        note = memory.add("Memcached instead")
        evolved = again(memory, first)
        memory.lifecycle.archive(note)
        assert same(memory.revert(note), note)
        assert again(memory, first) == evolved


def test_restoring_is_undone_as_well() -> None:
    with open_memory() as memory:
        note = memory.add("The redis cache")
        memory.lifecycle.archive(note)
        memory.lifecycle.restore(note)
        assert memory.revert(note).status is Status.ARCHIVED


def test_a_note_kept_plain_is_plain_again() -> None:
    with open_memory() as memory:
        (note,) = memory.add_turn("ok, thanks").notes
        assert note.status is Status.PLAIN
        memory.lifecycle.archive(note)
        assert memory.lifecycle.restore(note).status is Status.PLAIN


def test_restoring_what_is_not_archived_changes_nothing() -> None:
    with open_memory() as memory:
        note = memory.add("The redis cache")
        assert memory.lifecycle.restore(note) == note


def test_a_note_that_waits_to_be_formed_is_not_archived() -> None:
    with open_memory(formation="off") as memory:
        note = memory.add("The redis cache")
        with pytest.raises(InvalidInputError, match="waits to be formed"):
            memory.lifecycle.archive(note)
        assert archive_all(memory, [note]) == 0
        assert again(memory, note) == note


def test_a_note_of_another_namespace_cannot_be_archived() -> None:
    with open_memory() as memory:
        note = memory.add("The redis cache", namespace="a")
        with pytest.raises(NoteNotFoundError):
            memory.lifecycle.archive(note, namespace="b")


def test_one_that_was_changed_meanwhile_is_passed_over_and_the_others_are_not() -> None:
    with open_memory() as memory:
        stale, other = memory.add("The redis cache"), memory.add("Violin lesson")
        memory.update(stale, metadata={"a": 1})
        assert archive_all(memory, [stale, other]) == 1
        assert [note.id for note in memory.lifecycle.archived()] == [other.id]


def test_archiving_embeds_nothing() -> None:
    class Counting:
        def __init__(self) -> None:
            self.texts = 0

        def __call__(self, texts: list[str]) -> list[list[float]]:
            self.texts += len(texts)
            return EMBEDDER.embed_documents(texts)

    embedder = Counting()
    with open_memory(embedder=embedder) as memory:
        note = memory.add("The redis cache")
        before = embedder.texts
        memory.lifecycle.archive(note)
        memory.lifecycle.restore(note)
        assert embedder.texts == before


def test_an_archived_note_can_be_forgotten() -> None:
    with open_memory() as memory:
        note = memory.lifecycle.archive(memory.add("The redis cache"))
        assert memory.forget(note).notes == 1
        assert (memory.lifecycle.archived(), memory.admin.check()) == ([], [])


def test_saying_it_again_under_its_key_restores_it() -> None:
    with open_memory() as memory:
        memory.lifecycle.archive(memory.add("The redis cache", key="k"))
        assert memory.add("The redis cache", key="k").status is Status.FORMED
        assert memory.lifecycle.archived() == []


def test_other_content_under_its_key_brings_it_back_with_that() -> None:
    with open_memory() as memory:
        memory.lifecycle.archive(memory.add("The redis cache", key="k"))
        note = memory.add("Memcached instead", key="k")
        assert (note.status, note.content) == (Status.FORMED, "Memcached instead")


def test_adding_the_same_turn_again_restores_it() -> None:
    with open_memory() as memory:
        (note,) = memory.add_turn("The cache holds 512 entries.", key="k").notes
        memory.lifecycle.archive(note)
        (added,) = memory.add_turn("The cache holds 512 entries.", key="k").notes
        assert (added.id, added.status) == (note.id, Status.FORMED)


def test_an_archived_note_is_exported_and_stays_archived() -> None:
    with open_memory() as memory, open_memory() as other:
        memory.lifecycle.archive(memory.add("The redis cache", key="k"))
        lines = list(memory.admin.export("default"))
        assert json.loads(lines[1])["status"] == "archived"
        other.admin.import_(lines)
        assert [note.key for note in other.lifecycle.archived()] == ["k"]
        assert other.lifecycle.restore(other.lifecycle.archived()[0]).status is Status.FORMED


def test_an_archived_note_is_offered_to_no_new_note() -> None:
    with open_memory(model=chat_model()) as memory:
        memory.lifecycle.archive(memory.add("The redis cache"))
        assert memory.add("The redis cache again").outgoing == ()


async def test_the_async_forms_do_the_same() -> None:
    memory = await AgenticMemory.aopen(embedder=EMBEDDER)
    async with memory:
        note = await memory.aadd("The redis cache")
        archived = await memory.lifecycle.aarchive(note, reason="old")
        assert await memory.lifecycle.aarchived() == [archived]
        assert same(await memory.lifecycle.arestore(note), note)
