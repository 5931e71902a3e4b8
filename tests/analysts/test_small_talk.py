"""Courtesies are known as such, and nothing else is taken for one."""

import pytest

from amem_integrations.analysts.small_talk import SmallTalk, classify_small_talk
from tests.support import check_linear

NAMES = frozenset({"marta", "melanie", "伟"})


@pytest.mark.parametrize(
    "text",
    [
        "Thanks!",
        "thank you so much",
        "Thanks, Marta! You too. Take care.",
        "Bye Mel, see you soon!",
        "Good morning both!",
        "How are you?",
        "hahaha",
        "Soooo nice!!!",
        "That’s awesome",
        "You're a star, thank you!",
        "谢谢",
        "太棒了，谢谢！",
        "辛苦啦",
        "哈哈哈哈",
        "不客气~",
        "Danke!",
        "ありがとうございます",
        "감사합니다",
        "😂",
        "🎉🎉 congrats!",
        "...",
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
        "Yes!",
        "yeah, sure",
        "Sounds good",
        "Of course",
        "👍",
        "好的",
        "好的，谢谢！",
        "嗯嗯",
        "可以",
        "没问题",
        "对啊",
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
        "nope",
        "不行",
        "不用了",
        "ok, Tuesday then",
        "Thanks, Bob!",
        "Thanks for the flowers",
        "I quit",
        "She left.",
        "That is it",
        "3",
        "ok 3",
        "好的，周二见",
        "谢谢你的花",
        "我明白你的意思了，改用红色",
        "x = 1",
        "if (a) { b }",
        "`ok`",
        "👍 12",
        "€",
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


@pytest.mark.parametrize("piece", ["哈", "谢谢", "ha", "thanks ", "!", "好的", " ", "ok.\n"])
def test_a_long_run_is_read_in_linear_time(piece: str) -> None:
    check_linear(lambda size: classify_small_talk(piece * size + "狗"), 20_000)
