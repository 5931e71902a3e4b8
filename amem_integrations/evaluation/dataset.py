"""Conversations with questions, as evaluations use them; `formats` reads them from files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

__all__ = ["Conversation", "Dataset", "Question", "Turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance.

    Attributes:
        id: the id that questions name.
        text: what was said.
        speaker: who said it.
        role: "user" or "assistant" in such chats.
        session: the session it belongs to.
        time: when it was said.
    """

    id: str
    text: str
    speaker: str | None = None
    role: str | None = None
    session: str | None = None
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of all turns that answer it.

    Attributes:
        text: the question.
        evidence: ids of the turns.
        category: the kind of question.
        asked_at: recall is as of that moment.
        core: whether it counts in the total, or only in its category, since it asks for something
            other than recall.
        answer: the right answer.
        adversarial_answer: the answer of somebody who falls for an adversarial question.
    """

    text: str
    evidence: tuple[str, ...]
    category: str
    asked_at: datetime | None = None
    core: bool = True
    answer: str | None = None
    adversarial_answer: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in the order in which they were said.

    Attributes:
        id: its name.
        turns: what was said.
        questions: what is asked about it.
    """

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Conversations with questions, and what was wrong with the file.

    Attributes:
        format: the format of the file.
        conversations: in the order of the file.
        digest: SHA-256 of the file, unpacked.
        defects: how many of each kind.
    """

    format: str
    conversations: tuple[Conversation, ...]
    digest: str = ""
    defects: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def asked(self) -> list[tuple[Conversation, Question]]:
        """Every question with its conversation, in order."""
        return [
            (conversation, question)
            for conversation in self.conversations
            for question in conversation.questions
        ]

    @property
    def facts(self) -> dict[str, Any]:
        """What identifies the data in a report."""
        return {
            "format": self.format,
            "sha256": self.digest,
            "conversations": len(self.conversations),
            "turns": sum(len(conversation.turns) for conversation in self.conversations),
            "questions": len(self.asked),
        }
