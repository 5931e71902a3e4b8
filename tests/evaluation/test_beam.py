"""BEAM's chats: roles, sessions that begin at a time anchor, categories apart."""

from datetime import UTC, datetime

import pytest

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.beam import conversations
from amem_integrations.evaluation.dataset import Conversation, Defects
from tests.evaluation.samples import beam


@pytest.fixture
def chat() -> Conversation:
    (found,) = conversations(beam(), Defects())
    return found


def test_messages_have_roles_and_ids_as_text(chat: Conversation) -> None:
    assert chat.id == "7"
    assert [(turn.id, turn.role) for turn in chat.turns] == [
        ("0", "user"),
        ("1", "assistant"),
        ("2", "user"),
    ]


def test_a_user_s_time_anchor_begins_a_session_at_that_date(chat: Conversation) -> None:
    march, april = datetime(2024, 3, 15, tzinfo=UTC), datetime(2024, 4, 5, tzinfo=UTC)
    assert [(turn.session, turn.time) for turn in chat.turns] == [
        ("1", march),
        ("1", march),
        ("2", april),
    ]


def test_questions_that_are_not_plain_retrieval_stand_apart(chat: Conversation) -> None:
    assert [(question.category, question.core) for question in chat.questions] == [
        ("information_extraction", True),
        ("event_ordering", False),
    ]
    assert chat.questions[1].evidence == ("0", "2")


def test_an_answer_is_kept_where_there_is_one() -> None:
    chats = beam()
    chats[0]["questions"][0]["answer"] = "for an aunt"
    (chat,) = conversations(chats, Defects())
    assert [question.answer for question in chat.questions] == ["for an aunt", None]


def test_an_anchor_that_is_no_date_says_where() -> None:
    chats = beam()
    chats[0]["messages"][2]["time_anchor"] = "soon"
    with pytest.raises(InvalidInputError, match=r"chat 7, message 3: \"time_anchor\".*'soon'"):
        list(conversations(chats, Defects()))
