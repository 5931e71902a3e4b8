"""How a note stands: kept, retold, carried to another memory, undone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from amem_integrations.admin.lines import note_line, read_entry, read_json
from amem_integrations.core.note import Note, Status, make_note, note_id
from amem_integrations.core.status import Life, Tier
from amem_integrations.errors import InvalidInputError
from amem_integrations.revisions.change import revised
from amem_integrations.revisions.entry import Entry
from amem_integrations.revisions.replay import without
from amem_integrations.stores.codec import as_read, micros, note_from, note_point

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
OTHER = note_id(("a",), "other")
LIVED = Life(
    clean=3,
    conflicting=2,
    conflicts=(NOW, NOW + timedelta(days=1)),
    used_at=NOW,
    occasions=("monday", "星期二"),
    confirmations=2,
    confirmed_at=NOW,
    supports=1,
    tiered_at=NOW,
    counted=17,
)


def formed() -> Note:
    note = make_note("The cache holds 512 entries.", namespace="a", now=NOW, key="cache")
    return revised(
        note,
        note.evolve(keywords=("cache",), context="About caching.", status=Status.FORMED),
        "formed",
        note.id,
        NOW,
        "tests",
    )


def contested(note: Note, by: str = OTHER) -> Note:
    after = replace(note, contested_by=(by,), valid_until=NOW + timedelta(days=9), trust=0.5)
    return revised(note, after, "contested", by, NOW, "tests")


def test_a_note_of_any_standing_is_read_as_it_was_kept() -> None:
    note = replace(
        formed(),
        tier=Tier.LONG,
        valid_until=NOW,
        contested_by=(OTHER,),
        merged_into=OTHER,
        trust=0.25,
        source="user",
        life=LIVED,
    )
    assert note_from(note_point(note, [[1.0]], None)) == note


def test_a_note_of_which_nothing_is_known_keeps_no_field_for_it() -> None:
    fields = note_point(formed(), [[1.0]], None).payload
    assert not fields.keys() & {
        "valid_until",
        "merged_into",
        "life",
        "counted",
        "used_at",
        "source",
    }


def test_a_write_does_not_set_back_what_was_counted_meanwhile() -> None:
    note = formed()
    assert as_read(note) != as_read(replace(note, life=LIVED))


def test_a_source_is_one_of_a_few() -> None:
    with pytest.raises(InvalidInputError, match="source is one of"):
        make_note("x", namespace="a", now=NOW, source="hearsay")


def test_forgetting_who_contested_a_note_ends_that() -> None:
    note = contested(formed())
    rest, clean = without(note, [formed().revision, note.revision], OTHER)  # type: ignore[list-item]
    assert (rest.contested_by, rest.valid_until, rest.trust) == ((), None, 1.0)
    assert [each.kind for each in clean] == ["formed"]


def test_forgetting_one_that_contested_leaves_what_others_did() -> None:
    first = contested(formed())
    third = note_id(("a",), "third")
    after = replace(first, contested_by=(OTHER, third), trust=0.25)
    second = revised(first, after, "contested", third, NOW, "tests")
    chain = [formed().revision, first.revision, second.revision]
    rest, _ = without(second, chain, OTHER)  # type: ignore[arg-type]
    assert (rest.contested_by, rest.trust) == ((third,), 0.25)


def test_with_one_that_contested_goes_what_was_said_in_its_light() -> None:
    third = note_id(("a",), "third")
    first = contested(formed(), third)
    after = replace(first, contested_by=(third, OTHER))
    second = revised(first, after, "contested", OTHER, NOW, "tests", (third,))
    rest, clean = without(second, [formed().revision, first.revision, second.revision], third)  # type: ignore[list-item]
    assert (rest.contested_by, rest.valid_until) == ((), None)
    assert [each.kind for each in clean] == ["formed"]


def test_forgetting_what_a_note_was_merged_into_brings_it_back() -> None:
    note = formed()
    after = note.evolve(merged_into=OTHER, status=Status.ARCHIVED)
    merged = revised(note, after, "merged", OTHER, NOW, "tests")
    rest, _ = without(merged, [note.revision, merged.revision], OTHER)  # type: ignore[list-item]
    assert (rest.merged_into, rest.status) == (None, Status.FORMED)


def test_a_standing_is_carried_to_another_namespace() -> None:
    note = replace(contested(formed()), tier=Tier.MID, source="tool", life=LIVED)
    chain = (formed().revision,)
    line = note_line(Entry(note, chain), {OTHER: "other"})  # type: ignore[arg-type]
    entry = read_entry(read_json(line), ("b",))
    there = note_id(("b",), "other")
    assert entry.note.contested_by == (there,)
    assert entry.note.revision is not None
    assert entry.note.revision.changes["contested_by"].after == [there]
    assert (entry.note.tier, entry.note.source) == (Tier.MID, "tool")
    # Reports of use stay where they were made, so counting begins anew there.
    assert entry.note.life == replace(LIVED, counted=0)
    assert len(entry.coherent) == 2


def test_forgetting_who_contested_a_note_leaves_nothing_of_what_was_undone_before() -> None:
    third = note_id(("a",), "third")
    first = contested(formed())
    sooner = NOW + timedelta(days=1)
    second = revised(first, replace(first, valid_until=sooner), "superseded", third, NOW, "caller")
    undone = replace(second, valid_until=first.valid_until)
    last = revised(second, undone, "reverted", second.id, NOW, "caller")
    chain = [each.revision for each in (formed(), first, second, last)]
    rest, _ = without(last, chain, OTHER, {third: micros(sooner)})  # type: ignore[arg-type]
    assert (rest.valid_until, rest.contested_by, rest.trust) == (None, (), 1.0)
