"""Judging with a chat model: one call when all goes well, repair and retries when it does not."""

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.errors import GraphInterrupt

from amem_integrations.analysts.llm import LONGEST_WAIT, LLMAnalyst
from amem_integrations.core.analysis import (
    Candidate,
    ChatReply,
    ChatRequest,
    Evolution,
    Judgement,
    LinkProposal,
    Subject,
    Understanding,
)
from amem_integrations.core.io import IO, AsyncIO, SyncIO, run
from amem_integrations.core.note import make_note
from amem_integrations.errors import AnalysisError
from amem_integrations.llms.langchain import LangChainChatModel
from amem_integrations.testing import HashEmbedder, ScriptedChatModel

UNDERSTOOD: dict[str, Any] = {
    "keywords": ["LRU", "cache"],
    "tags": ["design"],
    "context": "A wish for LRU eviction.",
}
LINK = {"to": "2", "reason": "Same cache.", "kind": "same-matter", "strength": 0.8}
EVOLUTION = {"note": "1", "reason": "r", "keywords": ["k"], "tags": ["t"], "context": "c"}
FUSED = {**UNDERSTOOD, "links": [LINK], "evolutions": [EVOLUTION]}

FLAKY = AnalysisError("down", reason="server", retryable=True)


def subject(candidates: int = 2) -> Subject:
    now = datetime(2026, 3, 2, tzinfo=UTC)
    notes = [
        make_note(f"note {n}", namespace="n", now=now + timedelta(minutes=n))
        for n in range(candidates + 1)
    ]
    older = tuple(Candidate(note, 0.5, place) for place, note in enumerate(notes[:-1]))
    return Subject(notes[-1], older)


SUBJECT = subject()
FIRST, SECOND = (candidate.note.id for candidate in SUBJECT.candidates)


@dataclass
class World:
    """An io over scripted replies, whose sleeps are noted and not slept."""

    script: ScriptedChatModel
    drive: Callable[[Coroutine[Any, Any, Any]], Any]
    form: type[SyncIO] | type[AsyncIO]
    slept: list[float] = field(default_factory=list)

    def io(self) -> IO:
        slept = self.slept

        class Quick(self.form):  # type: ignore[name-defined, misc]
            async def sleep(self, seconds: float) -> None:
                slept.append(seconds)
                await super().sleep(0.0)

        nothing: Any = None
        return Quick(nothing, nothing, HashEmbedder(), LangChainChatModel(self.script))

    def do(self, judge: Callable[[IO], Coroutine[Any, Any, Any]]) -> Any:
        return self.drive(judge(self.io()))

    @property
    def asked(self) -> int:
        return len(self.script.calls)

    def said(self, call: int) -> list[str]:
        return [message.text for message in self.script.calls[call].messages]


@pytest.fixture(params=["sync", "async"])
def world(request: pytest.FixtureRequest) -> Callable[..., World]:
    def scripted(*replies: Any) -> World:
        # Without structured output, so that a script may say anything at all.
        model = ScriptedChatModel(replies, methods=("json_mode",))
        if request.param == "sync":
            return World(model, run, SyncIO)
        return World(model, asyncio.run, AsyncIO)

    return scripted


def construct(io: IO) -> Coroutine[Any, Any, Understanding]:
    return LLMAnalyst().construct(io, SUBJECT)


def link(io: IO) -> Coroutine[Any, Any, list[LinkProposal]]:
    return LLMAnalyst().link(io, SUBJECT)


def evolve(io: IO) -> Coroutine[Any, Any, list[Evolution]]:
    return LLMAnalyst().evolve(io, SUBJECT, [])


def fuse(io: IO) -> Coroutine[Any, Any, Judgement]:
    return LLMAnalyst().fuse(io, SUBJECT)


# -- when all goes well ---------------------------------------------------------------------


def test_each_judgement_takes_one_call(world: Callable[..., World]) -> None:
    here = world(UNDERSTOOD, {"links": [LINK]}, {"evolutions": [EVOLUTION]}, FUSED)
    understanding = Understanding(("LRU", "cache"), ("design",), "A wish for LRU eviction.")
    links = [LinkProposal(SECOND, "Same cache.", "same-matter", 0.8)]
    evolutions = [Evolution(FIRST, ("k",), ("t",), "c", "r")]
    assert here.do(construct) == understanding
    assert here.do(link) == links
    assert here.do(evolve) == evolutions
    assert here.do(fuse) == Judgement(understanding, tuple(links), tuple(evolutions))
    assert here.asked == 4


def test_every_question_names_its_step() -> None:
    steps: list[str] = []

    class Noting:
        async def chat(self, request: ChatRequest) -> ChatReply:
            steps.append(request.step)
            return ChatReply("", dict(FUSED))

        async def sleep(self, seconds: float) -> None: ...

    io: Any = Noting()
    for judge in (construct, link, evolve, fuse):
        run(judge(io))
    run(LLMAnalyst().fuse(io, subject(candidates=0)))
    assert steps == ["construct", "link", "evolve", "fuse", "fuse"]


def test_without_candidates_nothing_is_asked_about_them(world: Callable[..., World]) -> None:
    here = world(UNDERSTOOD)
    alone = subject(candidates=0)
    assert here.do(lambda io: LLMAnalyst().link(io, alone)) == []
    assert here.do(lambda io: LLMAnalyst().evolve(io, alone, [])) == []
    assert here.asked == 0
    assert here.do(lambda io: LLMAnalyst().fuse(io, alone)).links == ()
    assert "links" not in here.said(0)[0]


def test_an_empty_field_of_an_evolution_keeps_and_one_of_empty_fields_is_none(
    world: Callable[..., World],
) -> None:
    kept = {"note": "1", "reason": "as it was", "keywords": [], "tags": [], "context": " "}
    answer = {"evolutions": [kept, {**EVOLUTION, "tags": [], "context": ""}]}
    assert world(answer).do(evolve) == [Evolution(FIRST, ("k",), None, None, "r")]


def test_small_talk_needs_no_context(world: Callable[..., World]) -> None:
    said = {**UNDERSTOOD, "context": "", "questions": []}
    assert world(said).do(construct) == Understanding(("LRU", "cache"), ("design",), "")


def test_terms_that_a_model_adds_to_an_older_note_join_those_it_has() -> None:
    old = subject().candidates[0].note.evolve(keywords=("own", "k"), tags=("talk",))
    asked = Subject(SUBJECT.note, (Candidate(old, 0.5, 0),))
    model = ScriptedChatModel([{"evolutions": [EVOLUTION]}, FUSED])
    io: Any = SyncIO(None, None, HashEmbedder(), LangChainChatModel(model))  # type: ignore[arg-type]
    expected = Evolution(old.id, ("own", "k"), ("talk", "t"), "c", "r")
    assert run(LLMAnalyst().evolve(io, asked, [])) == [expected]
    assert run(LLMAnalyst().fuse(io, asked)).evolutions == (expected,)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("Which policy, and why?", ("Which policy, and why?",)),
        (["Why?", "How?", "When?"], ("Why?", "How?")),
        (None, ()),
        (["x" * 5000], ("x" * 200,)),
    ],
)
def test_questions_are_read_as_leniently_as_is_unambiguous(
    world: Callable[..., World], given: Any, read: tuple[str, ...]
) -> None:
    assert world({**UNDERSTOOD, "questions": given}).do(construct).questions == read


# -- answers that are a little off ----------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("LRU, cache; 快取、淘汰", ("LRU", "cache", "快取", "淘汰")),
        (["  LRU\n policy ", "lru policy", ""], ("LRU policy",)),
        ([512, "MB", None, {"x": 1}, ["y"]], ("512", "MB")),
        ([f"k{n}" for n in range(500)], tuple(f"k{n}" for n in range(8))),
        (["x" * 5000], ("x" * 200,)),
        (["nul\x00l", "\ud800alone"], ("null", "alone")),
    ],
)
def test_keywords_are_read_as_leniently_as_is_unambiguous(
    world: Callable[..., World], given: Any, read: tuple[str, ...]
) -> None:
    here = world({**UNDERSTOOD, "keywords": given, "context": ["A wish.", "A plan."], "tags": None})
    assert here.do(construct) == Understanding(read, (), "A wish. A plan.")


OFF: list[tuple[dict[str, Any], dict[str, Any]]] = [
    *(({"to": it}, {"to": SECOND}) for it in ("2", 2, "#2", "Candidate 2.", " 02 ")),
    *(({"to": it}, {"to": f"?{it}"}) for it in ("7", None, "the cache note", "12345678", "")),
    ({"to": [1, 2]}, {"to": "?[1, 2]"}),
    *(({"strength": it}, {"weight": 1.0}) for it in (7, 10**400, None, "high")),
    *(({"strength": it}, {"weight": 0.5}) for it in (0.5, "0.5")),
    ({"kind": "Same-Matter"}, {"kind": "same-matter"}),
    *(({"kind": it}, {"kind": "related"}) for it in ("friendship", None)),
]


@pytest.mark.parametrize(("change", "read"), OFF)
def test_a_link_is_read_as_leniently_as_is_unambiguous(
    world: Callable[..., World], change: dict[str, Any], read: dict[str, Any]
) -> None:
    # One link without its list is a list of one.
    (proposal,) = world({"links": {**LINK, **change}}).do(link)
    assert {name: getattr(proposal, name) for name in read} == read


@pytest.mark.parametrize("strength", [-1, "0.0"])
def test_a_link_of_no_strength_is_none(world: Callable[..., World], strength: Any) -> None:
    assert world({"links": [{**LINK, "strength": strength}]}).do(link) == []


# -- answers that cannot be used -------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("", "unparsable"),
        (json.dumps(UNDERSTOOD)[:-20], "unparsable"),
        ('["keywords"]', "unparsable"),
        ({**UNDERSTOOD, "keywords": 5}, "unparsable"),
        ({**UNDERSTOOD, "context": 12}, "unparsable"),
        ({**UNDERSTOOD, "keywords": ["", " ", None]}, "empty"),
        ({"keywords": ["a"]}, "empty"),
        ({**UNDERSTOOD, "context": "", "questions": ["Which eviction?"]}, "empty"),
    ],
)
def test_an_unusable_answer_is_repaired_once_and_then_an_error_that_says_so(
    world: Callable[..., World], bad: Any, reason: str
) -> None:
    here = world(bad, UNDERSTOOD)
    assert here.do(construct).keywords == ("LRU", "cache")
    assert (here.asked, here.slept) == (2, [])
    assert "cannot be used" in here.said(1)[-1]
    assert '"required":["keywords","tags","context","questions"]' in here.said(1)[-1]

    here = world(*[bad] * 9)
    with pytest.raises(AnalysisError) as caught:
        here.do(construct)
    assert (caught.value.reason, caught.value.retryable) == (reason, True)
    assert (here.asked, here.slept) == (3 + 1, [0.0, 0.0])


@pytest.mark.parametrize("bad", [{"links": "none"}, {"links": [3]}])
def test_links_of_the_wrong_shape_are_repaired(world: Callable[..., World], bad: Any) -> None:
    here = world(bad, {"links": [LINK] * 10_000})
    assert [proposal.to for proposal in here.do(link)] == [SECOND] * 32
    assert here.asked == 2


@pytest.mark.parametrize(
    ("bad", "quoted", "problem"),
    [
        ("So: " + "x" * 9000, True, "it holds no JSON object"),
        (
            AIMessage('{"keywords": [', response_metadata={"finish_reason": "length"}),
            True,
            "be shorter",
        ),
        ("  ", False, "it holds no JSON object"),
    ],
)
def test_the_repair_quotes_the_answer_and_names_the_problem(
    world: Callable[..., World], bad: Any, quoted: bool, problem: str
) -> None:
    here = world(bad, UNDERSTOOD)
    here.do(construct)
    _, *more = here.said(0)
    said = here.said(1)
    assert len(said) == 3 + quoted
    assert problem in said[-1]
    assert len(said[2]) < 2100
    assert more == said[1:2]


def test_nothing_of_an_unusable_answer_is_logged(
    world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="amem_integrations")
    world("SECRET talk", UNDERSTOOD).do(construct)
    assert "SECRET" not in caplog.text
    assert [r.levelname for r in caplog.records if r.name.endswith("analysts.llm")] == ["DEBUG"]


# -- failures of the model --------------------------------------------------------------------


def limited(seconds: float) -> AnalysisError:
    return AnalysisError("wait", reason="rate-limited", retryable=True, retry_after=seconds)


@pytest.mark.parametrize(
    ("errors", "waits", "raised"),
    [
        ([FLAKY, FLAKY], [1.0, 2.0], False),
        ([limited(7.5)], [7.5], False),
        ([FLAKY] * 9, [1.0, 2.0], True),
        # A longer wait is left to the retry of the note.
        ([limited(LONGEST_WAIT + 1)], [], True),
    ],
)
def test_what_may_pass_is_asked_again_after_a_wait(
    world: Callable[..., World], errors: list[AnalysisError], waits: list[float], raised: bool
) -> None:
    here = world(*errors, UNDERSTOOD)
    if raised:
        with pytest.raises(AnalysisError) as caught:
            here.do(construct)
        assert caught.value is errors[0]
    else:
        assert here.do(construct).keywords == ("LRU", "cache")
    assert here.slept == waits


@pytest.mark.parametrize("reason", ["refusal", "content-filter", "unauthorized", "error"])
def test_what_cannot_pass_is_not_asked_again(world: Callable[..., World], reason: str) -> None:
    error = AnalysisError("no", reason=reason, retryable=False)
    here = world(error, UNDERSTOOD)
    with pytest.raises(AnalysisError) as caught:
        here.do(construct)
    assert caught.value is error
    assert here.asked == 1


def test_a_repair_that_fails_on_the_way_is_retried_from_the_start(
    world: Callable[..., World],
) -> None:
    here = world("no", FLAKY, UNDERSTOOD)
    assert here.do(construct).keywords == ("LRU", "cache")
    assert here.asked == 3
    assert here.said(2) == here.said(0)


@pytest.mark.parametrize("error", [GraphInterrupt(), KeyboardInterrupt()])
def test_what_is_no_failure_passes_through_untouched(
    world: Callable[..., World], error: BaseException
) -> None:
    here = world(error, UNDERSTOOD)
    with pytest.raises(type(error)):
        here.do(construct)
    assert here.asked == 1


@pytest.mark.parametrize(
    ("replies", "latency"), [([UNDERSTOOD], 30), ([limited(30.0), UNDERSTOOD], 0)]
)
async def test_a_judgement_cancelled_in_a_call_or_a_wait_stays_cancelled(
    replies: list[Any], latency: float
) -> None:
    nothing: Any = None
    model = LangChainChatModel(ScriptedChatModel(replies, latency=latency))
    task = asyncio.create_task(construct(AsyncIO(nothing, nothing, HashEmbedder(), model)))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
