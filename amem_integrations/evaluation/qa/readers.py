"""A chat model reads evidence and answers; a chat model judges whether an answer is right.

`extractive` has a reader by rules.
"""

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from amem_integrations.analysts import schemas
from amem_integrations.core.io import ChatModel
from amem_integrations.errors import AnalysisError
from amem_integrations.evaluation.dataset import Conversation, Question
from amem_integrations.evaluation.qa.model import LineStore, ask, fingerprint
from amem_integrations.evaluation.qa.system import Answer, Evidence

ABSTENTION = "Not mentioned in the conversation"
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
_ANSWER = {"answer": schemas.TEXT}
JUDGE_RULES = (
    "You grade answers to questions about a conversation that you do not see. An answer is right "
    "if it says what the reference says, in whatever words; more detail, or a date in another "
    "form, does no harm. Whatever contradicts the reference or leaves its matter out is wrong."
)
_UNTOLD = (
    "The conversation does not tell. Right is only an answer that says so; in particular, it is "
    "not: {bait}"
)
_VERDICT = 'Is the answer right? "verdict": "right" or "wrong".'
_RIGHT = {"right": 1.0, "wrong": 0.0}
_VERDICTS = {"verdict": schemas.one_of(_RIGHT)}


def gold_of(question: Question) -> str:
    """Return the right answer; for an adversarial question, the bait."""
    return question.adversarial_answer or question.answer or ""


class Reader(Protocol):
    """Answers one question from one system's evidence. Called from several threads at once.

    name: tells apart readers whose answers can differ, models and prompts included.
    """

    @property
    def name(self) -> str: ...

    def answer(self, conversation: Conversation, question: Question, evidence: Evidence) -> str:
        """Return the answer; "" for none. Raises AnalysisError if the model gives none."""
        ...


class ModelReader:
    """A chat model that is asked for a short phrase, a date, or one of two answers.

    As in the paper's evaluation (its appendix, and the authors' code): by category, category 5
    as a choice between "not mentioned" and the adversarial answer, in an order drawn by the
    question. Answers come within a schema. The temperature is the model's own. Systems show
    dates in numbers and LoCoMo's answers are in words, so the prompt says how to write one.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = f"{model.name}/{fingerprint(RULES, PROMPTS)[:8]}"

    def answer(self, conversation: Conversation, question: Question, evidence: Evidence) -> str:
        request = self._request(conversation, question)
        answer = ask(self._model, "answer", RULES, evidence.text, request, _ANSWER)
        if "answer" not in answer:
            raise AnalysisError(
                f"{self._model.name} gave no answer to a question of {conversation.id!r}.",
                reason="unparsable",
                retryable=True,
            )
        return answer["answer"].strip()

    def _request(self, conversation: Conversation, question: Question) -> str:
        bait = question.adversarial_answer
        if bait is None:
            prompt = _DATE if question.category == "temporal" else _SHORT
            return prompt.format(question=question.text)
        drawn = random.Random(f"{conversation.id} {question.text}")
        first, second = drawn.sample([ABSTENTION, bait], 2)
        return _CHOICE.format(first=first, second=second, question=question.text)


class Judge:
    """Asks `model` whether each answer is right, `concurrency` side by side.

    A measure beside the others: models are lenient and disagree, so compare only what one judge
    has judged. kept: verdicts of earlier runs, which are not asked for again.
    """

    def __init__(self, model: ChatModel, kept: LineStore, *, concurrency: int = 1) -> None:
        self._model = model
        self._kept = kept
        self._concurrency = concurrency

    def verdicts(
        self, asked: Sequence[tuple[Conversation, Question]], answers: Sequence[Answer]
    ) -> list[float | None]:
        """Return 1 for right, 0 for wrong; None where the question failed, or the judge did."""
        questions = [asked[answer.place][1] for answer in answers]
        with ThreadPoolExecutor(self._concurrency, thread_name_prefix="amem-judge") as pool:
            return list(pool.map(self._verdict, questions, answers))

    def _verdict(self, question: Question, answer: Answer) -> float | None:
        if answer.failure is not None:
            return None
        if not answer.text.strip():
            return 0.0
        bait = question.adversarial_answer
        reference = question.answer if bait is None else _UNTOLD.format(bait=bait)
        quoted = f"Question: {question.text}\nReference: {reference}\nAnswer: {answer.text}"
        key = fingerprint("judge", self._model.name, JUDGE_RULES, quoted)
        verdict = self._kept.get(key)
        if verdict is None:
            try:
                verdict = ask(self._model, "judge", JUDGE_RULES, quoted, _VERDICT, _VERDICTS)
            except AnalysisError:
                return None
            self._kept.put(key, verdict)
        return _RIGHT.get(verdict.get("verdict", ""))
