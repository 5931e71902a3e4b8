"""However the worker's life goes, and ends: nobody waits for ever, and the notes are kept."""

import asyncio
import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory, MemoryWorker, Status
from amem_integrations.errors import AnalysisError, StoreClosedError
from tests.faults.whole import wrongs
from tests.support import again, chat_model, judgement, open_memory

ROOT = Path(__file__).parents[2]
PRELUDE = """
import os, signal, sys, threading, time
from amem_integrations import MemoryWorker
from amem_integrations.formation import worker
from tests.support import chat_model, judgement, open_memory

def slow(text, candidates):
    time.sleep(float(sys.argv[2]))
    return judgement(text)

worker.CLOSING = 2.0

def opened(formation):
    return open_memory(sys.argv[1], model=chat_model(slow), formation=formation)

def say(word):
    print(word, flush=True)
"""


def started(code: str, directory: Path, seconds: float) -> "subprocess.Popen[str]":
    """A process that runs `code` on the store in `directory`; its model takes so long."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + code]
    return subprocess.Popen(
        [*command, str(directory), str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> str:
    """What it said until it ended, which it must do well and without a word of complaint."""
    try:
        said, complaints = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, complaints) == (0, "")
    return said


def working_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("amem")]


def assert_all_is_kept(directory: Path, count: int) -> None:
    """So many notes are there, none is the worse for it, and all can be formed."""
    with open_memory(directory, model=chat_model()) as memory:
        notes = [note for n in range(3) for note in memory.recent(namespace=f"of {n}")]
        assert len(notes) == count
        assert {(note.attempts, note.last_error) for note in notes} == {(0, None)}
        memory.resume()
        assert memory.admin.health()["formed"] == count
        assert wrongs(memory) == []


ADDING = """
memory = opened("background")
for n in range(12):
    memory.add(f"Remark {n}", namespace=f"of {n % 3}")
"""
WORKING = """
memory = opened("off")
for n in range(12):
    memory.add(f"Remark {n}", namespace=f"of {n % 3}")
working = MemoryWorker(memory)
"""


def test_a_process_that_ends_with_work_outstanding_ends_well(tmp_path: Path) -> None:
    ended(started(ADDING, tmp_path, 0.3))
    assert_all_is_kept(tmp_path, 12)


def test_a_process_whose_model_stalls_ends_all_the_same(tmp_path: Path) -> None:
    ended(started(ADDING + "time.sleep(0.5)", tmp_path, 3600))
    assert_all_is_kept(tmp_path, 12)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM on Windows")
@pytest.mark.parametrize("handler", ["working.stop()", "sys.exit()"])
def test_a_worker_process_ends_well_at_sigterm(handler: str, tmp_path: Path) -> None:
    code = WORKING + f"signal.signal(signal.SIGTERM, lambda *_: {handler})\n"
    process = started(code + 'say("up")\nworking.run()\nsay("done")', tmp_path, 0.3)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    assert ended(process) == ("done\n" if handler == "working.stop()" else "")
    assert_all_is_kept(tmp_path, 12)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_forked_child_says_that_the_memory_is_its_parents_and_ends(tmp_path: Path) -> None:
    code = """
from amem_integrations.errors import StoreClosedError
time.sleep(0.3)
if os.fork() == 0:
    signal.alarm(30)
    for use in (lambda: memory.add("mine"), memory.flush, memory.close, memory.resume):
        try:
            use()
        except StoreClosedError:
            say("closed")
    sys.exit()
say(os.wait()[1])
say(memory.flush(60))
"""
    said = ended(started(ADDING + code, tmp_path, 0.05)).split()
    assert said == ["closed", "closed", "closed", "0", "True"]
    assert_all_is_kept(tmp_path, 12)


class UnknownError(Exception):
    """An error of no kind that anybody knows."""


ODD = [SystemExit(1), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()]
COMMON = [RecursionError(), MemoryError(), StopIteration(), UnknownError()]


class Troubled:
    """A judge that raises once for each of the errors it was given."""

    def __init__(self, *errors: BaseException) -> None:
        self.left = list(errors)

    def __call__(self, text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        if self.left:
            raise self.left.pop()
        return judgement(text)


@pytest.mark.parametrize("error", [*ODD, *COMMON], ids=repr)
def test_whatever_a_model_raises_the_thread_lives_on(error: BaseException) -> None:
    with open_memory(
        model=chat_model(Troubled(error)), formation="background", concurrency=1
    ) as memory:
        first = memory.add("The redis cache", namespace="a")
        memory.flush(30)
        other = memory.add("The violin lesson", namespace="b")
        assert memory.flush(30)
        assert again(memory, other).status is Status.FORMED
        assert again(memory, first).status in (Status.FORMED, Status.RAW)
        memory.resume()
        assert again(memory, first).status is Status.FORMED
    assert working_threads() == []


@pytest.mark.parametrize("error", [asyncio.CancelledError(), *COMMON], ids=repr)
async def test_whatever_a_model_raises_the_task_lives_on(error: BaseException) -> None:
    async with open_memory(
        model=chat_model(Troubled(error)), formation="off", concurrency=1
    ) as memory:
        tasks = asyncio.all_tasks()
        async with MemoryWorker(memory) as worker:
            first = await memory.aadd("The redis cache", namespace="a", formation="background")
            await worker.aflush(30)
            other = await memory.aadd("The violin lesson", namespace="b", formation="background")
            assert await worker.aflush(30)
            assert again(memory, other).status is Status.FORMED
        assert asyncio.all_tasks() == tasks
        await memory.aresume()
        assert again(memory, first).status is Status.FORMED


@pytest.mark.parametrize("error", ODD, ids=repr)
@pytest.mark.parametrize("mode", ["fused", "staged", "batched"])
def test_an_exit_amid_an_add_passes_and_leaves_the_notes_free(
    mode: Any, error: BaseException, tmp_path: Path
) -> None:
    texts = ["The redis cache", "The violin lesson"]
    with open_memory(tmp_path, model=chat_model(Troubled(error, error)), mode=mode) as memory:
        for add in (memory.add_many, lambda texts: asyncio.run(memory.aadd_many(texts))):
            # Some of them LangChain takes for a failure of the model's.
            with contextlib.suppress(type(error)):
                add(texts)
        assert memory.count() == 2
        memory.resume()
        assert memory.admin.health()["formed"] == 2
        assert wrongs(memory) == []


class Stalled:
    """A judge that does not answer before it is let go."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.go_on = threading.Event()

    def __call__(self, text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        self.asked.release()
        self.go_on.wait(60)
        return judgement(text)

    def end(self) -> None:
        """Let it go, and wait for whoever had asked it."""
        self.go_on.set()
        for thread in threading.enumerate():
            if thread.name.startswith("amem"):
                thread.join(30)


@pytest.fixture
def stalled() -> Iterator[Stalled]:
    judge = Stalled()
    yield judge
    judge.end()


def test_a_model_that_stalls_holds_nobody_up_and_its_notes_are_free_again(
    stalled: Stalled,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("amem_integrations.formation.worker.CLOSING", 1.0)
    memory = open_memory(tmp_path, model=chat_model(stalled), formation="background")
    notes = [memory.add("Remark", namespace=f"of {n}") for n in range(4)]
    for _ in notes:
        assert stalled.asked.acquire(timeout=30)
    assert not memory.flush(0.1)
    memory.close()  # though the model goes on only later
    # The same process, for which another one's leases would still be valid.
    with open_memory(tmp_path, model=chat_model()) as memory:
        assert memory.resume() == 4
        stalled.end()
        assert wrongs(memory) == []
    # That the memory was closed meanwhile is no failure of the model's, nor a user's concern.
    assert "analysis" not in caplog.text


async def test_tasks_of_a_model_that_stalls_are_given_up_and_their_notes_free_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("amem_integrations.formation.worker.CLOSING", 0.5)
    model = chat_model(latency=3600)
    async with open_memory(model=model, formation="off") as memory:
        notes = [await memory.aadd("Remark", namespace=f"of {n}") for n in range(4)]
        tasks = asyncio.all_tasks()
        async with MemoryWorker(memory) as worker:
            assert not await worker.aflush(0.5)
        assert asyncio.all_tasks() == tasks
        model.latency = 0.0
        assert await memory.aresume() == len(notes)
        assert wrongs(memory) == []


async def test_a_memory_closed_while_a_note_is_formed_keeps_it(
    stalled: Stalled, tmp_path: Path
) -> None:
    memory = await AgenticMemory.aopen(tmp_path, model=chat_model(stalled))
    adding = asyncio.create_task(asyncio.to_thread(memory.add, "The redis cache"))
    assert await asyncio.to_thread(stalled.asked.acquire, timeout=30)
    await memory.aclose()
    stalled.go_on.set()
    with pytest.raises(StoreClosedError):
        await asyncio.wait_for(adding, 30)
    async with await AgenticMemory.aopen(tmp_path, model=chat_model()) as memory:
        assert await memory.acount() == 1
        await memory.aresume()
        assert (await memory.admin.ahealth())["formed"] == 1


def test_one_loop_after_another_with_formation_in_the_background() -> None:
    with open_memory(model=chat_model(latency=0.01), formation="background") as memory:

        async def once(n: int) -> None:
            for place in range(4):
                await memory.aadd(f"Remark {n}", namespace=f"of {place}")
            assert n % 2 or await memory.aflush(30)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert left == set()

        for n in range(6):
            asyncio.run(once(n))
        assert memory.flush(30)
        assert memory.admin.health()["formed"] == 24
        assert len(working_threads()) <= 4
    assert working_threads() == []


def test_with_a_model_that_is_away_notes_wait_and_nobody_else_does() -> None:
    away = True

    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        if away:
            raise AnalysisError("no key", reason="unauthorized", retryable=False)
        return judgement(text)

    with open_memory(model=chat_model(judge), formation="background") as memory:
        notes = [memory.add(f"Remark {n}", namespace=f"of {n % 2}") for n in range(6)]
        memory.flush()
        away = False
        tried = [note for note in (again(memory, note) for note in notes) if note.attempts]
        assert tried
        # The worker may be at one of them at any time, which is then left to it.
        end = time.monotonic() + 60
        while {again(memory, note).status for note in notes} != {Status.FORMED}:
            assert time.monotonic() < end
            memory.resume()


def test_a_note_is_stored_though_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with open_memory(model=chat_model(), formation="background") as memory:
        with monkeypatch.context() as patched:
            patched.setattr("amem_integrations.formation.worker.threading.Thread.start", refuse)
            with contextlib.suppress(RuntimeError):
                memory.flush(5)
            note = memory.add("The redis cache")
        assert memory.flush(30)
        assert again(memory, note).status is Status.FORMED
