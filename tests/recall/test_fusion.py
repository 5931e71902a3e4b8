"""Fusion: what the signals say, added, and nothing lost on the way."""

import math
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.recall.fusion import fuse

NAMES = ("meaning", "words", "speaker")
values = st.dictionaries(
    st.sampled_from("abcdefghijkl"), st.just(0.0) | st.floats(1e-6, 1e6), max_size=12
)
signals = st.fixed_dictionaries(dict.fromkeys(NAMES, values))
weights = st.fixed_dictionaries(dict.fromkeys(NAMES, st.just(0.0) | st.floats(0.01, 10)))


@given(signals, weights)
def test_a_score_is_the_sum_of_what_each_signal_contributes(
    signals: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]
) -> None:
    for ranked in fuse(signals, weights):
        assert ranked.score == math.fsum(ranked.why.values())
        for name, value in ranked.why.items():
            assert value == weights[name] * signals[name][ranked.id] > 0


@given(signals, weights)
def test_every_note_that_a_signal_knows_is_ranked_once_best_first(
    signals: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]
) -> None:
    ranked = fuse(signals, weights)
    assert sorted(found.id for found in ranked) == sorted(
        {id for s in signals.values() for id in s}
    )
    assert ranked == sorted(ranked, key=lambda found: (-found.score, found.id))


def test_equal_scores_stand_in_the_order_of_ids() -> None:
    ranked = fuse({"meaning": dict.fromkeys("dbca", 0.5)}, {"meaning": 1.0})
    assert [found.id for found in ranked] == list("abcd")


def test_a_clear_best_keeps_its_lead_over_a_note_with_better_ranks() -> None:
    """What ranks alone would lose: first in one list by far beats second in both."""
    meaning = {"x": 1.1, "steady": 1.0, "clear": 0.2}
    words = {"clear": 2.5, "steady": 0.5, "y": 0.4}
    assert (
        fuse({"meaning": meaning, "words": words}, {"meaning": 1.0, "words": 1.0})[0].id == "clear"
    )


def test_no_signals_give_no_notes() -> None:
    assert fuse({}, {}) == []
    assert fuse({"meaning": {}}, {"meaning": 1.0}) == []
