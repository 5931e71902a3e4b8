"""A model's word on whether an answer is right: a measure beside the others, never the default.

Models are lenient judges, and not of one mind: compare only what one judge has judged. The prompt
is in the report.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from amem_integrations.core.io import ChatModel
from amem_integrations.errors import AnalysisError
from amem_integrations.evaluation.dataset import Conversation, Question
from amem_integrations.evaluation.qa.systems.asking import ask, one_of

if TYPE_CHECKING:
    from amem_integrations.evaluation.qa.run import Answer

RULES = (
    "You grade answers to questions about a conversation that you do not see. An answer is right "
    "if it says what the reference says, in whatever words; more detail, or a date in another "
    "form, does no harm. Whatever contradicts the reference or leaves its matter out is wrong."
)
_UNTOLD = (
    "The conversation does not tell. Right is only an answer that says so; in particular, it is "
    "not: {bait}"
)
_REQUEST = 'Is the answer right? "verdict": "right" or "wrong".'


class Judge:
    """Asks `model` about each answer, `concurrency` side by side."""

    def __init__(self, model: ChatModel, *, concurrency: int = 1) -> None:
        self._model = model
        self._concurrency = concurrency

    def verdicts(
        self, asked: Sequence[tuple[Conversation, Question]], answers: Sequence["Answer"]
    ) -> list[float | None]:
        """1 for right, 0 for wrong; None where the question failed, or the judge did."""
        questions = [asked[answer.place][1] for answer in answers]
        with ThreadPoolExecutor(self._concurrency, thread_name_prefix="amem-judge") as pool:
            return list(pool.map(self._one, questions, answers))

    def _one(self, question: Question, answer: "Answer") -> float | None:
        if answer.failure is not None:
            return None
        if not answer.text.strip():
            return 0.0
        bait = question.adversarial_answer
        reference = question.answer if bait is None else _UNTOLD.format(bait=bait)
        quoted = f"Question: {question.text}\nReference: {reference}\nAnswer: {answer.text}"
        verdict = {"verdict": one_of(["right", "wrong"])}
        try:
            found = ask(self._model, "judge", RULES, quoted, _REQUEST, verdict).get("verdict")
        except AnalysisError:
            return None
        return {"right": 1.0, "wrong": 0.0}.get(str(found))
