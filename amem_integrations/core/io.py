"""What an operation may ask of the world, and the two forms in which the world answers.

An operation is one `async def op(io, …)`. It never touches a network, a file or a clock
itself: it awaits `io`. With an `AsyncIO` those awaits are real. With a `SyncIO` nothing ever
suspends, so `run` drives the very same coroutine to its end with a single `send(None)`.
An operation must not suspend on anything but `io`, and asks for parallel work with
`io.gather`.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from amem_integrations.core.analysis import (
    ChatReply,
    ChatRequest,
    Distilled,
    Evolution,
    IdeaProposal,
    Judgement,
    LinkProposal,
    Subject,
    Turn,
    Understanding,
)
from amem_integrations.core.caches import Caches
from amem_integrations.core.engine import Engine, SparseVector, Vector
from amem_integrations.core.note import Note, as_utc
from amem_integrations.errors import AnalysisError

T = TypeVar("T")
P = ParamSpec("P")
_SET_BACK = timedelta(minutes=1)


# -- who judges and who embeds --------------------------------------------------------------


class Embedder(Protocol):
    """Text to dense vectors. LangChain's `Embeddings` have these four methods already.

    Of `texts`, each is a `text`; the vectors come in their order, all of one length.

    Examples:
        >>> from amem_integrations.testing import HashEmbedder
        >>> len(HashEmbedder(dimension=8).embed_query("tea"))
        8
    """

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        """The vectors of texts to be found."""
        ...

    def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        ...

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        """`embed_documents`, awaited."""
        ...

    async def aembed_query(self, text: str) -> Vector:
        """`embed_query`, awaited."""
        ...


class SparseEncoder(Protocol):
    """Text to term weights: BM25 term frequencies, IDF is the engine's. Pure and quick."""

    @property
    def name(self) -> str: ...

    def document(self, text: str) -> SparseVector: ...

    def query(self, text: str) -> SparseVector: ...


class ChatModel(Protocol):
    """A chat model that answers within a JSON schema.

    Raises AnalysisError, with whether a retry can help.
    """

    @property
    def name(self) -> str: ...

    def complete(self, request: ChatRequest) -> ChatReply: ...

    async def acomplete(self, request: ChatRequest) -> ChatReply: ...


class Analyst(Protocol):
    """Makes the judgements of A-Mem (paper §3.1–3.3); `AgenticMemory(analyst=...)` takes one.

    A method awaits nothing but `io`, such as `io.chat`. It raises AnalysisError if it fails.

    Examples:
        >>> from amem_integrations import AgenticMemory
        >>> from amem_integrations.analysts.statistical import StatisticalAnalyst
        >>> class Sceptic(StatisticalAnalyst):
        ...     async def link(self, io, subject):
        ...         return [link for link in await super().link(io, subject) if link.weight > 0.5]
        >>> AgenticMemory(analyst=Sceptic(name="sceptic"), mode="staged").close()
    """

    @property
    def name(self) -> str:
        """What revisions call it."""
        ...

    @property
    def reads_candidates(self) -> bool:
        """Whether text of candidates can end up in what it writes; forgetting one takes it back."""
        ...

    @property
    def needs_statistics(self) -> bool:
        """Whether it wants `Subject.background` and `Candidate.reverse_rank`."""
        ...

    async def construct(self, io: "IO", subject: Subject) -> Understanding:
        """What the note of `subject` is about."""
        ...

    async def link(self, io: "IO", subject: Subject) -> list[LinkProposal]:
        """Which of its candidates `subject` belongs with."""
        ...

    async def evolve(
        self, io: "IO", subject: Subject, links: Sequence[LinkProposal]
    ) -> list[Evolution]:
        """How those in `links` are to be understood in the light of `subject`."""
        ...

    async def fuse(self, io: "IO", subject: Subject) -> Judgement:
        """All three at once; for a chat model, in one call."""
        ...

    async def batch(self, io: "IO", subjects: Sequence[Subject]) -> list[Judgement | AnalysisError]:
        """`fuse` of several subjects, oldest first; for a chat model, in one call.

        Candidates are shared: each subject may be linked to any that one of them has, and to
        the subjects before it. One answer a subject, in order; an error stands for a subject
        that has to be judged alone.
        """
        ...

    async def segment(self, io: "IO", turn: Turn) -> list[IdeaProposal] | None:
        """The ideas of a turn about which statistics are in doubt; None: they know best."""
        ...

    async def distil(self, io: "IO", notes: Sequence[Note]) -> Distilled | None:
        """What notes of one matter come to, as a note of its own; None: nothing more."""
        ...


# -- io --------------------------------------------------------------------------------------


class Clock:
    """UTC now, to the microsecond, later each time that it is asked in one process.

    Stored times order listings and paging, so ties are kept from arising. Only a source that is
    set back by more than a minute is followed: it was wrong before, and nothing would become due.
    """

    def __init__(self, source: Callable[[], datetime] | None = None) -> None:
        self._source = source or (lambda: datetime.now(UTC))
        self._last = datetime.min.replace(tzinfo=UTC)
        self._lock = threading.Lock()

    def __call__(self) -> datetime:
        with self._lock:
            now, least = as_utc(self._source()), self._last + timedelta(microseconds=1)
            self._last = now if least - now > _SET_BACK else max(now, least)
            return self._last

    def peek(self) -> datetime:
        """Return the time, without any effect on the times that are told later."""
        with self._lock:
            now = as_utc(self._source())
            return now if self._last - now > _SET_BACK else max(now, self._last)


class Runnable(Protocol):
    """What LangChain calls a Runnable: the formation graph, for one."""

    def invoke(self, input: Any) -> Any: ...

    async def ainvoke(self, input: Any) -> Any: ...


class IO(Protocol):
    """Everything an operation may await."""

    @property
    def engine(self) -> Engine: ...

    @property
    def sparse(self) -> SparseEncoder: ...

    @property
    def caches(self) -> Caches:
        """What objects of this process keep of the store's notes."""
        ...

    def now(self) -> datetime: ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]: ...

    async def embed_query(self, text: str) -> Vector: ...

    async def chat(self, request: ChatRequest) -> ChatReply: ...

    async def invoke(self, runnable: Runnable, input: Any) -> Any: ...

    async def sleep(self, seconds: float) -> None: ...

    async def run_blocking(self, function: Callable[[], T]) -> T:
        """Call a function that waits: in this thread, or in another one beside an event loop."""
        ...

    async def gather(self, *operations: Coroutine[Any, Any, T]) -> list[T]:
        """Run the operations side by side where that is possible; results in order.

        The first error is raised as it is and the other operations are given up.
        """
        ...


@dataclass(frozen=True)
class SyncIO:
    """Answers at once, in the calling thread. Works inside a running event loop too."""

    engine: Engine
    sparse: SparseEncoder
    embedder: Embedder
    chat_model: ChatModel | None = None
    now: Callable[[], datetime] = field(default_factory=Clock)
    caches: Caches = field(default_factory=Caches)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return self.embedder.embed_documents(list(texts))

    async def embed_query(self, text: str) -> Vector:
        return self.embedder.embed_query(text)

    async def chat(self, request: ChatRequest) -> ChatReply:
        return _require(self.chat_model).complete(request)

    async def invoke(self, runnable: Runnable, input: Any) -> Any:
        return runnable.invoke(input)

    async def sleep(self, seconds: float) -> None:
        if seconds:
            time.sleep(seconds)  # noqa: ASYNC251 - the synchronous form waits in its own thread

    async def run_blocking(self, function: Callable[[], T]) -> T:
        return function()

    async def gather(self, *operations: Coroutine[Any, Any, T]) -> list[T]:
        results: list[T] = []
        waiting = list(operations)
        try:
            while waiting:
                results.append(run(waiting.pop(0)))
        finally:
            for operation in waiting:
                operation.close()
        return results


@dataclass(frozen=True)
class AsyncIO:
    """Awaits for real, on whichever loop is running."""

    engine: Engine
    sparse: SparseEncoder
    embedder: Embedder
    chat_model: ChatModel | None = None
    now: Callable[[], datetime] = field(default_factory=Clock)
    caches: Caches = field(default_factory=Caches)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await self.embedder.aembed_documents(list(texts))

    async def embed_query(self, text: str) -> Vector:
        return await self.embedder.aembed_query(text)

    async def chat(self, request: ChatRequest) -> ChatReply:
        return await _require(self.chat_model).acomplete(request)

    async def invoke(self, runnable: Runnable, input: Any) -> Any:
        return await runnable.ainvoke(input)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def run_blocking(self, function: Callable[[], T]) -> T:
        return await asyncio.to_thread(function)

    async def gather(self, *operations: Coroutine[Any, Any, T]) -> list[T]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(operation) for operation in operations]
        except BaseExceptionGroup as several:
            first = several.exceptions[0]
        else:
            return [task.result() for task in tasks]
        # As it is, like the sync form; raised out here, it keeps its own cause and context.
        raise first


def _require(model: ChatModel | None) -> ChatModel:
    if model is None:
        raise RuntimeError("This operation asks a chat model, and none was given.")
    return model


def run(operation: Coroutine[Any, Any, T]) -> T:
    """Drive an operation whose io never suspends, and return its result.

    Raises whatever the operation raises, and RuntimeError if it suspends after all.
    """
    try:
        operation.send(None)
    except StopIteration as stop:
        return stop.value
    operation.close()
    raise RuntimeError(
        "The operation suspended on something other than io; its synchronous form cannot wait."
    )


# -- the two forms of a method -----------------------------------------------------------------


class Forms:
    """Base of a class whose methods have a sync and an async form, each over its own io."""

    _sync: Any
    _async: Any

    def _run(self, operation: Coroutine[Any, Any, T]) -> T:
        """Drive the sync form of an operation."""
        return run(operation)


S = TypeVar("S", bound=Forms)
C = TypeVar("C")


def sync_form(
    operation: Callable[Concatenate[S, C, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], T]:
    """Decorate an operation that takes `io` first: the method runs it without an event loop."""

    @wraps(operation)
    def form(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(operation(self, self._sync, *args, **kwargs))  # pyright: ignore[reportPrivateUsage]

    given = signature(operation)
    me, _, *rest = given.parameters.values()
    form.__dict__["__signature__"] = given.replace(parameters=[me, *rest])
    return form


def async_form(
    form: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return the async form of a method that `sync_form` decorated."""
    operation: Callable[..., Coroutine[Any, Any, T]] = form.__dict__["__wrapped__"]

    @wraps(form)
    async def aform(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return await operation(self, self._async, *args, **kwargs)  # pyright: ignore[reportPrivateUsage]

    name = form.__name__
    aform.__name__, aform.__doc__ = f"a{name}", f"`{name}`, awaited."
    aform.__qualname__ = f"{form.__qualname__.removesuffix(name)}a{name}"
    aform.__dict__["__signature__"] = signature(form)
    return aform
