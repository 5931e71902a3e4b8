"""The signals: what each says of a note, and what it says of nothing."""

from datetime import UTC, datetime, timedelta

import pytest

from amem_integrations.core.note import make_note
from amem_integrations.recall.dates import Days
from amem_integrations.recall.signals import Turns, answered, date, meaning, reply, told, words
from amem_integrations.stores.codec import micros, place_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def at(sequence: int, session: str = "s") -> int:
    place = place_of(("n",), session, sequence)
    assert place is not None
    return place


def in_order(ids: str) -> Turns:
    return Turns({id: at(sequence) for sequence, id in enumerate(ids)})


def test_meaning_counts_how_far_a_note_rises_above_the_others() -> None:
    spread = meaning({"a": 0.6, "b": 0.4, "c": 0.2})
    assert spread["a"] > spread["b"] > spread["c"] >= 0
    assert meaning({}) == {}


def test_meaning_is_the_same_for_an_embedder_of_half_the_spread() -> None:
    wide = {f"n{n}": 0.9 - 0.007 * n for n in range(120)}
    narrow = {id: 0.5 + (cosine - 0.5) / 2 for id, cosine in wide.items()}
    assert meaning(narrow)["n0"] == pytest.approx(meaning(wide)["n0"], rel=0.3)


def test_notes_that_are_all_equally_near_are_hardly_told_apart_by_meaning() -> None:
    close = meaning({f"n{n}": 0.61 + 0.0001 * n for n in range(100)})
    assert max(close.values()) - min(close.values()) < 1.0


@pytest.mark.parametrize("cosine", [0.5, -0.5, 0.0])
def test_an_only_note_or_an_opposite_one_means_nothing_negative(cosine: float) -> None:
    assert meaning({"a": cosine})["a"] == pytest.approx(1.0 if cosine > 0 else 0.0)


def test_words_of_the_turns_around_count_less_than_a_notes_own() -> None:
    found = words({"c": 8.0}, in_order("abcde"))
    assert found["c"] == 1.0
    assert [found[id] for id in "dbea"] == pytest.approx([0.7, 0.6, 0.5, 0.4])


def test_words_do_not_cross_sessions_or_reach_notes_without_a_place() -> None:
    turns = Turns({"a": at(1), "b": at(2, session="t")})
    assert words({"a": 8.0, "c": 4.0}, turns) == {"a": 1.0}
    assert words({"a": 8.0, "c": 4.0}) == {"a": 1.0, "c": 0.5}
    assert place_of(("n",), "s", None) is place_of(("n",), None, 2) is None


def test_a_remark_is_understood_from_its_answer() -> None:
    assert reply({"b": 1.5}, in_order("abc")) == {"a": 1.5}


def test_days_count_where_a_question_names_some() -> None:
    moments = {"a": micros(NOW), "b": micros(NOW + timedelta(days=40))}
    assert date(None, moments) == {}
    found = date(Days(2026, 3, 1), moments)
    assert found["a"] == 1.0 > found["b"]


@pytest.mark.parametrize("text", ["Is it?", "真的吗？", 'She asked: "why?"', "هل هذا؟", "Well? "])
def test_a_question_states_nothing(text: str) -> None:
    assert told(make_note(text, namespace="n", now=NOW))["statement"] == 0.0


def test_a_longer_statement_can_say_more_up_to_a_length() -> None:
    lengths = [
        told(make_note("tea " * size, namespace="n", now=NOW))["length"]
        for size in (1, 10, 60, 900)
    ]
    assert 0 == lengths[0] < lengths[1] < lengths[2] == lengths[3]
    assert told(make_note("缓存换成了新的", namespace="n", now=NOW))["length"] > 0


def test_the_places_around_notes_that_nothing_listed_stands_at() -> None:
    turns = Turns({"a": at(1), "b": at(2)})
    assert turns.missing_beside(["a", "c"]) == {at(-1), at(0), at(3)}
    assert turns.beside("a", 1) == ("b",)
    assert turns.beside("c", 1) == ()


def test_a_turn_of_several_notes_counts_as_its_best_to_those_around_it() -> None:
    turns = Turns({"a": at(0), "b": at(1), "c": at(1)})
    for bm25 in ({"b": 8.0, "c": 4.0}, {"c": 8.0, "b": 4.0}):
        assert words(bm25, turns)["a"] == pytest.approx(0.6)
        assert reply(bm25, turns) == {"a": 8.0}


def test_what_comes_right_after_a_question_answers_it() -> None:
    texts = ["Any plans?", "Climbing on Sunday.", "Nice.", "真的吗？真好", "对"]
    notes = [
        make_note(text, namespace="n", now=NOW, key=text, session="s", sequence=sequence)
        for sequence, text in enumerate(texts)
    ]
    elsewhere = make_note("Tea.", namespace="n", now=NOW, session="t", sequence=1)
    nowhere = make_note("Tea.", namespace="n", now=NOW, key="loose")
    ids = [note.id for note in notes]
    assert answered([elsewhere, nowhere, *reversed(notes)]) == {
        ids[1]: [ids[0]],
        ids[4]: [ids[3]],
    }


def test_of_a_turn_of_several_notes_those_that_ask_are_answered_by_all_of_the_next() -> None:
    said = [("It rains.", 1), ("Any plans?", 1), ("Or none?", 1), ("Climbing.", 2), ("Inside.", 2)]
    notes = [
        make_note(text, namespace="n", now=NOW, key=text, session="s", sequence=sequence)
        for text, sequence in said
    ]
    _, plans, none, climbing, inside = [note.id for note in notes]
    assert answered(notes) == {climbing: [plans, none], inside: [plans, none]}
