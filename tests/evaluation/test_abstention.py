"""Questions of one conversation asked of another: what a threshold empties, and what it loses."""

from dataclasses import replace
from datetime import UTC, datetime
from math import inf

import pytest

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.abstention import Relevance, ask_twice, curve
from amem_integrations.evaluation.recall import Filled, QuestionEmbedder, Setup

Held = tuple[Filled, QuestionEmbedder]

FOUND = Relevance(
    foreign=[[0.1, 0.3], [0.5, -inf]],
    own=[[0.4, 0.6], [0.8, 0.9]],
    evidence=[[0.2, 0.6], [0.8, 0.9]],
)


@pytest.mark.parametrize(
    ("loss", "threshold", "lost", "empty", "empty_own"),
    # Without a loss, 0.1 and what found nothing at all come back empty.
    [(0.0, 0.2, 0.0, 0.5, 0.0), (0.25, 0.6, 0.25, 1.0, 0.25)],
)
def test_a_loss_that_is_allowed_buys_a_higher_threshold(
    loss: float, threshold: float, lost: float, empty: float, empty_own: float
) -> None:
    (point,) = curve(FOUND, [loss])
    assert (point.threshold, point.lost.mean) == (threshold, lost)
    assert (point.empty.mean, point.empty_own.mean) == (empty, empty_own)


def test_further_thresholds_can_be_asked_about() -> None:
    low, chosen = curve(FOUND, [0.0], at=[0.7])
    assert (low.threshold, chosen.threshold) == (0.2, 0.7)
    assert chosen.lost.mean == 0.5


def test_nothing_found_has_no_curve() -> None:
    assert curve(Relevance([[0.1], [0.2]], [[0.1], [0.2]], [[], []])) == []


def test_each_question_is_asked_of_its_own_and_of_another_conversation(filled: Held) -> None:
    found = ask_twice(filled[0], Setup())
    assert [len(scores) for scores in found.own] == [2, 1]
    assert [len(scores) for scores in found.foreign] == [2, 1]
    assert [len(scores) for scores in found.evidence] == [2, 1]
    for foreign, own in zip(found.foreign, found.own, strict=True):
        assert max(own) > max(foreign)
        assert all(0 < relevance < 1.7 for relevance in own)


def test_the_other_conversation_is_asked_whatever_its_time(filled: Held) -> None:
    held, _ = filled
    early = datetime(2020, 1, 1, tzinfo=UTC)
    conversations = tuple(
        replace(each, questions=tuple(replace(q, asked_at=early) for q in each.questions))
        for each in held.dataset.conversations
    )
    found = ask_twice(
        replace(held, dataset=replace(held.dataset, conversations=conversations)), Setup()
    )
    assert found.own == [[-inf, -inf], [-inf]]
    assert max(map(max, found.foreign)) > 0


def test_questions_apart_are_not_asked_and_one_conversation_is_too_few(filled: Held) -> None:
    held, _ = filled
    boat, garden = held.dataset.conversations
    apart = replace(boat, questions=tuple(replace(q, core=False) for q in boat.questions))
    dataset = replace(held.dataset, conversations=(apart, garden))
    found = ask_twice(replace(held, dataset=dataset), Setup())
    assert found.own[0] == found.foreign[0] == []
    alone = replace(held.dataset, conversations=(boat,))
    with pytest.raises(InvalidInputError, match=r"here is only one"):
        ask_twice(replace(held, dataset=alone), Setup())
