"""Notes that ceased to hold make way for those that stand."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import fsum

import pytest

from amem_integrations.core.note import Hit, Link, make_note
from amem_integrations.recall.options import DEFAULT_OPTIONS
from amem_integrations.recall.validity import standing

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def hit(content: str, score: float, **fields: object) -> Hit:
    note = replace(make_note(content, namespace="n", now=NOW), **fields)  # type: ignore[arg-type]
    return Hit(note, score, {"meaning": score / 2, "words": score / 2})


OLD = hit("The cache holds 512 entries.", 2.0, valid_until=NOW)
NEW = hit("The cache holds 900 entries.", 1.5)
OPEN = hit("The cache has 512 entries.", 2.0, valid_until=NOW, contested_by=("x",))


def shown(hits: list[Hit], at: datetime) -> list[str]:
    return [each.note.content for each in standing(hits, at, DEFAULT_OPTIONS)]


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
    assert standing([old, new], NOW - timedelta(days=1), DEFAULT_OPTIONS)[0] == old


def test_before_that_the_old_note_comes_first() -> None:
    assert standing([OLD, NEW], NOW - timedelta(seconds=1), DEFAULT_OPTIONS) == [OLD, NEW]


@pytest.mark.parametrize("given", [OLD, OPEN])
def test_what_a_note_lost_is_told_and_sums_to_its_score(given: Hit) -> None:
    [found] = standing([given], NOW, DEFAULT_OPTIONS)
    assert found.why["superseded"] == -1.0
    assert found.score == fsum(found.why.values())


def test_an_open_contradiction_costs_a_little_more() -> None:
    [settled, contested] = standing([OPEN, OLD], NOW, DEFAULT_OPTIONS)
    assert settled.note == OLD.note
    assert contested.why["contested"] == pytest.approx(-0.1)


def test_hits_that_nobody_contradicts_stay_the_very_same() -> None:
    [found] = standing([NEW], NOW, DEFAULT_OPTIONS)
    assert found is NEW
