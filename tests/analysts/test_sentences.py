"""Where one idea of a turn ends and the next begins."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.analysts.sentences import (
    MAX_IDEAS,
    MAX_SENTENCES,
    Sentence,
    idea_starts,
    sentence_texts,
    split_sentences,
    unrelated_pairs,
    weigh_words,
)
from amem_integrations.analysts.terms import Corpus
from amem_integrations.core.values import is_blank
from tests.support import check_linear

NOTHING = Corpus(())

talk = st.lists(
    st.sampled_from(
        [
            "Hello. ",
            "I bought a red kayak! ",
            "By the way, ",
            "the plumber came",
            "好的。",
            "对了，",
            "模具要五天。",
            "\n\n",
            "\n",
            "```\nx = 1. \n```",
            "Dr. Who ",
            "e.g. this ",
            "?",
            "…",
            "🙂 ",
            "3.5 kg",
            "  ",
            "\t- item\n",
            "~~~",
            "\u2028",
        ]
    )
    | st.text(max_size=8),
    max_size=12,
).map("".join)


def texts(text: str) -> list[str]:
    return [part.text for part in split_sentences(text, NOTHING)]


def parts_of(text: str) -> Sequence[Sentence]:
    return split_sentences(text, NOTHING)


@given(talk)
def test_sentences_are_stretches_of_the_text_in_order_and_hold_all_of_it(text: str) -> None:
    end = 0
    for part in split_sentences(text, NOTHING):
        assert part.text == text[part.start : part.end]
        assert part.text == part.text.strip() != ""
        assert is_blank(text[end : part.start])
        assert end <= part.start
        end = part.end
    assert is_blank(text[end:])


@given(talk)
def test_ideas_begin_with_the_first_sentence_and_go_on_in_order(text: str) -> None:
    parts = split_sentences(text, NOTHING)
    starts = idea_starts(parts)
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert len(starts) <= MAX_IDEAS
    assert all(start < max(1, len(parts)) for start in starts)


def test_sentences_end_where_a_reader_says_so() -> None:
    text = "It broke. Why? I asked Dr. Seidel, e.g. on 3.5. Then 五天。好的！बस। Done"
    assert sentence_texts(text) == texts(text)
    assert texts(text) == [
        "It broke.",
        "Why?",
        "I asked Dr. Seidel, e.g. on 3.5.",
        "Then 五天。",
        "好的！",
        "बस।",
        "Done",
    ]


def test_a_line_is_a_sentence_unless_it_goes_on() -> None:
    assert texts("First line\nSecond line\nthat goes on\n\nThird") == [
        "First line",
        "Second line\nthat goes on",
        "Third",
    ]


def test_code_stays_with_the_sentence_before_it() -> None:
    code = "```python\nx = 1\n\nPrint(x). Done.\n```"
    assert texts(f"Here it is:\n{code}\nIt fails.") == [f"Here it is:\n{code}", "It fails."]
    assert texts(f"Here it is:\n{code[:-4]}") == [f"Here it is:\n{code[:-4]}"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I adopted a greyhound last week.", "By the way, the plumber fixed the sink."),
        ("I adopted a greyhound last week.", "Oh, and BTW the invoice for the sink came."),
        ("So assembly runs in Shanghai.", "Another thing: who trains the gardeners?"),
        ("The mould must be recut.", "On another note, my daughter won the race."),
        ("模具厂说改模要五天。", "对了，衡山路那家素菜馆周一关门。"),
        ("模具厂说改模要五天。", "另外，传感器的外壳颜色定了，苔藓绿。"),
    ],
)
def test_a_new_matter_that_is_announced_is_an_idea(first: str, second: str) -> None:
    parts = parts_of(f"{first} {second}")
    assert [part.text for part in parts] == [first, second]
    assert idea_starts(parts) == [0, 1]


@pytest.mark.parametrize(
    "text",
    [
        "Leipzig signed on Friday. The botanical garden takes 120 sensors, delivery by 1 April.",
        "Thanks! By the way, the plumber fixed the sink.",
        "The plumber fixed the sink. Anyway, thanks again!",
        "By the way, the plumber fixed the sink.",
        "I went by the way of Leipzig. The garden was open.",
        "Bad news from the climate chamber. At minus five the cells keep 40 percent.",
    ],
)
def test_anything_else_is_one_idea(text: str) -> None:
    assert idea_starts(parts_of(text)) == [0]


def test_there_are_only_so_many_ideas() -> None:
    text = "The sink leaks. " + "By the way, the kayak is red. Another thing: the oven works. " * 20
    assert len(idea_starts(parts_of(text))) == MAX_IDEAS


def test_telling_sentences_without_a_word_in_common_may_be_two_ideas() -> None:
    apart = parts_of("My sister plays the cello in Hamburg. Tomatoes need calcium against rot.")
    assert unrelated_pairs(apart) == [(0, 1)]
    same = parts_of("My sister plays the cello in Hamburg. Her cello teacher lives in Bremen now.")
    assert unrelated_pairs(same) == []
    leaning = parts_of("My sister plays the cello in Hamburg. It has cost her all of her savings.")
    assert unrelated_pairs(leaning) == []
    assert unrelated_pairs(parts_of("Hamburg is big. Tomatoes rot.")) == []


def test_a_word_that_is_common_here_weighs_less() -> None:
    keys, rare = weigh_words("The greyhound barks", NOTHING)
    assert "greyhound" in keys
    _, common = weigh_words("The greyhound barks", Corpus(["a greyhound barks"] * 50))
    assert common < rare / 2


def test_courtesies_and_names_of_those_who_talk_weigh_nothing() -> None:
    assert weigh_words("Thanks, Marta", NOTHING, {"marta"}) == (frozenset(), 0.0)


@pytest.mark.parametrize("piece", ["```\n", "a. ", "By the way, x1. "])
def test_a_very_long_turn_is_read_in_linear_time(piece: str) -> None:
    def read(size: int) -> None:
        text = "x" + piece * size + "y"
        parts = split_sentences(text, NOTHING)
        assert len(parts) <= MAX_SENTENCES
        assert (parts[0].start, parts[-1].end) == (0, len(text))

    check_linear(read, 30_000)
