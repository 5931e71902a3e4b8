"""Intervals that resample conversations."""

import pytest

from amem_integrations.evaluation.resampling import Estimate, Resampling


def test_the_mean_is_over_questions_and_not_over_conversations() -> None:
    found = Resampling(2).estimate([[1.0, 1.0, 1.0], [0.0]])
    assert found is not None
    assert found.mean == 0.75
    assert found.count == 4


def test_two_conversations_that_differ_span_the_interval_between_them() -> None:
    found = Resampling(2).estimate([[1.0], [0.0]])
    assert found == Estimate(0.5, 0.0, 1.0, 2)


def test_conversations_that_agree_have_an_interval_without_width() -> None:
    found = Resampling(4).estimate([[0.0, 1.0]] * 4)
    assert found == Estimate(0.5, 0.5, 0.5, 8)


def test_the_interval_is_that_of_the_conversations_drawn() -> None:
    # Ten conversations, one of which is 1: its draws are binomial with n=10 and p=0.1, so the
    # mean is 0.1 times that count, whose 2.5% and 97.5% quantiles are 0 and 3.
    found = Resampling(10, resamples=4000).estimate([[1.0], *[[0.0]] * 9])
    assert found is not None
    assert found.low == pytest.approx(0.0)
    assert found.high == pytest.approx(0.3)


def test_the_same_values_have_the_same_interval_every_time() -> None:
    values = [[0.1, 0.7], [0.4], [0.9, 0.2, 0.3]]
    assert Resampling(3).estimate(values) == Resampling(3).estimate(values)


def test_another_seed_draws_otherwise() -> None:
    values = [[float(n % 7)] for n in range(40)]
    assert Resampling(40, seed=1).estimate(values) != Resampling(40, seed=2).estimate(values)


def test_questions_of_one_conversation_show_no_spread() -> None:
    assert Resampling(3).estimate([[], [0.0, 1.0], []]) == Estimate(0.5, None, None, 2)


def test_draws_without_such_a_question_are_passed_over() -> None:
    found = Resampling(3).estimate([[1.0], [0.0], []])
    assert found is not None
    assert (found.low, found.high) == (0.0, 1.0)


def test_without_questions_there_is_no_estimate() -> None:
    assert Resampling(2).estimate([[], []]) is None
