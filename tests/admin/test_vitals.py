"""The figures of a namespace's health, each worked out by hand."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from amem_integrations.admin.vitals import Vitals
from amem_integrations.core.note import Link, Note, Status, make_note, note_id
from amem_integrations.core.status import Life, Tier
from amem_integrations.lifecycle.confidence import confidence
from amem_integrations.lifecycle.policy import DEFAULT_POLICY as POLICY
from amem_integrations.recall.rerank import same_as
from amem_integrations.revisions.change import revised
from amem_integrations.revisions.entry import Entry
from tests.lifecycle.days import START as NOW

DAY = timedelta(days=1)
GONE = note_id(("a",), "gone")


def made(key: str, text: str = "", *, days_ago: float = 0, to: str = "", **fields: Any) -> Note:
    """A formed note; to: the keys, a letter each, of the notes that it links to."""
    note = make_note(text or f"On {key}", namespace="a", key=key, now=NOW - days_ago * DAY)
    targets = (note_id(("a",), each) for each in to)
    links = tuple(Link(note.id, target, "both on it", NOW) for target in targets)
    return replace(note, status=Status.FORMED, links=links, **fields)


def changed(entry: Note | Entry, kind: str, cause: str, *, days_ago: float = 1) -> Entry:
    """The note after one more revision, which gives it a new context."""
    entry = entry if isinstance(entry, Entry) else Entry(entry)
    before = entry.note
    after = replace(before, context=f"{before.context} {kind}")
    after = revised(before, after, kind, cause, NOW - days_ago * DAY, "tests")
    return Entry(after, entry.revisions)


def of(*entries: Note | Entry) -> Vitals:
    vitals = Vitals(NOW, POLICY, same_as, str.isascii)
    for each in entries:
        vitals.see(each if isinstance(each, Entry) else Entry(each))
    return vitals


def uses(clean: int = 0, conflicting: int = 0, *, days_ago: float = 0) -> Life:
    return Life(clean=clean, conflicting=conflicting, used_at=NOW - days_ago * DAY)


def test_nothing_is_measured_by_nothing() -> None:
    vitals = of()
    names = (
        "links_per_note",
        "orphans",
        "duplicates",
        "foreign_script",
        "confidence",
        "oldest_wait",
    )
    more = ("activity", "idle_mid", "stability", "plasticity", "consistency", "transparency")
    assert {getattr(vitals, name) for name in (*names, *more, "traceability")} == {None}


def test_two_links_among_four_notes_are_half_a_link_a_note() -> None:
    assert of(made("a", to="b"), made("b", to="a"), made("c"), made("d")).links_per_note == 0.5


def test_a_link_to_what_is_set_aside_is_not_counted() -> None:
    aside = replace(made("b"), status=Status.ARCHIVED)
    vitals = of(made("a", to="b"), aside)
    assert (vitals.links_per_note, vitals.orphans) == (0, 1)


def test_a_note_that_another_links_to_is_no_orphan() -> None:
    assert of(made("a", to="b"), made("b"), made("c"), made("d")).orphans == 0.5


def test_what_is_not_formed_is_no_orphan() -> None:
    plain = replace(made("c"), status=Status.PLAIN)
    assert of(made("a", to="b"), made("b"), plain).orphans == 0


def test_of_three_notes_that_say_the_same_two_are_duplicates() -> None:
    same = [made(text, text) for text in ("Tea.", "the tea", "Tea!")]
    assert of(*same, made("d", "Tea?")).duplicates == 0.5


def test_text_in_an_unknown_script_is_foreign() -> None:
    assert of(made("a", "Tea"), made("b", "茶"), made("c"), made("d")).foreign_script == 0.25


def test_confidence_is_the_mean() -> None:
    notes = [made("a", days_ago=10), made("b", tier=Tier.LONG)]
    mean = sum(confidence(note, NOW, POLICY) for note in notes) / 2
    assert of(*notes).confidence == pytest.approx(mean)


def test_the_oldest_raw_note_waits_the_longest() -> None:
    raw = [replace(made(f"{days}", days_ago=days), status=Status.RAW) for days in (1, 2)]
    assert of(*raw, made("c", days_ago=9)).oldest_wait == 48


def test_one_note_of_four_used_this_month_is_a_quarter_of_activity() -> None:
    recent, past = made("a", life=uses(1, days_ago=29)), made("b", life=uses(1, days_ago=31))
    assert of(recent, past, made("c"), made("d")).activity == 0.25


def test_a_mid_note_is_idle_after_sixty_days_without_use() -> None:
    idle = made("a", days_ago=200, tier=Tier.MID, life=uses(1, days_ago=61))
    in_use = made("b", days_ago=200, tier=Tier.MID, life=uses(1, days_ago=59))
    assert of(idle, in_use, made("c", days_ago=200)).idle_mid == 0.5


def test_stability_is_of_the_mid_and_long_notes_that_were_left_as_they_were() -> None:
    mid = [made(key, tier=Tier.MID, days_ago=90) for key in "abc"]
    entries = [changed(mid[0], "evolved", GONE), changed(mid[1], "evolved", GONE, days_ago=31)]
    short = changed(made("d"), "evolved", GONE)
    assert of(*entries, mid[2], made("e", tier=Tier.LONG), short).stability == 0.75


@pytest.mark.parametrize("kind", ["tiered", "pruned", "co-used", "formed"])
def test_what_changes_nothing_of_what_a_note_says_does_not_unsettle_it(kind: str) -> None:
    assert of(changed(made("a", tier=Tier.MID), kind, GONE)).stability == 1


def test_one_new_note_of_two_that_changed_an_older_one_is_half_of_plasticity() -> None:
    new = made("a", days_ago=1)
    old = changed(made("b", days_ago=50), "evolved", new.id)
    assert of(new, old, made("c", days_ago=2)).plasticity == 0.5


def test_a_change_of_a_newer_note_or_of_itself_is_no_plasticity() -> None:
    older, newer = made("a", days_ago=2), made("b", days_ago=1)
    assert of(changed(older, "updated", older.id), newer).plasticity == 0
    assert of(older, changed(newer, "evolved", older.id)).plasticity == 0


def test_three_clean_uses_and_one_that_conflicts_are_three_quarters_of_consistency() -> None:
    assert of(made("a", life=uses(2, 1)), made("b", life=uses(1)), made("c")).consistency == 0.75


def test_changes_with_a_cause_that_is_there_are_transparent() -> None:
    cause = made("a")
    twice = changed(changed(made("b"), "evolved", cause.id), "evolved", cause.id)
    assert of(cause, twice).transparency == 1


def test_a_change_by_a_note_that_is_nowhere_is_not_transparent() -> None:
    cause = made("a")
    entry = changed(changed(made("b"), "evolved", cause.id), "evolved", GONE)
    assert of(cause, entry).transparency == 0.5


def test_a_change_before_a_gap_is_not_transparent() -> None:
    note = made("a")
    entry: Note | Entry = note
    for _ in range(3):
        entry = changed(entry, "updated", note.id)
    assert isinstance(entry, Entry)
    holed = replace(entry, older=entry.older[:1])
    assert of(entry).transparency == 1
    assert of(holed).transparency == 0.5


def test_a_conflict_is_traceable_where_the_note_that_says_otherwise_is_there() -> None:
    cause = made("a")
    known = changed(made("b", contested_by=(cause.id,)), "contested", cause.id)
    lost = changed(made("c"), "superseded", GONE)
    vitals = of(cause, known, lost)
    assert (vitals.traceability, vitals.contested) == (0.5, 1)


def test_what_is_set_aside_counts_as_cause_and_for_its_uses_only() -> None:
    aside = replace(made("a", life=uses(1)), status=Status.ARCHIVED)
    vitals = of(aside, changed(made("b"), "evolved", aside.id))
    assert (vitals.transparency, vitals.consistency) == (1, 1)
    assert (vitals.activity, vitals.tiers.total()) == (0, 1)
