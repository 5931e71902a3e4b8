"""Duplicates and diversity: which of the notes found take the places."""

from datetime import UTC, datetime
from typing import Any

import pytest

from amem_integrations.core.hit import Hit
from amem_integrations.core.note import make_note
from amem_integrations.errors import InvalidInputError
from amem_integrations.recall.rerank import diversify, fold_duplicates, same_as
from amem_integrations.recall.search import DEPTH
from tests.recall.canned import texts
from tests.support import open_memory

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NS = ("calvin",)


def hit(content: str, score: float = 1.0, **fields: Any) -> Hit:
    return Hit(make_note(content, namespace="calvin", now=NOW, **fields), score, {"meaning": score})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The cache uses LRU.", "the cache  uses LRU!"),
        ("The cache uses LRU", "Cache uses an LRU"),
        ('He said "yes".', "He said yes"),
        ("我喜欢茶。", "我喜欢茶"),
        ("ｆｕｌｌ width", "full width"),
    ],
)
def test_case_blanks_punctuation_and_articles_make_no_difference(one: str, other: str) -> None:
    assert same_as(hit(one).note) == same_as(hit(other).note)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The board meets on Monday", "The board meets on Tuesday"),
        ("Invoice 4711 is paid", "Invoice 4712 is paid"),
        ("The key is under the mat", "The key is not under the mat"),
        ("Ann paid Bob", "Bob paid Ann"),
        ("We ship on Friday.", "We ship on Friday?"),
        ("I write C++", "I write C#"),
        ("It is 5 degrees", "It is -5 degrees"),
        ("Turn the alarm on", "Turn the alarm off"),
        ("!!!", "???"),
        ("The", "A"),
    ],
)
def test_whatever_else_differs_is_another_note(one: str, other: str) -> None:
    assert same_as(hit(one).note) != same_as(hit(other).note)


def test_the_same_words_of_another_speaker_are_another_note() -> None:
    assert same_as(hit("I like tea", speaker="Ann").note) != same_as(
        hit("I like tea", speaker="Bob").note
    )


def test_a_duplicate_comes_after_the_others_if_a_place_is_left() -> None:
    hits = [hit("tea", 3, key="a"), hit("Tea!", 2, key="b"), hit("coffee", 1)]
    assert texts(fold_duplicates(hits, 2, {})) == ["tea", "coffee"]
    assert texts(fold_duplicates(hits, 3, {})) == ["tea", "coffee", "Tea!"]


def test_more_duplicates_than_a_list_is_long_do_not_fill_the_places() -> None:
    with open_memory(formation="off") as memory:
        same = {"content": "The cache uses LRU eviction"}
        memory.add_many([{**same, "key": str(n)} for n in range(2 * DEPTH)])
        memory.add_many([f"Eviction of the cache, remark {n}" for n in "abcde"])
        found = memory.search("LRU eviction of the cache", k=6)
    assert len({same_as(each.note) for each in found}) == 6


# -- diversity ----------------------------------------------------------------------------------


ALIKE = [
    hit("green tea in the morning", 3.0),
    hit("green tea in the evening", 2.9),
    hit("a boat called Susie", 2.0),
    hit("nothing of the kind", 1.0),
]


def test_with_diversity_what_is_much_like_a_better_one_gives_way() -> None:
    assert texts(diversify(ALIKE, 2, 0.5)) == ["green tea in the morning", "a boat called Susie"]
    assert texts(diversify(ALIKE, 2, 0.0)) == texts(ALIKE[:2])
    assert texts(diversify(ALIKE, 9, 1.0)) == texts(ALIKE)


def test_equal_scores_are_told_apart_by_likeness_alone() -> None:
    level = [hit("tea tea", 1.0), hit("tea", 1.0), hit("boat", 1.0)]
    assert texts(diversify(level, 2, 0.3)) == ["tea tea", "boat"]


def test_a_memory_can_prefer_unlike_notes() -> None:
    notes = [f"green tea is drunk in the {when}" for when in ("morning", "evening", "night")]
    for diversity, boats in ((0.0, 0), (0.7, 1)):
        with open_memory(formation="off", diversity=diversity) as memory:
            memory.add_many([*notes, "the boat has a green sail"])
            found = memory.search("when is green tea drunk in the", k=2)
            assert sum("boat" in text for text in texts(found)) == boats
            assert found[0].score >= found[1].score


@pytest.mark.parametrize("diversity", [-0.1, 1.5])
def test_a_diversity_out_of_range_is_refused(diversity: float) -> None:
    with pytest.raises(InvalidInputError, match=r"diversity lies in \[0, 1\]"):
        open_memory(diversity=diversity)
