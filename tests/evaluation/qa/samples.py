"""What several tests of question answering share: our own conversations, and simple systems."""

from collections.abc import Sequence
from pathlib import Path

from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn
from amem_integrations.evaluation.reading import read_dataset

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
