"""Whatever a model does, in every mode: a stored note, a counted reason, a retry if it can pass."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage, BaseMessage

from amem_integrations import Note, Status
from amem_integrations.analysts.answers import MAX_CONTEXT_CHARS, MAX_KEYWORDS
from amem_integrations.testing import ScriptedChatModel
from tests.support import judgement, links_everything, open_memory, replies

OLD = ("The redis cache", "Redis eviction policy")
NEW = ("Redis cache of the shop", "Redis policy on Monday", "Redis eviction at night")

Bad = Callable[[list[BaseMessage]], Any]


@pytest.fixture(autouse=True)
def no_pause_between_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amem_integrations.analysts.llm._FIRST_WAIT", 0.0)


good = replies()
"""A usable answer to any question."""


def says(render: Callable[[dict[str, Any]], Any]) -> Bad:
    return lambda messages: render(good(messages))


def each(**fields: Any) -> Bad:
    """An answer in which these fields of every note are not what they should be."""
    return replies(lambda text, candidates: {**links_everything(text, candidates), **fields})


def raises(error: Exception) -> Bad:
    def answer(messages: list[BaseMessage]) -> Any:
        raise error

    return answer


def http(status: int, **headers: str) -> Exception:
    class APIStatusError(Exception):
        """As the clients of providers raise it."""

        def __init__(self) -> None:
            super().__init__(f"HTTP {status}: sk-secret said the redis cache")
            self.status_code = status
            request = httpx.Request("POST", "http://model.test")
            self.response = httpx.Response(status, headers=headers, request=request)

    return APIStatusError()


def ended(why: str, text: str = "") -> Bad:
    return lambda messages: AIMessage(text, response_metadata={"finish_reason": why})


LINK = {"reason": "r", "kind": "cause", "strength": 1.0}
CHANGE = {"keywords": ["stolen"], "tags": [], "context": "Stolen.", "reason": "r"}

FORMED: dict[str, Bad] = {
    "prose around JSON": says(lambda answer: f"Sure! {json.dumps(answer)} Anything else?"),
    "a fence": says(lambda answer: f"```json\n{json.dumps(answer)}\n```"),
    "thinking aloud": says(lambda answer: f"<think>{{}} hm</think>{json.dumps(answer)}"),
    "single quotes": says(lambda answer: str(answer)),
    "a comment": says(lambda answer: json.dumps(answer).replace("{", "{ // so\n", 1)),
    "line breaks in strings": says(lambda answer: json.dumps(answer).replace("About ", "About\n")),
    "an outer key": says(lambda answer: {"result": answer}),
    "JSON in JSON": says(lambda answer: json.dumps(json.dumps(answer))),
    "too many keywords": each(keywords=[f"word{n}" for n in range(5000)]),
    "200 kB of context": each(context="tea " * 50_000),
    "numbers for words": each(keywords=[1, 2.5, "cache"]),
    "no links": each(links=[], evolutions=[]),
    "null for lists": each(links=None, evolutions=None),
    "ids not offered": each(
        links=[{"to": "77", **LINK}, {"to": "ffffffff-0000-5000-8000-000000000000", **LINK}],
        evolutions=[{"note": "78", **CHANGE}],
    ),
    "ids twice": each(links=[{"to": "1", **LINK}] * 3, evolutions=[{"note": "1", **CHANGE}] * 3),
    "a field too much": each(content="rewritten", value={"x": 1}, namespace=["other"]),
}

RAW: dict[str, tuple[Bad, str]] = {
    "not JSON": (lambda messages: "I would rather talk.", "unparsable"),
    "truncated JSON": (says(lambda answer: json.dumps(answer)[:40]), "unparsable"),
    "a list": (lambda messages: "[1, 2, 3]", "unparsable"),
    "wrong types": (each(keywords={"a": 1}, links="all", evolutions=7), "unparsable"),
    "200 kB of noise": (lambda messages: "tea {" * 40_000, "unparsable"),
    "nothing": (lambda messages: "", "unparsable"),
    "an empty object": (lambda messages: {}, "unparsable"),
    "empty fields": (each(keywords=[], tags=[], context=""), "empty"),
    "cut off": (ended("length", '{"keywords": ["re'), "unparsable"),
    "a refusal": (ended("refusal", "I can't help with that."), "refusal"),
    "a content filter": (ended("content_filter"), "content-filter"),
    "401": (raises(http(401)), "unauthorized"),
    "404": (raises(http(404)), "not-found"),
    "429": (raises(http(429)), "rate-limited"),
    "429, asked to wait": (raises(http(429, **{"retry-after": "600"})), "rate-limited"),
    "500": (raises(http(500)), "server"),
    "503": (raises(http(503)), "server"),
    "a time-out": (raises(TimeoutError("slow")), "timeout"),
    "no connection": (raises(ConnectionError("reset")), "transport"),
    "an odd exception": (raises(ZeroDivisionError("odd")), "error"),
    "a recursion": (raises(RecursionError("deep")), "error"),
}


class Told:
    """A memory per mode for all tests, emptied before each; its model does as told."""

    def __init__(self, mode: Any) -> None:
        self.bad: Bad | None = None
        self.mode = mode
        self.model = ScriptedChatModel(lambda messages: (self.bad or good)(messages))
        self.memory = open_memory(model=self.model, mode=mode)
        self.events = Counter[str]()
        self.home, self.abroad = "home", "abroad"

    def begin(self, bad: Bad | None) -> None:
        """Two formed notes at home and one of another that must not be touched."""
        for namespace in self.memory.namespaces():
            self.memory.admin.forget_namespace(namespace)
        self.bad = None
        self.memory.add("Somebody else's redis cache", namespace=self.abroad)
        self.old = self.memory.add_many(OLD, namespace=self.home)
        self.events = Counter(self.memory.admin.health())
        self.bad = bad

    def counted(self, event: str) -> int:
        return self.memory.admin.health().get(event, 0) - self.events[event]

    def again(self, note: Note | str) -> Note:
        found = self.memory.get(note, namespace=self.home)
        assert found is not None
        return found

    def healthy(self, notes: Sequence[Note]) -> None:
        memory = self.memory
        assert memory.admin.check() == []
        assert [self.again(note).content for note in notes] == list(NEW)
        assert [self.again(note).content for note in self.old] == list(OLD)
        (foreign,) = memory.recent(namespace=self.abroad)
        assert foreign.version == 2
        for note in notes:
            hits = memory.search(note.content, namespace=self.home, k=5)
            assert note.id in [hit.note.id for hit in hits]
            for link in self.again(note).outgoing:
                assert link.to != note.id
                assert self.again(link.to).created_at < note.created_at


MODES = ("fused", "staged", "batched")
# One reader of answers serves every mode; what differs is who is offered, and how a batch fails.
IN_EVERY_MODE = (
    *("null for lists", "ids not offered", "ids twice", "a field too much"),
    *("truncated JSON", "wrong types", "an empty object", "empty fields", "a refusal", "429"),
)


def in_modes(answers: Iterable[str]) -> list[tuple[str, str]]:
    """All answers in one mode, in the others those that are read otherwise there."""
    return [
        (mode, name)
        for mode in MODES
        for name in answers
        if mode == "fused" or name in IN_EVERY_MODE
    ]


@pytest.fixture(scope="module", params=MODES)
def told(request: pytest.FixtureRequest) -> Iterator[Told]:
    told = Told(request.param)
    with told.memory:
        yield told


@pytest.mark.parametrize(("told", "name"), in_modes(FORMED), indirect=["told"], scope="module")
def test_what_can_be_made_use_of_is(told: Told, name: str) -> None:
    told.begin(FORMED[name])
    notes = told.memory.add_many(NEW, namespace=told.home)
    told.healthy(notes)
    for note in notes:
        assert note.status is Status.FORMED
        assert len(note.keywords) <= 2 * MAX_KEYWORDS
        assert len(note.context) <= MAX_CONTEXT_CHARS


@pytest.mark.parametrize(("told", "name"), in_modes(RAW), indirect=["told"], scope="module")
def test_the_rest_is_counted_and_formed_once_it_passes(told: Told, name: str) -> None:
    bad, reason = RAW[name]
    told.begin(bad)
    notes = told.memory.add_many(NEW, namespace=told.home)
    told.healthy(notes)
    for note in notes:
        given_up = reason in ("refusal", "content-filter")
        assert note.status is (Status.PARKED if given_up else Status.RAW)
        assert note.attempts == 1
        assert str(note.last_error).startswith(f"{reason}: ")
        assert "sk-secret" not in str(note.last_error)
    assert told.counted("formation.failed") == len(NEW)
    if reason not in ("unparsable", "empty"):
        assert told.counted(f"model.{reason}") >= (1 if told.mode == "batched" else len(NEW))
    told.bad = None
    assert told.memory.admin.retry() == len(NEW)
    told.healthy(notes)
    assert told.again(notes[2]).links


def test_a_note_refers_neither_to_itself_nor_to_a_later_one_nor_abroad(told: Told) -> None:
    def everywhere(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        handles = [*map(str, range(12)), "new", told.memory.recent(namespace=told.abroad)[0].id]
        return judgement(
            text,
            links=[{"to": handle, **LINK} for handle in handles],
            evolutions=[{"note": handle, **CHANGE} for handle in handles],
        )

    told.begin(replies(everywhere))
    notes = told.memory.add_many(NEW, namespace=told.home)
    told.healthy(notes)
    assert all(note.status is Status.FORMED for note in notes)
    assert told.counted("dropped.link.not_offered") > 0
    assert told.counted("dropped.evolution.not_offered") > 0


async def test_a_cancelled_call_leaves_notes_that_can_be_taken_up_at_once(told: Told) -> None:
    told.begin(None)
    calls = len(told.model.calls)
    told.model.latency = 30.0
    task = asyncio.create_task(told.memory.aadd_many(NEW, namespace=told.home))
    while len(told.model.calls) == calls:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    told.model.latency = 0.0
    assert await told.memory.aresume() == len(NEW)
    told.healthy(told.memory.recent(namespace=told.home, limit=3)[::-1])
