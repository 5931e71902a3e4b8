"""Activity as data: which events count, into which periods they fall, who gets a row."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.note import Note, Revision, make_note
from amem_integrations.core.status import Life
from amem_integrations.plots import activity_data, activity_heatmap
from amem_integrations.revisions.entry import Entry

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def note(name: str, at: datetime = NOW) -> Note:
    return make_note(name, namespace="a", now=at, key=name)


def entry(made: Note, *changes: tuple[str, datetime]) -> Entry:
    revisions = [
        Revision(version, kind, made.id, at, "judge")
        for version, (kind, at) in enumerate(changes, 2)
    ]
    newest = revisions[-1] if revisions else None
    return Entry(replace(made, revision=newest), tuple(revisions[:-1]))


def test_a_note_is_created_evolved_and_changed() -> None:
    data = activity_data(
        [
            entry(
                note("a"),
                ("formed", NOW),
                ("evolved", NOW + DAY),
                ("updated", NOW + 2 * DAY),
                ("archived", NOW + 2 * DAY),
            )
        ]
    )
    totals = {kind: sum(counts) for kind, counts in data.sums.items()}
    assert totals == {"created": 1, "evolved": 1, "changed": 2, "used": 0}


def test_uses_are_those_that_the_note_keeps() -> None:
    lived = replace(note("a"), life=Life(used_at=NOW + DAY, conflicts=(NOW + 2 * DAY,)))
    assert sum(activity_data([Entry(lived)]).sums["used"]) == 2


def test_each_event_falls_into_its_period() -> None:
    data = activity_data([entry(note("a"), ("evolved", NOW + 20 * DAY))])
    assert data.period == "day"
    assert len(data.periods) == 21
    assert data.periods[0] == NOW.replace(hour=0)
    (row,) = data.rows_of
    assert row.cells == {0: {"created": 1}, 20: {"evolved": 1}}


@pytest.mark.parametrize(
    ("span", "period"),
    [
        (timedelta(), "second"),
        (timedelta(minutes=50), "minute"),
        (timedelta(days=2), "hour"),
        (timedelta(days=300), "week"),
        (timedelta(days=30_000), "year"),
    ],
)
def test_periods_are_as_long_as_it_takes_for_sixty_columns(span: timedelta, period: str) -> None:
    data = activity_data([Entry(note("a")), Entry(note("b", NOW + span))])
    assert data.period == period
    assert len(data.periods) <= 61 or period == "year"


def test_of_too_many_notes_the_most_active_have_a_row_in_the_order_they_were_made() -> None:
    busy = [entry(note(f"busy {i}", NOW + i * DAY), ("evolved", NOW + 5 * DAY)) for i in range(2)]
    quiet = [Entry(note(f"quiet {i}", NOW + i * DAY)) for i in range(5)]
    data = activity_data([*quiet, *reversed(busy)], limit=2)
    assert [row.content for row in data.rows_of] == ["busy 0", "busy 1"]
    assert sum(data.sums["created"]) == 7


def test_a_heat_map_has_a_row_a_note_and_a_bar_a_kind(memory: AgenticMemory) -> None:
    figure = activity_heatmap(memory, "cache").figure
    *bars, cells = figure.data
    assert [bar.name for bar in bars] == ["created", "evolved"]
    assert len(cells.z) == 4
    assert "2 of 4 notes" in activity_heatmap(memory, "cache", limit=2).remarks[0]


@pytest.mark.parametrize(("namespace", "rows"), [("nobody", 0), ("one", 1), ("two", 2)])
def test_a_namespace_of_hardly_any_notes_has_a_heat_map(
    memory: AgenticMemory, namespace: str, rows: int
) -> None:
    assert len(activity_heatmap(memory, namespace).data.rows_of) == rows
