"""What says the same, and what only looks like it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from amem_integrations.core.note import CORRECTS, Link, Note, Status, make_note, note_id
from amem_integrations.lifecycle.merge import differ, statement_of

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
OTHER = note_id(("a",), "other")


def formed(text: str, key: str | None = None, **fields: Any) -> Note:
    note = make_note(text, namespace="a", now=NOW, key=key, **fields)
    return note.evolve(status=Status.FORMED, keywords=("x",))


SAME = [
    ("The cache holds 512 entries.", "the cache holds 512 entries"),
    ("Ana doesn't eat meat.", "Ana does not eat meat"),
    ("Ana can't swim", "Ana cannot swim!"),
    ("北京的办公室在三楼。", "北京的办公室在三楼"),
    ("Please keep three backups", "keep 3 backups"),
    ("The \u201credis\u201d cache", 'The "redis" cache'),
    ("CACHE HOLDS 512 ENTRIES", "Cache holds 512 entries"),
    ("缓存有512条。", "缓存有512条"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spelling_marks_and_idle_words_make_no_difference(one: str, other: str) -> None:
    assert statement_of(formed(one)) == statement_of(formed(other))


DIFFERENT = [
    ("The cache holds 512 entries", "The cache holds 513 entries"),
    ("The cache holds 512 entries", "The cache holds 5.12 entries"),
    ("Ana likes tea", "Ana does not like tea"),
    ("Ana likes tea", "Ana never likes tea"),
    ("Ana likes tea", "Bob likes tea"),
    ("Ana owes Bob money", "Bob owes Ana money"),
    ("Meet Ana on Monday", "Meet Ana on Tuesday"),
    ("Meet Ana on 3 May", "Meet Ana on 4 May"),
    ("Deadline 2026-03-01", "Deadline 2026-03-10"),
    ("Flight from Paris", "Flight to Paris"),
    ("Tea and coffee", "Tea or coffee"),
    ("Few people know", "A few people know"),
    ("Ana has a dog", "Ana has dogs"),
    ("Is the cache full?", "Is the cache full"),
    ("The limit is 5%", "The limit is 5"),
    ("The limit is $5", "The limit is €5"),
    ("Kept at -5 °C", "Kept at 5 °C"),
    ("Written in C", "Written in C++"),
    ("Send IT the invoice", "Send it the invoice"),
    ("x < 5", "x > 5"),
    ("Ana might come", "Ana will come"),
    ("Release is done 👍", "Release is done 👎"),
    ("The server runs on one core", "The server ran on one core"),
    ("Bug before release", "Bug after release"),
    ("缓存有512条", "缓存没有512条"),
    ("The bill was 3:30 in all", "The bill was 330 in all"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_a_word_a_number_or_an_order_makes_another_fact(one: str, other: str) -> None:
    assert statement_of(formed(one)) != statement_of(formed(other))


TOMORROW = NOW + timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "one", "other", "same"),
    [
        ("I like tea", {"speaker": "ana"}, {"speaker": "bob"}, False),
        ("Tea is fine", {"speaker": "ana"}, {"speaker": "bob"}, True),
        ("The office is closed today", {"occurred_at": NOW}, {"occurred_at": TOMORROW}, False),
        (
            "The office is closed today",
            {"occurred_at": NOW},
            {"occurred_at": NOW + timedelta(hours=1)},
            True,
        ),
        # Of no known day.
        ("The office is closed today", {"key": "a"}, {"key": "b"}, False),
        ("Ana visited Bob", {"occurred_at": NOW}, {"occurred_at": TOMORROW}, False),
        ("Ana lives in Rome", {"occurred_at": NOW}, {"occurred_at": TOMORROW}, True),
        ("She lives in Rome", {"session": "one"}, {"session": "two"}, False),
    ],
)
def test_speaker_day_and_session_count_where_the_words_depend_on_them(
    text: str, one: dict[str, Any], other: dict[str, Any], same: bool
) -> None:
    assert (statement_of(formed(text, **one)) == statement_of(formed(text, **other))) is same


@pytest.mark.parametrize(
    "fields",
    [
        {"status": Status.RAW},
        {"links": (Link(OTHER, note_id(("a",), "k"), "no longer", NOW, CORRECTS),)},
        {"status": Status.QUARANTINED},
        {"value_json": "{}"},
        {"parts": (12,)},
        {"ttl": timedelta(days=1)},
        {"contested_by": (OTHER,)},
        {"valid_until": NOW},
        {"content": "?!" * 5_000},
        {"content": "..."},
    ],
)
def test_values_and_disputed_notes_are_not_merged(fields: dict[str, Any]) -> None:
    assert statement_of(replace(formed("Ana is here"), **fields)) is None


@pytest.mark.parametrize(
    "text",
    ["ok", "Ana swims", "Yes, at ten o'clock", "No, that is wrong", "好的，周五见面吧", "太棒了！"],
)
def test_a_mere_answer_or_two_words_are_not_merged(text: str) -> None:
    assert statement_of(formed(text)) is None


def test_other_metadata_or_an_older_note_kept_plain_keep_two_apart() -> None:
    note = formed("The cache holds 512 entries")
    assert not differ(note, note)
    assert differ(note, replace(note, metadata_json='{"a":1}'))
    assert not differ(replace(note, metadata_json='{"a":1}'), note)
    assert differ(replace(note, status=Status.PLAIN), note)
