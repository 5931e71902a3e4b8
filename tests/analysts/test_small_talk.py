"""Courtesies are known as such, and nothing else is taken for one."""

import pytest

from amem_integrations.analysts.small_talk import SmallTalk, classify_small_talk
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
