"""The signals: what each says of a note, and what it says of nothing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from amem_integrations.core.note import Note, make_note
from amem_integrations.recall.days import Days
from amem_integrations.recall.signals import (
    SIGNALS,
    Evidence,
    RecallOptions,
    Turns,
    relative_nearness,
    score_answer,
    score_date,
    score_length,
    score_reply,
    score_statement,
    score_words,
)
from amem_integrations.stores.codec import place_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def at(sequence: int, session: str = "s") -> int:
    place = place_of(("n",), session, sequence)
    assert place is not None
    return place


def in_order(ids: str) -> Turns:
    return Turns({id: at(sequence) for sequence, id in enumerate(ids)})


def test_meaning_counts_how_far_a_note_rises_above_the_others() -> None:
    spread = relative_nearness({"a": 0.6, "b": 0.4, "c": 0.2})
    assert spread["a"] > spread["b"] > spread["c"] >= 0
    assert relative_nearness({}) == {}


def test_meaning_is_the_same_for_an_embedder_of_half_the_spread() -> None:
    wide = {f"n{n}": 0.9 - 0.007 * n for n in range(120)}
    narrow = {id: 0.5 + (cosine - 0.5) / 2 for id, cosine in wide.items()}
    assert relative_nearness(narrow)["n0"] == pytest.approx(relative_nearness(wide)["n0"], rel=0.3)


@pytest.mark.parametrize("cosine", [0.5, -0.5, 0.0])
def test_an_only_note_or_an_opposite_one_means_nothing_negative(cosine: float) -> None:
    assert relative_nearness({"a": cosine})["a"] == pytest.approx(1.0 if cosine > 0 else 0.0)


def test_words_of_the_turns_around_count_less_than_a_notes_own() -> None:
    found = score_words(Evidence(bm25={"c": 8.0}, turns=in_order("abcde")))
    assert found["c"] == 1.0
    assert [found[id] for id in "dbea"] == pytest.approx([0.7, 0.6, 0.5, 0.4])


def test_words_do_not_cross_sessions_or_reach_notes_without_a_place() -> None:
    turns = Turns({"a": at(1), "b": at(2, session="t")})
    alone = Evidence(bm25={"a": 8.0, "c": 4.0})
    assert score_words(replace(alone, turns=turns)) == {"a": 1.0}
    assert score_words(alone) == {"a": 1.0, "c": 0.5}
    assert place_of(("n",), "s", None) is None


def test_notes_without_a_session_are_one_session_of_their_namespace() -> None:
    first, second = place_of(("n",), None, 1), place_of(("n",), None, 2)
    assert first is not None
    assert second == first + 1
    others = {place_of(("n",), "s", 1), place_of(("m",), None, 1), place_of(("n", "m"), None, 1)}
    assert first not in others


def test_a_remark_is_understood_from_its_answer() -> None:
    assert score_reply(Evidence({"b": 1.5}, turns=in_order("abc"))) == {"a": 1.5}


def test_days_count_where_a_question_names_some() -> None:
    first = datetime(2026, 3, 1)
    moments = {"a": NOW, "b": NOW + timedelta(days=40)}
    assert score_date(Evidence(moments=moments)) == {}
    found = score_date(Evidence(days=Days(first, first + timedelta(days=1)), moments=moments))
    assert found["a"] == 1.0 > found["b"]


def read(*texts: str, sequences: str = "") -> Evidence:
    """Notes of these texts by number, in session "s" if they have sequences."""
    notes: dict[str, Note] = {}
    for number, text in enumerate(texts):
        at = int(sequences[number]) if sequences else None
        note = make_note(text, namespace="n", now=NOW, session="s", sequence=at, key=str(number))
        notes[str(number)] = replace(note, id=str(number))
    return Evidence(notes=notes)


@pytest.mark.parametrize("text", ["Is it?", "真的吗？", 'She asked: "why?"', "هل هذا؟", "Well? "])
def test_a_question_states_nothing(text: str) -> None:
    assert score_statement(read(text)) == {"0": 0.0}
    assert score_statement(read(text + " Yes.")) == {"0": 1.0}


def test_a_longer_note_can_say_more_up_to_a_length() -> None:
    lengths = [*score_length(read(*("tea " * size for size in (1, 10, 60, 900)))).values()]
    assert 0 == lengths[0] < lengths[1] < lengths[2] == lengths[3] == SIGNALS["length"].most
    assert score_length(read("缓存换成了新的"))["0"] > 0


def test_the_places_around_notes_that_nothing_listed_stands_at() -> None:
    turns = Turns({"a": at(1), "b": at(2)})
    assert turns.missing_beside(["a", "c"]) == {at(-1), at(0), at(3)}


def test_a_turn_of_several_notes_counts_as_its_best_to_those_around_it() -> None:
    turns = Turns({"a": at(0), "b": at(1), "c": at(1)})
    for bm25 in ({"b": 8.0, "c": 4.0}, {"c": 8.0, "b": 4.0}):
        assert score_words(Evidence(bm25=bm25, turns=turns))["a"] == pytest.approx(0.6)
        assert score_reply(Evidence(bm25, turns=turns)) == {"a": 8.0}


def test_what_comes_right_after_a_question_gains_by_its_meaning() -> None:
    texts = ["Any plans?", "Climbing on Sunday.", "Nice.", "真的吗？真好", "对"]
    evidence = read(*texts, "Tea.", sequences="012340")
    meanings = {"0": 2.0, "1": 9.0, "3": 0.5, "5": 7.0}
    scores = score_answer(replace(evidence, meanings=meanings))
    assert {id: score for id, score in scores.items() if score} == {"1": 2.0, "4": 0.5}
    assert not any(score_answer(replace(read(*texts), meanings=meanings)).values())


def test_of_a_turn_of_several_notes_the_best_question_counts_for_each_answer() -> None:
    texts = ["It rains.", "Any plans?", "Or none?", "Climbing.", "Inside."]
    evidence = replace(read(*texts, sequences="11122"), meanings={"0": 9.0, "1": 1.0, "2": 2.0})
    scores = score_answer(evidence)
    assert {id: score for id, score in scores.items() if score} == {"3": 2.0, "4": 2.0}


def test_every_signal_has_a_weight_by_its_name() -> None:
    assert RecallOptions(words=0).weights == {**RecallOptions().weights, "words": 0}
    assert [*SIGNALS] == [*RecallOptions().weights]
