"""Readers that know the right answers, to see that the harness measures what it claims.

Their scores are known beforehand: an oracle's is the share of questions whose evidence a system
brings, a shuffled one's is chance.
"""

import random
from collections import defaultdict

from amem_integrations.evaluation.dataset import Conversation, Dataset, Question
from amem_integrations.evaluation.qa.quoted import quoted
from amem_integrations.evaluation.qa.system import Evidence


def gold_of(question: Question) -> str:
    """What a right answer is held against; for an adversarial question, the bait."""
    return question.adversarial_answer or question.answer or ""


class OracleReader:
    """Gives the right answer if the text of all of its evidence is there to be read, else none."""

    name = "oracle"

    def answer(self, conversation: Conversation, question: Question, evidence: Evidence) -> str:
        shown = " ".join(_letters(said.text) for said in quoted(evidence.text))
        wanted = [turn.text for turn in conversation.turns if turn.id in question.evidence]
        return gold_of(question) if all(_letters(text) in shown for text in wanted) else ""


class ShuffledReader:
    """Gives the right answer to another question of the same category, drawn by seed."""

    def __init__(self, dataset: Dataset, *, seed: int = 0) -> None:
        # Other questions are shuffled otherwise.
        self.name = f"shuffled/{seed}/{len(dataset.asked)}"
        by_category: defaultdict[str, list[tuple[str, Question]]] = defaultdict(list)
        for conversation, question in dataset.asked:
            by_category[question.category].append((conversation.id, question))
        draw = random.Random(seed)
        self._answers: dict[tuple[str, Question], str] = {}
        for asked in by_category.values():
            golds = [gold_of(question) for _, question in asked]
            draw.shuffle(golds)
            self._answers |= zip(asked, golds, strict=True)

    def answer(self, conversation: Conversation, question: Question, evidence: Evidence) -> str:
        return self._answers[conversation.id, question]


def _letters(text: str) -> str:
    """What is left of a text however it is quoted."""
    return "".join(sign for sign in text if sign.isalnum())
