"""What one statement is to another, by the table of pairs: half of it was never looked at."""

import json
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from amem_integrations.analysts.statements import Comparison, compare, compare_notes
from amem_integrations.core.note import Note, make_note

PAIRS = [
    json.loads(line)
    for line in Path(__file__).with_name("statement_pairs.jsonl").read_text("utf-8").splitlines()
]
CONTRADICTIONS = ("negation", "value", "antonym")
# The pairs with odd numbers were used to write the function, those with even numbers only to
# measure it.
HALVES = {"tuned": PAIRS[::2], "held out": PAIRS[1::2]}


def judged(pairs: list[dict[str, str]]) -> Counter[tuple[str, str]]:
    """Count the pairs by their kind in the table and the kind that the function finds."""
    return Counter((pair["kind"], compare(pair["older"], pair["newer"]).kind) for pair in pairs)


def test_the_table_is_broad() -> None:
    languages = Counter(pair["language"] for pair in PAIRS)
    assert len(PAIRS) >= 300
    assert all(languages[name] >= least for name, least in LEAST.items())
    assert all((pair["id"] % 2 == 1) == (pair in HALVES["tuned"]) for pair in PAIRS)


LEAST = {"en": 120, "de": 50, "es": 40, "fr": 40, "zh": 40}


@pytest.mark.parametrize("half", HALVES)
def test_contradictions_are_found_and_little_else_is_taken_for_one(half: str) -> None:
    found = judged(HALVES[half])
    right = sum(found[kind, "contradicts"] for kind in CONTRADICTIONS)
    called = sum(number for (_, verdict), number in found.items() if verdict == "contradicts")
    there = sum(number for (kind, _), number in found.items() if kind in CONTRADICTIONS)
    assert right / called >= 0.9
    assert right / there >= 0.7


@pytest.mark.parametrize("language", LEAST)
def test_every_language_has_its_contradictions(language: str) -> None:
    found = judged([pair for pair in PAIRS if pair["language"] == language])
    right = sum(found[kind, "contradicts"] for kind in CONTRADICTIONS)
    assert right / sum(n for (kind, _), n in found.items() if kind in CONTRADICTIONS) >= 0.7


def test_no_contradiction_is_the_same_and_nothing_else_is() -> None:
    found = judged(PAIRS)
    assert not [kind for kind, verdict in found if verdict == "same" and kind != "same"]
    assert found["same", "same"] >= 0.6 * sum(1 for pair in PAIRS if pair["kind"] == "same")


def test_a_contradiction_has_a_reason() -> None:
    found = compare("The dog is called Bruno.", "The dog is called Rocky.")
    assert found == Comparison("contradicts", "'rocky' instead of 'bruno'")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "I play the violin, and my lesson is on Tuesday at five with Mrs. Okafor.",
            "No, that is wrong: my lesson is on Friday, not Tuesday.",
        ),
        (
            "Our cat needs her thyroid pill every morning at seven.",
            "I got that wrong: the cat needs her pill at eight, not at seven.",
        ),
        (
            "I'm training for a marathon, and my goal is to finish under four hours.",
            "My goal for the marathon has changed: I want to finish under three hours, not four.",
        ),
        ("The wedding is in June in Freiburg.", "The wedding will be in Basel, not in Freiburg."),
    ],
)
def test_what_denies_a_word_of_a_longer_statement_contradicts_it(older: str, newer: str) -> None:
    assert compare(older, newer).kind == "contradicts"


def test_an_answer_depends_on_what_it_answers() -> None:
    found = compare("The dentist appointment is on Monday.", "Actually it's Tuesday.")
    assert found.anaphoric
    assert not compare("My lesson is on Monday.", "My lesson is on Tuesday.").anaphoric


NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


def said(text: str, speaker: str | None = None, **fields: Any) -> Note:
    return make_note(text, namespace="a", now=NOW, speaker=speaker, **fields)


@pytest.mark.parametrize("text", ["{} in {}.", "As you know, {} in {}."])
def test_who_says_i_makes_a_difference(text: str) -> None:
    older, newer = text.format("I live", "Berlin"), text.format("I live", "Munich")
    assert compare_notes(said(older, "ana"), said(newer, "ana")).kind == "contradicts"
    assert compare_notes(said(older, "ana"), said(newer, "ben")).kind == "unrelated"
    assert compare_notes(said(older, "ana"), said(older, "ben")).kind == "unrelated"
    named = said("Calvin lives in Berlin.", "ana"), said("Calvin lives in Munich.", "ben")
    assert compare_notes(*named).kind == "contradicts"


def test_yesterday_is_another_day_tomorrow() -> None:
    text = "The office was closed yesterday."
    older, newer = (said(text, occurred_at=NOW + timedelta(days=n)) for n in (0, 1))
    assert compare_notes(older, older).kind == "same"
    assert compare_notes(older, newer).kind == "unrelated"


def test_an_answer_is_to_its_own_conversation() -> None:
    older, newer = "My dentist appointment is on Monday.", "Actually it's Tuesday."
    for session, kind in (("s", "contradicts"), ("t", "unrelated")):
        pair = said(older, "ana", session="s"), said(newer, "ana", session=session)
        assert compare_notes(*pair).kind == kind


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The lesson is on Monday.", "Is the lesson on Tuesday?"),
        ("I live in Berlin.", "Maybe I will live in Munich."),
        ("I live in Berlin.", "If I lived in Munich, I would swim in the Isar."),
        ("I live in Berlin.", "You live in Munich."),
        ("I work with Ana.", "I work with Ben."),
        ("My friend is Ana.", "My friend is Ben."),
        ("The concert is on Tuesday.", "The lesson is on Friday, not Tuesday."),
        ("The lesson is on Wednesday.", "Tea is served in the hall, not in the garden."),
        ("The kitchen is big.", "The kitchen is blue."),
        ("I live in Berlin. " * 40, "I live in Munich."),
        ("", "Actually it's Tuesday."),
        ("?!", "…"),
    ],
)
def test_what_is_no_statement_of_the_same_contradicts_nothing(older: str, newer: str) -> None:
    assert compare(older, newer).kind in ("unrelated", "adds")


def test_comparing_takes_well_under_a_millisecond() -> None:
    for pair in PAIRS:
        compare(pair["older"], pair["newer"])
    started = time.process_time()
    for pair in PAIRS:
        # Texts that were not read before.
        compare(pair["older"] + " Hm.", pair["newer"] + " Hm.")
    assert (time.process_time() - started) / len(PAIRS) < 0.001


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The key of locker 4711", "The key of locker 4712"),
        ("Invoice 4711 is paid", "Invoice 4712 is paid"),
        ("Room 12 is booked on Monday", "Room 14 is booked on Monday"),
        ("Ticket ABC-12 was closed", "Ticket ABC-13 was closed"),
        ("Version 1.2 fixes the crash", "Version 1.3 fixes the crash"),
        ("Chapter 3 covers joins", "Chapter 4 covers joins"),
        ("The cache is slow in build 17", "The cache is slow in build 18"),
        ("Flight LH400 is late", "Flight LH401 is late"),
        ("Sensor 3 reads 20 degrees", "Sensor 4 reads 20 degrees"),
        ("User 17 likes tea", "User 18 likes tea"),
        ("Note 1", "Note 2"),
        ("Order #881 shipped", "Order #882 shipped"),
        ("Scored 85 on the test", "Scored 92 on the test"),
        ("The Monday meeting is cancelled", "The Friday meeting is cancelled"),
        ("The May report is late", "The June report is late"),
        ("Rechnung 4711 ist bezahlt", "Rechnung 4712 ist bezahlt"),
        ("Aufgabe 12 ist erledigt", "Aufgabe 13 ist erledigt"),
        ("La factura 12 está pagada", "La factura 13 está pagada"),
        ("La facture 12 est payée", "La facture 13 est payée"),
        ("任务12已完成", "任务13已完成"),
    ],
)
def test_a_value_that_tells_two_things_apart_is_no_contradiction(older: str, newer: str) -> None:
    assert compare(older, newer).kind == "unrelated"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The meeting is in room 12", "The meeting is in room 14"),
        ("My locker is 12", "My locker is 14"),
        ("The train leaves from platform 4", "The train leaves from platform 5"),
        ("I live at 12 Park Road", "I live at 14 Park Road"),
        ("Sensor 3 reads 20 degrees", "Sensor 3 reads 25 degrees"),
        ("John's number is 5551234", "John's number is 5551235"),
        ("The cache holds 512 entries", "The cache holds 900 entries"),
        ("Release 2.0 is on June 5", "Release 2.0 is on June 20"),
    ],
)
def test_a_number_that_is_said_of_one_thing_is(older: str, newer: str) -> None:
    assert compare(older, newer).kind == "contradicts"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Berlin.", "I moved to Munich last month."),
        (
            "We live in Berlin with two cats.",
            "Good news: we have just moved from Berlin to Cologne.",
        ),
        ("My sister lives in Lisbon.", "My sister has moved to Porto."),
        ("Ada lives in New York.", "Ada relocated to San Francisco in May."),
        ("Wir wohnen in Berlin in der Kantstraße 12.", "Wir sind nach Köln gezogen."),
        ("Ich lebe in Hamburg.", "Ich ziehe nächsten Monat nach Bremen."),
        ("Vivo en Madrid.", "Me he mudado a Valencia."),
        ("Mi hermana vive en Lima.", "Mi hermana se mudó a Quito."),
        ("J'habite à Lyon.", "J'ai déménagé à Nantes."),
        ("我住在北京。", "我上个月搬到了上海。"),
    ],
)
def test_who_moved_no_longer_lives_where_he_did(older: str, newer: str) -> None:
    assert compare(older, newer).kind == "contradicts"
    assert compare(newer, older).kind != "contradicts"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Berlin.", "My sister moved to Munich."),
        ("I lived in Berlin.", "I moved to Munich."),
        ("I live in Berlin.", "I moved to Berlin in May."),
        ("I live in Berlin.", "We moved the meeting to Monday."),
        ("I work in Berlin.", "I moved to Potsdam."),
        ("Ada lives in Rome.", "Bea moved to Oslo."),
    ],
)
def test_who_else_moved_says_nothing_of_it(older: str, newer: str) -> None:
    assert compare(older, newer).kind != "contradicts"


@pytest.mark.parametrize(
    ("older", "newer", "kind"),
    [
        (
            "I made you a training plan with the long run on Sunday.",
            "I moved the long run in your training plan from Sunday to Saturday.",
            "contradicts",
        ),
        (
            "The team meeting is on Monday at nine.",
            "They moved the team meeting from Monday to Thursday.",
            "contradicts",
        ),
        (
            "The rent of the flat is 900 euros.",
            "The rent of the flat was raised from 900 to 950 euros.",
            "contradicts",
        ),
        ("The shop is open on Monday.", "The shop is open from Monday to Friday.", "adds"),
    ],
)
def test_a_change_that_names_both_values_outdates_the_first(
    older: str, newer: str, kind: str
) -> None:
    assert compare(older, newer).kind == kind
