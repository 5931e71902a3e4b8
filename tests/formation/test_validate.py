"""What of a model's proposal is applied: bounded, about what was offered, and never content."""

import dataclasses
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.core.analysis import Evolution, LinkProposal, Understanding
from amem_integrations.core.note import (
    MAX_CONTEXT_CHARS,
    MAX_KEYWORDS,
    MAX_TAGS,
    Link,
    Note,
    make_note,
)
from amem_integrations.core.values import MAX_TERM_CHARS
from amem_integrations.formation.validate import (
    MAX_LINKS,
    Tally,
    accepted_evolutions,
    accepted_links,
    understood,
)
from amem_integrations.revisions.change import MAX_REASON_CHARS, evolved, merged

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NOTE = make_note("The cache is full", namespace="n", now=NOW)
OLD = make_note("The cache was empty", namespace="n", now=NOW).evolve(
    keywords=("cache", "empty"), tags=("talk",), context="On memory."
)
KNOWN = ["a", "b", "c"]


def links_of(
    *proposals: LinkProposal,
    offered: Sequence[str] = KNOWN,
    present: Sequence[str] = KNOWN,
    tally: Tally | None = None,
) -> tuple[Link, ...]:
    tally = Tally() if tally is None else tally
    return accepted_links(NOTE, proposals, offered, present, NOW, tally)


def link_to(to: str, **fields: Any) -> LinkProposal:
    return LinkProposal(**{"to": to, "reason": f"both like {to}", **fields})


# -- links -----------------------------------------------------------------------------------


def test_a_link_to_an_offered_note_is_made_by_the_new_note_now() -> None:
    proposal = LinkProposal("a", "the same cache", "same-matter", 0.75)
    expected = Link(NOTE.id, "a", "the same cache", NOW, "same-matter", 0.75)
    assert links_of(proposal) == (expected,)


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        ("made-up", "not_offered"),
        ("", "not_offered"),
        ("there", "not_offered"),
        ("gone", "gone"),
        ("a", "repeated"),
        (NOTE.id, "self"),
    ],
)
def test_any_other_proposal_is_dropped_and_counted(to: str, reason: str) -> None:
    tally = Tally()
    offered, present = ["a", "b", "gone", NOTE.id], ["a", "b", "there", NOTE.id]
    links = links_of(
        link_to("a"), link_to(to), link_to("b"), offered=offered, present=present, tally=tally
    )
    assert [link.to for link in links] == ["a", "b"]
    evolutions = [Evolution("a", context="New."), Evolution(to)]
    accepted = accepted_evolutions(NOTE, evolutions, offered, present, tally)
    assert accepted == {"a": Evolution("a", context="New.")}
    assert tally == {f"dropped.link.{reason}": 1, f"dropped.evolution.{reason}": 1}


def test_more_links_than_fit_are_dropped_from_the_end() -> None:
    many = [f"n{number}" for number in range(MAX_LINKS + 3)]
    tally = Tally()
    links = links_of(*map(link_to, many), offered=many, present=many, tally=tally)
    assert [link.to for link in links] == many[:MAX_LINKS]
    assert tally == {"dropped.link.too_many": 3}


@pytest.mark.parametrize(
    ("weight", "kept"),
    [(0.5, 0.5), (0.0, 0.01), (7.0, 1.0), (math.inf, 1.0), (-math.inf, 0.01), (math.nan, 0.01)],
)
def test_a_weight_is_brought_within_its_bounds(weight: float, kept: float) -> None:
    assert links_of(link_to("a", weight=weight))[0].weight == kept


def test_reason_and_kind_are_one_bounded_line_each() -> None:
    (link,) = links_of(link_to("a", reason="be\ncause\x00 " * 500, kind="same\n" * 50))
    assert len(link.reason) <= MAX_REASON_CHARS
    assert link.reason.startswith("be cause be cause")
    assert len(link.kind) <= 40
    assert links_of(link_to("a", kind="\u200b"))[0].kind == "related"


# -- questions -------------------------------------------------------------------------------


def questions_of(
    content: str, *questions: str, speaker: str | None = None, context: str = ""
) -> tuple[tuple[str, ...], Tally]:
    note, tally = make_note(content, namespace="n", now=NOW, speaker=speaker), Tally()
    read = understood(note, Understanding(("key",), (), context, questions), tally)
    return read.questions, tally


@pytest.mark.parametrize(
    ("content", "question", "context"),
    [
        ("We keep the LRU policy.", "Which policy do we keep?", ""),
        ("Yes, twice!", "How often did Bob feed the cat?", "Bob fed the cat twice."),
        ("我一吃花生就起疹子。", "谁不能吃花生？", ""),
        ("Der Tierarzt ist am Freitag dran.", "Wann ist der Tierarzt dran?", ""),
        ("用 PostgreSQL 存所有数据。", "数据存在哪里？", ""),
        ("PostgreSQLを使う。", "何を使う？", ""),
        ("🍕 42", "Wann gibt es 42 Pizzen?", ""),
    ],
)
def test_a_question_about_the_note_in_its_language_is_kept(
    content: str, question: str, context: str
) -> None:
    assert questions_of(content, question, context=context) == ((question,), {})


@pytest.mark.parametrize(
    ("content", "question", "reason"),
    [
        ("We keep the LRU policy.", "When is the wedding of Ann?", "elsewhere"),
        ("We keep the LRU policy.", "What?", "elsewhere"),
        ("我一吃花生就起疹子。", "Who cannot eat 花生 peanuts?", "other_language"),
        ("用 PostgreSQL 存所有数据。", "Where does PostgreSQL keep data?", "other_language"),
        (
            "Der Tierarzt ist am Freitag für die Katze da.",
            "When will the cat be at the Tierarzt?",
            "other_language",
        ),
    ],
)
def test_any_other_question_is_dropped_and_counted(
    content: str, question: str, reason: str
) -> None:
    assert questions_of(content, question) == ((), {f"dropped.question.{reason}": 1})


def test_two_questions_are_kept_and_the_rest_counted() -> None:
    asked = [f"Which policy {word}?" for word in ("holds", "wins", "loses")]
    assert questions_of("The policy", *asked) == (
        tuple(asked[:2]),
        {"dropped.question.too_many": 1},
    )


any_text = st.text(st.characters(exclude_categories=()), max_size=30)
any_id = st.sampled_from([*KNOWN, "x", "y", "", NOTE.id])
link_proposals = st.builds(LinkProposal, any_id, any_text, any_text, st.floats())
evolution_proposals = st.builds(
    Evolution,
    any_id,
    st.none() | st.lists(any_text, max_size=5).map(tuple),
    st.none() | st.lists(any_text, max_size=5).map(tuple),
    st.none() | any_text,
    any_text,
)
some_ids = st.lists(any_id, max_size=5)


@given(st.lists(link_proposals, max_size=30), some_ids, some_ids)
def test_whatever_is_proposed_links_lead_to_what_was_offered_and_is_there(
    proposals: list[LinkProposal], offered: list[str], present: list[str]
) -> None:
    tally = Tally()
    links = links_of(*proposals, offered=offered, present=present, tally=tally)
    targets = [link.to for link in links]
    assert set(targets) <= (set(offered) & set(present)) - {NOTE.id}
    assert len(set(targets)) == len(targets) <= MAX_LINKS
    assert len(links) + tally.total() == len(proposals)
    assert all(link.reason.encode() is not None for link in links)


# -- evolutions ------------------------------------------------------------------------------


def test_an_evolution_replaces_what_it_names() -> None:
    new = evolved(OLD, Evolution("x", ("cache", "full"), ("talk", "ops"), "On a full cache."))
    assert (new.keywords, new.tags) == (("cache", "full"), ("talk", "ops"))
    assert new.context == "On a full cache."
    assert evolved(OLD, Evolution("x", ("full",))) == dataclasses.replace(OLD, keywords=("full",))


@pytest.mark.parametrize("apply", [evolved, merged])
@pytest.mark.parametrize(
    "proposal",
    [
        Evolution("x"),
        Evolution("x", (), (), ""),
        Evolution("x", ("", " ", "\x00"), ("\ud800",), " \n "),
        Evolution("x", ("\u200b",), ("\ufeff",), "\u200b\u2060"),
    ],
    ids=["none", "empty", "blank", "invisible"],
)
def test_an_empty_proposal_keeps_a_note_as_it_is(apply: Any, proposal: Evolution) -> None:
    assert apply(OLD, proposal) == OLD


def test_a_proposal_for_an_older_version_only_adds_terms() -> None:
    new = merged(OLD, Evolution("x", ("full", "Cache"), ("ops",), "On a full cache."))
    assert (new.keywords, new.tags) == (("cache", "empty", "full"), ("talk", "ops"))
    assert new.context == OLD.context


@pytest.mark.parametrize("apply", [evolved, merged])
@given(proposal=evolution_proposals)
def test_no_evolution_touches_anything_but_what_was_understood(
    apply: Any, proposal: Evolution
) -> None:
    new = apply(OLD, proposal)
    assert_bounded(new)
    understood_of_it = {"keywords": (), "tags": (), "context": ""}
    assert dataclasses.replace(new, **understood_of_it) == dataclasses.replace(
        OLD, **understood_of_it
    )


# -- understanding ---------------------------------------------------------------------------


def assert_bounded(note: Note) -> None:
    assert len(note.keywords) <= MAX_KEYWORDS
    assert len(note.tags) <= MAX_TAGS
    assert all(0 < len(term) <= MAX_TERM_CHARS for term in (*note.keywords, *note.tags))
    assert len(note.context) <= MAX_CONTEXT_CHARS
    assert "\n" not in note.context


def test_what_was_understood_is_cleaned_and_bounded() -> None:
    many = ("Cache", "cache", " ", *(f"{number} {'k' * 500}" for number in range(100)))
    new = understood(NOTE, Understanding(many, many, " On\n\nmemory. " + "c" * 10_000))
    assert_bounded(new)
    assert new.keywords[:2] == ("Cache", "0 " + "k" * (MAX_TERM_CHARS - 2))
    assert new.context.startswith("On memory. ccc")
