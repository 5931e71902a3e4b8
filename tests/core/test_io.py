"""Operations in both forms: driven at once by `run`, awaited, side by side by `gather`."""

import asyncio
import gc
import warnings
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from inspect import CORO_CLOSED, getcoroutinestate
from itertools import pairwise
from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from amem_integrations.core.analysis import ChatReply, ChatRequest, Message
from amem_integrations.core.engine import Point
from amem_integrations.core.io import IO, AsyncIO, Clock, SyncIO, run
from amem_integrations.errors import AnalysisError, StoreError

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
REQUEST = ChatRequest("fuse", [Message("user", "three")], {})


class World:
    """An engine, an encoder, an embedder and a chat model; its async methods suspend."""

    def __init__(self) -> None:
        self.points: list[Point] = []

    async def insert(self, points: Sequence[Point]) -> frozenset[str]:
        self.points += points
        return frozenset()

    def embed_query(self, text: str) -> list[float]:
        return [float(len(text))]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        await asyncio.sleep(0)
        return self.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return self.embed_documents(texts)

    def complete(self, request: ChatRequest) -> ChatReply:
        return ChatReply(f"said to {request.messages[0].content}")

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        await asyncio.sleep(0)
        return self.complete(request)


def sync_io() -> Any:
    return SyncIO(*[World()] * 4)  # type: ignore[arg-type]


def async_io() -> Any:
    return AsyncIO(*[World()] * 4)  # type: ignore[arg-type]


FORMS = pytest.mark.parametrize("form", [sync_io, async_io])


async def ask_everything(io: IO) -> dict[str, Any]:
    started = io.now()
    [vector] = await io.embed(["cache"])
    await io.engine.insert([Point("a", {}, [vector])])
    found = await io.gather(io.embed_query("cache"), io.embed_query("tea"))
    reply = await io.chat(REQUEST)
    doubled = await io.invoke(RunnableLambda(lambda number: number * 2), 3)
    ran = await io.run_blocking(lambda: "ran")
    await io.sleep(0.0)
    assert io.now() > started
    return {"found": found, "said": reply.text, "doubled": doubled, "ran": ran}


EVERYTHING = {"found": [[5.0], [3.0]], "said": "said to three", "doubled": 6, "ran": "ran"}


async def test_one_operation_answers_the_same_in_both_forms_and_inside_a_loop() -> None:
    assert run(ask_everything(sync_io())) == await ask_everything(async_io()) == EVERYTHING


@FORMS
def test_asking_a_model_that_was_not_given_says_so(form: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match="none was given"):
        asyncio.run(ask_everything(replace(form(), chat_model=None)))


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


async def test_a_future_that_is_done_can_be_awaited_and_one_that_is_not_is_refused() -> None:
    future = asyncio.get_running_loop().create_future()

    async def operation() -> str:
        return await future

    with pytest.raises(RuntimeError, match="suspended"):
        run(operation())
    future.set_result("here")
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
def test_the_error_of_an_operation_is_raised(error: BaseException) -> None:
    async def operation() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        run(operation())
    assert caught.value is error


# -- gather ----------------------------------------------------------------------------------


@contextmanager
def no_warnings() -> Iterator[None]:
    """Nothing warns, not even a coroutine that is thrown away unawaited."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert [str(warning.message) for warning in caught] == []


@FORMS
async def test_results_come_in_the_order_of_the_operations(form: Callable[[], Any]) -> None:
    io = form()

    async def after(turns: int) -> int:
        for _ in range(turns):
            await io.sleep(0)
        return turns

    assert await io.gather() == []
    assert await io.gather(*map(after, [3, 0, 2, 1])) == [3, 0, 2, 1]
    rows = (io.gather(after(n), after(n + 1)) for n in (1, 4))
    assert await io.gather(*rows) == [[1, 2], [4, 5]]


@FORMS
async def test_the_first_error_is_raised_plain_and_the_rest_given_up(
    form: Callable[[], Any],
) -> None:
    io, finished = form(), list[int]()

    async def failing() -> None:
        await io.sleep(0)
        try:
            raise TimeoutError("slow")
        except TimeoutError as error:
            raise AnalysisError("no", reason="refusal", retryable=False) from error

    async def waiting(number: int) -> None:
        for _ in range(50):
            await io.sleep(0)
        finished.append(number)

    with no_warnings(), pytest.raises(AnalysisError, match="no") as caught:
        await io.gather(failing(), waiting(1), waiting(2))
    assert isinstance(caught.value.__cause__, TimeoutError)
    assert finished == []


@FORMS
@pytest.mark.parametrize("error", [GraphInterrupt(()), ExceptionGroup("two", [ValueError()])])
async def test_any_kind_of_error_is_raised_as_it_is(
    form: Callable[[], Any], error: Exception
) -> None:
    async def failing() -> None:
        raise error

    with no_warnings(), pytest.raises(type(error)) as caught:
        await form().gather(failing(), failing())
    assert caught.value is error


def test_a_gathered_operation_that_suspends_is_refused_and_the_rest_closed() -> None:
    operations = [suspending([]) for _ in range(3)]
    with no_warnings(), pytest.raises(RuntimeError, match="suspended"):
        run(sync_io().gather(*operations))
    assert {getcoroutinestate(operation) for operation in operations} == {CORO_CLOSED}


async def test_gathered_operations_overlap_when_awaited() -> None:
    barrier = asyncio.Barrier(5)

    async def meeting() -> None:
        await barrier.wait()

    async with asyncio.timeout(10):
        await async_io().gather(*(meeting() for _ in range(5)))


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


class State(TypedDict, total=False):
    answer: str


class Interrupting(World):
    """A chat model that asks a person, as one does that has human-reviewed tools."""

    def complete(self, request: ChatRequest) -> ChatReply:
        return ChatReply(str(interrupt("may I?")))


@FORMS
async def test_an_interrupt_inside_gathered_operations_reaches_the_graph(
    form: Callable[[], Any],
) -> None:
    io = replace(form(), chat_model=Interrupting())

    async def operation(state: State) -> State:
        replies = await io.gather(*(io.chat(REQUEST) for _ in range(2)))
        return {"answer": replies[0].text}

    builder = StateGraph(State).add_node("ask", operation).add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t"}}
    stopped = await graph.ainvoke({}, thread)
    assert stopped["__interrupt__"][0].value == "may I?"


# -- the clock -------------------------------------------------------------------------------


def test_the_clock_never_gives_an_instant_twice_to_any_thread() -> None:
    clock = Clock()

    def read(_: int) -> list[datetime]:
        return [clock() for _ in range(500)]

    with ThreadPoolExecutor(8) as pool:
        threads = list(pool.map(read, range(8)))
    for times in threads:
        assert all(one < next_ for one, next_ in pairwise(times))
    assert len({moment for times in threads for moment in times}) == 4000


@pytest.mark.parametrize(
    ("source", "read"),
    [
        # A clock that stands still or goes back a little goes on by microseconds.
        ([0, 0, -59, 0, 1], [0, 1e-6, 2e-6, 3e-6, 1]),
        # One that was set back by more than a minute is followed.
        ([900, 0, -5, 0], [900, 0, 1e-6, 2e-6]),
    ],
)
def test_the_clock_goes_forward_unless_its_source_is_set_back(
    source: list[float], read: list[float]
) -> None:
    times = iter([NOON + timedelta(seconds=second) for second in source])
    clock = Clock(lambda: next(times))
    assert [clock() for _ in source] == [NOON + timedelta(seconds=second) for second in read]


@pytest.mark.parametrize("zone", [None, timezone(timedelta(hours=8))], ids=["naive", "eastern"])
def test_a_clock_of_another_zone_is_brought_to_utc(zone: timezone | None) -> None:
    given = datetime(2026, 3, 1, 12, tzinfo=zone)
    moment = Clock(lambda: given)()
    assert moment == (given if zone else given.replace(tzinfo=UTC))
    assert moment.tzinfo is Clock()().tzinfo is UTC
