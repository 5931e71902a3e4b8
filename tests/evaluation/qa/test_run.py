"""Runs: what is asked once, what a limit or a failing model leaves, and what scores then mean."""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langchain_core.messages.ai import UsageMetadata

from amem_integrations.core.analysis import ChatRequest, Message
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.errors import AnalysisError, InvalidInputError
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question
from amem_integrations.evaluation.metrics import f1
from amem_integrations.evaluation.qa.model import Limits, LineStore, MeteredModel, Price
from amem_integrations.evaluation.qa.readers import (
    ModelReader,
    OracleReader,
    Reader,
    ShuffledReader,
    gold_of,
)
from amem_integrations.evaluation.qa.run import Asked, Run, scorable
from amem_integrations.evaluation.qa.scoring import CORE, Scored, score
from amem_integrations.evaluation.qa.system import Budget, Evidence, Means
from amem_integrations.evaluation.qa.systems import SYSTEMS
from amem_integrations.llms.langchain import LangChainChatModel
from amem_integrations.testing import ScriptedChatModel
from tests.evaluation.qa.samples import own
from tests.support import EMBEDDER

DATASET = own()
MEANS = Means(DATASET, resolve_embedder(EMBEDDER))
TEN = Budget(10)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[LineStore]:
    lines = LineStore(tmp_path / "answers.jsonl")
    yield lines
    lines.close()


def run(
    reader: Reader,
    kept: LineStore,
    *names: str,
    model: MeteredModel | None = None,
    budgets: Sequence[Budget] = (TEN,),
    concurrency: int = 4,
) -> Asked:
    systems = {name: SYSTEMS[name] for name in names}
    return Run(MEANS, reader, kept, model=model, concurrency=concurrency).ask(systems, budgets)


def scored(asked: Asked) -> list[Scored]:
    return score(scorable(DATASET), asked.answers, EMBEDDER)


def mean(one: Scored, measure: str, group: str = CORE) -> float:
    return one.estimates[group][measure].mean


# -- the harness measures what it claims ----------------------------------------------------


def test_an_oracle_scores_a_system_by_the_evidence_it_brings(kept: LineStore) -> None:
    names = ("full-context", "dense", "bm25", "nothing")
    full, dense, bm25, nothing = scored(run(OracleReader(), kept, *names, budgets=[Budget(3)]))
    assert mean(full, "f1") >= 0.99
    assert mean(full, "recall") == 1
    for each in (dense, bm25):
        assert 0.2 < mean(each, "all") < 0.9
        for category in ("single-hop", "multi-hop", "temporal", "open-domain"):
            assert mean(each, "f1", category) == pytest.approx(mean(each, "all", category))
    for measure in ("f1", "bleu1", "f1_official", "rougeL", "similarity", "recall"):
        assert mean(nothing, measure) == 0


def test_shuffled_answers_score_within_chance(kept: LineStore) -> None:
    (one,) = scored(run(ShuffledReader(DATASET, seed=1), kept, "nothing"))
    by_category: dict[str, list[str]] = {}
    for _, question in scorable(DATASET):
        by_category.setdefault(question.category, []).append(gold_of(question))
    draw, nearness = random.Random(5), cache(f1)
    for category, golds in by_category.items():
        means = [fmean(map(nearness, draw.sample(golds, len(golds)), golds)) for _ in range(1000)]
        cuts = quantiles(means, n=40, method="inclusive")
        assert cuts[0] <= mean(one, "f1", category) <= cuts[-1]


def test_abstaining_is_right_by_one_reading_of_category_5_and_wrong_by_the_other(
    kept: LineStore,
) -> None:
    class Abstains:
        name = "abstains"

        def answer(self, conversation: Conversation, asked: Question, shown: Evidence) -> str:
            return "Not mentioned in the conversation"

    (one,) = scored(run(Abstains(), kept, "nothing"))
    assert mean(one, "f1_official", "adversarial") == 1
    assert mean(one, "f1", "adversarial") < 0.05


# -- nothing is asked twice ------------------------------------------------------------------


class Model:
    """Answers what the evidence says first; fails for the questions that hold a word."""

    def __init__(self, failing: str | None = None, status: int = 400, every: int = 0) -> None:
        self.failing, self.status, self.every = failing, status, every
        self.calls = 0
        chat = ScriptedChatModel(
            self.reply, model_name="first-line-2026-05-01", usage=usage_of(100, 10)
        )
        self.chat = LangChainChatModel(chat, name="first-line")

    def reply(self, messages: list[BaseMessage]) -> dict[str, Any]:
        self.calls += 1
        lines = str(messages[-1].content).splitlines()
        fails = self.failing is not None and self.failing in lines[-1]
        if fails or (self.every and self.calls % self.every == 0):
            raise ProviderError(self.status)
        return {"answer": lines[1][:40]}


class ProviderError(Exception):
    """As a provider's client raises it."""

    def __init__(self, status: int) -> None:
        super().__init__("It would not.")
        self.status_code = status


def usage_of(tokens_in: int, tokens_out: int) -> UsageMetadata:
    return UsageMetadata(
        input_tokens=tokens_in, output_tokens=tokens_out, total_tokens=tokens_in + tokens_out
    )


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Any]:
    made: list[MeteredModel] = []

    def make(model: Model, **limits: Any) -> MeteredModel:
        path = tmp_path / "replies.jsonl"
        made.append(MeteredModel(model.chat, path, limits=Limits(**limits), price=Price(1, 10)))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_a_run_that_stopped_at_a_limit_goes_on_to_the_same_table(
    tmp_path: Path, kept: LineStore, model: Any
) -> None:
    whole = model(Model())
    straight = LineStore(tmp_path / "straight.jsonl")
    expected = run(ModelReader(whole), straight, "bm25", "dense", model=whole)
    straight.close()
    (tmp_path / "replies.jsonl").unlink()

    inner = Model()
    limited = model(inner, calls=25)
    first = run(ModelReader(limited), kept, "bm25", "dense", model=limited)
    assert (len(first.answers), first.missing, inner.calls) == (25, 95, 25)
    free = model(inner)
    second = run(ModelReader(free), kept, "bm25", "dense", model=free)
    assert second.missing == 0
    # The same evidence is asked about once.
    assert inner.calls == whole.calls
    assert second.answers == expected.answers
    assert [each.estimates for each in scored(second)] == [
        each.estimates for each in scored(expected)
    ]
    assert free.usage()["calls"] == inner.calls
    assert free.usage()["tokens_in"] == 100 * inner.calls
    assert free.reported() == ["first-line-2026-05-01"]


def test_an_interrupt_keeps_what_was_answered(kept: LineStore) -> None:
    class Interrupted(OracleReader):
        asked = 0

        def answer(self, conversation: Conversation, asked: Question, shown: Evidence) -> str:
            self.asked += 1
            if self.asked == 20:
                raise KeyboardInterrupt
            return super().answer(conversation, asked, shown)

    first = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        run(first, kept, "bm25", concurrency=1)
    second = Interrupted()
    second.asked = 20
    assert run(second, kept, "bm25", concurrency=1).missing == 0
    assert second.asked - 20 == 60 - 19
    again = Interrupted()
    assert run(again, kept, "bm25").missing == again.asked == 0


def test_a_line_that_a_kill_cut_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    lines = LineStore(path)
    whole = run(OracleReader(), lines, "bm25")
    lines.close()
    path.write_bytes(path.read_bytes()[:-30])
    lines = LineStore(path)
    assert len(lines.values()) == 59
    assert run(OracleReader(), lines, "bm25").answers == whole.answers
    lines.close()
    reopened = LineStore(path)
    assert len(reopened.values()) == 60
    reopened.close()


def test_a_limit_in_dollars_holds(kept: LineStore, model: Any) -> None:
    # 100 tokens in and 10 out are 0.0002 dollars.
    limited = model(Model(), usd=0.001)
    asked = run(ModelReader(limited), kept, "bm25", model=limited, concurrency=1)
    assert len(asked.answers) == 5
    assert limited.usd == pytest.approx(0.001)


def test_a_reply_without_an_object_is_asked_again(tmp_path: Path) -> None:
    replies = iter(["I would rather not say.", {"answer": "a sloop"}])
    chat = LangChainChatModel(ScriptedChatModel(lambda _: next(replies)))
    metered = MeteredModel(chat, tmp_path / "replies.jsonl")
    request = ChatRequest("answer", [Message("user", "What?")], {"title": "answer"})
    assert metered.complete(request).data is None
    assert [metered.complete(request).data for _ in range(2)] == [{"answer": "a sloop"}] * 2
    assert (metered.calls, metered.usage()["calls"]) == (2, 1)
    metered.close()


# -- failures are marked ---------------------------------------------------------------------


def test_what_a_model_fails_is_marked_not_scored_and_tried_again(
    kept: LineStore, model: Any
) -> None:
    failing, sound = model(Model("when")), Model()
    asked = run(ModelReader(failing), kept, "bm25", model=failing)
    failed = {each.place for each in asked.answers if each.failure == "bad-request"}
    assert 0 < len(failed) < 12
    (one,) = scored(asked)
    assert [place for place, row in enumerate(one.rows) if row is None] == sorted(failed)
    rows = [
        row
        for row, (_, question) in zip(one.rows, scorable(DATASET), strict=True)
        if row is not None and question.core
    ]
    assert mean(one, "f1") == pytest.approx(fmean(row["f1"] for row in rows))
    assert one.estimates[CORE]["f1"].count == len(rows)
    assert one.failed[CORE] == sum(scorable(DATASET)[place][1].core for place in failed)
    mended = model(sound)
    asked = run(ModelReader(mended), kept, "bm25", model=mended)
    assert not any(each.failure for each in asked.answers)
    assert 0 < sound.calls < 12


def test_a_conversation_that_cannot_be_prepared_is_marked(kept: LineStore) -> None:
    class Unprepared:
        name = "unprepared"
        closed = False

        def cost(self, *_: object) -> Any: ...

        def prepare(self, conversation: Conversation) -> None:
            if conversation.id == "harbour":
                raise AnalysisError("No.", reason="refusal", retryable=False)

        def evidence(self, *_: object) -> Evidence:
            return Evidence("")

        def close(self) -> None:
            self.closed = True

    system = Unprepared()
    asked = Run(MEANS, OracleReader(), kept).ask({"unprepared": lambda _: system}, [TEN])
    failures = [each.failure for each in asked.answers]
    harbour = len(DATASET.conversations[0].questions)
    assert failures == ["prepare: refusal"] * harbour + [None] * (60 - harbour)
    assert system.closed


def test_a_wrong_key_ends_the_run(kept: LineStore, model: Any) -> None:
    refused = model(Model("", status=401))
    with pytest.raises(AnalysisError, match="first-line"):
        run(ModelReader(refused), kept, "bm25", model=refused)
    assert kept.values() == []


# -- beforehand ------------------------------------------------------------------------------


def test_a_forecast_counts_what_is_not_answered_without_asking(kept: LineStore, model: Any) -> None:
    inner = Model()
    asking = model(inner)
    reader = ModelReader(asking)
    systems = {name: SYSTEMS[name] for name in ("full-context", "bm25", "nothing")}
    forecast = Run(MEANS, reader, kept).forecast(systems, [TEN], Price(1, 10))
    full, bm25, nothing = forecast
    assert inner.calls == 0
    assert [each.calls for each in forecast] == [60, 60, 60]
    assert full.tokens_in > bm25.tokens_in > nothing.tokens_in
    assert full.usd == pytest.approx((full.tokens_in + 10 * full.tokens_out) / 1e6)
    run(reader, kept, "bm25", model=asking)
    forecast = Run(MEANS, reader, kept).forecast(systems, [TEN])
    assert [(each.calls, each.usd) for each in forecast] == [(60, None), (0, None), (60, None)]


def test_questions_without_an_answer_cannot_be_scored() -> None:
    bare = Dataset("any", (Conversation("c", (), (Question("?", (), "all"),)),))
    with pytest.raises(InvalidInputError, match="answer"):
        scorable(bare)
