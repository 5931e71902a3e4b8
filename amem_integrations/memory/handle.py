"""MemoryHandle: opening and closing a memory, and what concerns it as a whole."""

import asyncio
import weakref
from collections.abc import Callable, Coroutine
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from amem_integrations.core.io import IO, Analyst, async_form, sync_form
from amem_integrations.core.namespace import DEFAULT, Namespace, as_namespace
from amem_integrations.core.note import as_utc
from amem_integrations.core.usage import UsageReport
from amem_integrations.formation import pipeline
from amem_integrations.formation.pipeline import Formation
from amem_integrations.formation.state import Mode
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.memory import operations
from amem_integrations.memory.admin import Admin
from amem_integrations.memory.build import MemoryParts
from amem_integrations.memory.lifecycle import Lifecycle
from amem_integrations.memory.options import FormationOptions, Options, ServerOptions
from amem_integrations.memory.wiring import MemoryPart, NamespaceLike, Wiring
from amem_integrations.recall.last import Recall
from amem_integrations.recall.signals import DEFAULT_OPTIONS, RecallOptions
from amem_integrations.stores.open import Location
from amem_integrations.stores.read import namespaces
from amem_integrations.stores.usage import read_usage, save_usage

if TYPE_CHECKING:
    from amem_integrations.memory.build import Checkpointer, FormationGraph

T = TypeVar("T")


class MemoryHandle(MemoryPart):
    """An open memory: its parts, its two sub-objects, its formation graph, and its end."""

    def __init__(
        self,
        location: Location = None,
        *,
        model: Any = None,
        analyst: Analyst | None = None,
        embedder: Any = None,
        collection: str = "amem",
        formation: Formation = "inline",
        mode: Mode = "fused",
        lifecycle: bool | Policy = True,
        api_key: str | None = None,
        formation_options: FormationOptions | None = None,
        recall_options: RecallOptions | None = None,
        server_options: ServerOptions | None = None,
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
            lifecycle=lifecycle,
            api_key=api_key,
            clock=clock,
            formation_options=formation_options or FormationOptions(),
            recall_options=recall_options or DEFAULT_OPTIONS,
            server_options=server_options or ServerOptions(),
        )
        """The arguments that the memory was opened with."""
        self._parts = parts = MemoryParts(self.options)
        forms = parts.wiring, parts.sync, parts.asynchronous
        super().__init__(*forms)
        self.admin = Admin(*forms)
        """Check, repair, health, export and import, deletion in bulk."""
        self.lifecycle = Lifecycle(*forms)
        """Feedback, maintenance, audits, proposals, archiving, consolidation."""
        # Runs once: at close(), when the object is collected, or at interpreter exit.
        self._finalizer = weakref.finalize(self, parts.close)
        if formation == "background":
            parts.wake()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {self._parts.store.location}>"

    @classmethod
    async def aopen(cls, *args: Any, **kwargs: Any) -> Self:
        """Open a memory without blocking the running event loop; arguments as for the class.

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
                # LangGraph takes a second to import; not on the loop, at the first `aadd`.
                _ = memory._parts.own_graph
            return memory

        return await asyncio.to_thread(opened)

    def graph(
        self, *, review: bool = False, checkpointer: "Checkpointer" = None
    ) -> "FormationGraph":
        """Return the formation graph, to draw, stream, checkpoint or put into another graph.

        Its input is `formation.state.initial_state(notes)` for raw notes of one namespace. When a
        model fails, the graph does not: the failure is kept with the note.

        Args:
            review: stop at an `interrupt` before the commit.
            checkpointer: LangGraph's, for a graph that runs by itself.

        Examples:
            >>> from amem_integrations.formation.state import initial_state
            >>> raw = memory.add("The gateway keeps readings for 90 days", formation="off")
            >>> steps = memory.graph().stream(initial_state([raw]))
            >>> [name for step in steps for name in step]
            ['accept', 'candidates', 'judge', 'commit']
        """
        return self._parts.graph(review=review, checkpointer=checkpointer)

    @sync_form
    async def flush(self, io: IO, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - seconds to wait, no deadline
        """Wait for background formation, then write everything to disk.

        Returns False if notes were still waiting after `timeout` seconds; None waits without limit.

        Examples:
            >>> note = memory.add("Found at once, formed in a thread", formation="background")
            >>> memory.flush(timeout=30), str(memory.get(note).status)
            (True, 'formed')
        """
        done = await io.run_blocking(partial(self._parts.wait, timeout))
        await save_usage(io, self._wiring.settings.ledger)
        await io.engine.flush()
        return done

    @sync_form
    async def perform(self, io: IO, operation: Callable[[Wiring, IO], Coroutine[Any, Any, T]]) -> T:
        """Run an operation of an adapter with this memory's parts, and return its result.

        It takes the parts and an `IO`, and its coroutine awaits nothing but that `IO`.
        """
        return await operation(self._wiring, io)

    @sync_form
    async def resume(self, io: IO) -> int:
        """Form every raw note, oldest first, and return how many were formed.

        Each is tried once, also after a failure, except those that another worker is forming.
        """
        return await pipeline.resume(self._wiring, io)

    def last_recall(self, namespace: NamespaceLike = DEFAULT) -> Recall | None:
        """Return what the last search of a namespace found, and what formation has cost since.

        It counts searches of this object, of adapters and of tools, in any thread. It is kept in
        the process for about 100 namespaces. None if there is no search, it failed, or a note of
        the namespace was forgotten, archived or past its time since.

        Examples:
            >>> _ = memory.add("The boat is called Susie")
            >>> hits = memory.search("What is the boat called?")
            >>> print(memory.last_recall())
            recalled 1 note in ... ms
        """
        namespace = as_namespace(namespace)
        return self._wiring.recalls.last(namespace, self._parts.clock.peek())

    @sync_form
    async def namespaces(self, io: IO) -> list[Namespace]:
        """Return every namespace that holds notes, in order."""
        return await namespaces(io)

    @sync_form
    async def count(self, io: IO, namespace: NamespaceLike | None = None) -> int:
        """Return the number of notes in one namespace or, for None, in all."""
        return sum((await operations.counts(io, namespace)).values())

    @sync_form
    async def usage(
        self, io: IO, namespace: NamespaceLike | None = None, since: datetime | None = None
    ) -> UsageReport:
        """Return what model calls have cost, by step, by mode and in total.

        Other processes report their calls with a delay, at the latest when they flush or close.

        Args:
            namespace: one label or several; None: all namespaces.
            since: count from the beginning of its UTC hour; a naive datetime counts as UTC.
        """
        home = None if namespace is None else as_namespace(namespace)
        start = None if since is None else as_utc(since)
        return await read_usage(io, self._wiring.settings.ledger, home, start)

    aflush = async_form(flush)
    aresume = async_form(resume)
    anamespaces = async_form(namespaces)
    acount = async_form(count)
    ausage = async_form(usage)
    aperform = async_form(perform)

    @property
    def closed(self) -> bool:
        """Whether the memory is closed."""
        return not self._finalizer.alive

    def close(self) -> None:
        """Finish the note being formed, write everything to disk, and release the store.

        Closing again does nothing. Any other call afterwards raises StoreClosedError.
        """
        self._finalizer()

    async def aclose(self) -> None:
        """`close`, awaited."""
        if self._finalizer.detach() is not None:
            await self._parts.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()
