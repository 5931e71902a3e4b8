"""The worker: whatever happens to it, whoever waits for it gets an answer."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from amem_integrations.core.note import Note, make_note
from amem_integrations.errors import StoreClosedError, StoreUnavailableError
from amem_integrations.formation.worker import Batch, Worker

NOTE = make_note("tea", namespace=("default",), now=datetime(2026, 3, 1, tzinfo=UTC))


class Queue:
    """Work that gives or raises each of `results` in turn, and then has nothing.

    A result is how many notes are taken, or an error.
    """

    def __init__(self, *results: int | BaseException, form: Callable[[], bool] = lambda: False):
        self.left = list(results)
        self.lock = threading.Lock()
        self.form_one = form
        self.due: float | None = None
        self.looks = 0
        self.formed = 0

    def take(self) -> Batch:
        with self.lock:
            self.looks += 1
            result = self.left.pop(0) if self.left else 0
        if isinstance(result, BaseException):
            raise result
        return Batch([NOTE] * result, self.due)

    def form(self, notes: list[Note]) -> bool:
        trouble = self.form_one()
        with self.lock:
            self.formed += len(notes)
        return trouble

    def formed_within(self, seconds: float) -> int:
        """How many notes were formed once there is one, or after that time."""
        deadline = time.monotonic() + seconds
        while not self.formed and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.formed

    async def atake(self) -> Batch:
        return self.take()

    async def aform(self, notes: list[Note]) -> bool:
        return await asyncio.to_thread(self.form, notes)


def test_flush_waits_until_nothing_is_waiting() -> None:
    queue = Queue(1, 1, 3)
    worker = Worker(queue)
    assert not worker.started
    assert worker.flush(5)
    assert worker.started
    assert queue.formed == 5
    worker.close()


@pytest.mark.parametrize("error", [StoreUnavailableError("down"), SystemExit(1)])
def test_an_error_is_waited_out_and_the_thread_lives_on(error: BaseException) -> None:
    queue = Queue(error, 1)
    worker = Worker(queue)
    assert worker.flush(10)
    assert queue.formed == 1
    worker.close()


def test_a_closed_store_ends_the_worker_and_whoever_waits() -> None:
    worker = Worker(Queue(StoreClosedError("closed")))
    assert not worker.flush()
    worker.close()


def test_flush_says_when_it_took_too_long() -> None:
    worker = Worker(Queue(*[1] * 1000, form=lambda: bool(time.sleep(0.01))))
    assert not worker.flush(0.05)
    worker.close()


def test_flush_does_not_wait_for_the_end_of_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amem_integrations.formation.worker._OUTAGE", 0.5)
    worker = Worker(Queue(*[1] * 1000, form=lambda: True))
    assert not worker.flush()
    # Nor does closing.
    worker.close()
    assert [thread.is_alive() for thread in worker._threads] == [False]


def test_several_threads_are_at_work_at_once_but_never_more() -> None:
    together = threading.Barrier(3)
    queue = Queue(*[1] * 30, form=lambda: together.wait(10) < 0)
    worker = Worker(queue, concurrency=3)
    assert worker.flush(30)
    assert queue.formed == 30
    assert len(worker._threads) == 3
    worker.close()


@pytest.mark.parametrize(("due", "poll"), [(0.05, None), (None, 0.05)])
def test_what_is_due_later_or_stored_by_others_is_taken_without_a_call(
    due: float | None, poll: float | None
) -> None:
    queue = Queue(0)
    queue.due = due
    worker = Worker(queue, poll=poll)
    assert worker.flush(5)
    queue.left.append(1)
    assert queue.formed_within(5) == 1
    worker.close()


def test_one_that_has_nothing_to_do_does_not_look() -> None:
    queue = Queue()
    worker = Worker(queue, concurrency=4)
    assert worker.flush(5)
    looks = queue.looks
    time.sleep(0.2)
    assert queue.looks == looks
    worker.close()


async def serving(worker: Worker) -> "asyncio.Task[None]":
    task = asyncio.create_task(worker.serve())
    await asyncio.sleep(0)
    return task


async def test_tasks_of_a_loop_work_in_place_of_threads() -> None:
    queue = Queue(1, KeyError("a defect"), 1, 1)
    worker = Worker(queue, concurrency=2)
    task = await serving(worker)
    assert await asyncio.to_thread(worker.flush, 10)
    queue.left.extend([1, 1])
    worker.wake()
    assert await asyncio.to_thread(worker.flush, 5)
    assert queue.formed == 5
    assert worker._threads == []
    worker.stop()
    await asyncio.wait_for(task, 5)


async def test_cancelled_tasks_leave_the_rest_to_threads() -> None:
    worker = Worker(Queue(), concurrency=2)
    task = await serving(worker)
    assert await asyncio.to_thread(worker.flush, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    worker._work.left.append(1)  # type: ignore[attr-defined]
    assert await asyncio.to_thread(worker.flush, 5)
    assert worker._work.formed == 1  # type: ignore[attr-defined]
    await asyncio.to_thread(worker.close)


def test_tasks_of_a_loop_that_was_closed_amid_their_work_are_not_waited_for() -> None:
    class Endless(Queue):
        async def aform(self, notes: list[Note]) -> bool:
            await asyncio.Event().wait()
            return False

    queue = Endless(1, 1)
    worker = Worker(queue)
    loop = asyncio.new_event_loop()
    loop.create_task(worker.serve())  # noqa: RUF006
    loop.run_until_complete(asyncio.sleep(0.05))
    # Kept, so that nothing is tidied up by chance.
    tasks = cast("list[Any]", list(asyncio.all_tasks(loop)))
    for task in tasks:
        task._log_destroy_pending = False
    loop.close()
    assert worker.flush(5)
    assert queue.formed == 1
    worker.close()


def test_closing_gives_up_waiting_for_threads_after_its_time() -> None:
    go_on = threading.Event()
    worker = Worker(Queue(*[1] * 4, form=lambda: not go_on.wait(60)), concurrency=4)
    assert not worker.flush(0.5)
    worker.close(0.5)
    assert all(thread.is_alive() for thread in worker._threads)
    go_on.set()
    worker.close(30)
    assert not any(thread.is_alive() for thread in worker._threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_in_a_forked_child_it_begins_anew() -> None:
    go_on = threading.Event()
    worker = Worker(Queue(1, form=lambda: not go_on.wait(60)))
    assert not worker.flush(0.5)
    with worker._changed:
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(30)
                os._exit(0 if worker.flush(10) and len(worker._threads) == 1 else 1)
            finally:
                os._exit(2)
    go_on.set()
    assert os.waitpid(child, 0)[1] == 0
    worker.close()
