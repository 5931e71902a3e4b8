"""A note that keeps being contradicted leaves recall until somebody settles it; nothing is lost."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note, Status
from amem_integrations.core.io import run
from amem_integrations.core.note import make_note
from amem_integrations.core.status import Life
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle.audits import audit, audit_due
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from amem_integrations.stores.codec import life_fields
from tests.support import again, io_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def audited(memory: AgenticMemory, **fields: Any) -> Note:
    note = memory.add("The redis cache holds 512 entries", **fields)
    memory.add("The violin lesson")
    life = Life(conflicting=3, conflicts=(NOW, NOW, NOW))
    run(io_of(memory).engine.patch(note.id, life_fields(life)))
    return run(audit(io_of(memory), again(memory, note), "3 conflicting uses"))


def days_ago(*days: float) -> Life:
    return Life(conflicts=tuple(NOW - timedelta(days=each) for each in days))


def note_of(life: Life, contested_by: tuple[str, ...] = ()) -> Note:
    note = make_note("The redis cache", namespace="a", now=NOW)
    return replace(note, life=life, contested_by=contested_by)


@pytest.mark.parametrize(
    ("life", "due"),
    [
        (days_ago(400, 300, 200, 100, 0), True),
        (days_ago(400, 300, 200, 0), False),
        (days_ago(89, 40, 0), True),
        (days_ago(91, 40, 0), False),
        (days_ago(1, 0), False),
        (Life(conflicting=9), False),
    ],
)
def test_five_conflicts_in_a_row_or_three_in_ninety_days_call_for_an_audit(
    life: Life, due: bool
) -> None:
    assert (audit_due(note_of(life), NOW, DEFAULT_POLICY) is not None) == due


@pytest.mark.parametrize(
    ("conflicts", "contested", "due"), [(0, 5, True), (2, 3, True), (0, 4, False)]
)
def test_each_note_that_contests_another_counts_as_a_conflict(
    conflicts: int, contested: int, due: bool
) -> None:
    life = days_ago(*range(400, 400 - conflicts, -1))
    note = note_of(life, tuple(f"n{n}" for n in range(contested)))
    assert (audit_due(note, NOW, DEFAULT_POLICY) is not None) == due


def test_an_audit_says_why_and_where_the_note_came_from_and_what_it_changed(
    memory: AgenticMemory,
) -> None:
    first = memory.add("The postgres table")
    note = audited(memory, source="tool", session="s")
    [found] = memory.lifecycle.audits()
    assert (found.note.id, found.reason) == (note.id, "3 conflicting uses")
    lineage = found.lineage
    assert (lineage.source, lineage.session, len(lineage.conflicts)) == ("tool", "s", 3)
    assert {each.other for each in lineage.came_from} >= {first.id}
    assert (first.id, "evolved") in [(each.note, each.kind) for each in lineage.changed]
    assert json.loads(found.as_json())["lineage"]["changed"][0]["other"] == note.id


async def test_a_note_that_is_kept_is_back_as_it_was(memory: AgenticMemory) -> None:
    note = audited(memory)
    assert [each.note.id for each in await memory.lifecycle.aaudits()] == [note.id]
    kept = await memory.lifecycle.aresolve(note, "keep")
    assert (kept.status, kept.life.conflicts) == (Status.FORMED, ())
    assert memory.lifecycle.audits() == []
    assert [each.kind for each in memory.history(note)][-2:] == ["audited", "resolved"]
    assert note.id in [hit.note.id for hit in memory.search("redis cache entries")]
    assert memory.revert(note).status is Status.AUDITED
    assert [each.note.id for each in memory.lifecycle.audits()] == [note.id]


def test_a_note_that_is_corrected_has_new_content_and_is_formed_again(
    memory: AgenticMemory,
) -> None:
    note = audited(memory)
    text = "The redis cache holds 900 entries"
    corrected = memory.lifecycle.resolve(note, "correct", text)
    assert (corrected.content, corrected.status) == (text, Status.FORMED)
    assert corrected.life.conflicts == ()
    assert "resolved" in [each.kind for each in memory.history(note)]


def test_a_note_that_is_retired_is_archived(memory: AgenticMemory) -> None:
    note = audited(memory)
    assert memory.lifecycle.resolve(note, "retire").status is Status.ARCHIVED
    assert memory.lifecycle.audits() == []
    assert memory.revert(note).status is Status.AUDITED


def test_keeping_a_note_leaves_what_a_caller_let_supersede_it(memory: AgenticMemory) -> None:
    note = audited(memory)
    newer = memory.add("The redis cache holds 900 entries", supersedes=note)
    assert memory.lifecycle.resolve(note, "keep").valid_until == newer.created_at


@pytest.mark.parametrize(
    ("decision", "content"),
    [("keep", None), ("keep", "text"), ("correct", None), ("erase", None)],
)
def test_what_is_not_open_or_not_a_decision_is_refused(
    memory: AgenticMemory, decision: Any, content: str | None
) -> None:
    note = memory.add("The redis cache holds 512 entries")
    with pytest.raises(InvalidInputError):
        memory.lifecycle.resolve(note, decision, content)


def test_an_archived_note_is_not_audited(memory: AgenticMemory) -> None:
    note = memory.lifecycle.archive(memory.add("The redis cache"))
    bare = replace(again(memory, note), links=())
    assert run(audit(io_of(memory), bare, "why")).status is Status.ARCHIVED


@pytest.mark.parametrize(
    ("outcomes", "audited"),
    [("conflict conflict conflict", 1), ("conflict conflict used conflict", 0)],
)
def test_conflicting_uses_without_a_clean_one_between_bring_an_audit(
    memory: AgenticMemory, outcomes: Any, audited: int
) -> None:
    note = memory.add("The redis cache holds 512 entries")
    for place, outcome in enumerate(outcomes.split()):
        memory.lifecycle.feedback(note, outcome, session=f"s{place}")
    assert memory.lifecycle.maintain("default").audited == audited
    assert [each.note.id for each in memory.lifecycle.audits()] == [note.id] * audited
    assert memory.lifecycle.maintain("default").audited == 0
