"""BEAM's chats (Tavakoli et al., 2025) as plain JSON: a user and an assistant, long answers.

A list of `{id, messages: [{id, role, content, time_anchor}], questions: [{category, question,
gold, answer}]}`, or one of them; answers may be missing. A user's message with a time anchor
begins a session.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from amem_integrations.evaluation.dataset import Conversation, Defects, Question, Turn
from amem_integrations.evaluation.fields import Fields

NAME = "beam"
_ANCHOR = "%B-%d-%Y"
# What they ask for is the following of an instruction and an order, and not a message.
_APART = ("instruction_following", "event_ordering")


def is_beam(chat: object) -> bool:
    return isinstance(chat, dict) and "messages" in chat and "questions" in chat


def conversations(chats: Iterable[object], defects: Defects) -> Iterator[Conversation]:
    """Raises InvalidInputError for a chat that is none."""
    for place, value in enumerate(chats, 1):
        chat = Fields.of(value, f"chat {place}")
        id = chat.id("id")
        turns = defects.said(_turns(Fields(chat.value, f"chat {id}")))
        asked = [
            _question(Fields.of(each, f"chat {id}, question {number}"))
            for number, each in enumerate(chat.list("questions"), 1)
        ]
        yield Conversation(id, turns, defects.answerable(asked, turns))


def _turns(chat: Fields) -> Iterator[Turn]:
    session, time = 0, None
    for place, value in enumerate(chat.list("messages"), 1):
        message = Fields.of(value, f"{chat.where}, message {place}")
        role = message.text("role")
        anchor = message.optional("time_anchor")
        if anchor is not None and role == "user":
            session, time = session + 1, _date(message, anchor)
        yield Turn(
            message.id("id"), message.text("content"), role=role, session=str(session), time=time
        )


def _date(message: Fields, anchor: str) -> datetime:
    try:
        return datetime.strptime(anchor, _ANCHOR).replace(tzinfo=UTC)
    except ValueError:
        raise message.wrong("time_anchor", 'a date such as "March-15-2024"') from None


def _question(asked: Fields) -> Question:
    category = asked.text("category")
    return Question(
        asked.text("question"),
        tuple(asked.ids("gold")),
        category,
        core=category not in _APART,
        answer=asked.said("answer"),
    )
