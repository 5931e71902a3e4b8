"""The conversation that the demo remembers, and the questions it is asked."""

import json
import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "cookbook" / "data"
TURNS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (DATA / "product_team.jsonl").read_text(encoding="utf-8").splitlines()
]
QUESTIONS: list[dict[str, Any]] = json.loads(
    (DATA / "product_team_questions.json").read_text(encoding="utf-8")
)
HAN = re.compile("[\u4e00-\u9fff]")


def test_every_turn_says_who_when_and_where_in_the_conversation() -> None:
    for turn in TURNS:
        assert set(turn) == {"id", "session", "sequence", "speaker", "occurred_at", "content"}
        assert turn["content"].strip()
        assert datetime.fromisoformat(turn["occurred_at"]).utcoffset() is not None
    assert len({turn["id"] for turn in TURNS}) == len(TURNS)


def test_turns_are_in_order_and_each_session_counts_from_one() -> None:
    moments = [datetime.fromisoformat(turn["occurred_at"]) for turn in TURNS]
    assert moments == sorted(moments)
    assert (moments[-1] - moments[0]).days in range(14, 22)
    seen: Counter[str] = Counter()
    for turn in TURNS:
        seen[turn["session"]] += 1
        assert turn["sequence"] == seen[turn["session"]]


def test_about_a_third_of_the_turns_are_chinese() -> None:
    chinese = sum(bool(HAN.search(turn["content"])) for turn in TURNS)
    assert 0.3 <= chinese / len(TURNS) <= 0.4


def test_questions_expect_turns_that_exist() -> None:
    ids = {turn["id"] for turn in TURNS}
    for question in QUESTIONS:
        assert question["question"].strip()
        assert question["expected"]
        assert set(question["expected"]) <= ids
        assert question["needs"] in {"one", "two", "link"}
        assert (question["needs"] == "one") == (len(question["expected"]) == 1)
        assert (question["language"] == "zh") == bool(HAN.search(question["question"]))


def test_the_demo_asks_six_questions_some_of_which_need_two_notes() -> None:
    shown = [question for question in QUESTIONS if question["demo"]]
    assert len(shown) == 6
    assert sum(question["needs"] != "one" for question in shown) >= 2
    assert all("embedder" not in question for question in shown)
    assert any(question["language"] == "zh" for question in shown)
