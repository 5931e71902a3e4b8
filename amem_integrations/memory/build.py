"""Putting the wiring of one memory together: store, models, graph, worker.

`AgenticMemory` is made of what is assembled here; nothing else needs to know how.
"""

import asyncio
import contextlib
import logging
import os
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from amem_integrations.analysts.llm import LLMAnalyst
from amem_integrations.analysts.statistical import StatisticalAnalyst
from amem_integrations.core.caches import Caches, caches_of
from amem_integrations.core.io import IO, AsyncIO, Clock, Runnable, SyncIO, run
from amem_integrations.core.note import Note
from amem_integrations.core.usage import Ledger
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.embedders.sparse import WithIdentifiers, resolve_sparse, usable_encoders
from amem_integrations.errors import AMemError, StoreClosedError, StoreError
from amem_integrations.formation.pipeline import form_taken, take
from amem_integrations.formation.plan import StepSequence
from amem_integrations.formation.queue import leave
from amem_integrations.formation.state import Settings
from amem_integrations.formation.worker import Batch, Worker
from amem_integrations.lifecycle.confidence import trust_by
from amem_integrations.lifecycle.maintenance import maintain_if_due
from amem_integrations.lifecycle.policy import Policy, policy_of
from amem_integrations.llms.chat_models import resolve_chat_model
from amem_integrations.llms.failures import Deadline
from amem_integrations.memory.options import Options
from amem_integrations.memory.upkeep import Upkeep, broke_off
from amem_integrations.memory.wiring import Wiring
from amem_integrations.recall.last import Recalls
from amem_integrations.recall.rerank import reranking_by
from amem_integrations.stores.expiry import LiveEngine
from amem_integrations.stores.open import Encoders, Store, is_there, open_store, sparse_of
from amem_integrations.stores.usage import save_usage

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

    from amem_integrations.formation.state import FormationState

    FormationGraph: TypeAlias = CompiledStateGraph[
        FormationState, None, FormationState, FormationState
    ]
    Checkpointer: TypeAlias = BaseCheckpointSaver[Any] | bool | None

_LOG = logging.getLogger(__name__)
_POLL = 15.0
# Candidates: a model pays for each; to statistics they tell what nearness is usual.
_TO_A_MODEL, _TO_STATISTICS = 5, 8


def _is_made(options: Options) -> bool:
    """Whether there is a collection already, of whatever kind."""
    return options.location is not None and is_there(
        options.location,
        collection=options.collection,
        api_key=options.api_key,
        timeout=options.server_options.timeout,
    )


def _caches(options: Options, store: Store) -> Caches:
    """Return the caches over the store, also those of other memories that have it open."""
    if options.location is None:
        return caches_of(None)
    if isinstance(options.location, Store):
        return caches_of(f"store {id(options.location)}")
    return caches_of(f"{store.location} {options.collection}")


class MemoryParts:
    """The store, the two forms of io, the formation graph and the worker of one memory."""

    def __init__(self, options: Options) -> None:
        formation, recall = options.formation_options, options.recall_options
        chat_model = resolve_chat_model(options.model)
        self._trace_content = formation.trace_content
        if chat_model is not None:
            chat_model = Deadline(chat_model, formation.model_timeout)
        if chat_model is not None and not formation.trace_content:
            from amem_integrations.llms.redaction import RedactedModel

            chat_model = RedactedModel(chat_model)
        analyst = options.analyst or (
            StatisticalAnalyst()
            if chat_model is None
            else LLMAnalyst(name=chat_model.name, instructions=formation.instructions)
        )
        self.clock = now = Clock(options.clock)
        policy = policy_of(options.lifecycle)
        self.settings = Settings(
            analyst,
            options.mode,
            formation.neighbours or (_TO_STATISTICS if chat_model is None else _TO_A_MODEL),
            batch=formation.batch,
            link=formation.link,
            evolve=formation.evolve,
            # With a clock of its own: counting moves no note's time.
            ledger=Ledger(Clock(options.clock)),
            believe=None if policy is None else trust_by(policy),
            trust_gap=1.0 if policy is None else policy.trust_gap,
        )
        reranking = reranking_by(recall.reranker, self.settings.ledger.count)
        embedder = resolve_embedder(options.embedder)
        if embedder.load is not None and not _is_made(options):
            # A model tried in vain shall not be what a collection without a note was made for.
            embedder.load()
        best, *others = usable_encoders()
        self.store: Store = open_store(
            options.location,
            collection=options.collection,
            encoders=Encoders(embedder.name, embedder.dimension, best, tuple(others)),
            api_key=options.api_key,
            timeout=options.server_options.timeout,
            prefer_grpc=options.server_options.prefer_grpc,
            grpc_port=options.server_options.grpc_port,
        )
        sparse = resolve_sparse(sparse_of(self.store))
        if not isinstance(sparse, WithIdentifiers):
            _LOG.warning(
                "The collection in %s has the older sparse encoder %r: numbers are not found by "
                "words there. `amem admin reembed` makes a copy with the present one.",
                self.store.location,
                sparse.name,
            )
        caches = _caches(options, self.store)
        engine = LiveEngine(self.store.sync, now.peek, caches.speakers)
        same = self.store.asynchronous is self.store.sync
        awaited = engine if same else LiveEngine(self.store.asynchronous, now.peek, caches.speakers)
        self.sync = SyncIO(engine, sparse, embedder, chat_model, now, caches)
        self.asynchronous = AsyncIO(awaited, sparse, embedder, chat_model, now, caches)
        recalls = Recalls()
        caches.add(recalls.drop)
        self.wiring = Wiring(
            settings=self.settings,
            formation=options.formation,
            graph=lambda: self.own_graph,
            wake=self.wake,
            maintain=None if policy is None else partial(self._maintain, policy),
            upkeep=None if policy is None else Upkeep(policy, self.settings).after,
            recall=recall,
            reranking=reranking,
            policy=policy,
            covers=embedder.covers,
            recalls=recalls,
        )
        # Statistics wait for nothing, so more threads would only be in each other's way.
        self.concurrency = 1 if chat_model is None else formation.concurrency
        self._worker = self.make_worker(poll=_POLL)
        self._pid = os.getpid()
        self._hired: list[Worker] = []

    def make_worker(self, *, poll: float) -> Worker:
        """poll: seconds between looks where other processes can store notes as well."""
        return Worker(
            _Work(self.wiring, self.sync, self.asynchronous),
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

    async def _maintain(self, policy: Policy, io: IO) -> timedelta:
        """Maintain what is stored, if that is due; how long until it is again."""
        try:
            return await maintain_if_due(io, policy, self.settings.analyst_name)
        except StoreClosedError:
            raise
        except AMemError as error:
            broke_off(self.settings, error)
            return policy.maintain_every

    @cached_property
    def own_graph(self) -> Runnable:
        """What `add` runs; it never takes part in a caller's checkpoints."""
        if type(self.settings.analyst) is StatisticalAnalyst:
            return StepSequence(self.settings, self.sync, self.asynchronous)
        from amem_integrations.formation.graph import Traced

        graph = self.graph(checkpointer=False)
        return Traced(graph, self.settings.mode, self._trace_content)

    def graph(
        self, *, review: bool = False, checkpointer: "Checkpointer" = None
    ) -> "FormationGraph":
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

    wiring: Wiring
    sync: SyncIO
    asynchronous: AsyncIO

    def take(self) -> Batch:
        return run(take(self.wiring, self.sync))

    def form(self, notes: list[Note]) -> bool:
        return run(form_taken(self.wiring, self.sync, notes))

    async def atake(self) -> Batch:
        return await take(self.wiring, self.asynchronous)

    async def aform(self, notes: list[Note]) -> bool:
        return await form_taken(self.wiring, self.asynchronous, notes)
