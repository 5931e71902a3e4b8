"""Outdated notes, and notes of less trusted sources, make way for others."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import fsum

import pytest

from amem_integrations.core.hit import Hit
from amem_integrations.core.note import Link, Note, make_note
from amem_integrations.recall.rerank import demote_doubtful, only_asks, weigh_sources
from amem_integrations.recall.signals import DEFAULT_OPTIONS

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def hit(content: str, score: float, **fields: object) -> Hit:
    note = replace(make_note(content, namespace="n", now=NOW), **fields)  # type: ignore[arg-type]
    return Hit(note, score, {"meaning": score / 2, "words": score / 2})


OLD = hit("The cache holds 512 entries.", 2.0, valid_until=NOW)
NEW = hit("The cache holds 900 entries.", 1.5)
OPEN = hit("The cache has 512 entries.", 2.0, valid_until=NOW, contested_by=("x",))


def shown(hits: list[Hit], at: datetime) -> list[str]:
    return [each.note.content for each in demote_doubtful(hits, at, DEFAULT_OPTIONS)]


def test_what_holds_comes_before_what_ceased_to_hold() -> None:
    assert shown([OLD, NEW], NOW) == [NEW.note.content, OLD.note.content]


@pytest.mark.parametrize("kind", ["contradicts", "corrects"])
def test_a_note_comes_after_the_one_that_took_its_place_however_well_it_fits(kind: str) -> None:
    old = replace(OLD, score=90.0, why={"meaning": 90.0})
    link = Link(NEW.note.id, old.note.id, "later", NOW, kind)
    new = replace(NEW, note=replace(NEW.note, links=(link,)))
    last = hit("The cache holds 700 entries.", 9.0, valid_until=NOW + timedelta(days=1))
    third = replace(last, note=replace(last.note, links=(replace(link, source=last.note.id),)))
    later = replace(link, to=last.note.id)
    new = replace(new, note=replace(new.note, links=(later,)))
    given = [old, third, new]
    assert shown(given, NOW + timedelta(days=2)) == [
        each.note.content for each in (new, third, old)
    ]
    assert demote_doubtful([old, new], NOW - timedelta(days=1), DEFAULT_OPTIONS)[0] == old


@pytest.mark.parametrize("given", [OLD, OPEN])
def test_what_a_note_lost_is_told_and_sums_to_its_score(given: Hit) -> None:
    [found] = demote_doubtful([given], NOW, DEFAULT_OPTIONS)
    assert found.why["outdated"] == -1.0
    assert found.score == fsum(found.why.values())


def test_an_open_contradiction_costs_a_little_more() -> None:
    [settled, contested] = demote_doubtful([OPEN, OLD], NOW, DEFAULT_OPTIONS)
    assert settled.note == OLD.note
    assert contested.why["contested"] == pytest.approx(-0.1)


# -- sources -----------------------------------------------------------------------------------


def sources(note: Note) -> float:
    return 0.9 if note.source == "user" else 0.3


def covering_all(_: Note) -> float:
    return 1.0


PLANTED, TOLD = hit("The cache holds 9 entries.", 2.0), hit("It holds 512.", 1.0, source="user")


def test_what_a_better_source_says_comes_before_what_fits_better() -> None:
    found = weigh_sources([PLANTED, TOLD], sources, lambda: covering_all, DEFAULT_OPTIONS)
    assert [each.note for each in found] == [TOLD.note, PLANTED.note]
    assert found[1].why["source"] == pytest.approx(-2.0 * 2 / 3)
    assert found[1].score == fsum(found[1].why.values())


def test_nothing_changes_where_the_better_source_has_nothing_to_do_with_the_question() -> None:
    booked = replace(PLANTED, why={"meaning": 2.0})
    dinner = hit("Dinner was wonderful.", 1.9, source="user")
    far = replace(dinner, why={"meaning": 1.0, "reply": 0.9})
    words = {booked.note.id: 0.8, far.note.id: 0.2}
    found = weigh_sources(
        [booked, far], sources, lambda: lambda note: words[note.id], DEFAULT_OPTIONS
    )
    assert found == [booked, far]
    words[far.note.id] = 0.5
    [first, second] = weigh_sources(
        [booked, far], sources, lambda: lambda note: words[note.id], DEFAULT_OPTIONS
    )
    assert (first, second.note) == (far, booked.note)


def test_nothing_changes_where_all_are_of_one_kind() -> None:
    hits = [PLANTED, replace(PLANTED, score=1.0)]
    assert weigh_sources(hits, sources, lambda: covering_all, DEFAULT_OPTIONS) == hits
    assert weigh_sources([], sources, lambda: covering_all, DEFAULT_OPTIONS) == []


def test_a_note_that_only_asks_makes_way_for_one_that_states_something() -> None:
    asking = hit("How many entries does the cache hold?", 1.5, source="user")
    found = weigh_sources([asking, TOLD], sources, lambda: covering_all, DEFAULT_OPTIONS)
    assert [each.note for each in found] == [TOLD.note, asking.note]
    assert found[1].why == {**asking.why, "question": -0.75}
    assert weigh_sources(
        [asking], sources, lambda: covering_all, replace(DEFAULT_OPTIONS, question=1.0)
    ) == [asking]


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("How many?", True),
        ("Really? And when? ", True),
        ("多少？", True),
        ("It is 512. Or is it?", False),
        ("Is it? It is", False),
        ("It is 512.", False),
    ],
)
def test_only_asking_is_told_from_stating(text: str, asks: bool) -> None:
    assert only_asks(text) is asks
