"""What is measured with: conversations, their questions, and what was wrong with the file.

The formats beside this module make these; nothing here reads a file.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance.

    Attributes:
        id: by which questions name it.
        text: what was said.
        speaker: who said it.
        role: "user" or "assistant" in such chats.
        session: in which sitting.
        time: when it was said.

    Examples:
        >>> from amem_integrations.evaluation.dataset import Turn
        >>> Turn("t1", "Calvin wants LRU eviction", speaker="Calvin").session is None
        True
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
        text: what is asked.
        evidence: ids of the turns.
        category: what kind of question it is.
        asked_at: recall is as of that moment.
        core: whether it counts in the total, or is only reported by its category, since it asks for
            something other than recall.
        answer: what is right.
        adversarial_answer: what somebody says who falls for an adversarial question.

    Examples:
        >>> from amem_integrations.evaluation.dataset import Question
        >>> Question("Which eviction?", ("t1",), "single-hop", answer="LRU").core
        True
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
        id: what it is called.
        turns: what was said.
        questions: what is asked about it.

    Examples:
        >>> from amem_integrations.evaluation.dataset import Conversation, Turn
        >>> len(Conversation("talk", (Turn("t1", "Calvin wants LRU eviction"),), ()).turns)
        1
    """

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Conversations with questions, and what was wrong with the file.

    Attributes:
        format: of the file.
        conversations: in its order.
        digest: SHA-256 of the file as it is read, unpacked.
        defects: how many of each kind.

    Examples:
        >>> from amem_integrations.evaluation.dataset import Conversation, Dataset, Turn
        >>> talk = Conversation("talk", (Turn("t1", "Calvin wants LRU eviction"),), ())
        >>> Dataset("mine", (talk,)).facts["turns"]
        1
    """

    format: str
    conversations: tuple[Conversation, ...]
    digest: str = ""
    defects: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def asked(self) -> list[tuple[Conversation, Question]]:
        """Every question with its conversation, in order."""
        return [(each, question) for each in self.conversations for question in each.questions]

    @property
    def facts(self) -> dict[str, Any]:
        """What reports say of the data: which they were, and how many."""
        return {
            "format": self.format,
            "sha256": self.digest,
            "conversations": len(self.conversations),
            "turns": sum(len(each.turns) for each in self.conversations),
            "questions": len(self.asked),
        }


class Defects(Counter[str]):
    """What a file has wrong, counted by kind, so that nothing is left out in silence."""

    def said(self, turns: Iterable[Turn]) -> tuple[Turn, ...]:
        """The turns that can be stored: with text, each id once."""
        kept: dict[str, Turn] = {}
        for turn in turns:
            if not turn.text.strip():
                self["turns without text, left out"] += 1
            elif turn.id in kept:
                self["turns with the id of an earlier one, left out"] += 1
            else:
                kept[turn.id] = turn
        return tuple(kept.values())

    def answerable(
        self, questions: Iterable[Question], turns: Collection[Turn]
    ) -> tuple[Question, ...]:
        """The questions with evidence that is there; the rest cannot be scored."""
        ids = {turn.id for turn in turns}
        kept: list[Question] = []
        for question in questions:
            found = tuple(dict.fromkeys(id for id in question.evidence if id in ids))
            missing = len(set(question.evidence) - ids)
            if missing:
                self["evidence ids of no turn, left out"] += missing
            if found:
                kept.append(replace(question, evidence=found))
            elif question.evidence:
                self["questions whose evidence is not there, left out"] += 1
            else:
                self["questions without evidence, left out"] += 1
        return tuple(kept)
