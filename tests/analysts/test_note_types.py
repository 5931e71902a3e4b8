"""Telling small talk from what says something, and what type of note a text is."""

import pytest

from amem_integrations.analysts.note_types import (
    NOTE_TYPES,
    SmallTalk,
    classify_small_talk,
    note_type_of,
)
from tests.support import check_linear

NAMES = frozenset({"marta", "melanie", "伟"})


@pytest.mark.parametrize(
    "text",
    [
        "Thanks!",
        "Thanks, Marta! You too. Take care.",
        "Good morning both!",
        "Soooo nice!!!",
        "That’s awesome",
        "You're a star, thank you!",
        "谢谢",
        "辛苦啦",
        "哈哈哈哈",
        "ありがとうございます",
        "감사합니다",
        "😂",
        "🎉🎉 congrats!",
        ";)",
    ],
)
def test_greetings_thanks_and_fillers_are_courtesies(text: str) -> None:
    assert classify_small_talk(text, NAMES) is SmallTalk.FILLER


@pytest.mark.parametrize(
    "text",
    [
        "ok",
        "OK, thanks",
        "Sounds good",
        "Of course",
        "👍",
        "好的",
        "嗯嗯",
        "没问题",
        "ok 谢谢",
        "Agreed!",
    ],
)
def test_what_can_answer_a_question_is_told_apart(text: str) -> None:
    assert classify_small_talk(text, NAMES) is SmallTalk.ANSWER


@pytest.mark.parametrize(
    "text",
    [
        "No.",
        "不行",
        "ok, Tuesday then",
        "Thanks, Bob!",
        "Thanks for the flowers",
        "I quit",
        "That is it",
        "ok 3",
        "好的，周二见",
        "我明白你的意思了，改用红色",
        "x = 1",
        "`ok`",
        "👍 12",
        "λ",
        "ок, встретимся завтра",
        " ".join(["thanks"] * 40),
    ],
)
def test_whatever_says_something_is_none(text: str) -> None:
    assert classify_small_talk(text, NAMES) is None


def test_those_who_talk_may_be_called_by_the_first_letters_of_their_names() -> None:
    assert classify_small_talk("Thanks, Mel!", NAMES)
    assert classify_small_talk("Thanks, Mel!") is None


@pytest.mark.parametrize("piece", ["哈", "谢谢", "ha", "ok.\n"])
def test_a_long_run_is_read_in_linear_time(piece: str) -> None:
    check_linear(lambda size: classify_small_talk(piece * size + "狗"), 20_000)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("What happens when somebody pulls the plug?", "question"),
        ("Could the hotel be near the water? I run every morning.", "question"),
        ("外壳颜色定了吗？Marta想要苔藓绿。", "question"),
        ("电芯什么时候到呢", "question"),
        ("I looked it up: the contract says 120.", "correction"),
        ("我说错了，是一百二十个。", "correction"),
        ("Decided: SQLite on the gateway.", "decision"),
        ("Then we take the Ningyuan cells.", "decision"),
        ("定了，哑光的苔藓绿。", "decision"),
        ("I'm vegetarian, and I love it spicy.", "preference"),
        ("我一吃花生就浑身起疹子。", "preference"),
        ("Bad news from the climate chamber.", "problem"),
        ("网关又坏了。", "problem"),
        ("I'll ask Leipzig for 15 April.", "plan"),
        ("那我今天就给宁远下单。", "plan"),
    ],
)
def test_a_clear_cue_names_the_kind(text: str, kind: str) -> None:
    assert note_type_of(text) == kind
    assert kind in NOTE_TYPES


@pytest.mark.parametrize(
    "text",
    [
        "The botanical garden is in Leipzig.",
        "盖子防水没问题，泡了半小时。",
        "ok",
        "人民币，不算什么。",
        "",
    ],
)
def test_without_a_clear_cue_no_kind_is_claimed(text: str) -> None:
    assert note_type_of(text) is None
