"""What a chat model is asked, by category, and the readers that know the answers."""

from collections import Counter
from typing import Any

import pytest

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.errors import AnalysisError
from amem_integrations.evaluation.qa.checking import OracleReader, ShuffledReader, gold_of
from amem_integrations.evaluation.qa.reader import ABSTENTION, ModelReader
from amem_integrations.evaluation.qa.system import Evidence
from tests.evaluation.qa.samples import conversation, own, question

TALK = conversation("The sloop needs a new mainsail.", "I can sew one.")
SHOWN = Evidence("Nora: The sloop needs a new mainsail.")


class Model:
    """A `ChatModel` that says the same to everything, and keeps what it was asked."""

    name = "parrot"

    def __init__(self, data: dict[str, object] | None) -> None:
        self.data = data
        self.asked: list[ChatRequest] = []

    def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        return ChatReply("", self.data)

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        return self.complete(request)


def shown(asked: Any, seed: int = 0) -> str:
    model = Model({"answer": " a mainsail "})
    assert ModelReader(model, seed=seed).answer(TALK, asked, SHOWN) == "a mainsail"
    (request,) = model.asked
    return request.messages[-1].content


def test_a_model_is_shown_the_evidence_and_asked_for_a_short_phrase() -> None:
    prompt = shown(question("What does the sloop need?", "a mainsail"))
    assert SHOWN.text in prompt
    assert "short phrase" in prompt
    assert "a mainsail" not in prompt.replace(SHOWN.text, "")


def test_a_temporal_question_asks_for_a_date() -> None:
    assert "approximate date" in shown(question("When?", "May", "temporal"))


def test_an_adversarial_question_is_a_choice_in_an_order_that_the_seed_draws() -> None:
    asked = question("Who?", category="adversarial", bait="Ilya")
    first = {seed: shown(asked, seed).find("'Ilya'") for seed in range(8)}
    prompts = {seed: shown(asked, seed) for seed in range(8)}
    assert all(place > 0 and ABSTENTION in prompts[seed] for seed, place in first.items())
    before = {first[seed] < prompts[seed].find(ABSTENTION) for seed in first}
    assert before == {True, False}
    assert shown(asked, 3) == prompts[3]


def test_an_answer_that_is_none_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model({"reply": "a mainsail"})
    with pytest.raises(AnalysisError, match="gave no answer"):
        ModelReader(model).answer(TALK, question("What?", "a"), SHOWN)


def test_readers_with_other_seeds_or_models_have_other_names() -> None:
    names = {ModelReader(Model({}), seed=seed).name for seed in (0, 1)}
    assert len(names) == 2
    assert all(name.startswith("parrot/") for name in names)


def test_an_oracle_answers_if_all_of_the_evidence_can_be_read() -> None:
    asked = question("What does the sloop need?", "a mainsail")
    assert OracleReader().answer(TALK, asked, SHOWN) == "a mainsail"
    assert OracleReader().answer(TALK, asked, Evidence("Nora: I can sew one.")) == ""
    # Ids of turns alone are no text.
    assert OracleReader().answer(TALK, asked, Evidence("", ("t1", "t2"))) == ""


def test_a_shuffled_reader_keeps_the_answers_of_each_category() -> None:
    dataset = own()
    reader = ShuffledReader(dataset, seed=3)
    given = [reader.answer(*asked, Evidence("")) for asked in dataset.asked]
    golds = [gold_of(asked) for _, asked in dataset.asked]
    for category in {asked.category for _, asked in dataset.asked}:
        places = [n for n, (_, asked) in enumerate(dataset.asked) if asked.category == category]
        assert Counter(given[n] for n in places) == Counter(golds[n] for n in places)
    assert given != golds
