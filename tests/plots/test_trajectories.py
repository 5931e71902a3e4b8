"""A note's trajectory: every version in order, with what changed and because of whom."""

from datetime import UTC, datetime

import pytest

from amem_integrations import AgenticMemory, Note
from amem_integrations.core.note import Change, Revision, make_note
from amem_integrations.errors import NoteNotFoundError
from amem_integrations.plots import trajectory, trajectory_data
from amem_integrations.stores.codec import micros

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
NOTE = make_note("text", namespace="a", now=NOW, key="note")


def revision(version: int, **changes: tuple[object, object]) -> Revision:
    values = {name: Change(*pair) for name, pair in changes.items()}
    return Revision(version, "evolved", "other", NOW, "judge", values, reason="a reason")


@pytest.fixture(scope="module")
def evolved(memory: AgenticMemory) -> Note:
    return max(memory.recent(namespace="cache"), key=lambda note: note.version)


def test_versions_come_in_order_and_name_the_note_that_caused_them(
    memory: AgenticMemory, evolved: Note
) -> None:
    picture = trajectory(memory, evolved)
    *_, last = steps = picture.data.steps
    assert [step.version for step in steps] == list(range(1, evolved.version + 1))
    assert [step.kind for step in steps[:2]] == ["created", "formed"]
    cause = memory.get(last.cause, namespace="cache")
    assert cause is not None
    assert (last.kind, last.cause_text) == ("evolved", cause.content)
    capped = trajectory(memory, evolved, limit=1)
    assert capped.remarks == (f"The newest 1 of {evolved.version} versions are shown.",)


def test_the_first_version_has_the_text_as_it_was_given() -> None:
    step = trajectory_data(NOTE, [revision(2, content=("first", "text"))], {}).steps[0]
    assert [(change.name, change.after) for change in step.changes] == [("content", "first")]


def test_terms_say_what_came_and_what_went() -> None:
    step = trajectory_data(NOTE, [revision(2, tags=(["a", "b"], ["b", "c"]))], {}).steps[1]
    (change,) = step.changes
    assert (change.added, change.removed) == (("c",), ("a",))


def test_links_and_contradictions_are_named_by_the_other_note_and_times_are_shown_as_such() -> None:
    ended = (None, micros(NOW))
    changes = revision(2, links=([], [{"to": "x"}]), contested_by=([], ["y"]), valid_until=ended)
    step = trajectory_data(NOTE, [changes], {"x": "the linked", "y": "the other side"}).steps[1]
    assert [change.added for change in step.changes[:2]] == [("the linked",), ("the other side",)]
    assert step.changes[2].after == "2026-03-02T12:00:00+00:00"


def test_of_a_long_history_the_newest_versions_are_shown() -> None:
    history = [revision(version, context=("", "c")) for version in range(2, 60)]
    data = trajectory_data(NOTE, history, {}, limit=10)
    assert [step.version for step in data.steps] == list(range(50, 60))
    assert data.total == 59


def test_the_picture_shows_each_version_with_its_cause(
    memory: AgenticMemory, evolved: Note
) -> None:
    (table,) = trajectory(memory, evolved.id, namespace="cache").figure.data
    versions, changes = table.cells["values"]
    assert [text.partition("<br>")[0] for text in versions] == [
        f"<b>version {number}</b>" for number in range(1, evolved.version + 1)
    ]
    assert any("<b>evolved</b> because of “" in text for text in changes)


def test_a_note_that_is_not_there_has_no_trajectory(memory: AgenticMemory) -> None:
    with pytest.raises(NoteNotFoundError):
        trajectory(memory, "nothing", namespace="cache")
