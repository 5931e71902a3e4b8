"""One change of a note is undone from the middle of its history; what came later stays."""

from datetime import UTC, datetime, timedelta

import pytest

from amem_integrations import AgenticMemory, Note
from amem_integrations.errors import InvalidInputError
from tests.support import again

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


def version_of(memory: AgenticMemory, note: Note, cause: Note) -> int:
    [version] = [each.version for each in memory.history(note) if each.cause == cause.id]
    return version


def test_what_one_evolution_added_goes_and_what_a_later_one_added_stays(
    memory: AgenticMemory,
) -> None:
    old = memory.add("The redis cache")
    first = memory.add("Violin lesson")
    memory.add("Postgres table")
    found = memory.revert(old, only=version_of(memory, old, first))
    assert "seen-Postgres" in found.keywords
    assert "seen-Violin" not in found.keywords
    assert "tag-Violin" not in found.tags
    assert memory.history(old)[-1].kind == "reverted"


@pytest.mark.parametrize("which", [0, 1])
def test_one_of_two_contradictions_is_undone(memory: AgenticMemory, which: int) -> None:
    old = memory.add("The redis cache", occurred_at=MONDAY)
    days = [MONDAY + timedelta(days=each) for each in (1, 2)]
    new = [memory.add(f"Violin {day.day}", occurred_at=day, supersedes=old) for day in days]
    superseded = [each for each in memory.history(old) if each.kind == "superseded"]
    assert [each.cause for each in superseded] == [each.id for each in new]
    found = memory.revert(old, only=superseded[which].version)
    assert found.valid_until == days[1 - which]


def test_of_two_notes_that_took_its_place_none_is_left(memory: AgenticMemory) -> None:
    old = memory.add("The redis cache", occurred_at=MONDAY)
    new = [
        memory.add(f"Violin {day}", occurred_at=MONDAY + timedelta(days=day), supersedes=old)
        for day in (1, 2)
    ]
    for note in reversed(new):
        [linked] = [each.version for each in memory.history(note) if each.kind == "linked"]
        memory.revert(note, only=linked)
    assert again(memory, old).valid_until is None


async def test_the_undoing_of_one_change_can_be_undone(memory: AgenticMemory) -> None:
    old = memory.add("The redis cache")
    first = memory.add("Violin lesson")
    memory.add("Postgres table")
    before = again(memory, old)
    await memory.arevert(old, only=version_of(memory, old, first))
    back = memory.revert(old)
    assert (set(back.keywords), set(back.tags)) == (set(before.keywords), set(before.tags))


@pytest.mark.parametrize("version", [2, 99])
def test_what_later_changes_rest_on_is_not_undone_alone(
    memory: AgenticMemory, version: int
) -> None:
    old = memory.add("The redis cache")
    memory.add("Violin lesson")
    with pytest.raises(InvalidInputError, match=str(version)):
        memory.revert(old, only=version)


def test_only_and_to_version_are_not_given_together(memory: AgenticMemory) -> None:
    with pytest.raises(InvalidInputError, match="only"):
        memory.revert(memory.add("The redis cache"), only=2, to_version=1)
