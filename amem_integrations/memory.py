"""AgenticMemory, the one front door.

Every operation has a sync and an async form of the same name, the latter with an `a` in
front: those that write stand in `remembering.py`, those that read in `recalling.py`, an
operator's in `tending.py`, those that take notes out and in in `moving.py`, those that set
aside in `archiving.py`, those that learn from use in `keeping.py`, those that settle what is
believed in `settling.py`. What they work with is put together in `assembly.py`.
"""

import asyncio
import os
import weakref
from collections.abc import Callable, Coroutine
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from amem_integrations.archiving import Archiving
from amem_integrations.assembly import Assembly, Options
from amem_integrations.formation.state import Mode
from amem_integrations.forming import Formation, Rooms
from amem_integrations.keeping import Keeping
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.moving import Moving
from amem_integrations.ports import IO, Analyst, run
from amem_integrations.recalling import Recalling
from amem_integrations.remembering import Remembering
from amem_integrations.settling import Settling
from amem_integrations.store.usage import save_usage
from amem_integrations.tending import Tending

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

    from amem_integrations.formation.state import FormationState

T = TypeVar("T")


class AgenticMemory(Remembering, Recalling, Tending, Moving, Archiving, Keeping, Settling):
    """A memory that takes notes, links them, lets them evolve, and finds them again.

    Opening touches the disk or the server; on an event loop use `await aopen(...)`. Every operation
    has a sync form and an async one, with an `a` in front. In the examples of its methods `memory`
    is one that is open, and empty.

    Args:
        location: a directory (the embedded engine, one process at a time), the URL of a Qdrant
            server, or None for a temporary directory that goes with the object.
        model: the LLM that forms notes: a LangChain chat model, a LlamaIndex LLM, "provider:model",
            or None for term statistics and embeddings only.
        analyst: forms notes in place of the built-in ones: a `ports.Analyst`. It may call `model`.
        embedder: a fastembed model name, "multilingual", LangChain `Embeddings`, a LlamaIndex
            embedder, a function from texts to vectors, or None for all-MiniLM-L6-v2, as in the
            paper.
        collection: the name of what holds the notes in that directory or on that server.
        formation: "inline" forms a note before `add` returns, "background" in threads, "off" leaves
            it raw until `resume()` or a `MemoryWorker`. A raw note is stored and can be found.
        mode: "fused" asks the model once a note, "staged" three times (paper §3), "batched" once
            for up to `batch` notes that wait together, as those of one `add_many` do.
        instructions: a domain's vocabulary and rules, for the model.
        link: whether notes are linked.
        evolve: whether new notes change keywords, tags and context of older ones.
        neighbours: candidates offered for that, at most; by default 5 to a model, 8 to statistics.
        min_relevance: what the best note of a search must reach, or nothing is found; None for no
            threshold.
        reranker: reorders the best notes: one of fastembed's cross-encoders by name, a LangChain
            document compressor, or a function from a query and texts to scores.
        diversity: in [0, 1], how much unlike notes are preferred.
        lifecycle: confidence, tiers, trust in sources and archiving, by a `Policy` (True: the
            default one); an extension of the paper. False: none of it, unless a method is called.
        concurrency: how many notes are formed at once in the background, each of another namespace.
        batch: how many notes one question is about in the mode "batched", at most.
        api_key: of the server.
        timeout: seconds that a request to a server may take.
        model_timeout: seconds that the model may take for an answer, whatever its own timeout.
        prefer_grpc: whether a server is spoken to by gRPC.
        trace_content: whether LangChain's callbacks (LangSmith, OpenTelemetry, your own) see what
            is said in formation: prompts, answers, state. Otherwise they see its runs without it.
        clock: where "now" comes from, for tests.

    Raises:
        InvalidInputError: an argument cannot be used.
        ModelUnavailableError: the model or embedder is not known, not installed or has no key.
        StoreError: the directory is busy, damaged or written with another embedder; the server
            cannot be reached or refuses the key.

    Examples:
        >>> from amem_integrations import AgenticMemory
        >>> with AgenticMemory("./memory") as memory:
        ...     note = memory.add("Calvin wants an LRU policy for the cache", namespace="calvin")
        ...     [hit] = memory.search("Which cache policy?", namespace="calvin")
        >>> hit.note.content
        'Calvin wants an LRU policy for the cache'
    """

    def __init__(
        self,
        location: str | os.PathLike[str] | None = None,
        *,
        model: Any = None,
        analyst: Analyst | None = None,
        embedder: Any = None,
        collection: str = "amem",
        formation: Formation = "inline",
        mode: Mode = "fused",
        instructions: str | None = None,
        link: bool = True,
        evolve: bool = True,
        neighbours: int | None = None,
        min_relevance: float | None = None,
        reranker: Any = None,
        diversity: float = 0.0,
        lifecycle: bool | Policy = False,
        concurrency: int = 4,
        batch: int = 8,
        api_key: str | None = None,
        timeout: float = 10.0,
        model_timeout: float = 120.0,
        prefer_grpc: bool = False,
        trace_content: bool = False,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.options = Options(
            location=location,
            model=model,
            analyst=analyst,
            embedder=embedder,
            collection=collection,
            formation=formation,
            mode=mode,
            instructions=instructions,
            link=link,
            evolve=evolve,
            neighbours=neighbours,
            min_relevance=min_relevance,
            reranker=reranker,
            diversity=diversity,
            lifecycle=lifecycle,
            concurrency=concurrency,
            batch=batch,
            api_key=api_key,
            timeout=timeout,
            model_timeout=model_timeout,
            prefer_grpc=prefer_grpc,
            trace_content=trace_content,
            clock=clock,
        )
        """The arguments it was opened with, for whoever opens the same memory elsewhere."""
        self._assembly = assembly = Assembly(self.options)
        self._rooms = assembly.rooms
        self._sync = assembly.sync
        self._async = assembly.asynchronous
        # Runs once: at close(), when the object is collected, or at interpreter exit.
        self._finalizer = weakref.finalize(self, assembly.close)
        if formation == "background":
            assembly.wake()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {self._assembly.store.location}>"

    @classmethod
    async def aopen(cls, *args: Any, **kwargs: Any) -> Self:
        """`AgenticMemory(...)`, without blocking the running event loop.

        Args:
            *args: as for the class.
            **kwargs: as for the class.

        Raises:
            AMemError: as the class does.

        Examples:
            >>> import asyncio
            >>> async def main():
            ...     async with await AgenticMemory.aopen("./memory") as memory:
            ...         await memory.aadd("Bea takes her tea without sugar")
            ...         return await memory.asearch("tea")
            >>> from amem_integrations import AgenticMemory
            >>> print(asyncio.run(main())[0].note.content)
            Bea takes her tea without sugar
        """

        def opened() -> Self:
            memory = cls(*args, **kwargs)
            if memory.options.formation == "inline":
                # Its libraries take a second to load: not the loop's, at the first `aadd`.
                _ = memory._assembly.own_graph
            return memory

        return await asyncio.to_thread(opened)

    def perform(self, operation: Callable[[Rooms, IO], Coroutine[Any, Any, T]]) -> T:
        """Run an operation over what this memory works with; for adapters.

        Args:
            operation: called with the memory's parts and its `ports.IO`, to give a coroutine that
                awaits nothing but that.

        Returns:
            What the coroutine returns.

        Raises:
            AMemError: whatever the operation raises.

        Examples:
            >>> from amem_integrations.store.reading import namespaces
            >>> memory.perform(lambda rooms, io: namespaces(io))
            []
        """
        return run(operation(self._rooms, self._sync))

    async def aperform(self, operation: Callable[[Rooms, IO], Coroutine[Any, Any, T]]) -> T:
        """`perform`, awaited."""
        return await operation(self._rooms, self._async)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait for background formation, then write everything to disk.

        Args:
            timeout: seconds to wait, at most; None for as long as it takes.

        Returns:
            False when notes were still waiting after that time.

        Raises:
            StoreError: the store cannot be written.

        Examples:
            >>> note = memory.add("Found at once, formed in a thread", formation="background")
            >>> memory.flush(timeout=30)
            True
            >>> str(memory.get(note).status)
            'formed'
        """
        done = self._wait(timeout)
        run(save_usage(self._sync, self._rooms.settings.ledger))
        run(self._sync.engine.flush())
        return done

    async def aflush(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - as in the sync form
        """`flush`, awaited."""
        done = await asyncio.to_thread(self._wait, timeout)
        await save_usage(self._async, self._rooms.settings.ledger)
        await self._async.engine.flush()
        return done

    def _wait(self, timeout: float | None) -> bool:
        return self._assembly.wait(timeout)

    def graph(
        self, *, review: bool = False, checkpointer: "BaseCheckpointSaver[Any] | bool | None" = None
    ) -> "CompiledStateGraph[FormationState, None, FormationState, FormationState]":
        """The formation graph, to draw, stream, checkpoint, or put into a graph of your own.

        Its input is `formation.state.initial_state(notes)` for raw notes of one namespace.

        Args:
            review: stop at an `interrupt` before the commit.
            checkpointer: LangGraph's, for a graph that is run by itself.

        Returns:
            A compiled LangGraph graph; run in any way, it commits to this memory.

        Raises:
            StoreError: when it is run and the store cannot be read or written. What a model fails
                at is no error: it is kept with the note.

        Examples:
            >>> from amem_integrations.formation.state import initial_state
            >>> raw = memory.add("The gateway keeps readings for 90 days", formation="off")
            >>> steps = memory.graph().stream(initial_state([raw]))
            >>> [name for step in steps for name in step]
            ['accept', 'candidates', 'judge', 'commit']
        """
        return self._assembly.graph(review=review, checkpointer=checkpointer)

    @property
    def closed(self) -> bool:
        """Whether it was closed.

        Examples:
            >>> memory.closed
            False
        """
        return not self._finalizer.alive

    def close(self) -> None:
        """Finish the note at hand, write everything to disk, release the store.

        It can be repeated. Whatever is asked of the memory afterwards raises StoreClosedError.

        Examples:
            >>> memory.close()
            >>> memory.closed
            True
        """
        self._finalizer()

    async def aclose(self) -> None:
        """`close`, awaited."""
        if self._finalizer.detach() is not None:
            await self._assembly.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()
