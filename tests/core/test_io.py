"""One operation, driven in every form: awaited, at once, with canned answers, in a graph.

The operation below is written for these tests; it asks for everything that an io can give.
"""

import asyncio
import operator
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from amem_integrations.core.analysis import ChatReply, ChatRequest, Message
from amem_integrations.core.engine import Point, Query, Scored, SparseVector
from amem_integrations.core.filters import EVERYTHING
from amem_integrations.core.io import IO, AsyncIO, Clock, SyncIO, run
from amem_integrations.errors import StoreError

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEXTS = ["cache", "violin", "tea"]
ANSWER = {"found": ["cache", "violin", "tea"], "said": "said to 3", "doubled": 6}


async def summarise(io: IO, texts: Sequence[str]) -> dict[str, Any]:
    """Embed, store, search side by side, ask a model, run a runnable, wait."""
    started = io.now()
    vectors = await io.embed(texts)
    points = [
        Point(text, {"text": text}, [vector], io.sparse.document(text))
        for text, vector in zip(texts, vectors, strict=True)
    ]
    await io.engine.insert(points)
    found = await io.gather(*(nearest(io, text) for text in texts))
    reply = await io.chat(ChatRequest("fuse", [Message("user", str(len(found)))], {}))
    doubled = await io.invoke(RunnableLambda(lambda number: number * 2), len(found))
    await io.sleep(0.0)
    assert io.now() > started
    return {"found": found, "said": reply.text, "doubled": doubled}


async def nearest(io: IO, text: str) -> str:
    vector = await io.embed_query(text)
    (best,) = await io.engine.query([Query(vector, EVERYTHING, 1)])
    return best[0].id


# -- a small world ---------------------------------------------------------------------------


@dataclass
class Shelf:
    """As much of an engine as the operation needs; `pause` is what each call awaits."""

    pause: Callable[[], Coroutine[Any, Any, None]] | None = None
    points: dict[str, Point] = field(default_factory=dict[str, Point])
    inserts: int = 0

    async def _wait(self) -> None:
        if self.pause is not None:
            await self.pause()

    async def insert(self, points: Sequence[Point]) -> frozenset[str]:
        await self._wait()
        self.inserts += 1
        taken = frozenset(point.id for point in points if point.id in self.points)
        self.points |= {point.id: point for point in points if point.id not in taken}
        return taken

    async def query(self, queries: Sequence[Query]) -> list[list[Scored]]:
        await self._wait()
        return [self._ranked(query) for query in queries]

    def _ranked(self, query: Query) -> list[Scored]:
        assert isinstance(query.vector, list)
        scored = [
            Scored(point.id, sum(map(operator.mul, query.vector, point.dense[0])))
            for point in self.points.values()
        ]
        return sorted(scored, key=lambda each: -each.score)[: query.limit]


class Letters:
    """Embeds a text as the letters it has, and answers how many texts it was told of."""

    name = "letters"

    def embed_query(self, text: str) -> list[float]:
        return [float(text.count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        await asyncio.sleep(0)
        return self.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return self.embed_documents(texts)

    def document(self, text: str) -> SparseVector:
        return SparseVector((len(text),), (1.0,))

    query = document

    def complete(self, request: ChatRequest) -> ChatReply:
        return ChatReply(f"said to {request.messages[0].content}")

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        await asyncio.sleep(0)
        return self.complete(request)


def sync_io(shelf: Any = None) -> SyncIO:
    return SyncIO(shelf or Shelf(), Letters(), Letters(), Letters())


def async_io(shelf: Any = None) -> AsyncIO:
    return AsyncIO(shelf or Shelf(lambda: asyncio.sleep(0)), Letters(), Letters(), Letters())


@dataclass
class Canned:
    """An io and an engine in one that answers from a script and keeps what it was asked."""

    answers: list[Any]
    asked: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    now: Callable[[], datetime] = field(default_factory=Clock)
    sparse: Any = field(default_factory=Letters)

    @property
    def engine(self) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        async def answer(*given: Any) -> Any:
            self.asked.append((name, given[0] if len(given) == 1 else given))
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return answer

    async def gather(self, *operations: Coroutine[Any, Any, Any]) -> list[Any]:
        return [await operation for operation in operations]


# -- one operation, every form ---------------------------------------------------------------


def test_an_operation_is_driven_at_once() -> None:
    assert run(summarise(sync_io(), TEXTS)) == ANSWER


async def test_an_operation_is_awaited() -> None:
    assert await summarise(async_io(), TEXTS) == ANSWER


async def test_the_sync_form_works_inside_a_running_loop() -> None:
    assert asyncio.get_running_loop().is_running()
    assert run(summarise(sync_io(), TEXTS)) == ANSWER


def test_the_async_form_works_in_one_loop_after_another() -> None:
    io = async_io()
    for _ in range(2):
        assert asyncio.run(summarise(io, TEXTS)) == ANSWER


def test_an_operation_is_driven_with_canned_answers() -> None:
    io = Canned(
        [[[1.0]], frozenset[str](), [2.0], [[Scored("tea", 1.0)]], ChatReply("so"), 2, None]
    )
    assert run(summarise(io, ["tea"])) == {"found": ["tea"], "said": "so", "doubled": 2}
    assert [name for name, _ in io.asked] == [
        "embed",
        "insert",
        "embed_query",
        "query",
        "chat",
        "invoke",
        "sleep",
    ]
    assert io.asked[3][1] == [Query([2.0], EVERYTHING, 1)]


def test_a_canned_failure_is_the_operation_s_own() -> None:
    with pytest.raises(StoreError, match="down"):
        run(summarise(Canned([[[1.0]], StoreError("down")]), ["tea"]))


@pytest.mark.parametrize("form", [sync_io, async_io])
def test_asking_a_model_that_was_not_given_says_so(form: Callable[[], Any]) -> None:
    io = replace(form(), chat_model=None)
    with pytest.raises(RuntimeError, match="none was given"):
        asyncio.run(summarise(io, TEXTS))


# -- in a graph ------------------------------------------------------------------------------


class State(TypedDict, total=False):
    texts: list[str]
    result: dict[str, Any]
    answer: str
    log: Annotated[list[str], operator.add]


@dataclass
class Graph:
    """An operation's node, a node that only interrupts, and an operation's node again."""

    checkpointer: Any = None
    shelf: Shelf = field(default_factory=Shelf)
    waiting: Shelf = field(default_factory=lambda: Shelf(lambda: asyncio.sleep(0)))

    def compiled(self, *, review: bool) -> Any:
        builder = StateGraph(State)
        builder.add_node("first", self._node("first"))
        builder.add_node("last", self._node("last"))
        builder.add_edge(START, "first")
        if review:
            builder.add_node("review", lambda state: {"answer": interrupt("go on?")})
            builder.add_edge("first", "review")
            builder.add_edge("review", "last")
        else:
            builder.add_edge("first", "last")
        builder.add_edge("last", END)
        return builder.compile(checkpointer=self.checkpointer)

    def _node(self, name: str) -> Any:
        async def operation(io: IO, state: State) -> dict[str, Any]:
            return {"result": await summarise(io, state.get("texts", [])), "log": [name]}

        async def awaited(state: State) -> dict[str, Any]:
            return await operation(async_io(self.waiting), state)

        return RunnableLambda(
            lambda state: run(operation(sync_io(self.shelf), state)), afunc=awaited, name=name
        )


INPUT: State = {"texts": TEXTS}
STEPS = [
    {"first": {"result": ANSWER, "log": ["first"]}},
    {"last": {"result": ANSWER, "log": ["last"]}},
]


def test_a_node_runs_an_operation_under_invoke() -> None:
    graph = Graph()
    final = graph.compiled(review=False).invoke(INPUT)
    assert (final["result"], final["log"]) == (ANSWER, ["first", "last"])
    assert (graph.shelf.inserts, graph.waiting.inserts) == (2, 0)


async def test_a_node_runs_an_operation_under_ainvoke() -> None:
    graph = Graph()
    final = await graph.compiled(review=False).ainvoke(INPUT)
    assert (final["result"], final["log"]) == (ANSWER, ["first", "last"])
    assert (graph.shelf.inserts, graph.waiting.inserts) == (0, 2)


def test_a_node_runs_an_operation_under_stream() -> None:
    assert list(Graph().compiled(review=False).stream(INPUT, stream_mode="updates")) == STEPS


async def test_a_node_runs_an_operation_under_astream() -> None:
    stream = Graph().compiled(review=False).astream(INPUT, stream_mode="updates")
    assert [step async for step in stream] == STEPS


THREAD: Any = {"configurable": {"thread_id": "t"}}


def test_a_resumed_graph_does_not_repeat_finished_operations() -> None:
    shapes = Graph(InMemorySaver())
    graph = shapes.compiled(review=True)
    stopped = graph.invoke(INPUT, THREAD)
    assert stopped["__interrupt__"][0].value == "go on?"
    assert (stopped["log"], shapes.shelf.inserts) == (["first"], 1)
    final = graph.invoke(Command(resume="yes"), THREAD)
    assert (final["answer"], final["log"], shapes.shelf.inserts) == ("yes", ["first", "last"], 2)


async def test_a_graph_resumed_asynchronously_does_not_repeat_finished_operations() -> None:
    shapes = Graph(InMemorySaver())
    graph = shapes.compiled(review=True)
    stopped = [step async for step in graph.astream(INPUT, THREAD, stream_mode="updates")]
    assert [next(iter(step)) for step in stopped] == ["first", "__interrupt__"]
    assert shapes.waiting.inserts == 1
    final = await graph.ainvoke(Command(resume="yes"), THREAD)
    assert (final["answer"], final["log"], shapes.waiting.inserts) == ("yes", ["first", "last"], 2)


def test_a_graph_stopped_in_one_form_can_be_resumed_in_the_other() -> None:
    shapes = Graph(InMemorySaver())
    graph = shapes.compiled(review=True)
    graph.invoke(INPUT, THREAD)
    final = asyncio.run(graph.ainvoke(Command(resume="yes"), THREAD))
    assert final["log"] == ["first", "last"]
    assert (shapes.shelf.inserts, shapes.waiting.inserts) == (1, 1)


class Interrupting(Letters):
    """A chat model that asks a person, as one does that has human-reviewed tools."""

    def complete(self, request: ChatRequest) -> ChatReply:
        return ChatReply(str(interrupt("may I?")))

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        return self.complete(request)


@pytest.mark.parametrize("form", [sync_io, async_io])
async def test_an_interrupt_inside_gathered_operations_reaches_the_graph(
    form: Callable[[], Any],
) -> None:
    io = replace(form(), chat_model=Interrupting())

    async def operation(state: State) -> State:
        ask = ChatRequest("fuse", [], {})
        replies = await io.gather(*(io.chat(ask) for _ in range(2)))
        return {"answer": replies[0].text}

    builder = StateGraph(State).add_node("ask", operation).add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    stopped = await graph.ainvoke({}, THREAD)
    assert stopped["__interrupt__"][0].value == "may I?"


def test_a_clock_follows_its_source_back_where_that_is_more_than_a_minute() -> None:
    times = iter([NOON + timedelta(days=9), NOON, NOON - timedelta(seconds=5), NOON])
    clock = Clock(lambda: next(times))
    read = [clock() for _ in range(4)]
    assert read[0] == NOON + timedelta(days=9)
    assert read[1:] == [NOON + timedelta(microseconds=n) for n in range(3)]
