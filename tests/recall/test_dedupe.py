"""Duplicates and diversity: which of the notes found take the places."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.io import run
from amem_integrations.core.note import Hit, make_note
from amem_integrations.errors import InvalidInputError
from amem_integrations.recall.dedupe import diversify, fold_duplicates, same_as
from amem_integrations.recall.search import DEPTH, search
from amem_integrations.recall.signals import RecallOptions
from tests.recall.canned import Canned
from tests.support import open_memory

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NS = ("calvin",)


def hit(content: str, score: float = 1.0, **fields: Any) -> Hit:
    return Hit(make_note(content, namespace="calvin", now=NOW, **fields), score, {"meaning": score})


def texts(hits: list[Hit]) -> list[str]:
    return [each.note.content for each in hits]


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


def test_of_notes_that_say_the_same_the_best_takes_the_place() -> None:
    hits = [hit("tea", 3, key="a"), hit("Tea!", 2, key="b"), hit("coffee", 1)]
    assert texts(fold_duplicates(hits, 2, {})) == ["tea", "coffee"]


def test_a_duplicate_stays_where_nothing_else_takes_the_place() -> None:
    hits = [hit("tea", 3, key="a"), hit("Tea!", 2, key="b"), hit("coffee", 1)]
    assert texts(fold_duplicates(hits, 3, {})) == ["tea", "coffee", "Tea!"]


@pytest.fixture
def crowded() -> Iterator[AgenticMemory]:
    """Thirty times the same, and five other notes on the matter."""
    with open_memory(formation="off") as memory:
        memory.add_many(
            [{"content": "The cache uses LRU eviction" + "!" * (n % 3)} for n in range(30)]
            + [{"content": f"Eviction of the cache, remark {n}"} for n in "abcde"]
        )
        yield memory


def test_duplicates_do_not_fill_the_places_of_a_search(crowded: AgenticMemory) -> None:
    found = crowded.search("LRU eviction of the cache", k=6)
    assert len({same_as(each.note) for each in found}) == 6
    assert "LRU" in found[0].note.content


def test_more_duplicates_than_a_list_is_long_do_not_fill_the_places_either() -> None:
    with open_memory(formation="off") as memory:
        same = {"content": "The cache uses LRU eviction"}
        memory.add_many([{**same, "key": str(n)} for n in range(2 * DEPTH)])
        memory.add_many([f"Eviction of the cache, remark {n}" for n in "abcde"])
        found = memory.search("LRU eviction of the cache", k=6)
    assert len({same_as(each.note) for each in found}) == 6


def test_with_more_places_than_notes_every_duplicate_is_found_best_first(
    crowded: AgenticMemory,
) -> None:
    found = crowded.search("LRU eviction of the cache", k=50)
    assert len(found) == 35
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_folding_can_be_switched_off(canned: Canned) -> None:
    for name in ("tea", "Tea", "coffee"):
        canned.add(name)
    for fold, expected in ((True, ["tea", "coffee"]), (False, ["tea", "Tea"])):
        canned.answer({"tea": 0.9, "Tea": 0.8, "coffee": 0.1})
        options = RecallOptions(fold=fold)
        found = run(search(canned.io, "of", namespace=NS, k=2, hops=0, options=options))
        assert texts(found) == expected


# -- diversity ----------------------------------------------------------------------------------


ALIKE = [
    hit("green tea in the morning", 3.0),
    hit("green tea in the evening", 2.9),
    hit("a boat called Susie", 2.0),
    hit("nothing of the kind", 1.0),
]


def test_without_diversity_the_best_are_taken() -> None:
    assert texts(diversify(ALIKE, 2, 0.0)) == texts(ALIKE[:2])


def test_with_diversity_what_is_much_like_a_better_one_gives_way() -> None:
    assert texts(diversify(ALIKE, 2, 0.5)) == ["green tea in the morning", "a boat called Susie"]


def test_the_best_is_always_chosen_and_no_more_than_there_are() -> None:
    for diversity in (0.1, 1.0):
        assert texts(diversify(ALIKE, 9, diversity)) == texts(ALIKE)
        assert texts(diversify(ALIKE, 1, diversity)) == texts(ALIKE[:1])


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
