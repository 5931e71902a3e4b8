"""What an adapter answers to the questions of the chat, and what its memory believes then."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.stories.adapters import HOME, Adapter
from tests.stories.story import STORY, Asked

NEAR = 3
"""A question, thanks or an echo must not be among so many notes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The notes that answer a question, best first."""

    question: Asked
    notes: Sequence[str]

    @property
    def is_right(self) -> bool:
        """Whether a fact that the question asks for comes first."""
        return bool(self.notes) and bool(STORY.facts_in(self.notes[0]) & self.question.first)

    @property
    def noise(self) -> list[str]:
        """What is no fact, among the first notes."""
        return [note for note in self.notes[:NEAR] if STORY.is_noise(note)]

    @property
    def turned_round(self) -> list[str]:
        """The outdated facts that come before what outdates them, or without it if it is asked."""
        near = self.notes[:NEAR]
        facts = [fact for note in near for fact in sorted(STORY.facts_in(note))]
        wanted = {*facts, *self.question.first}
        return [
            fact
            for at, fact in enumerate(facts)
            if (newer := STORY.outdated.get(fact)) in wanted and newer not in facts[:at]
        ]


@dataclass(frozen=True, slots=True)
class Reached:
    """What one adapter reaches, with a model or without.

    unmarked: corrected facts that are neither outdated nor under audit. formed_noise: notes that
    are no facts and were formed. named: how many notes the health report names as outdated,
    contested or under audit.
    """

    answers: Sequence[Answer]
    unmarked: Sequence[str]
    formed_noise: Sequence[str]
    named: int

    @property
    def share_right(self) -> float:
        return sum(answer.is_right for answer in self.answers) / len(self.answers)

    @property
    def wrong(self) -> list[str]:
        return [
            f"{answer.question.text} -> {answer.notes[0] if answer.notes else None}"
            for answer in self.answers
            if not answer.is_right
        ]

    @property
    def noise(self) -> list[str]:
        return [
            f"{answer.question.text} -> {answer.noise}" for answer in self.answers if answer.noise
        ]

    @property
    def turned_round(self) -> list[str]:
        return [
            f"{answer.question.text} -> {answer.turned_round}"
            for answer in self.answers
            if answer.turned_round
        ]


def measured(adapter: Adapter) -> Reached:
    """Fill a memory by the adapter, and ask it all questions."""
    adapter.fill()
    answers = [Answer(asked, adapter.recall(asked.text)) for asked in STORY.questions]
    memory = adapter.memory
    health = memory.admin.health(HOME)
    notes = memory.recent(namespace=HOME, limit=1000)
    audited = {audit.note.id for audit in memory.lifecycle.audits(namespace=HOME)}
    marked = [note for note in notes if note.valid_until is not None or note.id in audited]
    told = frozenset(fact for note in marked for fact in STORY.facts_in(note.content))
    return Reached(
        answers,
        sorted(STORY.outdated.keys() - told),
        [
            note.content
            for note in notes
            if note.status == "formed" and STORY.is_noise(note.content)
        ],
        sum(int(health.get(name, 0)) for name in ("outdated", "contested", "audited")),
    )
