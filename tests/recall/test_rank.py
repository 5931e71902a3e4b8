import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.recall.rank import Signal, fuse

scores = st.dictionaries(
    st.sampled_from("abcdefghijkl"), st.floats(-1e6, 1e6, allow_nan=False), max_size=12
)
weights = st.just(0.0) | st.floats(0.01, 10)
units = st.floats(1e-3, 10)
signals = st.lists(
    st.builds(Signal, st.sampled_from(["dense", "sparse", "speaker"]), scores, weights, units),
    max_size=3,
    unique_by=lambda signal: signal.name,
)


def dense(scores: Mapping[str, float], weight: float = 0.5) -> Signal:
    return Signal("dense", scores, weight, unit=0.3)


def sparse(scores: Mapping[str, float], weight: float = 0.5) -> Signal:
    return Signal("sparse", scores, weight, unit=1.0)


@given(signals)
def test_contributions_sum_to_the_score(signals: list[Signal]) -> None:
    for ranked in fuse(signals):
        assert ranked.score == math.fsum(ranked.why.values())


@given(signals)
def test_every_note_that_a_signal_found_is_ranked_once_with_the_signals_that_found_it(
    signals: list[Signal],
) -> None:
    found = {id: {s.name for s in signals if id in s.scores} for s in signals for id in s.scores}
    assert {ranked.id: set(ranked.why) for ranked in fuse(signals)} == found
    assert len(fuse(signals)) == len(found)


@given(signals)
def test_no_contribution_is_negative_or_above_its_weight(signals: list[Signal]) -> None:
    bounds = {signal.name: signal.weight for signal in signals}
    for ranked in fuse(signals):
        for name, value in ranked.why.items():
            assert 0 <= value <= bounds[name] * (1 + 1e-9)


@given(signals, st.randoms())
def test_the_order_of_signals_and_of_their_entries_changes_nothing(
    signals: list[Signal], random: object
) -> None:
    shuffled = []
    for signal in signals:
        entries = list(signal.scores.items())
        random.shuffle(entries)  # pyright: ignore[reportAttributeAccessIssue]
        shuffled.append(Signal(signal.name, dict(entries), signal.weight, signal.unit))
    random.shuffle(shuffled)  # pyright: ignore[reportAttributeAccessIssue]
    assert fuse(shuffled) == fuse(signals)


@given(signals)
def test_one_signal_never_contradicts_its_own_order(signals: list[Signal]) -> None:
    for signal in signals:
        by_id = {ranked.id: ranked.score for ranked in fuse([signal])}
        ordered = sorted(signal.scores, key=signal.scores.__getitem__)
        values = [by_id[id] for id in ordered]
        assert values == sorted(values)


@given(scores.filter(bool), st.floats(0.01, 100))
def test_a_signal_of_weight_zero_changes_no_score(scores: Mapping[str, float], unit: float) -> None:
    base = dense({"a": 0.9, "b": 0.4, "c": 0.1})
    silent = Signal("speaker", scores, 0.0, unit)
    before = {ranked.id: ranked.score for ranked in fuse([base])}
    after = {ranked.id: ranked.score for ranked in fuse([base, silent])}
    assert {id: after[id] for id in before} == before


def test_a_note_found_by_both_signals_beats_one_found_as_well_by_only_one() -> None:
    ranked = fuse(
        [dense({"a": 0.8, "both": 0.7, "c": 0.1}), sparse({"b": 9.0, "both": 8.0, "d": 1.0})]
    )
    assert ranked[0].id == "both"


def test_equal_scores_stand_in_the_order_of_ids() -> None:
    assert [r.id for r in fuse([dense(dict.fromkeys("dbca", 0.5))])] == list("abcd")


def test_an_only_note_gets_a_positive_score() -> None:
    [only] = fuse([dense({"a": 0.5})])
    assert only.score > 0.3


@pytest.mark.parametrize("size", [2, 3])
def test_notes_that_are_all_equally_near_are_told_apart_by_words(size: int) -> None:
    nearness = {f"n{i}": 0.61 + 0.005 * i for i in range(size)}
    assert fuse([dense(nearness), sparse({"n0": 0.7})])[0].id == "n0"


def test_a_list_that_cannot_tell_notes_apart_hardly_moves_them() -> None:
    """The word that every note has must not outvote what only some have."""
    everywhere = {f"n{i:02}": 0.01 for i in range(32)}
    meaning = {f"n{i:02}": 0.2 for i in range(30)} | {"other": 0.6}
    assert fuse([dense(meaning), sparse(everywhere)])[0].id == "other"


def test_a_clear_best_keeps_its_lead_over_a_note_with_better_ranks() -> None:
    """What ranks alone would lose: first in one list by far beats second in both."""
    ranked = fuse(
        [
            dense({"x": 0.42, "steady": 0.41, "clear": 0.2}),
            sparse({"clear": 20.0, "steady": 4.0, "y": 3.0}),
        ]
    )
    assert ranked[0].id == "clear"


def test_an_empty_list_is_no_signal() -> None:
    assert fuse([dense({"a": 0.9, "b": 0.2}), sparse({})]) == fuse([dense({"a": 0.9, "b": 0.2})])
    assert fuse([sparse({})]) == []
    assert fuse([]) == []


def test_opposite_vectors_contribute_nothing_rather_than_something_negative() -> None:
    ranked = fuse([dense({"a": -0.2, "b": -0.7})])
    assert [r.score for r in ranked] == [0.0, 0.0]
