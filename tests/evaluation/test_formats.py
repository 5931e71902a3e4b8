"""Files of every format, packed or not, their known defects, and what is refused."""

import gzip
import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.dataset import Conversation
from amem_integrations.evaluation.formats import (
    Defects,
    read_beam,
    read_dataset,
    read_lines,
    read_locomo,
)
from tests.evaluation.samples import beam, lines, locomo, written


@pytest.mark.parametrize(
    ("name", "content", "format", "ids"),
    [
        ("a.json", locomo(), "locomo", ["boat", "garden"]),
        ("a.json", locomo()[1], "locomo", ["garden"]),
        ("a.json", beam(), "beam", ["7"]),
        ("a.json", beam()[0], "beam", ["7"]),
        ("a.jsonl", lines(), "json-lines", ["boat", "garden"]),
    ],
)
def test_a_format_is_recognised_by_what_is_in_the_file(
    tmp_path: Path, name: str, content: Any, format: str, ids: list[str]
) -> None:
    dataset = read_dataset(written(tmp_path / name, content))
    assert dataset.format == format
    assert [conversation.id for conversation in dataset.conversations] == ids


def test_packed_or_not_it_is_the_same_dataset(tmp_path: Path) -> None:
    plain = written(tmp_path / "a.json", locomo())
    packed = tmp_path / "b.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_dataset(packed) == read_dataset(plain)
    assert read_dataset(plain).digest == hashlib.sha256(plain.read_bytes()).hexdigest()


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    text = "\r\n".join(json.dumps(line) for line in lines())
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert len(read_dataset(path).conversations) == 2


def test_a_limit_counts_the_defects_of_what_it_takes(tmp_path: Path) -> None:
    samples = locomo()[::-1]
    path = written(tmp_path / "a.json", samples)
    assert read_dataset(path).defects
    limited = read_dataset(path, limit=1)
    assert [conversation.id for conversation in limited.conversations] == ["garden"]
    assert not limited.defects


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[\n{},\n", r"line 3 is not JSON"),
        (b'{\n "qa": [1,\n ]\n}', r"line 3 is not JSON"),
        (b'{"turn": 1, "text": "a"}\n{"turn": 2', r"line 2 is not JSON"),
        (b'{"turn": 1', r"line 1 is not JSON"),
        (b"not json at all", r"line 1 is not JSON"),
        (b"[]", r"a list of LoCoMo samples"),
        (b'[{"a": 1}]', r"a list of LoCoMo samples"),
        (b"[] []", r"after the list there is more"),
        (b"ab\n\xff\n", r"line 2: this is not UTF-8"),
        (b"", r"no question that can be scored"),
        (b'{"turn": 1, "text": "a"}', r"no question that can be scored"),
        (b"\x1f\x8bnothing", r"cannot be unpacked"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=message) as error:
        read_dataset(path)
    assert str(path) in str(error.value)


def test_questions_that_all_lost_their_evidence_say_so(tmp_path: Path) -> None:
    entries = [{"turn": 1, "text": "a"}, {"question": "b?", "evidence": [2]}]
    path = written(tmp_path / "a.jsonl", entries)
    with pytest.raises(InvalidInputError, match=r"evidence ids of no turn, left out: 1"):
        read_dataset(path)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"nowhere.json cannot be read"):
        read_dataset(tmp_path / "nowhere.json")


def test_two_conversations_of_one_name_would_share_a_namespace(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", [locomo()[1], locomo()[1]])
    with pytest.raises(InvalidInputError, match=r"two conversations called 'garden'"):
        read_dataset(path)


def read(*entries: Any, defects: Defects | None = None) -> list[Conversation]:
    texts = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    return list(read_lines(texts, Defects() if defects is None else defects))


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
    (boat,) = read_lines(texts, Defects(), 1)
    assert boat.id == "boat"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("{", r"line 2 is not JSON"),
        ("[1]", r"line 2: .*dictionary.*; got \[1\]"),
        ({"turn": 2}, r'line 2, "text": Field required'),
        ({"text": "no id"}, r'line 2, "turn": Field required'),
        ({**TURN, "colour": "red"}, r'line 2, "colour": Extra inputs are not permitted'),
        ({**QUESTION, "evidences": []}, r'line 2, "evidences": Extra inputs'),
        ({"question": "Why?"}, r'line 2, "evidence": Field required'),
        ({"question": "Why?", "evidence": "1"}, r'line 2, "evidence": .*list; got \'1\''),
        ({**TURN, "time": "noon"}, r'line 2, "time": .*isoformat.*; got \'noon\''),
        ({**TURN, "time": 5}, r'line 2, "time": .*; got 5'),
        ({**TURN, "turn": True}, r'line 2, "turn": .*string; got True'),
        ({**QUESTION, "core": 1}, r'line 2, "core": .*boolean; got 1'),
    ],
)
def test_a_line_that_is_wrong_says_which_and_why(wrong: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read(TURN, wrong)


def test_the_conversations_of_the_cookbook_are_sound() -> None:
    path = Path(__file__).parents[2] / "cookbook" / "data" / "conversations.jsonl"
    defects = Defects()
    found = list(read_lines(path.read_text("utf-8").splitlines(), defects))
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
    (calvin,) = read_lines(example[1].splitlines(), defects)
    assert [turn.id for turn in calvin.turns] == ["t1", "t2"]
    assert calvin.questions[0].evidence == ("t1", "t2")
    assert not defects


@pytest.fixture
def defects() -> Defects:
    return Defects()


@pytest.fixture
def boat(defects: Defects) -> Conversation:
    return next(read_locomo(locomo(), defects))


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
    (found,) = read_locomo([sample], defects)
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
    (garden,) = read_locomo([sample], defects)
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


def test_a_turn_s_second_use_of_an_id_is_counted(defects: Defects) -> None:
    sample = locomo()[1]
    sample["conversation"]["session_1"].append({"dia_id": "D1:1", "text": "Again"})
    (garden,) = read_locomo([sample], defects)
    assert garden.turns[0].text.startswith("The tomatoes")
    assert dict(defects) == {"turns with the id of an earlier one, left out": 1}


def _spoilt(key: str, value: Any) -> dict[str, Any]:
    sample = locomo()[1]
    sample["conversation"][key] = value
    return sample


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (_spoilt("session_1", "nothing"), r'garden, session_1, "turns": .*list; got \'nothing\''),
        (_spoilt("session_1", [{"text": "no id"}]), r'session_1, "turns.0.dia_id": Field required'),
        (_spoilt("session_1_date_time", "yesterday"), r"'yesterday' does not match format '%I:%M"),
        ({**locomo()[1], "qa": [{"question": "?", "category": 9}]}, r'"qa.0.category": .*; got 9'),
        ({**locomo()[1], "conversation": 3}, r'sample 1, "conversation": .*dictionary; got 3'),
        ("sample", r"sample 1: .*dictionary.*; got 'sample'"),
    ],
)
def test_what_is_no_locomo_says_where(sample: object, message: str, defects: Defects) -> None:
    with pytest.raises(InvalidInputError, match=message):
        list(read_locomo([sample], defects))


@pytest.fixture
def chat() -> Conversation:
    (found,) = read_beam(beam(), Defects())
    return found


def test_messages_have_roles_and_ids_as_text(chat: Conversation) -> None:
    assert chat.id == "7"
    assert [(turn.id, turn.role) for turn in chat.turns] == [
        ("0", "user"),
        ("1", "assistant"),
        ("2", "user"),
    ]


def test_a_user_s_time_anchor_begins_a_session_at_that_date(chat: Conversation) -> None:
    march, april = datetime(2024, 3, 15, tzinfo=UTC), datetime(2024, 4, 5, tzinfo=UTC)
    assert [(turn.session, turn.time) for turn in chat.turns] == [
        ("1", march),
        ("1", march),
        ("2", april),
    ]


def test_questions_that_are_not_plain_retrieval_stand_apart(chat: Conversation) -> None:
    assert [(question.category, question.core) for question in chat.questions] == [
        ("information_extraction", True),
        ("event_ordering", False),
    ]
    assert chat.questions[1].evidence == ("0", "2")


def test_an_answer_is_kept_where_there_is_one() -> None:
    chats = beam()
    chats[0]["questions"][0]["answer"] = "for an aunt"
    (chat,) = read_beam(chats, Defects())
    assert [question.answer for question in chat.questions] == ["for an aunt", None]


def test_an_anchor_that_is_no_date_says_where() -> None:
    chats = beam()
    chats[0]["messages"][2]["time_anchor"] = "soon"
    with pytest.raises(InvalidInputError, match=r"chat 1, \"messages.2.time_anchor\": .*'soon'"):
        list(read_beam(chats, Defects()))
