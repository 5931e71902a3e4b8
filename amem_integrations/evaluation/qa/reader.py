"""Who answers from evidence: a chat model, asked as the A-Mem paper asks.

Readers without a model are `extractive`, and those that check the harness itself `checking`.
"""

import hashlib
import random
from typing import Protocol

from amem_integrations.core.io import ChatModel
from amem_integrations.errors import AnalysisError
from amem_integrations.evaluation.dataset import Conversation, Question
from amem_integrations.evaluation.qa.system import Evidence
from amem_integrations.evaluation.qa.systems.asking import TEXT, ask

ABSTENTION = "Not mentioned in the conversation"

STEP = "answer"
RULES = "You answer questions about a conversation from what was retrieved of it."
_SHORT = (
    "Answer the question in a short phrase, with exact words of the conversation wherever that "
    "is possible.\nQuestion: {question}"
)
_DATE = (
    "Answer the question with an approximate date, told from the dates of what was said, in as few "
    "words as possible, with the month in words, such as: 7 May 2023.\nQuestion: {question}"
)
_CHOICE = (
    "Choose the one of the two answers that is right, and repeat it: {first!r} or {second!r}.\n"
    "Question: {question}"
)
PROMPTS = {"temporal": _DATE, "adversarial": _CHOICE, "any other": _SHORT}
"""By category; the report shows them, with RULES."""


class Reader(Protocol):
    """Answers one question from one system's evidence. Called from several threads at once.

    name: tells apart readers whose answers can differ, models and prompts included.
    """

    @property
    def name(self) -> str: ...

    def answer(self, conversation: Conversation, question: Question, evidence: Evidence) -> str:
        """The answer; "" for none. Raises AnalysisError where the model gives none."""
        ...


class ModelReader:
    """A chat model that is asked for a short phrase, a date, or one of two answers.

    As in the paper's evaluation (its appendix, and the authors' code): by category, category 5
    as a choice between "not mentioned" and the adversarial answer, in an order drawn by seed
    and question. Answers come within a schema. The temperature is the model's own. Systems show
    dates in numbers and LoCoMo's answers are in words, so the prompt says how to write one.
    """

    def __init__(self, model: ChatModel, *, seed: int = 0) -> None:
        self._model = model
        self._seed = seed
        asked = "".join([RULES, *PROMPTS.values(), str(seed)])
        self.name = f"{model.name}/{hashlib.sha256(asked.encode()).hexdigest()[:8]}"

    def answer(self, conversation: Conversation, question: Question, evidence: Evidence) -> str:
        request = self.request(conversation, question)
        answer = ask(self._model, STEP, RULES, evidence.text, request, {"answer": TEXT})
        if "answer" not in answer:
            raise AnalysisError(
                f"{self._model.name} gave no answer to a question of {conversation.id!r}.",
                reason="unparsable",
                retryable=True,
            )
        return str(answer["answer"]).strip()

    def request(self, conversation: Conversation, question: Question) -> str:
        """What is asked, below the evidence."""
        bait = question.adversarial_answer
        if bait is None:
            prompt = PROMPTS.get(question.category, _SHORT)
            return (_SHORT if prompt is _CHOICE else prompt).format(question=question.text)
        drawn = random.Random(f"{self._seed} {conversation.id} {question.text}")
        first, second = drawn.sample([ABSTENTION, bait], 2)
        return _CHOICE.format(first=first, second=second, question=question.text)
