"""The reference's recall: turns as A-Mem stores them, by cosine."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from amem_integrations.core.io import Vector
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn
from amem_integrations.evaluation.dense import DenseBaseline, content
from amem_integrations.testing import HashEmbedder

# Texts as directions in the plane; lengths must not matter.
WAYS = {"east": [9.0, 0.0], "north": [0.0, 0.1], "between": [3.0, 1.0], "?": [0.5, 0.0]}


class Compass(HashEmbedder):
    def embed_query(self, text: str) -> Vector:
        return WAYS[text]


TURNS = tuple(
    Turn(text, text, time=datetime(2026, 1, day, tzinfo=UTC))
    for day, text in enumerate(("north", "between", "east"), 1)
)
QUESTION = Question("?", ("east",), "all")


@pytest.fixture
def conversation() -> Conversation:
    return Conversation("c", TURNS, (QUESTION,))


@pytest.fixture
def baseline(conversation: Conversation) -> DenseBaseline:
    return DenseBaseline(Compass(2), Dataset("x", (conversation,)))


def test_turns_come_by_cosine(baseline: DenseBaseline, conversation: Conversation) -> None:
    assert baseline(conversation, QUESTION, 3) == ["east", "between", "north"]
    assert baseline(conversation, QUESTION, 1) == ["east"]


def test_what_was_said_after_the_question_is_not_known(
    baseline: DenseBaseline, conversation: Conversation
) -> None:
    asked = replace(QUESTION, asked_at=datetime(2026, 1, 2, tzinfo=UTC))
    assert baseline(conversation, asked, 3) == ["between", "north"]


def test_equal_cosines_keep_the_order_of_the_conversation() -> None:
    twins = Conversation("c", tuple(Turn(id, "east") for id in "ba"), (QUESTION,))
    assert DenseBaseline(Compass(2), Dataset("x", (twins,)))(twins, QUESTION, 2) == ["b", "a"]


def test_a_turn_is_stored_as_a_mem_s_own_evaluation_does() -> None:
    assert content(Turn("1", "Ahoy", "Nora")) == "Speaker Nora says : Ahoy"
    assert content(Turn("1", "Ahoy", role="user")) == "Speaker user says : Ahoy"
    assert content(Turn("1", "Ahoy")) == "Ahoy"


def test_progress_counts_turns(conversation: Conversation) -> None:
    seen: list[tuple[int, int]] = []
    DenseBaseline(
        Compass(2), Dataset("x", (conversation,)), lambda done, total: seen.append((done, total))
    )
    assert seen == [(3, 3)]
