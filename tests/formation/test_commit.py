"""Commits under interference: an analysis that takes a while, and a store that moves on."""

import itertools
import logging
from collections.abc import Callable
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Status
from amem_integrations.core.io import run
from amem_integrations.errors import AMemError, AnalysisError, ModelUnavailableError
from amem_integrations.formation import commit
from amem_integrations.formation.state import initial_state, outcome
from amem_integrations.formation.steps import failure
from amem_integrations.revisions import update
from amem_integrations.stores.read import load
from amem_integrations.stores.write import embedded_points
from tests.support import (
    again,
    chat_model,
    io_of,
    judgement,
    links_everything,
    open_memory,
    wiring_of,
)


class Interference:
    """A judge that runs `meanwhile` once, while it is judging the text that holds `when`."""

    def __init__(self, when: str) -> None:
        self.when = when
        self.meanwhile: Callable[[], Any] | None = None

    def __call__(self, text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        if self.when in text and self.meanwhile is not None:
            action, self.meanwhile = self.meanwhile, None
            action()
        return links_everything(text, candidates)


@pytest.fixture
def judge() -> Interference:
    return Interference("violin")


@pytest.fixture
def memory(judge: Interference) -> Any:
    with open_memory(model=chat_model(judge)) as memory:
        yield memory


def test_a_neighbour_changed_meanwhile_is_not_overwritten(
    memory: AgenticMemory, judge: Interference
) -> None:
    old = memory.add("The redis cache")
    judge.meanwhile = lambda: memory.add("Memcached instead")
    memory.add("The violin lesson")
    found = again(memory, old)
    assert {"seen-Memcached", "seen-violin"} <= set(found.keywords)
    assert "Memcached" in found.context
    assert [r.kind for r in memory.history(old)] == ["formed", "evolved", "evolved"]
    assert memory.admin.health()["evolution.merged"] == 1
    assert memory.admin.check() == []


@pytest.mark.parametrize("mode", ["fused", "staged"])
@pytest.mark.parametrize("after", ["accept", "candidates"])
def test_a_note_forgotten_before_it_is_judged_ends_its_formation(mode: Any, after: str) -> None:
    with open_memory(model=chat_model(), mode=mode) as memory:
        memory.add("The redis cache")
        raw = memory.add("The violin lesson", formation="off")
        for step in memory.graph().stream(initial_state([raw])):
            if after in step:
                memory.forget(raw)
        assert step["commit"]["outcomes"][raw.id]["status"] == "gone"
        assert memory.get(raw) is None
        assert memory.admin.check() == []


def test_a_note_forgotten_while_it_is_formed_does_not_come_back(
    memory: AgenticMemory, judge: Interference
) -> None:
    old = memory.add("The redis cache")
    raw = memory.add("The violin lesson", formation="off")
    judge.meanwhile = lambda: memory.forget(raw)
    memory.resume()
    assert memory.get(raw) is None
    assert again(memory, old).keywords == old.keywords
    assert memory.count() == 1
    assert memory.admin.health()["formation.gone"] == 1


def test_a_candidate_forgotten_meanwhile_leaves_no_trace_and_the_note_is_judged_again(
    memory: AgenticMemory, judge: Interference
) -> None:
    old = memory.add("The redis cache")
    judge.meanwhile = lambda: memory.forget(old)
    note = memory.add("The violin lesson")
    assert (note.status, note.links) == (Status.FORMED, ())
    assert memory.admin.health()["formation.stale"] == 1
    assert memory.admin.check() == []


@pytest.mark.parametrize("mode", ["fused", "staged", "batched"])
def test_a_candidate_given_new_text_in_the_last_moment_is_judged_again(
    mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copies(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        return links_everything(text, candidates) | {
            "context": " ".join([text, *(c["text"] for c in candidates)]),
            "evolutions": [],
        }

    with open_memory(model=chat_model(copies), mode=mode) as memory:
        old = memory.add("The redis cache")

        async def while_another_updates(io: Any, *args: Any, **kwargs: Any) -> Any:
            monkeypatch.setattr(commit, "embedded_points", embedded_points)
            memory.update(old, "A kayak trip")
            return await embedded_points(io, *args, **kwargs)

        monkeypatch.setattr(commit, "embedded_points", while_another_updates)
        note = memory.add("The violin lesson")
        assert note.status is Status.FORMED
        assert "redis" not in note.context
        assert memory.admin.health()["formation.stale"] == 1


def test_what_is_formed_while_a_candidate_is_given_new_text_is_formed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def copies(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        return judgement(text, context=" ".join([text, *(c["text"] for c in candidates)]))

    with open_memory(model=chat_model(copies)) as memory:
        old = memory.add("The redis cache")
        raw = memory.add("The violin lesson", formation="off")
        replace = update.change_notes

        async def while_another_forms(*args: Any) -> bool:
            monkeypatch.setattr(update, "change_notes", replace)
            assert memory.resume() == 1
            return await replace(*args)

        monkeypatch.setattr(update, "change_notes", while_another_forms)
        memory.update(old, "A kayak trip")
        assert again(memory, raw).context == "The violin lesson A kayak trip"
        assert memory.admin.check() == []


def test_a_note_updated_while_it_is_formed_is_formed_from_the_new_text(
    memory: AgenticMemory, judge: Interference
) -> None:
    raw = memory.add("The violin lesson", key="k", formation="off")
    judge.meanwhile = lambda: memory.update(raw, "A cello lesson")
    memory.resume()
    found = again(memory, raw)
    assert found.content == "A cello lesson"
    assert found.keywords == ("cello", "lesson")


def test_a_neighbour_that_never_stays_as_it_was_read_does_not_keep_a_note_from_being_formed(
    memory: AgenticMemory, judge: Interference, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = memory.add("The redis cache")
    versions = itertools.count(10)

    async def while_another_writes(io: Any, *args: Any, **kwargs: Any) -> Any:
        points = await embedded_points(io, *args, **kwargs)
        await io.engine.patch(old.id, {"version": next(versions)})
        return points

    monkeypatch.setattr(commit, "embedded_points", while_another_writes)
    note = memory.add("The violin lesson")
    assert note.status is Status.FORMED
    assert [link.to for link in note.links] == [old.id]
    assert again(memory, old).keywords == old.keywords
    assert memory.admin.health()["dropped.evolution.contention"] == 1
    assert memory.admin.check() == []


def test_failures_park_the_note_which_stays_findable_and_can_be_retried() -> None:
    broken = True

    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        if broken:
            raise AnalysisError("no", reason="unparsable", retryable=True)
        return judgement(text)

    with open_memory(model=chat_model(judge)) as memory:
        note = memory.add("The redis cache")
        assert (note.status, note.attempts) == (Status.RAW, 1)
        for _ in range(3):
            assert memory.resume() == 0
        parked = again(memory, note)
        assert (parked.status, parked.attempts) == (Status.PARKED, 3)
        assert parked.version == 1
        assert memory.search("redis")[0].note.id == note.id
        broken = False
        assert memory.resume() == 0
        assert memory.admin.retry() == 1
        assert again(memory, note).status is Status.FORMED


def test_a_failure_leaves_a_note_alone_that_another_formed_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with open_memory(model=chat_model()) as memory:
        raw = memory.add("The redis cache", formation="off")

        async def read_before_the_other(*args: Any) -> Any:
            monkeypatch.setattr(commit, "load", load)
            notes = await load(*args)
            memory.resume()
            return notes

        monkeypatch.setattr(commit, "load", read_before_the_other)
        ledger = wiring_of(memory).settings.ledger
        late = outcome("failed", "too late", again=0.0)
        run(commit.note_failure(io_of(memory), ledger, raw.namespace, raw.id, late))
        found = again(memory, raw)
        assert (found.status, found.last_error, found.attempts) == (Status.FORMED, None, 0)


ABSENT = ModelUnavailableError("It is not here: pip install it.")
REFUSED = AnalysisError("The model said: secret", reason="refusal", retryable=False)


@pytest.mark.parametrize(
    ("error", "logged"),
    [
        (ABSENT, "ModelUnavailableError: It is not here: pip install it."),
        (REFUSED, "refusal"),
        (ValueError("secret"), "ValueError"),
        (AMemError("secret"), "AMemError"),
    ],
)
def test_the_log_says_what_to_do_and_nothing_that_may_quote_a_note(
    error: Exception, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        failure(error)
    assert caplog.messages == [f"An analysis failed ({logged}); the note stays as it is."]
