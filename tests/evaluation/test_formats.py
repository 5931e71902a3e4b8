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

ROOT = Path(__file__).parents[2]


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


def test_a_limit_takes_the_first_conversations_and_their_defects(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", locomo()[::-1])
    assert read_dataset(path).defects
    limited = read_dataset(path, limit=1)
    assert [conversation.id for conversation in limited.conversations] == ["garden"]
    assert not limited.defects
    of_lines = read_dataset(written(tmp_path / "a.jsonl", lines()), limit=1)
    assert [conversation.id for conversation in of_lines.conversations] == ["boat"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[\n{},\n", r"line 3 is not JSON"),
        (b'{"turn": 1, "text": "a"}\n{"turn": 2', r"line 2 is not JSON"),
        (b'{"turn": 1', r"line 1 is not JSON"),
        (b"not json at all", r"line 1 is not JSON"),
        (b"[" * 100_000, r"line 1 is not JSON"),
        (b"[]", r"a list of LoCoMo samples"),
        (b'[{"a": 1}]', r"a list of LoCoMo samples"),
        (b"ab\n\xff\n", r"line 2: this is not UTF-8"),
        (b"", r"no question that can be scored"),
        (
            b'{"turn": 1, "text": "a"}\n{"question": "b?", "evidence": [2]}',
            r"evidence ids of no turn, left out: 1",
        ),
        (b"\x1f\x8bnothing", r"cannot be unpacked"),
        (json.dumps([locomo()[1]] * 2).encode(), r"two conversations called 'garden'"),
        (None, r"data.json cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_line(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "data.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=message) as error:
        read_dataset(path)
    assert str(path) in str(error.value)


def read(*entries: Any) -> list[Conversation]:
    texts = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    return list(read_lines(texts, Defects()))


TURN = {"turn": 1, "text": "The kiln is at nine hundred degrees."}
QUESTION = {"question": "How hot is the kiln?", "evidence": [1]}


def test_little_is_needed_and_questions_may_stand_before_their_turns() -> None:
    (only,) = read("", QUESTION, "   ", TURN)
    turn, question = only.turns[0], only.questions[0]
    assert only.id == "conversation"
    assert (turn.id, turn.speaker, turn.time) == ("1", None, None)
    assert (question.evidence, question.category, question.core) == (("1",), "all", True)


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


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("[1]", r"line 2: .*dictionary.*; got \[1\]"),
        ({"turn": 2}, r'line 2, "text": Field required'),
        ({**TURN, "colour": "red"}, r'line 2, "colour": Extra inputs are not permitted'),
        ({"question": "Why?", "evidence": "1"}, r'line 2, "evidence": .*tuple; got \'1\''),
        ({**TURN, "time": "noon"}, r'line 2, "time": .*isoformat.*; got \'noon\''),
    ],
)
def test_a_line_that_is_wrong_says_which_and_why(wrong: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read(TURN, wrong)


def test_the_documentation_s_example_is_read(tmp_path: Path) -> None:
    text = (ROOT / "cookbook" / "docs" / "guides" / "measuring.md").read_text("utf-8")
    example = re.search(r"^```jsonl\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert example is not None
    (tmp_path / "a.jsonl").write_text(example[1], "utf-8")
    dataset = read_dataset(tmp_path / "a.jsonl")
    assert [turn.id for turn in dataset.conversations[0].turns] == ["t1", "t2"]
    assert dataset.asked[0][1].evidence == ("t1", "t2")
    assert not dataset.defects


def test_a_locomo_sample_has_turns_with_captions_in_order_and_categories_by_name() -> None:
    boat = next(read_locomo(locomo(), Defects()))
    assert [turn.id for turn in boat.turns] == ["D1:1", "D1:2", "D2:1", "D2:2", "D2:4"]
    first, *_, last = boat.turns
    assert (first.speaker, first.session) == ("Nora", "1")
    assert first.time == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert last.time == datetime(2023, 9, 13, 0, 9, tzinfo=UTC)
    assert last.text == "[image: a cat on deck]"
    assert boat.turns[3].text.endswith("crowns. [image: a receipt with a stamp]")
    core = {question.category: question.core for question in boat.questions}
    assert core == {"single-hop": True, "multi-hop": True, "temporal": True, "adversarial": False}


def test_locomo_s_defects_are_mended_where_that_is_plain_and_all_counted() -> None:
    defects = Defects()
    boat = next(read_locomo(locomo(), defects))
    evidence = {question.category: question.evidence for question in boat.questions}
    assert evidence["multi-hop"] == ("D1:1", "D2:1", "D2:2")
    assert evidence["temporal"] == ("D2:2",)
    assert evidence["adversarial"] == ("D1:2",)
    assert dict(defects) == {
        "dates without a session": 1,
        "turns without text, left out": 1,
        "evidence ids joined in one, taken apart": 1,
        "evidence ids misspelt, mended": 2,
        "evidence ids of no turn, left out": 3,
        "questions whose evidence is not there, left out": 1,
        "questions without evidence, left out": 1,
    }


def test_sessions_are_ordered_by_number_and_an_id_counts_once() -> None:
    defects = Defects()
    talk: dict[str, Any] = {
        f"session_{n}": [{"dia_id": f"D{n}:1", "text": "Ahoy", "speaker": "Nora"}]
        for n in (10, 2, 1)
    }
    talk["session_10"].append({"dia_id": "D1:1", "text": "Again"})
    (found,) = read_locomo([{"conversation": talk, "qa": []}], defects)
    assert [(turn.session, turn.text) for turn in found.turns] == [
        ("1", "Ahoy"),
        ("2", "Ahoy"),
        ("10", "Ahoy"),
    ]
    assert defects["turns with the id of an earlier one, left out"] == 1
    assert defects["sessions without a date"] == 3


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
        ("sample", r"sample 1: .*dictionary.*; got 'sample'"),
    ],
)
def test_what_is_no_locomo_says_where(sample: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        list(read_locomo([sample], Defects()))


def test_a_beam_chat_has_sessions_by_time_anchor_and_questions_apart() -> None:
    chats = beam()
    chats[0]["questions"][0]["answer"] = "for an aunt"
    (chat,) = read_beam(chats, Defects())
    march, april = datetime(2024, 3, 15, tzinfo=UTC), datetime(2024, 4, 5, tzinfo=UTC)
    assert [(turn.id, turn.role, turn.session, turn.time) for turn in chat.turns] == [
        ("0", "user", "1", march),
        ("1", "assistant", "1", march),
        ("2", "user", "2", april),
    ]
    assert [(asked.category, asked.core, asked.evidence) for asked in chat.questions] == [
        ("information_extraction", True, ("0",)),
        ("event_ordering", False, ("0", "2")),
    ]
    assert [asked.answer for asked in chat.questions] == ["for an aunt", None]
