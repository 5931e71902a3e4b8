"""Metrics against cases worked out by hand."""

from math import log2

import pytest

from amem_integrations.evaluation.metrics import (
    all_evidence,
    ndcg,
    ranks_of,
    recall,
    reciprocal_rank,
    scores,
)

TWO_OF_THREE = (2, 7, None)
"""Evidence at the second and the seventh place, and one piece that was not found."""


def test_ranks_count_from_one_and_are_none_for_what_was_not_found() -> None:
    assert ranks_of(["c", "x", "a"], ["a", "b", "c"]) == (3, None, 1)


def test_of_a_repeated_id_the_first_place_counts() -> None:
    assert ranks_of(["a"], ["b", "a", "a"]) == (2,)


@pytest.mark.parametrize(("k", "share"), [(1, 0), (2, 1 / 3), (6, 1 / 3), (7, 2 / 3), (99, 2 / 3)])
def test_recall_is_the_share_of_the_evidence_among_the_first_k(k: int, share: float) -> None:
    assert recall(TWO_OF_THREE, k) == pytest.approx(share)


def test_reciprocal_rank_is_of_the_first_evidence() -> None:
    assert reciprocal_rank(TWO_OF_THREE) == 0.5
    assert reciprocal_rank((None, None)) == 0.0


def test_all_evidence_asks_for_every_piece_within_k() -> None:
    assert all_evidence((10, 1), 10) == 1.0
    assert all_evidence((11, 1), 10) == 0.0
    assert all_evidence((1, None), 10) == 0.0


def test_ndcg_discounts_by_the_logarithm_of_the_place() -> None:
    gain = 1 / log2(3) + 1 / log2(8)
    best = 1 / log2(2) + 1 / log2(3) + 1 / log2(4)
    assert ndcg(TWO_OF_THREE, 10) == pytest.approx(gain / best)
    assert ndcg(TWO_OF_THREE, 5) == pytest.approx((1 / log2(3)) / best)


def test_ndcg_is_one_for_the_best_order_even_with_more_evidence_than_places() -> None:
    assert ndcg((1, 2, 3), 10) == pytest.approx(1.0)
    assert ndcg((1, 2, None, None), 2) == pytest.approx(1.0)


def test_every_metric_has_its_name() -> None:
    assert scores((1,), [5, 10]) == {
        "recall@5": 1.0,
        "recall@10": 1.0,
        "mrr": 1.0,
        "ndcg@10": 1.0,
        "all@10": 1.0,
    }
