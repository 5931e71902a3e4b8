"""The queue: who may form which note, when, and in which order."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note, Status
from amem_integrations.core.io import run
from amem_integrations.errors import AnalysisError
from amem_integrations.formation import queue
from tests.support import again, chat_model, io_of, judgement, open_memory


class Time:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def passes(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture(autouse=True)
def no_pause_between_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amem_integrations.analysts.llm._FIRST_WAIT", 0.0)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def memory(time: Time) -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model(), clock=time, formation="off") as memory:
        yield memory


def claim(memory: AgenticMemory, most: int = 1, **options: Any) -> list[str]:
    return [note.content for note in run(queue.claim(io_of(memory), most=most, **options))]


def another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "_holder", lambda engine: "another")


def shared(memory: AgenticMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a server, where other processes have the same collection."""
    monkeypatch.setattr(type(io_of(memory).engine), "exclusive", False)


def test_a_lease_that_another_memory_took_during_the_look_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        open_memory(tmp_path, model=chat_model(), formation="off") as one,
        open_memory(tmp_path, model=chat_model(), formation="off") as other,
    ):
        one.add("first", namespace="a")
        one.add("second", namespace="b")
        taken: list[str] = []
        facet = type(io_of(one).engine).facet

        async def meanwhile(engine: Any, *args: Any, **kwargs: Any) -> Any:
            found = await facet(engine, *args, **kwargs)
            if engine is io_of(other).engine and not taken:
                taken.append("")  # Only once.
                taken[:] = claim(one)
            return found

        monkeypatch.setattr(type(io_of(one).engine), "facet", meanwhile)
        assert claim(other) == ["second"]
        assert taken == ["first"]


def test_the_oldest_is_taken_first_and_a_namespace_is_one_workers_at_a_time(
    memory: AgenticMemory,
) -> None:
    for text in ("one", "two", "three"):
        memory.add(text, namespace="a")
    memory.add("other", namespace="b")
    assert claim(memory, most=2) == ["one", "two"]
    assert claim(memory, most=2) == ["other"]
    assert claim(memory) == []


def test_what_is_given_back_can_be_taken_again(memory: AgenticMemory) -> None:
    memory.add("one")
    notes = run(queue.claim(io_of(memory), most=1))
    run(queue.release(io_of(memory), notes))
    assert claim(memory) == ["one"]


def test_a_lease_that_ran_out_is_taken_over(memory: AgenticMemory, time: Time) -> None:
    memory.add("one")
    assert claim(memory) == ["one"]
    time.passes(seconds=queue.LEASE.total_seconds() - 1)
    assert claim(memory) == []
    due = run(queue.next_due(io_of(memory)))
    assert due is not None
    time.now = due
    assert claim(memory) == ["one"]


def test_the_lease_of_another_process_counts_only_where_others_can_have_the_store(
    memory: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.add("one")
    with monkeypatch.context() as patch:
        another_process(patch)
        assert claim(memory) == ["one"]
    with monkeypatch.context() as patch:
        shared(memory, patch)
        assert memory.resume() == 0
    # In a store of one process, whoever took it is dead.
    assert memory.resume() == 1


def test_of_two_that_reach_for_a_note_one_gets_it(
    memory: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared(memory, monkeypatch)
    memory.add("one")
    engine, got = io_of(memory).engine, list[list[str]]()
    patch = type(engine).patch

    async def quicker(self: Any, *args: Any, **options: Any) -> None:
        monkeypatch.setattr(type(engine), "patch", patch)
        with monkeypatch.context() as other:
            another_process(other)
            got.append(claim(memory))
        await patch(self, *args, **options)

    monkeypatch.setattr(type(engine), "patch", quicker)
    assert claim(memory) == []
    assert got == [["one"]]


def test_a_note_that_is_added_inline_is_nobody_elses_meanwhile() -> None:
    seen: list[list[str]] = []

    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        seen.append(claim(memory))
        return judgement(text)

    with open_memory(model=chat_model(judge)) as memory:
        assert memory.add("one").status is Status.FORMED
    assert seen == [[]]


def test_what_an_interrupted_call_stored_can_be_taken_up_at_once(time: Time) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with open_memory(model=chat_model(), clock=time) as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.add_many(["one", "two", "three"], progress=stop)
        assert memory.admin.health()["raw"] == 2
        assert memory.resume() == 2


class Failing:
    """A judge that fails with `error` while there is one."""

    def __init__(self, error: AnalysisError | None) -> None:
        self.error = error
        self.asked = 0

    def __call__(self, text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        self.asked += 1
        if self.error:
            raise self.error
        return judgement(text)


def waiting(memory: AgenticMemory, note: Note) -> float | None:
    due = run(queue.next_due(io_of(memory)))
    return None if due is None else (due - io_of(memory).now()).total_seconds()


def failing(reason: str, *, retry_after: float | None = None) -> Failing:
    return Failing(AnalysisError("no", reason=reason, retryable=True, retry_after=retry_after))


def test_a_failed_note_waits_longer_each_time_and_is_given_up_in_the_end(time: Time) -> None:
    judge = failing("timeout")
    with open_memory(model=chat_model(judge), clock=time) as memory:
        note = memory.add("one")
        waits: list[int] = []
        while again(memory, note).status is Status.RAW:
            assert claim(memory) == []
            waits.append(round(waiting(memory, note) or 0))
            time.passes(seconds=waits[-1] + 1)
            memory.resume()
        assert waits == [30, 60, 120, 240, 480, 960, 1920, 3600]
        parked = again(memory, note)
        assert (parked.status, parked.attempts) == (Status.PARKED, 9)
        assert "timeout" in str(parked.last_error)
        judge.error = None
        assert memory.admin.retry() == 1


@pytest.mark.parametrize(("asked", "waits"), [(900, 900), (1e9, 86_400), (1e300, 86_400)])
def test_what_the_provider_asks_for_is_waited_up_to_a_day(
    time: Time, asked: float, waits: int
) -> None:
    judge = failing("rate-limited", retry_after=asked)
    with open_memory(model=chat_model(judge), clock=time) as memory:
        note = memory.add("one")
        assert round(waiting(memory, note) or 0) == waits
        assert str(again(memory, note).last_error).startswith("rate-limited")


@pytest.mark.parametrize(
    ("reason", "attempts"),
    [("refusal", 1), ("content-filter", 1), ("too-long", 1), ("unparsable", 3), ("error", 3)],
)
def test_how_often_a_note_is_tried_depends_on_why_it_failed(reason: str, attempts: int) -> None:
    judge = failing(reason)
    with open_memory(model=chat_model(judge)) as memory:
        note = memory.add("one")
        for _ in range(4):
            memory.resume()
        parked = again(memory, note)
        assert (parked.status, parked.attempts) == (Status.PARKED, attempts)
        assert memory.admin.health()["formation.parked"] == 1


def test_a_failure_while_the_clock_was_years_ahead_keeps_no_note_for_years(time: Time) -> None:
    judge = failing("timeout")
    with open_memory(model=chat_model(judge), clock=time) as memory:
        time.passes(days=3_000)
        memory.add("one")
        assert claim(memory) == []
        time.passes(days=-3_000)
        assert claim(memory) == ["one"]


@pytest.mark.parametrize(("ahead", "taken"), [(3_000 * 86_400, ["one"]), (60, [])])
def test_a_lease_counts_unless_the_clock_was_far_ahead(
    memory: AgenticMemory,
    time: Time,
    monkeypatch: pytest.MonkeyPatch,
    ahead: float,
    taken: list[str],
) -> None:
    shared(memory, monkeypatch)
    memory.add("one")
    time.passes(seconds=ahead)
    assert claim(memory) == ["one"]
    time.passes(seconds=-ahead)
    assert claim(memory) == taken
    assert claim(memory) == []


def test_each_note_is_tried_once_by_a_resume(time: Time) -> None:
    judge = Failing(AnalysisError("no", reason="error", retryable=False))
    with open_memory(model=chat_model(judge), clock=time, formation="off") as memory:
        for n in range(5):
            memory.add(f"tea number {n}")
        assert memory.resume() == 0
        assert judge.asked == 5
