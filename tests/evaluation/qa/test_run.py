"""Runs: what is asked once, what a limit or a failing model leaves, and what scores then mean."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

import pytest

from amem_integrations.core.analysis import ChatReply, ChatRequest, Message
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.errors import AnalysisError, InvalidInputError
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question
from amem_integrations.evaluation.qa.checking import OracleReader, ShuffledReader, gold_of
from amem_integrations.evaluation.qa.kept import KeptLines
from amem_integrations.evaluation.qa.metering import Limits, MeteredModel, Price
from amem_integrations.evaluation.qa.metrics import f1
from amem_integrations.evaluation.qa.reader import ModelReader, Reader
from amem_integrations.evaluation.qa.run import Asked, Run, scorable
from amem_integrations.evaluation.qa.scoring import CORE, Scored, score
from amem_integrations.evaluation.qa.system import Budget, Evidence, Means
from amem_integrations.evaluation.qa.systems import SYSTEMS
from tests.evaluation.qa.samples import own
from tests.support import EMBEDDER

DATASET = own()
MEANS = Means(DATASET, resolve_embedder(EMBEDDER))
TEN = Budget(10)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[KeptLines]:
    lines = KeptLines(tmp_path / "answers.jsonl")
    yield lines
    lines.close()


def run(
    reader: Reader,
    kept: KeptLines,
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


def test_an_oracle_scores_a_system_by_the_evidence_it_brings(kept: KeptLines) -> None:
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


def test_shuffled_answers_score_within_chance(kept: KeptLines) -> None:
    asked = scorable(DATASET)
    (one,) = scored(run(ShuffledReader(DATASET, seed=1), kept, "nothing"))
    by_category: dict[str, list[str]] = {}
    for _, question in asked:
        by_category.setdefault(question.category, []).append(gold_of(question))
    known: dict[tuple[str, str], float] = {}

    def nearness(answer: str, gold: str) -> float:
        if (answer, gold) not in known:
            known[answer, gold] = f1(answer, gold)
        return known[answer, gold]

    draw = random.Random(5)
    for category, golds in by_category.items():
        means = [fmean(map(nearness, draw.sample(golds, len(golds)), golds)) for _ in range(1000)]
        cuts = quantiles(means, n=40, method="inclusive")
        assert cuts[0] <= mean(one, "f1", category) <= cuts[-1]


def test_abstaining_is_right_by_one_reading_of_category_5_and_wrong_by_the_other(
    kept: KeptLines,
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

    name = "first-line"

    def __init__(self, failing: str | None = None, reason: str = "timeout") -> None:
        self.failing, self.reason = failing, reason
        self.calls = 0

    def complete(self, request: ChatRequest) -> ChatReply:
        self.calls += 1
        prompt = request.messages[-1].content
        if self.failing is not None and self.failing in prompt.splitlines()[-1]:
            raise AnalysisError("It would not.", reason=self.reason, retryable=False)
        data: dict[str, object] = {"answer": prompt.splitlines()[1][:40]}
        return ChatReply("", data, 100, 10, model="first-line-2026-05-01")

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        return self.complete(request)


def metered(path: Path, model: Model, **limits: Any) -> MeteredModel:
    return MeteredModel(
        model, KeptLines(path / "replies.jsonl"), limits=Limits(**limits), price=Price(1, 10)
    )


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Any]:
    made: list[MeteredModel] = []

    def make(model: Model, **limits: Any) -> MeteredModel:
        made.append(metered(tmp_path, model, **limits))
        return made[-1]

    yield make
    for each in made:
        each._replies.close()


def test_a_run_that_stopped_at_a_limit_goes_on_to_the_same_table(
    tmp_path: Path, kept: KeptLines, model: Any
) -> None:
    whole = model(Model())
    straight = KeptLines(tmp_path / "straight.jsonl")
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
    assert inner.calls == whole.usage.calls
    assert second.answers == expected.answers
    assert [each.estimates for each in scored(second)] == [
        each.estimates for each in scored(expected)
    ]
    assert second.usage is not None
    assert second.usage.tokens_in == 100 * inner.calls
    assert free.reported() == ["first-line-2026-05-01"]


def test_an_interrupt_keeps_what_was_answered(kept: KeptLines) -> None:
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
    lines = KeptLines(path)
    whole = run(OracleReader(), lines, "bm25")
    lines.close()
    path.write_bytes(path.read_bytes()[:-30])
    lines = KeptLines(path)
    assert len(lines.values()) == 59
    assert run(OracleReader(), lines, "bm25").answers == whole.answers
    lines.close()
    reopened = KeptLines(path)
    assert len(reopened.values()) == 60
    reopened.close()


def test_a_limit_in_dollars_holds(kept: KeptLines, model: Any) -> None:
    # 100 tokens in and 10 out are 0.0002 dollars.
    limited = model(Model(), usd=0.001)
    asked = run(ModelReader(limited), kept, "bm25", model=limited, concurrency=1)
    assert len(asked.answers) == 5
    assert limited.usd == pytest.approx(0.001)


def test_calls_begin_no_faster_than_the_rate(monkeypatch: pytest.MonkeyPatch, model: Any) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    limited = model(Model(), per_minute=60)
    for number in range(3):
        prompt = Message("user", f"--\nNora: sloop {number}\n--")
        limited.complete(ChatRequest("answer", [prompt], {}))
    assert slept == [pytest.approx(place, abs=0.5) for place in range(3)]


# -- failures are marked ---------------------------------------------------------------------


def test_what_a_model_fails_is_marked_and_not_scored(kept: KeptLines, model: Any) -> None:
    failing = model(Model("when"))
    asked = run(ModelReader(failing), kept, "bm25", model=failing)
    failed = {each.place for each in asked.answers if each.failure == "timeout"}
    assert 0 < len(failed) < 12
    (one,) = scored(asked)
    assert [place for place, row in enumerate(one.rows) if row is None] == sorted(failed)
    rows = [
        (row, question)
        for row, (_, question) in zip(one.rows, scorable(DATASET), strict=True)
        if row is not None and question.core
    ]
    assert mean(one, "f1") == pytest.approx(fmean(row["f1"] for row, _ in rows))
    assert one.estimates[CORE]["f1"].count == len(rows)
    assert one.failed[CORE] == sum(scorable(DATASET)[place][1].core for place in failed)


class Unsteady(Model):
    """Fails on a tenth of its calls, by chance."""

    def __init__(self) -> None:
        super().__init__()
        self.chance = random.Random(3)

    def complete(self, request: ChatRequest) -> ChatReply:
        if self.chance.random() < 0.1:
            raise AnalysisError("It would not.", reason="timeout", retryable=False)
        return super().complete(request)


def test_of_a_model_that_fails_now_and_then_the_rest_is_scored(kept: KeptLines, model: Any) -> None:
    unsteady = model(Unsteady())
    asked = run(ModelReader(unsteady), kept, "bm25", "dense", model=unsteady)
    failed = [each for each in asked.answers if each.failure is not None]
    assert 3 < len(failed) < 25
    assert len(asked.answers) == 120
    unscored = sum(row is None for each in scored(asked) for row in each.rows)
    assert unscored == len(failed)


def test_what_failed_is_tried_again(kept: KeptLines, model: Any) -> None:
    failing, sound = model(Model("when")), Model()
    run(ModelReader(failing), kept, "bm25", model=failing)
    mended = model(sound)
    asked = run(ModelReader(mended), kept, "bm25", model=mended)
    assert not any(each.failure for each in asked.answers)
    assert 0 < sound.calls < 12


def test_a_conversation_that_cannot_be_prepared_is_marked(kept: KeptLines) -> None:
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


def test_a_wrong_key_ends_the_run(kept: KeptLines, model: Any) -> None:
    refused = model(Model("", reason="unauthorized"))
    with pytest.raises(AnalysisError, match="It would not"):
        run(ModelReader(refused), kept, "bm25", model=refused)
    assert kept.values() == []


# -- beforehand ------------------------------------------------------------------------------


def test_a_forecast_counts_without_asking(kept: KeptLines, model: Any) -> None:
    inner = Model()
    asking = model(inner)
    systems = {name: SYSTEMS[name] for name in ("full-context", "bm25", "nothing")}
    forecast = Run(MEANS, ModelReader(asking), kept).forecast(systems, [TEN], Price(1, 10))
    full, bm25, nothing = forecast
    assert inner.calls == 0
    assert [each.calls for each in forecast] == [60, 60, 60]
    assert full.tokens_in > bm25.tokens_in > nothing.tokens_in
    assert full.usd == pytest.approx((full.tokens_in + 10 * full.tokens_out) / 1e6)


def test_a_forecast_leaves_out_what_is_answered(kept: KeptLines, model: Any) -> None:
    asking = model(Model())
    reader = ModelReader(asking)
    run(reader, kept, "bm25", model=asking)
    systems = {name: SYSTEMS[name] for name in ("bm25", "dense")}
    forecast = Run(MEANS, reader, kept).forecast(systems, [TEN])
    assert [(each.calls, each.usd) for each in forecast] == [(0, None), (60, None)]


def test_questions_without_an_answer_cannot_be_scored() -> None:
    bare = Dataset("any", (Conversation("c", (), (Question("?", (), "all"),)),))
    with pytest.raises(InvalidInputError, match="answer"):
        scorable(bare)
