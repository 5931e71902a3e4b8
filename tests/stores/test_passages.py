"""Which texts of a note are embedded: all of its content, in pieces that an embedder can take."""

import base64
import random
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amem_integrations.core.note import Note, make_note
from amem_integrations.core.values import estimate_tokens
from amem_integrations.stores.write import PASSAGE_TOKENS, passages, sparse_text, split
from tests.support import check_linear

ENGLISH = "Calvin wants an LRU policy for the cache. Did he say why? Eviction by age is bad! "
CHINESE = "我们决定在下周三之前完成缓存的改造。卡尔文负责淘汰策略！其他人先不要动配置？"

pieces_of_text = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=40),
    st.text("ab .!?。\n", max_size=60),
    st.sampled_from([ENGLISH, CHINESE, "。" * 30, "\n" * 30, " " * 30, "x" * 90, "3.14 v1.2.3 "]),
)
texts = st.lists(pieces_of_text, max_size=12).map("".join)


def note(content: str, **fields: Any) -> Note:
    made = make_note(content, namespace="n", now=datetime(2026, 3, 1, tzinfo=UTC))
    return made.evolve(**fields)


def visible(text: str) -> str:
    return "".join(text.split())


# -- split -----------------------------------------------------------------------------------


@given(texts, st.integers(1, 30))
@example("。" * 50, 10)
@example(" 中", 1)
@example("b. 中", 1)
def test_no_passage_is_longer_than_the_limit(text: str, limit: int) -> None:
    assert all(estimate_tokens(passage) <= limit for passage in split(text, limit))


@given(texts, st.integers(1, 30))
def test_no_text_is_lost_doubled_or_moved(text: str, limit: int) -> None:
    assert visible("".join(split(text, limit))) == visible(text)


@given(texts, st.integers(1, 30))
def test_every_passage_is_a_stretch_of_the_text(text: str, limit: int) -> None:
    at = 0
    for passage in split(text, limit):
        assert passage
        assert passage == passage.strip()
        at = text.index(passage, at) + len(passage)


@given(texts, st.integers(4, 30))
def test_passages_are_not_needlessly_small(text: str, limit: int) -> None:
    single_spaced = " ".join(text.split())
    sizes = [estimate_tokens(passage) for passage in split(single_spaced, limit)]
    assert all(one + other > limit // 4 for one, other in pairwise(sizes))


def test_a_text_that_fits_is_one_passage() -> None:
    assert split(ENGLISH) == [ENGLISH.strip()]
    assert split("  a\n\n b ") == ["a\n\n b"]
    assert split("") == split(" \n\t" * 1000) == []


def test_passages_end_where_sentences_or_lines_end() -> None:
    lines = "\n".join(f"item number {n} of the list" for n in range(200))
    for text, ends in ((ENGLISH * 40, ".?!"), (CHINESE * 40, "。？！"), (lines, "t")):
        found = split(text)
        assert len(found) > 1
        assert all(passage[-1] in ends for passage in found)


def test_numbers_and_addresses_are_not_taken_apart() -> None:
    text = "See v1.2.3 at https://example.org/a.b?c=d and pay 3.14 to x.y@example.org now. " * 60
    found = " ".join(split(text))
    assert found.count("v1.2.3") == found.count("https://example.org/a.b?c=d") == 60


def test_without_sentences_words_stay_whole() -> None:
    words = [f"word{n}" for n in range(3000)]
    assert " ".join(split(" ".join(words))).split() == words


@pytest.mark.parametrize("character", ["x", "中", "Ж", "🎉"])
def test_without_spaces_a_text_is_cut_anywhere(character: str) -> None:
    found = split(character * 5000)
    assert len(found) > 1
    assert "".join(found) == character * 5000


@pytest.mark.parametrize("unit", ["x", "x. ", "x\n", "中。", "\n\n x", ENGLISH])
def test_the_time_it_takes_grows_with_the_text_and_not_faster(unit: str) -> None:
    check_linear(lambda size: split(unit * (size // len(unit))), 100_000)


# -- what is embedded ------------------------------------------------------------------------


def test_a_short_note_is_one_text_with_what_was_understood_of_it() -> None:
    short = note("LRU it is", keywords=("LRU", "cache"), tags=("decision",), context="On eviction.")
    assert passages(short) == ["LRU it is\nOn eviction.\nLRU, cache\ndecision"]


def test_what_statistics_take_from_a_text_is_not_embedded_again() -> None:
    said = note("We chose LRU. It evicts well.", speaker="Calvin")
    formed = said.evolve(keywords=("LRU",), tags=("choice",), context="Calvin: We chose LRU.")
    assert passages(formed) == passages(said)
    assert "choice" in sparse_text(formed)


def test_a_long_note_keeps_what_was_understood_in_a_passage_of_its_own() -> None:
    raw = note(ENGLISH * 40)
    formed = raw.evolve(keywords=("LRU",), tags=("decision",), context="On zebras.")
    assert passages(formed) == [*passages(raw), "On zebras.\nLRU\ndecision"]
    assert passages(formed.evolve(context="On memory."))[:-1] == passages(raw)


@given(
    texts.filter(lambda text: any(map(str.isalnum, text))),
    st.lists(st.text("ab中", min_size=1, max_size=9), max_size=5).map(tuple),
    st.text("ab 中.", max_size=60).map(str.strip),
)
def test_every_note_has_something_to_embed_and_nothing_too_long(
    content: str, terms: tuple[str, ...], context: str
) -> None:
    found = passages(note(content, keywords=terms, tags=terms, context=context))
    assert found
    assert all(0 < estimate_tokens(text) <= PASSAGE_TOKENS for text in found)


@pytest.mark.parametrize("line", [10**9, 76])
def test_encoded_data_is_not_embedded(line: int) -> None:
    data = base64.b64encode(random.Random(1).randbytes(20_000)).decode()
    lines = "\n".join(data[at : at + line] for at in range(0, len(data), line))
    shown = note(f"The boat data:image/png;base64,{lines} is called Susie, see {lines}")
    assert "".join(passages(shown)).split() == ["The", "boat", "is", "called", "Susie,", "see"]
    assert len(passages(note(data))) == 1


def test_long_paths_slugs_and_sums_are_embedded() -> None:
    for text in (
        "https://example.org/" + "how-to-teach-an-old-dog-new-tricks/" * 4,
        "/usr/local/lib/python3/site-packages/amem_integrations/embedders/minilm/tokenizer",
        "the sum is 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "今天我们讨论了缓存系统的淘汰策略" * 6,
    ):
        assert "".join(passages(note(text))) == text


def test_all_words_of_a_note_are_indexed() -> None:
    formed = note("LRU it is", keywords=("cache",), tags=("decision",), context="On eviction.")
    assert sparse_text(formed) == "LRU it is\nOn eviction.\ncache\ndecision"
    assert sparse_text(note("LRU it is")) == "LRU it is"
