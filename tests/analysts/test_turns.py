"""What an idea of a turn is, by statistics; in doubt it is new."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from amem_integrations.analysts.terms import Corpus
from amem_integrations.analysts.turns import Verdict, classify, shared_weight
from amem_integrations.core.analysis import Candidate
from amem_integrations.core.note import Note, make_note

NOW = datetime(2026, 3, 2, tzinfo=UTC)
ALLERGY = "I'm allergic to peanuts and walnuts."
MEETING = "The board meeting is on Monday at ten."
PARTS = "The garden takes 120 sensors for the tropical house."


def note(text: str, **fields: Any) -> Note:
    return make_note(text, namespace="n", now=NOW, **{"speaker": "Ann", **fields})


def verdict(
    text: str,
    *older: str | Note,
    before: str | None = None,
    similarity: float = 0.5,
    **fields: Any,
) -> Verdict:
    notes = [note(each) if isinstance(each, str) else each for each in older]
    candidates = [Candidate(each, similarity, rank) for rank, each in enumerate(notes)]
    corpus = Corpus(each.content for each in notes)
    last = None if before is None else note(before, speaker="Bob")
    return classify(note(text, **fields), candidates, last, corpus)


# -- nothing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["ok", "ok, thanks", "好的，谢谢！", "😂", "Thanks a lot!"])
def test_small_talk_is_nothing(text: str) -> None:
    found = verdict(text, before="The mould is ready.")
    assert (found.kind, found.sure) == ("nothing", True)
    assert verdict("Thanks!", before="Anything you don't eat?").kind == "nothing"


@pytest.mark.parametrize("text", ["ok", "Yes, thanks!", "好的", "👍"])
def test_a_word_that_answers_a_question_is_new(text: str) -> None:
    assert verdict(text, before="Can we move the call? My daughter sleeps.").kind == "new"
    assert verdict(text, before="我们改到周二好吗").kind == "new"


@pytest.mark.parametrize(
    "text",
    [
        "When is my violin lesson?",
        "Hey, do you know who my manager is?",
        "Wo wohnen wir?",
        "Weißt du, wann mein Zahnarzttermin ist?",
        "¿Dónde vivo?",
        "我的小提琴课是几点？",
        "Am I allergic to peanuts and walnuts?",
    ],
)
def test_a_bare_question_is_nothing(text: str) -> None:
    assert verdict(text).kind == "nothing"


@pytest.mark.parametrize(
    "text",
    [
        "Did you know I have three kids?",
        "Can you remember that my PIN is 4417?",
        "My sister moved to Oslo, should I visit her?",
        "Can we move the call to nine?",
        "会议改到周二好吗？",
        "So we agreed on Tuesday?",
        "What can I do? My sister moved to Oslo.",
    ],
)
def test_a_question_that_tells_something_is_new(text: str) -> None:
    assert verdict(text).kind == "new"


@pytest.mark.parametrize(
    ("text", "before", "kind"),
    [
        ("Your board meeting is on Monday.", "When is it?", "nothing"),
        ("Noted: the sink leaks.", "The sink leaks.", "nothing"),
        ("Welcome to Oslo, Ann!", "I moved to Oslo.", "nothing"),
        ("Shall I call the plumber?", "The sink leaks.", "nothing"),
        ("I called the plumber, he comes at 9.", "The sink leaks.", "new"),
        ("I could not book the table at Nonna.", "Can you book a table at Nonna?", "new"),
        ("I moved it to Friday, reference KX-4417.", "Move the board meeting.", "new"),
    ],
)
def test_a_reply_is_new_for_what_it_adds(text: str, before: str, kind: str) -> None:
    assert verdict(text, MEETING, before=before, speaker="assistant").kind == kind
    assert verdict(text, MEETING, before=before, speaker="Bob").kind != "repetition"


@pytest.mark.parametrize("text", ["I quit.", "She left.", "No.", "Go get them!", "那不行"])
def test_few_words_are_new_all_the_same(text: str) -> None:
    assert verdict(text).kind == "new"


def test_little_that_is_said_of_nobody_is_in_doubt() -> None:
    assert not verdict("Go get them!").sure
    assert verdict("I quit.").sure
    assert verdict("Go get them!", before="What would you do?").sure


# -- repetitions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        ALLERGY,
        ALLERGY.lower(),
        "Well, I'm really allergic to peanuts and walnuts, thanks.",
        "I'm allergic to walnuts.",
    ],
)
def test_what_an_older_note_says_word_by_word_is_a_repetition(text: str) -> None:
    older = note(ALLERGY)
    found = verdict(text, "The sink leaks.", older)
    assert (found.kind, found.of) == ("repetition", older.id)


def test_a_chinese_repetition_is_one_too() -> None:
    older = note("宁远的低温电芯零下二十度还有八成容量。")
    assert verdict("宁远的低温电芯零下二十度还有八成容量哦", older).of == older.id


def test_one_sentence_of_an_older_note_is_a_repetition() -> None:
    older = note(f"Lovely place! {MEETING} Bring your own coffee.")
    assert verdict(MEETING, older).of == older.id


@pytest.mark.parametrize(
    "text",
    [
        "I was allergic to peanuts and walnuts.",
        "I might be allergic to peanuts and walnuts.",
        "I'm allergic to peanuts and cashews.",
        "You're allergic to peanuts and walnuts.",
        "I'm still allergic to peanuts and walnuts.",
        "I'm allergic to peanuts and walnuts and to 3 kinds of fish.",
        "I'm allergic.",
        "My son is allergic to peanuts and walnuts.",
    ],
)
def test_a_word_that_makes_a_difference_makes_it_new(text: str) -> None:
    assert verdict(text, ALLERGY).kind == "new"


def test_what_denies_an_older_note_corrects_it() -> None:
    denial = ALLERGY.replace("I'm", "I'm not")
    for text, older in ((denial, ALLERGY), (ALLERGY, denial)):
        assert verdict(text, older).kind == "correction"


@pytest.mark.parametrize("verb", ["I might be", "I was", "Am I"])
def test_what_was_said_with_another_sense_is_no_older_word_of_it(verb: str) -> None:
    assert verdict(ALLERGY, ALLERGY.replace("I'm", verb)).kind == "new"


def test_i_is_someone_else_when_another_says_it() -> None:
    assert verdict(ALLERGY, ALLERGY, speaker="Bob").kind == "new"
    assert verdict(MEETING, MEETING, speaker="Bob").kind == "repetition"


def test_what_is_different_now_is_new_unless_all_words_are_the_same() -> None:
    text = "We also sell new sensors for greenhouses."
    assert verdict(text, text).kind == "repetition"
    assert verdict(text, "We sell sensors for greenhouses.").kind == "new"
    assert verdict(text, f"{text} They measure moisture.").kind == "new"
    once_more = "I burned the pancakes again this morning."
    assert verdict(once_more, once_more, occurred_at=NOW).kind == "new"


def test_the_words_must_come_in_the_same_order() -> None:
    assert verdict("Berlin pays Leipzig rent.", "Leipzig pays Berlin rent.").kind == "new"


def test_today_is_the_same_day_only_on_that_day() -> None:
    text = "The mould factory is closed today."
    older = note(text, occurred_at=NOW)
    assert verdict(text, older, occurred_at=NOW + timedelta(hours=1)).kind == "repetition"
    assert verdict(text, older, occurred_at=NOW + timedelta(days=1)).kind == "new"
    assert verdict(text, older).kind == "new"


def test_something_near_or_of_the_same_words_is_in_doubt() -> None:
    other = "The tropical house of the garden takes sensors, 120 of them."
    assert verdict(other, PARTS).sure is False
    assert verdict("We need coffee beans from Ethiopia.", PARTS, similarity=0.9).sure is False
    assert verdict("We need coffee beans from Ethiopia.", PARTS).sure


# -- corrections -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "older"),
    [
        ("Actually the board meeting is on Tuesday.", MEETING),
        ("Correction: the garden takes 150 sensors.", PARTS),
        ("The board meeting was moved to 3 March.", "The board meeting is on 2 March."),
        ("I was wrong, the garden has no use for a tropical house, not sensors.", PARTS),
        ("更正一下，会议改到周二上午十点。", "会议定在周一上午十点，在三楼会议室。"),
        ("那素菜馆我改到24号，还是七点。", "那周二晚上去衡山路那家素菜馆吧。"),
    ],
)
def test_another_value_in_its_place_corrects_a_note(text: str, older: str) -> None:
    old = note(older)
    found = verdict(text, "The sink leaks on 7 May and 33 sensors with it.", old)
    assert (found.kind, found.of) == ("correction", old.id)


def test_the_wrong_word_may_be_named_without_the_matter_in_the_same_talk() -> None:
    old = note(MEETING, session="s")
    text = "Actually it is Tuesday, not Monday"
    assert verdict(text, old, session="s", similarity=0.1).of == old.id
    assert verdict(text, old, session="t", similarity=0.1).kind == "new"


@pytest.mark.parametrize(
    "text",
    [
        "The board meeting is on Tuesday.",
        "Actually I love the board meeting.",
        "My dentist moved the appointment to Tuesday, it was moved by her.",
        "Don't forget that the board meets on Monday.",
    ],
)
def test_without_a_sign_and_another_value_nothing_is_corrected(text: str) -> None:
    assert verdict(text, MEETING, similarity=0.2).kind == "new"


def test_neither_a_question_is_corrected_nor_does_a_long_text_correct() -> None:
    text = "Actually the board meeting is on Tuesday."
    assert verdict(text, "Is the board meeting on Monday at ten?").kind == "new"
    assert verdict(f"{text} " + "We talked about many other things. " * 30, MEETING).kind == "new"


# -- shares ----------------------------------------------------------------------------------


def test_the_share_of_words_that_a_note_holds_counts_rare_ones_more() -> None:
    corpus = Corpus([*["the garden is open"] * 40, PARTS])
    rare = shared_weight({"sensor", "kayak"}, note(PARTS), corpus)
    common = shared_weight({"garden", "kayak"}, note(PARTS), corpus)
    assert 0 < common < rare < 1
    assert shared_weight({"sensor"}, note(PARTS), corpus) == 1
    assert shared_weight(set(), note(PARTS), corpus) == 0
    assert shared_weight({"低温电芯"}, note("宁远有低温电芯"), corpus) == 1


TEXTS: Sequence[str] = ["", "x", "?", "```", "🙂" * 50, "哈" * 300, "not " * 200, "1,2" * 500]


@pytest.mark.parametrize("text", TEXTS[1:])
def test_every_text_has_a_verdict_with_a_reason(text: str) -> None:
    found = verdict(text, "x y z", "哈哈", before="?")
    assert found.reason
    assert found.kind in ("new", "nothing")
