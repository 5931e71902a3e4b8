"""Updates and reverts: every change is a revision, and can be taken back."""

import pytest

from amem_integrations import AgenticMemory, Status
from amem_integrations.errors import InvalidInputError, NoteNotFoundError
from tests.support import again, open_memory


def test_new_content_is_formed_again_and_takes_back_what_the_old_had_caused(
    memory: AgenticMemory,
) -> None:
    old = memory.add("The redis cache")
    note = memory.add("Memcached instead")
    updated = memory.update(note, "Violin lesson")
    assert (updated.id, updated.content) == (note.id, "Violin lesson")
    assert "Memcached" not in updated.keywords
    keywords = again(memory, old).keywords
    assert "seen-Memcached" not in keywords
    assert "seen-Violin" in keywords
    assert [r.kind for r in memory.history(note)] == ["formed", "updated", "formed"]
    assert memory.search("violin", hops=0)[0].note.id == note.id


def test_an_update_that_changes_nothing_is_none(target: AgenticMemory) -> None:
    note = target.add("The redis cache", metadata={"a": 1})
    assert target.update(note, note.content) == note
    assert target.update(note, metadata={"a": 1}) == note


def test_metadata_can_be_changed_alone(target: AgenticMemory) -> None:
    note = target.add("The redis cache", metadata={"a": 1})
    updated = target.update(note, metadata={"a": 2, "b": None})
    assert updated.metadata == {"a": 2, "b": None}
    assert updated.keywords == note.keywords
    assert updated.created_at == note.created_at
    assert updated.updated_at > note.updated_at
    assert target.search("redis", filter={"metadata.a": 2})[0].note.id == note.id
    assert target.search("redis", filter={"metadata.a": 1}) == []


def test_an_evolution_can_be_reverted_and_that_too(memory: AgenticMemory) -> None:
    note = memory.add("The redis cache")
    memory.add("Memcached instead")
    evolved = again(memory, note)
    reverted = memory.revert(note)
    assert (reverted.keywords, reverted.context) == (note.keywords, note.context)
    assert memory.history(note)[-1].kind == "reverted"
    assert memory.revert(note).keywords == evolved.keywords


def test_old_content_comes_back_with_what_was_understood_of_it(memory: AgenticMemory) -> None:
    memory.add("The violin lesson")
    note = memory.add("The redis cache")
    memory.update(note, "Memcached instead")
    back = memory.revert(note, to_version=note.version)
    assert back.content == note.content
    assert back.keywords == note.keywords
    assert [link.to for link in back.outgoing] == [link.to for link in note.outgoing]


def test_what_an_update_replaces_stays_in_the_history_until_its_cause_is_forgotten(
    memory: AgenticMemory,
) -> None:
    note = memory.add("The redis cache")
    other = memory.add("Memcached instead")
    memory.update(note, "Valkey in front")
    causes = [each.cause for each in memory.history(note) if each.kind == "evolved"]
    assert causes == [other.id] * 2
    memory.forget(other)
    assert "evolved" not in [each.kind for each in memory.history(note)]


@pytest.mark.parametrize("version", [None, 1])
def test_a_note_whose_formation_is_undone_is_plain_and_formed_again_only_when_asked(
    memory: AgenticMemory, version: int | None
) -> None:
    note = memory.add("The redis cache")
    plain = memory.revert(note, to_version=version)
    assert (plain.status, plain.keywords, plain.last_error) == (Status.PLAIN, (), None)
    assert memory.resume() == memory.admin.retry() == 0
    assert "parked" not in memory.admin.health()
    assert memory.search("redis cache")[0].note.id == note.id
    assert memory.form(note).keywords == note.keywords


def test_nothing_to_undo_is_an_error() -> None:
    with open_memory(formation="off") as memory:
        note = memory.add("The redis cache")
        with pytest.raises(InvalidInputError, match="no revision"):
            memory.revert(note)


def test_notes_that_are_not_there(target: AgenticMemory) -> None:
    note = target.add("The redis cache")
    for missing in ("no-such-id", "", "'; drop", note.id.upper() + "x"):
        assert target.get(missing) is None
        with pytest.raises(NoteNotFoundError, match="namespace"):
            target.update(missing, "x")
        with pytest.raises(NoteNotFoundError):
            target.history(missing)
        with pytest.raises(NoteNotFoundError):
            target.revert(missing)
