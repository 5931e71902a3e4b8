"""A note that takes the place of an older one: both are kept, and each holds for its time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Status
from amem_integrations.core.note import CONTRADICTS
from amem_integrations.errors import InvalidInputError, NoteNotFoundError
from amem_integrations.revisions.contradiction import TAKES_ITS_PLACE
from tests.support import again, chat_model, emptied, judgement, links_everything, open_memory

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
FRIDAY = MONDAY + timedelta(days=4)


def contradicts_everything(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    return judgement(
        text,
        links=[
            {"to": c["n"], "reason": "not so", "kind": "contradicts", "strength": 0.9}
            for c in candidates
        ],
    )


@pytest.fixture(scope="module")
def plain() -> Iterator[AgenticMemory]:
    with open_memory() as memory:
        yield memory


@pytest.fixture(scope="module")
def contradicting() -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model(contradicts_everything)) as memory:
        yield memory


@pytest.fixture
def memory(plain: AgenticMemory) -> Iterator[AgenticMemory]:
    yield from emptied(plain)


@pytest.fixture
def judged(contradicting: AgenticMemory) -> Iterator[AgenticMemory]:
    """Looked after, with a model that finds that each note contradicts the others."""
    yield from emptied(contradicting)


def two(memory: AgenticMemory, **fields: Any) -> tuple[Any, Any]:
    old = memory.add("The cache holds 512 entries", occurred_at=MONDAY)
    new = memory.add("The cache holds 900 entries", occurred_at=FRIDAY, **fields)
    return again(memory, old), new


def test_a_superseded_note_is_kept_and_valid_until_the_new_one_is(memory: AgenticMemory) -> None:
    old = memory.add("The cache holds 512 entries", occurred_at=MONDAY)
    new = memory.add("The cache holds 900 entries", occurred_at=FRIDAY, supersedes=old)
    found = again(memory, old)
    assert (found.content, found.status) == (old.content, Status.FORMED)
    assert (found.valid_until, found.contested_by) == (FRIDAY, ())
    assert [(link.to, link.kind) for link in new.outgoing] == [(old.id, CONTRADICTS)]
    last = memory.history(old)[-1]
    assert (last.kind, last.cause) == ("superseded", new.id)


@pytest.mark.parametrize("name", ["id", "key"])
async def test_a_superseded_note_is_named_by_id_or_key(memory: AgenticMemory, name: str) -> None:
    old = memory.add("The cache holds 512 entries", key="cache")
    await memory.aadd("The cache holds 900 entries", supersedes=[getattr(old, name)])
    before = again(memory, old)
    assert before.valid_until is not None
    # Said again, it changes nothing more.
    memory.add("The cache holds 900 entries", supersedes=old)
    assert again(memory, old) == before


def test_an_item_supersedes_one_before_it_in_the_same_batch(memory: AgenticMemory) -> None:
    old, new = memory.add_many(
        [
            {"content": "The cache holds 512 entries", "key": "a"},
            {"content": "The cache holds 900 entries", "supersedes": "a"},
        ]
    )
    assert again(memory, old).valid_until == new.created_at


@pytest.mark.parametrize(
    "wrong", ["nowhere", 7, ["nowhere"], [None], "", "\ud800", "x" * 5000, "a"]
)
def test_what_is_not_there_to_be_superseded_raises_before_anything_is_written(
    memory: AgenticMemory, wrong: Any
) -> None:
    with pytest.raises((InvalidInputError, NoteNotFoundError), match="supersede"):
        memory.add_many(["first", {"content": "second", "key": "a", "supersedes": wrong}])
    assert memory.count() == 0


def test_a_note_of_another_namespace_cannot_be_superseded(memory: AgenticMemory) -> None:
    other = memory.add("The cache holds 512 entries", namespace="other")
    for wrong in (other, other.id):
        with pytest.raises(NoteNotFoundError):
            memory.add("The cache holds 900 entries", supersedes=wrong)


def test_forgetting_a_note_takes_back_what_it_superseded(memory: AgenticMemory) -> None:
    old = memory.add("The cache holds 512 entries", occurred_at=MONDAY)
    first = memory.add("The cache holds 900 entries", occurred_at=FRIDAY, supersedes=old)
    later = FRIDAY + timedelta(days=1)
    second = memory.add("The cache holds 70 entries", occurred_at=later, supersedes=old)
    assert again(memory, old).valid_until == FRIDAY
    memory.forget(first)
    assert again(memory, old).valid_until == later
    memory.forget(second)
    assert again(memory, old).valid_until is None


def test_undoing_new_text_supersedes_again(memory: AgenticMemory) -> None:
    old = memory.add("The cache holds 512 entries")
    new = memory.add("The cache holds 900 entries", supersedes=old)
    memory.update(new, "The violin lesson")
    assert again(memory, old).valid_until is None
    memory.revert(new, to_version=new.version)
    assert again(memory, old).valid_until == new.created_at


def test_undoing_that_a_new_note_took_the_place_of_another_forms_it_again_without(
    memory: AgenticMemory,
) -> None:
    old = memory.add("The cache holds 512 entries")
    new = memory.add("Caching was doubled in May", supersedes=old)
    undone = memory.revert(new)
    assert undone.status is Status.FORMED
    assert TAKES_ITS_PLACE not in {link.reason for link in undone.outgoing}
    assert again(memory, old).valid_until is None
    assert memory.revert(new).outgoing[0].kind == CONTRADICTS
    assert again(memory, old).valid_until == new.created_at


def test_undoing_the_link_makes_the_old_note_valid_again(memory: AgenticMemory) -> None:
    old = memory.add("The cache holds 512 entries")
    new = memory.add("Caching was doubled in May", key="new")
    memory.add("Caching was doubled in May", key="new", supersedes=old)
    assert [each.kind for each in memory.history(new)] == ["formed", "linked"]
    assert TAKES_ITS_PLACE not in [link.reason for link in memory.revert(new).outgoing]
    assert again(memory, old).valid_until is None


def test_what_a_caller_said_outlasts_a_new_forming() -> None:
    with open_memory(model=chat_model(links_everything)) as memory:
        read = memory.add("The redis cache")
        old = memory.add("The cache holds 512 entries")
        new = memory.add("The cache holds 900 entries", supersedes=old)
        memory.forget(read)
        found = again(memory, new)
        assert found.status is Status.FORMED
        assert (old.id, CONTRADICTS) in [(link.to, link.kind) for link in found.outgoing]
        assert again(memory, old).valid_until == new.created_at
        assert memory.admin.check() == []


def test_a_search_prefers_the_note_that_is_valid_at_the_time(memory: AgenticMemory) -> None:
    old = memory.add("Question: how many entries the cache holds. It is 512.", occurred_at=MONDAY)
    new = memory.add("By now 900 entries, the cache", occurred_at=FRIDAY, supersedes=old)
    query = "how many entries the cache holds"
    assert memory.search(query)[0].note.id == new.id
    assert memory.search(query)[1].why["outdated"] < 0
    assert memory.search(query, at=FRIDAY - timedelta(days=1))[0].note.id == old.id


def test_what_an_analyst_contradicts_is_contested(judged: AgenticMemory) -> None:
    old, new = two(judged)
    assert (old.valid_until, old.contested_by) == (FRIDAY, (new.id,))
    last = judged.history(old)[-1]
    assert (last.kind, last.cause, last.reason) == ("contested", new.id, "not so")


def test_without_lifecycle_an_analyst_only_links() -> None:
    model = chat_model(contradicts_everything)
    with open_memory(model=model, lifecycle=False) as memory:
        old, new = two(memory)
        assert [link.kind for link in new.outgoing] == [CONTRADICTS]
        assert (old.valid_until, old.contested_by) == (None, ())


def test_what_contests_and_evolves_a_note_makes_two_revisions_of_it() -> None:
    def both(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        links = contradicts_everything(text, candidates)["links"]
        return {**links_everything(text, candidates), "links": links}

    with open_memory(model=chat_model(both)) as memory:
        old, new = two(memory)
        assert [each.kind for each in memory.history(old)] == ["formed", "evolved", "contested"]
        assert old.contested_by == (new.id,)
        assert memory.admin.check() == []
        memory.forget(new)
        assert [each.kind for each in memory.history(old)] == ["formed", "retracted"]
        assert again(memory, old).contested_by == ()


def test_a_correction_in_a_turn_contests_what_it_corrects() -> None:
    with open_memory() as memory:
        said = {"session": "s", "occurred_at": MONDAY}
        old = memory.add_turn(
            "The meeting with Ruth is on Monday at nine", sequence=1, **said
        ).notes[0]
        text = "Actually it is Tuesday, not Monday"
        [idea] = memory.add_turn(text, session="s", sequence=2, occurred_at=FRIDAY).ideas
        assert idea.kind == "correction"
        found = again(memory, old)
        assert (found.valid_until, found.contested_by) == (FRIDAY, (idea.note.id,))
        assert memory.admin.check() == []
