"""Ranking the terms of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.analysts.terms import Corpus, salient, symbols, telling

NOTHING = Corpus([])


def found(text: str, corpus: Corpus = NOTHING, limit: int = 5) -> list[str]:
    return [term.text for term in salient(text, corpus, limit=limit)]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        # Phrases, names and quantities come before everyday words.
        (
            "Bad news from the climate chamber. At minus five the Huaxin cells keep only 40 "
            "percent.",
            ["Huaxin cells", "climate chamber", "40 percent"],
        ),
        # Chinese terms are words and joined nouns.
        (
            "宁远有一款低温电芯，零下二十度还有八成容量，就是贵一点。",
            ["低温电芯", "宁远", "容量"],
        ),
        ("我们的 cache 用 LRU 策略，in memory 就行", ["cache", "LRU 策略", "memory"]),
        # Stop words bound phrases.
        ("the lid of the box", ["lid", "box"]),
        # Weak words make no phrase among themselves.
        ("we need thirty", ["need", "thirty"]),
        ("货提前到了", ["提前", "货"]),
        # A phrase does not end in a participle.
        ("Budget with tooling included", ["Budget", "tooling", "included"]),
        # Bare numbers and times are no terms.
        ("42 at 12:30 on Monday, 7 March 2026", []),
        *((text, []) for text in ("", "ok", "the of and", "!!!", "12:30")),
    ],
)
def test_the_terms_of_a_text_are_ranked(text: str, terms: list[str]) -> None:
    assert sorted(found(text)) == sorted(terms)


def test_identifiers_in_code_are_terms() -> None:
    terms = found("def evict(key): return cache_map.pop(key)  # LRU_CACHE in utils.py")
    assert {"cache_map.pop", "LRU_CACHE", "utils.py"} <= set(terms)


def test_no_term_nearly_repeats_another() -> None:
    terms = found("Sprig sensors for Leipzig: the Sprig sensor, sensors again, and a pump")
    assert len([term for term in terms if "ensor" in term]) == 1
    assert "pump" in terms


def test_a_rare_word_comes_before_one_that_all_texts_have() -> None:
    corpus = Corpus([f"the sensor and thing {number}" for number in range(30)])
    assert found("the sensor and the mould") == ["sensor", "mould"]
    assert found("the sensor and the mould", corpus) == ["mould", "sensor"]
    assert found("a pump, then a valve, and that valve")[0] == "valve"


def test_terms_made_of_excluded_words_alone_are_left_out() -> None:
    terms = salient("Marta likes Marta pizza", NOTHING, without=frozenset({"marta"}), limit=5)
    assert "Marta" not in [term.text for term in terms]


def test_single_words_that_tell_most_are_rarest_first() -> None:
    corpus = Corpus(["Leipzig"] * 20)
    words = telling("Leipzig wants a mould", corpus, without=frozenset(), limit=2)
    assert [word.key for word in words] == ["mould", "leipzig"]


def test_rarity_falls_with_the_number_of_texts_that_have_a_word() -> None:
    corpus = Corpus(["pump valve", "pump lid", "pump"])
    assert corpus.rarity("unseen") == corpus.rarity("lid") == 1.0
    assert 0 < corpus.rarity("pump") < corpus.rarity("valve") <= 1.0


def test_emoji_sequences_are_single_signs() -> None:
    assert symbols("👨‍👩‍👧 🇩🇪 👍🏽👍🏽", 5) == ["👨‍👩‍👧", "🇩🇪", "👍🏽"]


@given(st.text(max_size=300), st.lists(st.text(max_size=60), max_size=4))
def test_terms_occur_in_the_text_and_stay_within_bounds(text: str, others: list[str]) -> None:
    corpus = Corpus(others)
    terms = salient(text, corpus, limit=5)
    assert len(terms) <= 5
    blanks = " ".join(text.split())
    for term in terms:
        assert term.text.strip() == term.text != ""
        assert term.text in blanks or term.text.removesuffix("'s") in blanks
        assert term.score > 0
    assert terms == salient(text, corpus, limit=5)
