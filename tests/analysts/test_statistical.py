"""The analyst that needs no model."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amem_integrations.analysts.links import MAX_LINKS
from amem_integrations.analysts.readings import reading_of
from amem_integrations.analysts.statistical import (
    MAX_CONTEXT_CHARS,
    MAX_EVOLVED_KEYWORDS,
    MAX_EVOLVED_TAGS,
    StatisticalAnalyst,
    _readable,
)
from amem_integrations.analysts.words import keys
from amem_integrations.core.analysis import (
    Candidate,
    Evolution,
    Judgement,
    LinkProposal,
    Subject,
    Understanding,
)
from amem_integrations.core.io import IO, run
from amem_integrations.core.note import Note, make_note
from amem_integrations.core.value_text import value_text
from amem_integrations.memory.items import item_note
from tests.support import check_linear

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
ANALYST = StatisticalAnalyst()
# It asks nothing of the world, so there is nothing to stand in for it.
NO_IO = cast(IO, None)


def note(content: str, at: int = 0, *, formed: bool = False, **fields: Any) -> Note:
    made = make_note(
        content,
        namespace="team",
        now=START + timedelta(minutes=at),
        key=f"{at}:{content[:40]}",
        **fields,
    )
    return as_formed(made) if formed else made


def as_formed(raw: Note) -> Note:
    found = understood(raw)
    return raw.evolve(keywords=found.keywords, tags=found.tags, context=found.context)


def understood(subject: Note, background: Sequence[Note] = ()) -> Understanding:
    return run(ANALYST.construct(NO_IO, Subject(subject, (), tuple(background))))


def judged(subject: Note, *neighbours: Note, similarity: float = 0.5) -> Judgement:
    return run(ANALYST.fuse(NO_IO, with_candidates(subject, neighbours, similarity)))


def with_candidates(subject: Note, neighbours: Sequence[Note], similarity: float) -> Subject:
    found = tuple(
        Candidate(neighbour, similarity, rank, rank) for rank, neighbour in enumerate(neighbours)
    )
    return Subject(subject, found, tuple(neighbours))


def evolution_of(neighbour: Note, judgement: Judgement) -> Evolution:
    [evolution] = [each for each in judgement.evolutions if each.note_id == neighbour.id]
    return evolution


# -- understanding ---------------------------------------------------------------------------


def test_an_english_turn_is_understood() -> None:
    turn = note(
        "Bad news from the climate chamber. At minus five the Huaxin cells keep only 40 percent "
        "of their capacity.",
        speaker="Wei",
        occurred_at=START,
    )
    assert understood(turn) == Understanding(
        keywords=("Huaxin cells", "climate chamber", "40 percent", "capacity"),
        tags=("problem", "Huaxin cells", "climate chamber"),
        context="Wei, 2026-03-02: At minus five the Huaxin cells keep only 40 percent of their "
        "capacity.",
    )


def test_a_chinese_turn_is_understood_in_chinese() -> None:
    turn = note("那我今天就给宁远下单，电芯交期三周。", 1, formed=True, speaker="Jun")
    found = understood(turn)
    assert found.keywords == ("宁远下单", "电芯交期")
    assert found.tags == ("plan", "宁远下单", "电芯交期")
    assert found.context == "Jun: 那我今天就给宁远下单，电芯交期三周。"
    evolution = evolution_of(turn, judged(note("宁远的货提前到了，电芯已经在上海仓库。", 2), turn))
    assert evolution.reason.startswith("后来的笔记都提到“宁远”和“电芯”")
    assert "上海仓库" in (evolution.keywords or ())


def test_words_that_recur_in_the_background_become_tags() -> None:
    background = [note("Leipzig wants sensors"), note("The sensor for Leipzig")]
    found = understood(note("I ordered printed boxes for the 150 sensors of Leipzig"), background)
    assert found.tags == ("Leipzig", "sensor", "box")


def test_everyday_words_make_up_keywords_but_no_tags() -> None:
    found = understood(note("What happens when somebody pulls the plug?"))
    assert found.keywords == ("plug", "happens", "pulls")
    assert found.tags == ("question", "plug")


@pytest.mark.parametrize(
    "content", ["Redis", "缓存", "キャッシュ", "데이터베이스", "شَمْس", "what a plug", "Ὀδυσσεύς"]
)
def test_any_word_of_content_gives_at_least_two_tags(content: str) -> None:
    found = understood(note(content))
    assert found.keywords
    assert 2 <= len(found.tags) <= 3


@pytest.mark.parametrize(
    ("content", "keywords"),
    [*((it, ()) for it in ("ok", "Thanks!", "好的", "12:30", "...")), ("🎉🎉🚀", ("🎉", "🚀"))],
)
def test_nothing_is_invented_for_a_turn_without_words(
    content: str, keywords: tuple[str, ...]
) -> None:
    found = understood(note(content))
    assert (found.keywords, found.tags) == (keywords, ())
    assert found.context == content


def test_the_context_is_a_sentence_of_the_note_cut_to_its_limit() -> None:
    sentence = "The Huaxin pump " + "very " * 80 + "slowly fills the tank."
    found = understood(note(f"So. {sentence} Ok."))
    assert len(found.context) <= MAX_CONTEXT_CHARS
    assert sentence.startswith(found.context.removesuffix("…"))


def test_what_is_understood_does_not_depend_on_the_candidates() -> None:
    subject = note("The Huaxin pump fills the tank", 9)
    neighbour = note("Huaxin pumps are loud and the tank is small", 1, formed=True)
    alone = understood(subject, [neighbour])
    assert judged(subject, neighbour).understanding == alone
    assert not ANALYST.reads_candidates


# -- evolution -------------------------------------------------------------------------------


def test_a_neighbour_of_the_same_matter_takes_over_what_it_came_to() -> None:
    cells = note("The Huaxin cells failed in the climate chamber", 1, formed=True)
    mould = note("With the Huaxin cells the lid stays open, so the mould is recut", 2)
    evolution = evolution_of(cells, judged(mould, cells))
    assert evolution.keywords == (*cells.keywords, "lid", "mould")
    assert evolution.context is None
    assert evolution.reason == (
        "a later note shares 'Huaxin' and 'cells'; now also known by 'lid' and 'mould'"
    )


def test_nothing_new_means_no_evolution() -> None:
    old = note("The Huaxin cells failed", 1, formed=True)
    again = note("The Huaxin cells failed", 2)
    judgement = judged(again, old)
    assert [link.to for link in judgement.links] == [old.id]
    assert judgement.evolutions == ()


def test_a_sequence_link_makes_nobody_evolve() -> None:
    before = note("Vans are cold", 1, formed=True, session="s", sequence=1)
    judgement = judged(
        note("Leipzig rain floods beds", 2, session="s", sequence=2), before, similarity=0.0
    )
    assert [link.kind for link in judgement.links] == ["sequence"]
    assert judgement.evolutions == ()


def test_an_empty_context_is_filled_from_the_neighbour_s_own_text() -> None:
    bare = note("The Huaxin cells failed. Sorry.", 1, formed=True).evolve(context="")
    evolution = evolution_of(bare, judged(note("Huaxin cells again", 2), bare))
    assert evolution.context == "The Huaxin cells failed."


def test_keywords_and_tags_stop_growing() -> None:
    old = note("The Huaxin cells failed in the climate chamber", 1, formed=True)
    for number in range(20):
        later = note(f"Huaxin cells need thing{number}x and part{number}y and Zone{number}", 9)
        for evolution in judged(later, old).evolutions:
            old = old.evolve(
                keywords=evolution.keywords or old.keywords, tags=evolution.tags or old.tags
            )
    assert len(old.keywords) == MAX_EVOLVED_KEYWORDS
    assert len(old.tags) <= MAX_EVOLVED_TAGS


def test_links_that_were_not_offered_are_ignored() -> None:
    subject = Subject(note("Huaxin cells", 2))
    proposal = LinkProposal("00000000-0000-5000-8000-000000000000", "made up", "same-matter")
    assert run(ANALYST.evolve(NO_IO, subject, [proposal])) == []


# -- values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": {"b": ["one", {"c": "two"}]}, "n": 1}, "one\ntwo\n1"),
        (["one", "two"], "one, two"),
        ({"n": 1}, "1"),
        ({"text": "one"}, "one"),
    ],
    ids=range(4),
)
def test_a_value_is_read_by_its_texts(value: Any, expected: str) -> None:
    item = item_note(("a",), "k", json.dumps(value), [value_text(value)], now=START)
    read = _readable(Subject(item, (Candidate(item, 0.5, 0),), (item,)))
    assert read.note.content == expected
    assert read.candidates[0].note.content == expected
    assert reading_of(item).keys == keys(expected)
    assert read.candidates[0].similarity == 0.5


@pytest.mark.parametrize("text", ['{"n": 1}', '{"text": " "}', "{not json}", "[" * 5000, "[1]!"])
def test_a_text_that_looks_like_a_value_is_read_as_it_is(text: str) -> None:
    for note in (
        make_note(text, namespace="a", now=START),
        item_note(("a",), "k", "{}", [text], now=START),
    ):
        assert _readable(Subject(note)).note.content == text


# -- the whole -------------------------------------------------------------------------------


def test_three_steps_and_one_come_to_the_same() -> None:
    cells = note("The Huaxin cells failed in the climate chamber", 1, formed=True)
    subject = with_candidates(note("The Huaxin cells need a new lid and mould", 2), [cells], 0.4)
    links = run(ANALYST.link(NO_IO, subject))
    assert run(ANALYST.fuse(NO_IO, subject)) == Judgement(
        run(ANALYST.construct(NO_IO, subject)),
        tuple(links),
        tuple(run(ANALYST.evolve(NO_IO, subject, links))),
    )


@pytest.mark.parametrize(
    "unit", ["The Huaxin cells keep 40 percent. ", "我们决定把缓存的淘汰策略换成LRU，周五上线。"]
)
def test_four_times_the_text_takes_about_four_times_as_long(unit: str) -> None:
    other = note("Huaxin cells 缓存淘汰策略", 1, formed=True)

    def judge(size: int) -> None:
        judgement = judged(note(unit * (size // len(unit.encode())), 2), other)
        assert judgement.understanding.keywords

    check_linear(judge, 40_000)


FRAGMENTS = (
    "Huaxin",
    "cells",
    "电芯",
    "宁远",
    "缓存",
    "120",
    "3",
    "mm",
    "ok",
    "😀",
    "don't",
    "LRU",
)
CONTENT = st.one_of(
    # Something to see first, since what is invisible is no content.
    st.text(max_size=200).map(lambda text: f"x{text}"),
    st.text(max_size=200).map(lambda text: f"。{text}"),
    st.lists(
        st.sampled_from([*FRAGMENTS, "Leipzig.", "?", "foo_bar", "ในฐาน"]), min_size=1, max_size=12
    ).map(" ".join),
)


@settings(max_examples=100)
@given(CONTENT, st.lists(st.tuples(CONTENT, st.floats(-1, 1)), max_size=9), st.booleans())
def test_whatever_is_said_it_never_raises_and_keeps_its_bounds(
    content: str, others: list[tuple[str, float]], ordered: bool
) -> None:
    def turn(text: str, n: int) -> Note:
        return note(text, n, session="s", sequence=n if ordered else None, speaker="Wei")

    background = [turn(text, n) for n, (text, _) in enumerate(others)]
    found = tuple(
        Candidate(other, similarity, rank, None if rank % 3 else rank)
        for rank, (other, (_, similarity)) in enumerate(zip(background, others, strict=True))
    )
    subject = Subject(turn(content, len(others)), found, tuple(reversed(background)))
    judgement = run(ANALYST.fuse(NO_IO, subject))
    assert run(ANALYST.fuse(NO_IO, subject)) == judgement

    assert len(judgement.understanding.keywords) <= 5
    assert len(judgement.understanding.tags) <= 3
    assert len(judgement.understanding.context) <= MAX_CONTEXT_CHARS
    offered = {other.id for other in background}
    targets = [link.to for link in judgement.links]
    assert len(targets) == len(set(targets)) <= MAX_LINKS
    assert set(targets) <= offered
    assert all(link.reason and 0 < link.weight <= 1 for link in judgement.links)
    linked = {link.to for link in judgement.links if link.kind != "sequence"}
    for evolution in judgement.evolutions:
        assert evolution.note_id in linked
        assert evolution.reason
        assert evolution.keywords or evolution.tags or evolution.context
