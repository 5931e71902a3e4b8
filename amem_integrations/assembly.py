"""Putting the rooms of one memory together: store, models, graph, worker.

`AgenticMemory` is made of what is assembled here; nothing else needs to know how.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from amem_integrations.clock import Clock
from amem_integrations.errors import InvalidInputError, StoreError
from amem_integrations.formation.outbox import leave
from amem_integrations.formation.state import Mode, Settings
from amem_integrations.formation.worker import Batch, Worker
from amem_integrations.forming import FORMATIONS, Formation, Rooms, form_taken, take
from amem_integrations.ledger import Ledger
from amem_integrations.lifecycle.confidence import believing
from amem_integrations.lifecycle.policy import Policy, policy_of
from amem_integrations.models.analyst_chat import ChatAnalyst
from amem_integrations.models.analyst_free import FreeAnalyst
from amem_integrations.models.chat import resolve_chat_model
from amem_integrations.models.deadline import Deadline
from amem_integrations.models.embedding import resolve_embedder
from amem_integrations.models.sparse import resolve_sparse
from amem_integrations.note import Note
from amem_integrations.operations import check_choice
from amem_integrations.ports import IO, Analyst, AsyncIO, Runnable, SyncIO, run
from amem_integrations.recall.options import RecallOptions
from amem_integrations.recall.rerank import reranking_by
from amem_integrations.store.opening import Encoders, Store, check_api_key, is_there, open_store
from amem_integrations.store.usage import save_usage

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

    from amem_integrations.formation.state import FormationState

_POLL = 15.0
MODES = ("fused", "staged", "batched")
_MOST_IN_A_BATCH = 32
# Candidates: a model pays for each; to statistics they tell what nearness is usual.
_TO_A_MODEL, _TO_STATISTICS = 5, 8


@dataclass(frozen=True)
class Options:
    """The arguments of `AgenticMemory`, checked."""

    location: str | os.PathLike[str] | None
    model: Any
    analyst: Analyst | None
    embedder: Any
    collection: str
    formation: Formation
    mode: Mode
    instructions: str | None
    link: bool
    evolve: bool
    neighbours: int | None
    min_relevance: float | None
    reranker: Any
    diversity: float
    lifecycle: bool | Policy
    concurrency: int
    batch: int
    api_key: str | None = field(repr=False)
    timeout: float
    model_timeout: float
    prefer_grpc: bool
    trace_content: bool
    clock: Callable[[], datetime] | None

    def __post_init__(self) -> None:
        check_choice("formation", self.formation, FORMATIONS)
        check_choice("mode", self.mode, MODES)
        counts = {"concurrency": self.concurrency}
        if self.neighbours is not None:
            counts["neighbours"] = self.neighbours
        for name, value in counts.items():
            if not (_is_number(value, int) and value >= 1):
                raise InvalidInputError(f"{name} is at least 1; got {value!r}.")
        if not (_is_number(self.model_timeout, int | float) and self.model_timeout > 0):
            raise InvalidInputError(
                f"model_timeout is a number of seconds above 0; got {self.model_timeout!r}."
            )
        if not (_is_number(self.batch, int) and 1 <= self.batch <= _MOST_IN_A_BATCH):
            raise InvalidInputError(f"batch is 1 to {_MOST_IN_A_BATCH} notes; got {self.batch!r}.")
        if not isinstance(self.instructions, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(
                f"instructions are text, or None; got {type(self.instructions).__name__}."
            )
        if self.clock is not None and not callable(self.clock):  # pyright: ignore[reportUnnecessaryComparison]
            raise InvalidInputError(
                f"clock is a function that gives the time; got {type(self.clock).__name__}."
            )
        check_api_key(self.api_key)


def _is_number(value: object, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_made(options: Options) -> bool:
    """Whether there is a collection already, of whatever kind."""
    return options.location is not None and is_there(
        options.location,
        collection=options.collection,
        api_key=options.api_key,
        timeout=options.timeout,
    )


class Assembly:
    """The store, the two forms of io, the formation graph and the worker of one memory."""

    def __init__(self, options: Options) -> None:
        recall = RecallOptions(diversity=options.diversity, min_relevance=options.min_relevance)
        chat_model = resolve_chat_model(options.model)
        self._trace_content = options.trace_content
        if chat_model is not None:
            chat_model = Deadline(chat_model, options.model_timeout)
        if chat_model is not None and not options.trace_content:
            from amem_integrations.models.tracing import VeiledModel

            chat_model = VeiledModel(chat_model)
        analyst = options.analyst or (
            FreeAnalyst()
            if chat_model is None
            else ChatAnalyst(name=chat_model.name, instructions=options.instructions)
        )
        now = Clock(options.clock)
        policy = policy_of(options.lifecycle)
        self.settings = Settings(
            analyst,
            options.mode,
            options.neighbours or (_TO_STATISTICS if chat_model is None else _TO_A_MODEL),
            batch=options.batch,
            link=options.link,
            evolve=options.evolve,
            # With a clock of its own: counting moves no note's time.
            ledger=Ledger(Clock(options.clock)),
            believe=None if policy is None else believing(policy),
            trust_gap=1.0 if policy is None else policy.trust_gap,
        )
        reranking = reranking_by(options.reranker, self.settings.ledger.count)
        embedder = resolve_embedder(options.embedder)
        sparse = resolve_sparse(None)
        if embedder.load is not None and not _is_made(options):
            # A model tried in vain shall not be what a collection without a note was made for.
            embedder.load()
        self.store: Store = open_store(
            options.location,
            collection=options.collection,
            encoders=Encoders(embedder.name, embedder.dimension, sparse.name),
            api_key=options.api_key,
            timeout=options.timeout,
            prefer_grpc=options.prefer_grpc,
        )
        self.sync = SyncIO(self.store.sync, sparse, embedder, chat_model, now)
        self.asynchronous = AsyncIO(self.store.asynchronous, sparse, embedder, chat_model, now)
        self.rooms = Rooms(
            self.settings,
            options.formation,
            lambda: self.own_graph,
            self.wake,
            recall,
            reranking,
            policy,
            embedder.covers,
        )
        # Statistics wait for nothing, so more threads would only be in each other's way.
        self.concurrency = 1 if chat_model is None else options.concurrency
        self._worker = self.make_worker(poll=_POLL)
        self._pid = os.getpid()
        self._hired: list[Worker] = []

    def make_worker(self, *, poll: float) -> Worker:
        """poll: seconds between looks where other processes can store notes as well."""
        return Worker(
            _Work(self.rooms, self.sync, self.asynchronous),
            concurrency=self.concurrency,
            poll=None if self.store.sync.exclusive else poll,
        )

    def hire(self, worker: Worker) -> None:
        """Have `worker` called instead of the one that works when nobody else does."""
        self._hired.append(worker)

    def dismiss(self, worker: Worker) -> None:
        self._hired.remove(worker)

    def wake(self) -> None:
        for worker in self._hired or [self._worker]:
            worker.wake()

    def wait(self, timeout: float | None) -> bool:
        """Wait until nothing is left to form, where anything was asked to be."""
        workers = self._hired or ([self._worker] if self._worker.started else [])
        return all(worker.flush(timeout) for worker in workers)

    @cached_property
    def own_graph(self) -> Runnable:
        """The graph that `add` runs; it never takes part in a caller's checkpoints."""
        from amem_integrations.formation.graph import Traced

        graph = self.graph(checkpointer=False)
        return Traced(graph, self.settings.mode, self._trace_content)

    def graph(
        self, *, review: bool = False, checkpointer: "BaseCheckpointSaver[Any] | bool | None" = None
    ) -> "CompiledStateGraph[FormationState, None, FormationState, FormationState]":
        from amem_integrations.formation.graph import build

        return build(
            self.settings, self.sync, self.asynchronous, review=review, checkpointer=checkpointer
        )

    def close(self) -> None:
        """Let the worker finish its note, then release the store. Can be repeated."""
        if os.getpid() != self._pid:
            # In a forked child nothing of it can be used, and what there is is the parent's.
            return
        self._worker.close()
        try:
            run(self._leave(self.sync))
        finally:
            self.store.close()

    async def aclose(self) -> None:
        await asyncio.to_thread(self._worker.close)
        try:
            await self._leave(self.asynchronous)
        finally:
            await self.store.aclose()

    async def _leave(self, io: IO) -> None:
        # Where the store is out of reach, leases run out by themselves.
        with contextlib.suppress(StoreError):
            await leave(io, self.sync.engine, self.asynchronous.engine)
        await save_usage(io, self.settings.ledger)


@dataclass(frozen=True)
class _Work:
    """What the worker does, in both forms."""

    rooms: Rooms
    sync: SyncIO
    asynchronous: AsyncIO

    def take(self) -> Batch:
        return run(take(self.rooms, self.sync))

    def form(self, notes: list[Note]) -> bool:
        return run(form_taken(self.rooms, self.sync, notes))

    async def atake(self) -> Batch:
        return await take(self.rooms, self.asynchronous)

    async def aform(self, notes: list[Note]) -> bool:
        return await form_taken(self.rooms, self.asynchronous, notes)
