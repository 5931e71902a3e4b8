"""Measures of rankings and answers, by hand; intervals."""

from math import log2

import pytest

from amem_integrations.evaluation.metrics import (
    Estimate,
    Resampling,
    abstains,
    all_evidence,
    bleu1,
    f1,
    f1_official,
    library,
    ndcg,
    rank_scores,
    ranks_of,
    recall,
    reciprocal_rank,
    rouge,
    similarities,
)
from tests.support import EMBEDDER

TWO_OF_THREE = (2, 7, None)
"""Evidence at the second and the seventh place, and one piece that was not found."""


def test_ranks_count_from_one_and_are_none_for_what_was_not_found() -> None:
    assert ranks_of(["c", "x", "a"], ["a", "b", "c"]) == (3, None, 1)


@pytest.mark.parametrize(("k", "share"), [(1, 0), (2, 1 / 3), (6, 1 / 3), (7, 2 / 3), (99, 2 / 3)])
def test_recall_is_the_share_of_the_evidence_among_the_first_k(k: int, share: float) -> None:
    assert recall(TWO_OF_THREE, k) == pytest.approx(share)


def test_a_ranking_has_every_measure_by_its_name() -> None:
    assert rank_scores((1,), [5, 10]) == {
        "recall@5": 1.0,
        "recall@10": 1.0,
        "mrr": 1.0,
        "ndcg@10": 1.0,
        "all@10": 1.0,
    }
    assert (reciprocal_rank(TWO_OF_THREE), reciprocal_rank((None, None))) == (0.5, 0.0)
    assert [all_evidence(ranks, 10) for ranks in ((10, 1), (11, 1), (1, None))] == [1, 0, 0]


def test_ndcg_discounts_by_the_logarithm_of_the_place() -> None:
    gain = 1 / log2(3) + 1 / log2(8)
    best = 1 / log2(2) + 1 / log2(3) + 1 / log2(4)
    assert ndcg(TWO_OF_THREE, 10) == pytest.approx(gain / best)
    assert ndcg(TWO_OF_THREE, 5) == pytest.approx((1 / log2(3)) / best)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # Over questions, not over conversations.
        ([[1.0, 1.0, 1.0], [0.0]], Estimate(0.75, 0.0, 1.0, 4)),
        ([[1.0], [0.0]], Estimate(0.5, 0.0, 1.0, 2)),
        ([[0.0, 1.0]] * 4, Estimate(0.5, 0.5, 0.5, 8)),
        # One conversation shows no spread.
        ([[], [0.0, 1.0], []], Estimate(0.5, None, None, 2)),
        # Draws without such a question are passed over.
        ([[1.0], [0.0], []], Estimate(0.5, 0.0, 1.0, 2)),
        ([[], []], None),
    ],
)
def test_the_interval_comes_from_drawing_conversations(
    values: list[list[float]], expected: Estimate | None
) -> None:
    assert Resampling(len(values)).estimate(values) == expected


def test_the_interval_is_that_of_the_conversations_drawn() -> None:
    # Ten conversations, one of which is 1: its draws are binomial with n=10 and p=0.1, so the
    # mean is 0.1 times that count, whose 2.5% and 97.5% quantiles are 0 and 3.
    found = Resampling(10, resamples=4000).estimate([[1.0], *[[0.0]] * 9])
    assert found is not None
    assert found.low == pytest.approx(0.0)
    assert found.high == pytest.approx(0.3)


def test_f1_by_hand() -> None:
    # {sewing, sails} and {sewing, in, june}: one of two, one of three.
    assert f1("Sewing sails!", "sewing in June.") == pytest.approx(2 / 5)
    assert f1("Ilya", "ilya") == 1
    assert f1("Nora", "Ilya") == f1("", "Ilya") == 0


def test_official_f1_by_hand() -> None:
    # [sew, sail] and [sew, in, june].
    assert f1_official("Sewing a sail!", "sewing in June.", "single-hop") == pytest.approx(2 / 5)
    assert f1_official("", "Ilya", "temporal") == 0


@pytest.mark.parametrize(
    ("answer", "gold", "authors", "official"),
    [
        ("ho ho ho", "ho", 1, 1 / 2),  # repeated words
        ("the boat", "boat", 2 / 3, 1),  # articles
        ("and the boat", "boat", 1 / 2, 1),  # "and" as well
        ("boats", "boat", 0, 1),  # endings
        ("(boat)", "boat", 0, 1),  # punctuation beyond . , ! ?
        ("boat, sail", "boat sail", 1, 1),
        ("12,000", "12 000", 1, 0),  # a comma within a number
    ],
)
def test_the_two_f1s_differ_where_they_should(
    answer: str, gold: str, authors: float, official: float
) -> None:
    assert f1(answer, gold) == pytest.approx(authors)
    assert f1_official(answer, gold, "single-hop") == pytest.approx(official)


def test_commas_make_a_list_of_a_multi_hop_answer_only() -> None:
    # "red boat" is found whole and "tent" not at all; as one text, 2 of 3 words of both.
    assert f1_official("red boat, kite", "red boat, tent", "multi-hop") == pytest.approx(1 / 2)
    assert f1_official("red boat, kite", "red boat, tent", "single-hop") == pytest.approx(2 / 3)


def test_open_domain_golds_end_at_a_semicolon() -> None:
    assert f1_official("yes", "yes; she sails", "open-domain") == 1
    assert f1_official("yes", "yes; she sails", "single-hop") == pytest.approx(1 / 2)


def test_an_adversarial_question_is_answered_by_abstaining() -> None:
    said = "Not mentioned in the conversation"
    assert f1_official(said, "a boat", "adversarial") == 1
    assert f1_official("a boat", "a boat", "adversarial") == 0
    assert abstains("There is no information available.")
    assert abstains("没有提到")
    assert not abstains("the mention of a boat")


def test_bleu_by_hand() -> None:
    # Two of three words; and of one word of four, cut by the brevity penalty exp(1 - 4/1).
    assert bleu1("red boat kite", "red boat tent") == pytest.approx(2 / 3)
    assert bleu1("red", "red boat with sails") == pytest.approx(0.0497871)
    assert bleu1("", "boat") == 0


def test_rouge_by_hand() -> None:
    # One pair of words in common of two each; two words in order of three each.
    assert rouge("red boat kite", "red boat tent") == pytest.approx((1 / 2, 2 / 3))
    assert rouge("", "boat") == (0, 0)


def test_ideographs_are_words() -> None:
    assert f1("三月二十日", "三月") == pytest.approx(2 * 2 / (5 + 2))
    assert bleu1("三月", "三月") == 1
    assert rouge("在三月", "三月") == pytest.approx((2 / 3, 4 / 5))
    assert f1_official("冻伤。", "冻伤", "single-hop") == 1


def test_similarity_is_a_cosine_and_an_empty_answer_has_none() -> None:
    pairs = [("red boat", "red boat"), ("red boat", "green tent"), ("", "red boat")]
    same, unlike, empty = similarities(pairs, EMBEDDER.embed_documents)
    assert same == pytest.approx(1)
    assert unlike < 0.9
    assert empty == 0


def test_each_text_is_embedded_once() -> None:
    asked: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return EMBEDDER.embed_documents(texts)

    similarities([("a boat", "a tent"), ("a tent", "a boat"), ("a boat", "a tent")], embed)
    assert asked == ["a boat", "a tent"]


def test_a_missing_library_names_the_extra() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"needs no_such_library.*\[eval\]"):
        library("no_such_library.metrics")
