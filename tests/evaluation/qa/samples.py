"""Conversations, questions and models that several tests of question answering share."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.core.values import estimate_tokens
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn
from amem_integrations.evaluation.formats import read_dataset
from amem_integrations.evaluation.qa.system import Budget, Evidence, Means, System
from amem_integrations.testing import HashEmbedder

CONVERSATIONS = Path(__file__).parents[3] / "cookbook" / "data" / "conversations.jsonl"


def own() -> Dataset:
    """The cookbook's three conversations with 60 questions."""
    return read_dataset(CONVERSATIONS)


def conversation(*texts: str, questions: Sequence[Question] = (), id: str = "boat") -> Conversation:
    turns = tuple(Turn(f"t{place}", text, "Nora") for place, text in enumerate(texts, 1))
    return Conversation(id, turns, tuple(questions))


def question(
    text: str, answer: str | None = None, category: str = "single-hop", bait: str | None = None
) -> Question:
    return Question(text, ("t1",), category, answer=answer, adversarial_answer=bait)


SAID = (
    ("d1", 1, "Nora", "The sloop needs a new mainsail before the regatta in June."),
    ("d2", 1, "Ilya", "I can sew a mainsail, my grandfather was a sailmaker."),
    ("d3", 2, "Nora", "The harbour master wants the mooring fee by Friday."),
    ("d4", 2, "Ilya", "I paid the mooring fee this morning, two hundred crowns."),
    ("d5", 40, "Nora", "My beehive gave eleven jars of honey this summer."),
    ("d6", 40, "Ilya", "Honey goes well with the garlic from the greenhouse."),
)
START = datetime(2023, 5, 7, 9, tzinfo=UTC)


def turn(id: str, day: int, speaker: str, text: str) -> Turn:
    at = START + timedelta(days=day - 1)
    return Turn(id, text, speaker, session=f"s{day}", time=at)


QUESTION = Question("Who paid the mooring fee?", ("d4",), "single-hop")
EARLY = Question("Who paid the mooring fee?", ("d4",), "single-hop", START + timedelta(days=1))
TALK = Conversation("talk", tuple(turn(*each) for each in SAID), (QUESTION,))
BUDGET = Budget(k=10)


class Scripted:
    """A chat model that answers each request in turn, the last answer from then on.

    An answer is the JSON object, None for no object, or the error to raise.
    """

    name = "scripted"

    def __init__(self, *answers: Mapping[str, Any] | Exception | None) -> None:
        self.asked: list[ChatRequest] = []
        self._answers = list(answers)

    def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return ChatReply("", None if answer is None else dict(answer))

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        return self.complete(request)


def means(model: Any = None, conversation: Conversation = TALK) -> Means:
    return Means(
        Dataset("test", (conversation,), "digest"), resolve_embedder(HashEmbedder()), model
    )


def answered(
    system: System,
    budget: Budget = BUDGET,
    question: Question = QUESTION,
    conversation: Conversation = TALK,
) -> Evidence:
    """What a fresh system shows for the question."""
    system.prepare(conversation)
    try:
        return system.evidence(conversation, question, budget)
    finally:
        system.close()


def is_within(evidence: Evidence, tokens: int) -> bool:
    return estimate_tokens(evidence.text) <= tokens
