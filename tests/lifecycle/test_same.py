"""What says the same, and what only looks like it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from amem_integrations.core.note import CORRECTS, Link, Note, Status, make_note, note_id
from amem_integrations.lifecycle.merge import differ, statement_of, tokens

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


def test_i_is_somebody_else_for_another_speaker() -> None:
    assert statement_of(formed("I like tea", speaker="ana")) != statement_of(
        formed("I like tea", speaker="bob")
    )
    assert statement_of(formed("Tea is fine", speaker="ana")) == statement_of(
        formed("Tea is fine", speaker="bob")
    )


def test_today_is_another_day_on_another_day() -> None:
    days = [NOW, NOW + timedelta(days=1)]
    first, second = (formed("The office is closed today", occurred_at=day) for day in days)
    assert statement_of(first) != statement_of(second)
    again = formed("The office is closed today", occurred_at=NOW + timedelta(hours=1))
    assert statement_of(first) == statement_of(again)


def test_today_of_no_known_day_is_like_no_other() -> None:
    texts = (formed("The office is closed today", key=key) for key in "ab")
    assert len({statement_of(note) for note in texts}) == 2


def test_what_happened_on_two_days_happened_twice() -> None:
    days = [NOW, NOW + timedelta(days=1)]
    first, second = (formed("Ana visited Bob", occurred_at=day) for day in days)
    assert statement_of(first) != statement_of(second)
    first, second = (formed("Ana lives in Rome", occurred_at=day) for day in days)
    assert statement_of(first) == statement_of(second)


def test_she_may_be_somebody_else_in_another_session() -> None:
    sessions = [formed("She lives in Rome", session=name) for name in ("one", "two")]
    assert statement_of(sessions[0]) != statement_of(sessions[1])


@pytest.mark.parametrize(
    "fields",
    [
        {"status": Status.RAW},
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
def test_what_is_kept_otherwise_or_disputed_is_not_merged(fields: dict[str, Any]) -> None:
    assert statement_of(replace(formed("Ana is here"), **fields)) is None


def test_a_note_that_is_corrected_or_corrects_is_not_merged() -> None:
    note = formed("The cache holds 512 entries")
    corrected = Link(OTHER, note.id, "no longer", NOW, CORRECTS)
    assert statement_of(replace(note, links=(corrected,))) is None


@pytest.mark.parametrize(
    "text",
    ["ok", "Ana swims", "Yes, at ten o'clock", "No, that is wrong", "好的，周五见面吧", "太棒了！"],
)
def test_an_answer_or_a_word_or_two_say_nothing_by_themselves(text: str) -> None:
    assert statement_of(formed(text)) is None


def test_other_metadata_or_an_older_note_kept_plain_keep_two_apart() -> None:
    note = formed("The cache holds 512 entries")
    assert not differ(note, note)
    assert differ(note, replace(note, metadata_json='{"a":1}'))
    assert not differ(replace(note, metadata_json='{"a":1}'), note)
    assert differ(replace(note, status=Status.PLAIN), note)


def test_an_acronym_is_a_word_of_its_own() -> None:
    assert tokens("The IT budget") == ("IT", "budget")
