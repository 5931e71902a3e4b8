"""LoCoMo's format, and what is done about its known defects."""

from datetime import UTC, datetime
from typing import Any

import pytest

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.dataset import Conversation, Defects
from amem_integrations.evaluation.locomo import conversations
from tests.evaluation.samples import locomo


@pytest.fixture
def defects() -> Defects:
    return Defects()


@pytest.fixture
def boat(defects: Defects) -> Conversation:
    return next(conversations(locomo(), defects))


def test_turns_come_in_order_with_speaker_session_and_time(boat: Conversation) -> None:
    assert [turn.id for turn in boat.turns] == ["D1:1", "D1:2", "D2:1", "D2:2", "D2:4"]
    first, *_, last = boat.turns
    assert (first.speaker, first.session) == ("Nora", "1")
    assert first.time == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert last.time == datetime(2023, 9, 13, 0, 9, tzinfo=UTC)


def test_sessions_are_ordered_by_number_and_not_by_name(defects: Defects) -> None:
    sample = {
        "conversation": {
            f"session_{n}": [{"dia_id": f"D{n}:1", "text": "Ahoy", "speaker": "Nora"}]
            for n in (10, 2, 1)
        },
        "qa": [],
    }
    (found,) = conversations([sample], defects)
    assert [turn.session for turn in found.turns] == ["1", "2", "10"]


def test_the_caption_of_a_picture_belongs_to_the_turn(boat: Conversation) -> None:
    texts = {turn.id: turn.text for turn in boat.turns}
    assert texts["D2:2"].endswith("crowns. [image: a receipt with a stamp]")
    assert texts["D2:4"] == "[image: a cat on deck]"


def test_categories_have_names_and_the_adversarial_one_is_apart(boat: Conversation) -> None:
    core = {question.category: question.core for question in boat.questions}
    assert core == {"single-hop": True, "multi-hop": True, "temporal": True, "adversarial": False}


def test_answers_are_kept_and_a_number_is_one(defects: Defects) -> None:
    sample = locomo()[1]
    sample["qa"][0]["answer"] = 2022
    bait = {"question": "Whose cat?", "evidence": ["D1:1"], "category": 5}
    sample["qa"][1] = {**bait, "adversarial_answer": "Tom's"}
    (garden,) = conversations([sample], defects)
    said = [(asked.answer, asked.adversarial_answer) for asked in garden.questions]
    assert said == [("2022", None), (None, "Tom's")]


def test_joined_and_misspelt_evidence_is_mended(boat: Conversation) -> None:
    evidence = {question.category: question.evidence for question in boat.questions}
    assert evidence["multi-hop"] == ("D1:1", "D2:1", "D2:2")
    assert evidence["temporal"] == ("D2:2",)


def test_of_evidence_that_dangles_the_rest_is_kept(boat: Conversation) -> None:
    evidence = {question.category: question.evidence for question in boat.questions}
    assert evidence["adversarial"] == ("D1:2",)


def test_every_defect_is_counted(boat: Conversation, defects: Defects) -> None:
    assert boat.id == "boat"
    assert dict(defects) == {
        "dates without a session": 1,
        "turns without text, left out": 1,
        "evidence ids joined in one, taken apart": 1,
        "evidence ids misspelt, mended": 2,
        "evidence ids of no turn, left out": 3,
        "questions whose evidence is not there, left out": 1,
        "questions without evidence, left out": 1,
    }


def test_a_sound_sample_has_no_defect(defects: Defects) -> None:
    (garden,) = conversations(locomo()[1:], defects)
    assert len(garden.questions) == 2
    assert not defects


def test_a_turn_s_second_use_of_an_id_is_counted(defects: Defects) -> None:
    sample = locomo()[1]
    sample["conversation"]["session_1"].append({"dia_id": "D1:1", "text": "Again"})
    (garden,) = conversations([sample], defects)
    assert garden.turns[0].text.startswith("The tomatoes")
    assert dict(defects) == {"turns with the id of an earlier one, left out": 1}


def _spoilt(key: str, value: Any) -> dict[str, Any]:
    sample = locomo()[1]
    sample["conversation"][key] = value
    return sample


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (_spoilt("session_1", "nothing"), r'garden, conversation: "session_1" is a list'),
        (_spoilt("session_1", [{"text": "no id"}]), r'session_1, turn 1: "dia_id" is a string'),
        (_spoilt("session_1_date_time", "yesterday"), r"1:56 pm on 8 May, 2023"),
        ({**locomo()[1], "qa": [{"question": "?", "category": 9}]}, r"question 1: \"category\""),
        ({**locomo()[1], "conversation": 3}, r"garden, conversation: expected a JSON object"),
        ("sample", r"sample 1: expected a JSON object; got 'sample'"),
    ],
)
def test_what_is_no_locomo_says_where(sample: object, message: str, defects: Defects) -> None:
    with pytest.raises(InvalidInputError, match=message):
        list(conversations([sample], defects))
