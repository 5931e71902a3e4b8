"""Readers: a model and its prompts, rules over evidence; the judge."""

from datetime import UTC, datetime

import pytest

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.errors import AnalysisError
from amem_integrations.evaluation.dataset import Question, Turn
from amem_integrations.evaluation.qa.extractive import ExtractiveReader, Statement, statements
from amem_integrations.evaluation.qa.model import LineStore
from amem_integrations.evaluation.qa.readers import ABSTENTION, Judge, ModelReader
from amem_integrations.evaluation.qa.scores import score
from amem_integrations.evaluation.qa.system import Answer, Budget, Evidence, line, transcript
from amem_integrations.recall.prompt import pack
from tests.evaluation.qa.samples import Scripted, conversation, question
from tests.support import EMBEDDER, open_memory

TALK = conversation("The sloop needs a new mainsail.", "I can sew one.")
SHOWN = Evidence("Nora: The sloop needs a new mainsail.")


def shown(asked: Question) -> str:
    model = Scripted({"answer": " a mainsail "})
    assert ModelReader(model).answer(TALK, asked, SHOWN) == "a mainsail"
    (request,) = model.asked
    return request.messages[-1].content


def test_a_model_is_shown_the_evidence_and_asked_for_a_short_phrase_or_a_date() -> None:
    prompt = shown(question("What does the sloop need?", "a mainsail"))
    assert SHOWN.text in prompt
    assert "short phrase" in prompt
    assert "a mainsail" not in prompt.replace(SHOWN.text, "")
    assert "approximate date" in shown(question("When?", "May", "temporal"))


def test_an_adversarial_question_is_a_choice_in_an_order_that_the_question_draws() -> None:
    prompts = [
        shown(question(f"Who sews {n}?", category="adversarial", bait="Ilya")) for n in range(8)
    ]
    assert all("'Ilya'" in prompt and ABSTENTION in prompt for prompt in prompts)
    first = [prompt.find("'Ilya'") < prompt.find(ABSTENTION) for prompt in prompts]
    assert set(first) == {True, False}


def test_no_answer_is_a_failure() -> None:
    with pytest.raises(AnalysisError, match="gave no answer"):
        ModelReader(Scripted({"reply": "no"})).answer(TALK, question("What?", "a"), SHOWN)


MAY = datetime(2026, 5, 7, tzinfo=UTC)
TURNS = [
    Turn("t1", "We sailed to Odesa yesterday: it took nine hours.", "Nora", time=MAY),
    Turn("t2", "My grandfather Petro sewed the mainsail.", "Ilya", time=MAY),
    Turn("t3", 'He calls her "Gull" and\nnothing else.', "Nora", time=MAY),
]
NOBODY = conversation()


def extracted(asked: str, bait: str | None = None) -> str:
    evidence = Evidence("\n".join(line(turn) for turn in TURNS))
    return ExtractiveReader().answer(NOBODY, question(asked, bait=bait), evidence)


def test_lines_and_days_of_turns_are_read() -> None:
    expected = [
        Statement(TURNS[0].text, "Nora", MAY),
        Statement(TURNS[1].text, "Ilya", MAY),
        Statement('He calls her "Gull" and nothing else.', "Nora", MAY),
    ]
    assert statements("\n".join(line(turn) for turn in TURNS)) == expected
    assert statements("") == []
    assert statements(transcript(TURNS)) == expected


def test_packed_notes_are_read_as_they_were_said() -> None:
    with open_memory(formation="off") as memory:
        for turn in TURNS:
            memory.add(turn.text, speaker=turn.speaker, occurred_at=turn.time)
        found = statements(pack(memory.search("mainsail", k=3), 1000))
    assert {(said.text, said.speaker, said.at) for said in found} == {
        (turn.text, turn.speaker, turn.time) for turn in TURNS
    }


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("When did they sail to Odesa?", "6 May 2026"),
        ("On which day did Petro sew the mainsail?", "7 May 2026"),
        ("How many hours did sailing to Odesa take?", "nine"),
        ("Who sewed the mainsail?", "Petro"),
        ("Did they sail to Odesa?", "yes"),
        ("Petro sewed the mainsail; what is he to Ilya?", "grandfather"),
    ],
)
def test_the_kind_of_question_chooses_the_words(asked: str, expected: str) -> None:
    assert extracted(asked) == expected


def test_a_bait_is_taken_only_where_the_evidence_has_its_words() -> None:
    assert extracted("Where did Ilya's mainsail go?", bait="to Odesa") == ABSTENTION
    assert extracted("Who sewed the mainsail for Odesa?", bait="grandfather Petro") == (
        "grandfather Petro"
    )


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


def verdicts(kept: LineStore, *answers: Answer) -> tuple[list[float | None], list[str]]:
    model = Strict()
    return Judge(model, kept).verdicts(ASKED, answers), model.asked


def test_each_answer_is_judged_once_by_the_reference_or_the_bait(kept: LineStore) -> None:
    answers = answer("nine in the morning"), answer("at ten"), answer("Nora", 1)
    found, asked = verdicts(kept, *answers)
    assert found == [1, 0, 0]
    assert verdicts(kept, *answers) == (found, [])
    assert "Reference: at nine" in asked[0]
    assert "it is not: Nora" in asked[2]
    # Nobody is asked about no answer.
    assert verdicts(kept, answer(" "), answer("", failure="timeout")) == ([0, None], [])


def test_judgement_is_a_measure_with_its_own_count(kept: LineStore) -> None:
    answers = [answer("fail"), answer("nine", 1)]
    (one,) = score(ASKED, answers, EMBEDDER, Judge(Strict(), kept))
    assert one.estimates["adversarial"]["judge"].mean == 1
    assert one.estimates["core"]["judge"].count == 1
    assert one.estimates["core"]["f1"].count == 2
    # A judge that fails leaves the other measures.
    assert [row is not None and "judge" in row for row in one.rows] == [False, True]
