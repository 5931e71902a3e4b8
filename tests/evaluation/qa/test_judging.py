"""A model that judges: what it is asked, and that it is a measure of its own."""

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.errors import AnalysisError
from amem_integrations.evaluation.qa.judging import Judge
from amem_integrations.evaluation.qa.run import Answer
from amem_integrations.evaluation.qa.scoring import score
from amem_integrations.evaluation.qa.system import Budget
from tests.evaluation.qa.samples import conversation, question
from tests.support import EMBEDDER

ASKED = [
    (conversation("We sail at nine."), question("When do they sail?", "at nine")),
    (conversation("We sail at nine."), question("Who swims?", None, "adversarial", "Nora")),
]


class Strict:
    """Right is only what has the word "nine"; it fails for an answer that says "fail"."""

    name = "strict"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def complete(self, request: ChatRequest) -> ChatReply:
        prompt = request.messages[-1].content
        self.asked.append(prompt)
        if "Answer: fail" in prompt:
            raise AnalysisError("No.", reason="refusal", retryable=False)
        right = "nine" in prompt.partition("Answer:")[2]
        return ChatReply("", {"verdict": "right" if right else "wrong"})

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        return self.complete(request)


def answer(text: str, place: int = 0, failure: str | None = None) -> Answer:
    return Answer("bm25", Budget(), place, text, (), 0, failure)


def verdicts(*answers: Answer) -> tuple[list[float | None], list[str]]:
    model = Strict()
    return Judge(model).verdicts(ASKED, answers), model.asked


def test_each_answer_is_judged_by_the_reference() -> None:
    found, asked = verdicts(answer("nine in the morning"), answer("at ten"))
    assert found == [1, 0]
    assert "Reference: at nine" in asked[0]


def test_an_adversarial_question_has_the_bait_for_what_is_wrong() -> None:
    _, asked = verdicts(answer("Nora", 1))
    assert "does not tell" in asked[0]
    assert "it is not: Nora" in asked[0]


def test_nobody_is_asked_about_no_answer() -> None:
    assert verdicts(answer(" "), answer("", failure="timeout")) == ([0, None], [])


def test_a_judge_that_fails_leaves_the_other_measures() -> None:
    answers = [answer("fail"), answer("fail nine", 1)]
    (one,) = score(ASKED, answers, EMBEDDER, Judge(Strict()))
    assert all(row is not None and "judge" not in row and "f1" in row for row in one.rows)


def test_judgement_is_a_measure_with_its_own_count() -> None:
    (one,) = score(ASKED, [answer("fail"), answer("nine", 1)], EMBEDDER, Judge(Strict()))
    assert one.estimates["adversarial"]["judge"].mean == 1
    assert one.estimates["core"]["judge"].count == 1
    assert one.estimates["core"]["f1"].count == 2
