"""Runs: what is asked once, what a limit or a failing model leaves, and what scores then mean."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langchain_core.messages.ai import UsageMetadata

from amem_integrations.analysts import schemas
from amem_integrations.core.analysis import ChatRequest, Message
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.errors import AnalysisError, InvalidInputError
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question
from amem_integrations.evaluation.qa.extractive import ExtractiveReader
from amem_integrations.evaluation.qa.model import LimitedModel, LineStore
from amem_integrations.evaluation.qa.readers import ModelReader, Reader
from amem_integrations.evaluation.qa.run import Asked, Run, scorable
from amem_integrations.evaluation.qa.scores import Scored, score
from amem_integrations.evaluation.qa.system import Budget, Evidence, Means
from amem_integrations.evaluation.qa.systems import SYSTEMS
from amem_integrations.evaluation.report import CORE
from amem_integrations.llms.langchain import LangChainChatModel
from amem_integrations.testing import ScriptedChatModel
from tests.evaluation.qa.samples import own
from tests.support import EMBEDDER

DATASET = own()
MEANS = Means(DATASET, resolve_embedder(EMBEDDER))
TEN = Budget(10)
SCHEMA = schemas.answer("answer", {"answer": schemas.TEXT})


def run(
    reader: Reader,
    kept: LineStore,
    *names: str,
    model: LimitedModel | None = None,
    budgets: Sequence[Budget] = (TEN,),
    concurrency: int = 4,
) -> Asked:
    systems = {name: SYSTEMS[name] for name in names}
    return Run(MEANS, reader, kept, model=model, concurrency=concurrency).ask(systems, budgets)


def scored(asked: Asked) -> list[Scored]:
    return score(scorable(DATASET), asked.answers, EMBEDDER)


def mean(one: Scored, measure: str, group: str = CORE) -> float:
    return one.estimates[group][measure].mean


def test_a_reader_by_rules_finds_more_the_more_evidence_there_is(kept: LineStore) -> None:
    names = ("full-context", "dense", "bm25", "nothing")
    full, dense, bm25, nothing = scored(run(ExtractiveReader(), kept, *names, budgets=[Budget(3)]))
    assert mean(full, "recall") == mean(full, "share") == 1
    for each in (dense, bm25):
        assert 0.2 < mean(each, "all") < 0.9
        assert mean(each, "f1") > mean(nothing, "f1")
    for measure in ("f1", "bleu1", "f1_official", "rougeL", "similarity", "recall"):
        assert mean(nothing, measure) == 0


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


class Model:
    """Answers what the evidence says first; fails for the questions that hold a word."""

    def __init__(self, failing: str | None = None, status: int = 400) -> None:
        self.failing, self.status = failing, status
        self.calls = 0
        chat = ScriptedChatModel(
            self.reply, model_name="first-line-2026-05-01", usage=usage_of(100, 10)
        )
        self.chat = LangChainChatModel(chat, name="first-line")

    def reply(self, messages: list[BaseMessage]) -> dict[str, Any]:
        self.calls += 1
        lines = str(messages[-1].content).splitlines()
        if self.failing is not None and self.failing in lines[-1]:
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


def test_a_run_that_stopped_at_a_limit_goes_on_to_the_same_table(kept: LineStore) -> None:
    inner = Model()
    limited = LimitedModel(inner.chat, limit=25)
    first = run(ModelReader(limited), kept, "bm25", "dense", model=limited)
    assert (len(first.answers), first.missing, inner.calls) == (25, 95, 25)
    free = LimitedModel(inner.chat)
    second = run(ModelReader(free), kept, "bm25", "dense", model=free)
    assert (second.missing, inner.calls) == (0, 120)
    assert {*first.answers} < {*second.answers}
    assert free.usage == {"calls": 95, "tokens_in": 9500, "tokens_out": 950}
    assert free.reported == {"first-line-2026-05-01"}
    assert run(ModelReader(free), kept, "bm25", "dense", model=free) == second
    assert inner.calls == 120


async def test_a_limit_holds_for_the_async_form() -> None:
    limited = LimitedModel(Model().chat, limit=1)
    request = ChatRequest("answer", [Message("user", "What?\nWho?")], SCHEMA)
    assert (await limited.acomplete(request)).data == {"answer": "Who?"}
    with pytest.raises(AnalysisError, match="--max-calls"):
        await limited.acomplete(request)


def test_an_interrupt_keeps_what_was_answered(kept: LineStore) -> None:
    class Interrupted(ExtractiveReader):
        asked = 0

        def answer(self, conversation: Conversation, asked: Question, shown: Evidence) -> str:
            self.asked += 1
            if self.asked == 20:
                raise KeyboardInterrupt
            return super().answer(conversation, asked, shown)

    with pytest.raises(KeyboardInterrupt):
        run(Interrupted(), kept, "bm25", concurrency=1)
    second = Interrupted()
    second.asked = 20
    assert run(second, kept, "bm25", concurrency=1).missing == 0
    assert second.asked - 20 == 60 - 19


def test_a_line_that_a_kill_cut_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    with closing(LineStore(path)) as lines:
        whole = run(ExtractiveReader(), lines, "bm25")
    path.write_bytes(path.read_bytes()[:-30])
    with closing(LineStore(path)) as lines:
        assert len(lines) == 59
        assert run(ExtractiveReader(), lines, "bm25").answers == whole.answers
    with closing(LineStore(path)) as lines:
        assert len(lines) == 60


def test_what_a_model_fails_is_marked_not_scored_and_tried_again(kept: LineStore) -> None:
    failing, sound = LimitedModel(Model("when").chat), Model()
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
    mended = LimitedModel(sound.chat)
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
    asked = Run(MEANS, ExtractiveReader(), kept).ask({"unprepared": lambda _: system}, [TEN])
    failures = [each.failure for each in asked.answers]
    harbour = len(DATASET.conversations[0].questions)
    assert failures == ["prepare: refusal"] * harbour + [None] * (60 - harbour)
    assert system.closed


def test_a_wrong_key_ends_the_run(kept: LineStore) -> None:
    refused = LimitedModel(Model("", status=401).chat)
    with pytest.raises(AnalysisError, match="first-line"):
        run(ModelReader(refused), kept, "bm25", model=refused)
    assert len(kept) == 0


def test_a_forecast_counts_what_is_not_answered_without_asking(kept: LineStore) -> None:
    inner = Model()
    asking = LimitedModel(inner.chat)
    reader = ModelReader(asking)
    systems = {name: SYSTEMS[name] for name in ("full-context", "bm25", "nothing")}
    full, bm25, nothing = Run(MEANS, reader, kept).forecast(systems, [TEN])
    assert inner.calls == 0
    assert full.calls == bm25.calls == nothing.calls == 60
    assert full.tokens_in > bm25.tokens_in > nothing.tokens_in
    run(reader, kept, "bm25", model=asking)
    forecast = Run(MEANS, reader, kept).forecast(systems, [TEN])
    assert [each.calls for each in forecast] == [60, 0, 60]


def test_questions_without_an_answer_cannot_be_scored() -> None:
    bare = Dataset("any", (Conversation("c", (), (Question("?", (), "all"),)),))
    with pytest.raises(InvalidInputError, match="answer"):
        scorable(bare)
