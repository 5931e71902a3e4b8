"""Driving operations: at once by `run`, side by side by `gather`, on one clock."""

import asyncio
import gc
import warnings
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from inspect import CORO_CLOSED, getcoroutinestate
from itertools import pairwise
from typing import Any

import pytest
from langgraph.errors import GraphInterrupt

from amem_integrations.core.engine import Point
from amem_integrations.core.io import IO, AsyncIO, Clock, SyncIO, run
from amem_integrations.errors import AnalysisError, StoreError


class Nothing:
    """An engine, an encoder and an embedder of which nothing is asked but to keep a point."""

    def __init__(self) -> None:
        self.points: list[Point] = []

    async def insert(self, points: Sequence[Point]) -> frozenset[str]:
        self.points += points
        return frozenset()


def sync_io() -> SyncIO:
    nothing: Any = Nothing()
    return SyncIO(nothing, nothing, nothing)


def async_io() -> AsyncIO:
    nothing: Any = Nothing()
    return AsyncIO(nothing, nothing, nothing)


# -- run -------------------------------------------------------------------------------------


def suspending(cleaned: list[str]) -> Coroutine[Any, Any, str]:
    async def operation() -> str:
        try:
            await asyncio.sleep(0)
            return "never"
        finally:
            cleaned.append("up")

    return operation()


def test_an_operation_that_suspends_on_something_else_is_refused_and_closed() -> None:
    cleaned: list[str] = []
    operation = suspending(cleaned)
    with pytest.raises(RuntimeError, match="suspended on something other than io"):
        run(operation)
    assert getcoroutinestate(operation) == CORO_CLOSED
    assert cleaned == ["up"]


async def test_an_operation_that_waits_for_the_running_loop_is_refused_and_closed() -> None:
    future = asyncio.get_running_loop().create_future()

    async def operation() -> None:
        await future

    with pytest.raises(RuntimeError, match="suspended"):
        run(operation())
    assert not future.done()


async def test_what_is_already_there_can_be_awaited_at_once() -> None:
    future = asyncio.get_running_loop().create_future()
    future.set_result("here")

    async def operation() -> str:
        return await future

    assert run(operation()) == "here"


def test_an_operation_may_clean_up_through_its_io_when_it_is_closed() -> None:
    io = sync_io()

    async def operation() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            await io.engine.insert([Point("a", {})])

    with pytest.raises(RuntimeError, match="suspended"):
        run(operation())
    assert io.engine.points == [Point("a", {})]


@pytest.mark.parametrize("error", [StoreError("x"), GraphInterrupt(()), KeyboardInterrupt()])
def test_what_an_operation_raises_is_raised(error: BaseException) -> None:
    async def operation() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        run(operation())
    assert caught.value is error


# -- gather ----------------------------------------------------------------------------------

FORMS = pytest.mark.parametrize("io", [sync_io(), async_io()], ids=["sync", "async"])


@contextmanager
def no_warnings() -> Iterator[None]:
    """Nothing warns, not even a coroutine that is thrown away unawaited."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert [str(each.message) for each in caught] == []


@FORMS
async def test_results_come_in_the_order_of_the_operations(io: IO) -> None:
    async def after(turns: int) -> int:
        for _ in range(turns):
            await io.sleep(0)
        return turns

    assert await io.gather(*map(after, [3, 0, 2, 1])) == [3, 0, 2, 1]


@FORMS
async def test_gathering_nothing_gives_nothing(io: IO) -> None:
    assert await io.gather() == []


@FORMS
async def test_the_first_error_is_raised_plain_and_the_rest_given_up(io: IO) -> None:
    finished: list[int] = []

    async def failing() -> None:
        await io.sleep(0)
        raise AnalysisError("no", reason="refusal", retryable=False)

    async def waiting(number: int) -> None:
        for _ in range(50):
            await io.sleep(0)
        finished.append(number)

    with no_warnings(), pytest.raises(AnalysisError, match="no"):
        await io.gather(failing(), waiting(1), waiting(2))
    assert finished == []


@FORMS
async def test_an_error_keeps_what_caused_it(io: IO) -> None:
    async def failing() -> None:
        try:
            raise TimeoutError("slow")
        except TimeoutError as error:
            raise AnalysisError("no", reason="timeout", retryable=True) from error

    with pytest.raises(AnalysisError) as caught:
        await io.gather(failing())
    assert isinstance(caught.value.__cause__, TimeoutError)


@FORMS
async def test_an_error_keeps_what_was_being_handled_when_it_arose(io: IO) -> None:
    async def failing() -> None:
        try:
            raise TimeoutError("slow")
        except TimeoutError:
            raise StoreError("no")  # noqa: B904 - what is tested

    with pytest.raises(StoreError) as caught:
        await io.gather(failing())
    assert isinstance(caught.value.__context__, TimeoutError)


@FORMS
@pytest.mark.parametrize("error", [GraphInterrupt(()), ExceptionGroup("two", [ValueError()])])
async def test_any_kind_of_error_is_raised_as_it_is(io: IO, error: Exception) -> None:
    async def failing() -> None:
        raise error

    with no_warnings(), pytest.raises(type(error)) as caught:
        await io.gather(failing(), failing())
    assert caught.value is error


@FORMS
async def test_gathers_can_be_nested(io: IO) -> None:
    async def value(number: int) -> int:
        await io.sleep(0)
        return number

    async def row(start: int) -> list[int]:
        return await io.gather(*(value(start + step) for step in range(3)))

    assert await io.gather(row(0), row(10)) == [[0, 1, 2], [10, 11, 12]]


def test_a_gathered_operation_that_suspends_is_refused_and_the_rest_closed() -> None:
    cleaned: list[str] = []
    operations = [suspending(cleaned) for _ in range(3)]
    with no_warnings(), pytest.raises(RuntimeError, match="suspended"):
        run(sync_io().gather(*operations))
    assert {getcoroutinestate(each) for each in operations} == {CORO_CLOSED}


async def test_gathered_operations_overlap_when_awaited() -> None:
    barrier = asyncio.Barrier(5)

    async def meeting() -> None:
        await barrier.wait()

    async with asyncio.timeout(10):
        await async_io().gather(*(meeting() for _ in range(5)))


def test_gathered_operations_follow_one_another_at_once() -> None:
    io, log = sync_io(), list[str]()

    async def step(name: str) -> None:
        log.append(f"{name} begins")
        await io.sleep(0)
        log.append(f"{name} ends")

    run(io.gather(step("a"), step("b")))
    assert log == ["a begins", "a ends", "b begins", "b ends"]


async def test_cancelling_whoever_waits_cancels_what_was_gathered() -> None:
    cancelled: list[int] = []

    async def endless(number: int) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(number)
            raise

    task = asyncio.create_task(async_io().gather(endless(1), endless(2)))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(cancelled) == [1, 2]


# -- the clock -------------------------------------------------------------------------------


def test_the_clock_never_gives_an_instant_twice_to_any_thread() -> None:
    clock = Clock()

    def read(_: int) -> list[datetime]:
        return [clock() for _ in range(2000)]

    with ThreadPoolExecutor(8) as pool:
        threads = list(pool.map(read, range(8)))
    for times in threads:
        assert all(one < next_ for one, next_ in pairwise(times))
    assert len({moment for times in threads for moment in times}) == 16_000


def test_the_clock_goes_forward_when_its_source_stands_still_or_goes_back_a_little() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    step = timedelta(microseconds=1)
    source = iter([noon, noon, noon - timedelta(seconds=59), noon, noon + timedelta(seconds=1)])
    clock = Clock(lambda: next(source))
    assert [clock() for _ in range(5)] == [
        noon,
        noon + step,
        noon + 2 * step,
        noon + 3 * step,
        noon + timedelta(seconds=1),
    ]


def test_the_clock_tells_the_time_in_utc() -> None:
    before = datetime.now(UTC)
    moment = Clock()()
    assert moment.tzinfo is UTC
    assert timedelta(0) <= moment - before < timedelta(minutes=1)


@pytest.mark.parametrize("zone", [None, timezone(timedelta(hours=8))], ids=["naive", "eastern"])
def test_a_clock_of_another_zone_is_brought_to_utc(zone: timezone | None) -> None:
    given = datetime(2026, 3, 1, 12, tzinfo=zone)
    moment = Clock(lambda: given)()
    assert moment == (given if zone else given.replace(tzinfo=UTC))
    assert moment.tzinfo is UTC
