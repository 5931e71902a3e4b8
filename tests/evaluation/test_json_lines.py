"""Our own lines of JSON: turns and questions, and errors with the number of the line."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.dataset import Conversation, Defects
from amem_integrations.evaluation.json_lines import conversations
from tests.evaluation.samples import lines


def read(*entries: Any, defects: Defects | None = None) -> list[Conversation]:
    texts = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    return conversations(texts, Defects() if defects is None else defects)


TURN = {"turn": 1, "text": "The kiln is at nine hundred degrees."}
QUESTION = {"question": "How hot is the kiln?", "evidence": [1]}


def test_lines_are_sorted_into_conversations() -> None:
    boat, garden = read(*lines())
    assert (boat.id, len(boat.turns), len(boat.questions)) == ("boat", 4, 2)
    assert (garden.id, len(garden.turns), len(garden.questions)) == ("garden", 3, 1)
    assert boat.turns[0].time == datetime(2026, 3, 1, 9, tzinfo=UTC)


def test_a_turn_needs_an_id_and_a_text_only_and_a_question_its_evidence() -> None:
    (only,) = read(TURN, QUESTION)
    assert only.id == "conversation"
    assert (only.turns[0].id, only.turns[0].speaker, only.turns[0].time) == ("1", None, None)
    assert only.questions[0].evidence == ("1",)
    assert only.questions[0].core


def test_everything_that_may_be_said_is_kept() -> None:
    turn = {
        **TURN,
        "speaker": "Mina",
        "role": "user",
        "session": 4,
        "time": "2026-01-02T03:04+01:00",
    }
    asking = {"category": "heat", "asked_at": "2026-02-01", "core": False}
    question = {**QUESTION, **asking, "answer": 900, "adversarial_answer": "cold"}
    (only,) = read(turn, question)
    said, asked = only.turns[0], only.questions[0]
    assert (said.speaker, said.role, said.session) == ("Mina", "user", "4")
    assert said.time == datetime(2026, 1, 2, 2, 4, tzinfo=UTC)
    assert (asked.category, asked.core) == ("heat", False)
    assert asked.asked_at == datetime(2026, 2, 1, tzinfo=UTC)
    assert (asked.answer, asked.adversarial_answer) == ("900", "cold")


def test_questions_may_stand_before_their_turns_and_blank_lines_anywhere() -> None:
    (only,) = read("", QUESTION, "   ", TURN)
    assert only.questions[0].evidence == ("1",)


def test_evidence_that_is_no_turn_is_counted() -> None:
    defects = Defects()
    (only,) = read(TURN, QUESTION, {**QUESTION, "evidence": [1, 2, 3]}, defects=defects)
    assert [question.evidence for question in only.questions] == [("1",), ("1",)]
    assert dict(defects) == {"evidence ids of no turn, left out": 2}


def test_a_limit_takes_the_first_conversations() -> None:
    texts = [json.dumps(entry) for entry in lines()]
    (boat,) = conversations(texts, Defects(), 1)
    assert boat.id == "boat"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("{", r"line 2 is not JSON"),
        ("[1]", r"line 2: expected a JSON object; got a list"),
        ({"turn": 2}, r'line 2: "text" is a string; got nothing'),
        ({"text": "no id"}, r'line 2: "turn" is a string or a whole number; got nothing'),
        ({**TURN, "colour": "red"}, r"line 2: a turn has no 'colour'; it may have conversation"),
        ({**QUESTION, "evidences": []}, r"line 2: a question has no 'evidences'"),
        ({"question": "Why?"}, r'line 2: "evidence" is a list; got nothing'),
        ({"question": "Why?", "evidence": "1"}, r"line 2: \"evidence\" is a list; got '1'"),
        ({**TURN, "time": "noon"}, r"line 2: \"time\" is an ISO 8601 date or time; got 'noon'"),
        ({**TURN, "turn": True}, r'line 2: "turn" is a string or a whole number; got True'),
        ({**QUESTION, "core": 1}, r'line 2: "core" is true or false; got 1'),
    ],
)
def test_a_line_that_is_wrong_says_which_and_why(wrong: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read(TURN, wrong)


def test_the_conversations_of_the_cookbook_are_sound() -> None:
    path = Path(__file__).parents[2] / "cookbook" / "data" / "conversations.jsonl"
    defects = Defects()
    found = conversations(path.read_text("utf-8").splitlines(), defects)
    asked = [question for each in found for question in each.questions]
    assert (len(found), len(asked), dict(defects)) == (3, 60, {})
    assert all(question.answer for question in asked)
    baited = [question for question in asked if question.adversarial_answer]
    assert baited == [question for question in asked if question.category == "adversarial"]


def test_the_documentation_s_example_is_read() -> None:
    guide = Path(__file__).parents[2] / "cookbook" / "docs" / "guides" / "measuring.md"
    text = guide.read_text("utf-8")
    example = re.search(r"^```jsonl\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert example is not None
    defects = Defects()
    (calvin,) = conversations(example[1].splitlines(), defects)
    assert [turn.id for turn in calvin.turns] == ["t1", "t2"]
    assert calvin.questions[0].evidence == ("t1", "t2")
    assert not defects
