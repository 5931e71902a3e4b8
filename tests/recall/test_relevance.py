"""A least relevance: a question about nothing that is stored finds nothing."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.errors import InvalidInputError
from tests.support import open_memory

TALK = [
    ("Ada", "The product page takes four seconds."),
    ("Bea", "A cache before the catalogue would fix that."),
    ("Ada", "Then a cache with LRU eviction."),
    ("Bea", "Lunch at noon?"),
]


@pytest.fixture(scope="module")
def memory() -> Iterator[AgenticMemory]:
    with open_memory(formation="off") as opened:
        opened.add_many(
            [
                {"content": text, "speaker": speaker, "session": "s", "sequence": place}
                for place, (speaker, text) in enumerate(TALK)
            ]
        )
        yield opened


def relevance(memory: AgenticMemory, query: str, content: str) -> float:
    """Of the note that begins so."""
    (found,) = (
        hit.relevance
        for hit in memory.search(query, min_relevance=0)
        if hit.note.content.startswith(content)
    )
    assert found is not None
    return found


def greatest(memory: AgenticMemory, query: str) -> float:
    return max(hit.relevance or 0.0 for hit in memory.search(query, min_relevance=0))


# -- what is measured ---------------------------------------------------------------------------


def test_relevance_is_not_measured_unless_it_is_asked_for(memory: AgenticMemory) -> None:
    assert {hit.relevance for hit in memory.search("LRU eviction")} == {None}


def test_the_own_words_of_a_note_are_most_relevant(memory: AgenticMemory) -> None:
    asked = "cache with LRU eviction"
    assert relevance(memory, asked, "Then a cache") > relevance(memory, asked, "A cache before")
    assert relevance(memory, asked, "A cache before") > relevance(memory, asked, "Lunch")


def test_words_that_nobody_said_count_against_it(memory: AgenticMemory) -> None:
    known, unknown = "cache eviction", "cache wombat"
    assert relevance(memory, unknown, "Then a cache") < relevance(memory, known, "Then a cache")


def test_naming_somebody_who_is_here_adds_a_little(memory: AgenticMemory) -> None:
    named, stranger = "Did Ada say wombat?", "Did wombat say wombat?"
    assert greatest(memory, named) > greatest(memory, stranger)


def test_relevance_is_the_same_whatever_else_is_found(memory: AgenticMemory) -> None:
    asked = "LRU eviction of the cache"
    few = {hit.note.id: hit.relevance for hit in memory.search(asked, k=2, min_relevance=0)}
    many = {hit.note.id: hit.relevance for hit in memory.search(asked, k=4, min_relevance=0)}
    assert len(few) == 2
    assert few == pytest.approx({id: many[id] for id in few})


def test_other_namespaces_change_no_relevance(memory: AgenticMemory) -> None:
    before = greatest(memory, "LRU eviction")
    memory.add_many([f"LRU eviction number {n}" for n in range(20)], namespace="other")
    assert greatest(memory, "LRU eviction") == pytest.approx(before)


# -- what it does -------------------------------------------------------------------------------


def test_a_question_about_nothing_stored_finds_nothing(memory: AgenticMemory) -> None:
    assert memory.search("Which wombats live in Tasmania?", min_relevance=0.1) == []
    assert memory.search("Which wombats live in Tasmania?") != []


def test_a_question_about_something_stored_loses_what_hardly_answers(memory: AgenticMemory) -> None:
    asked = "Which eviction does the cache have?"
    every = memory.search(asked, min_relevance=0)
    kept = memory.search(asked, min_relevance=0.1)
    assert kept == [hit for hit in every if (hit.relevance or 0.0) >= 0.1]
    assert 0 < len(kept) < len(every)


def test_a_memory_has_a_least_relevance_which_a_search_can_waive() -> None:
    with open_memory(formation="off", min_relevance=0.1) as memory:
        memory.add("We chose a cache with LRU eviction.")
        assert memory.search("wombats of Tasmania") == []
        assert len(memory.search("wombats of Tasmania", min_relevance=0)) == 1
        assert len(memory.search("cache eviction LRU")) == 1


@pytest.mark.parametrize("query", ["the of and", "😀", "word " * 3000, "缓存 cache"])
def test_any_question_has_a_relevance(memory: AgenticMemory, query: str) -> None:
    found = memory.search(query, min_relevance=0)
    assert found
    assert all(hit.relevance is not None and 0 <= hit.relevance <= 1 for hit in found)


def test_a_filter_and_a_moment_hold_for_relevance_too(memory: AgenticMemory) -> None:
    found = memory.search("cache", min_relevance=0, filter={"speaker": "Ada"})
    assert {hit.note.speaker for hit in found} == {"Ada"}
    assert all(hit.relevance for hit in found)
    past = datetime(2020, 1, 1, tzinfo=UTC)
    assert memory.search("cache", min_relevance=0, at=past) == []


@pytest.mark.parametrize("least", [float("nan"), float("inf"), "0.5", True, -0.1, 1.5])
def test_what_is_no_number_is_refused(memory: AgenticMemory, least: Any) -> None:
    with pytest.raises(InvalidInputError, match="min_relevance is a number"):
        memory.search("cache", min_relevance=least)
    with pytest.raises(InvalidInputError, match="min_relevance is a number"):
        open_memory(min_relevance=least)
