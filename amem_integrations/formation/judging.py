"""Putting one question to the analyst for every open note of a state.

What the steps share: the subject with its candidates, read fresh from the store; a failed
judgement ends that note's formation with a reason and leaves the other notes alone.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from amem_integrations.errors import AMemError, AnalysisError
from amem_integrations.formation.candidates import older_than
from amem_integrations.formation.state import (
    FormationState,
    Outcome,
    Settings,
    candidates_from,
    namespace_of,
    open_ids,
    outcome,
)
from amem_integrations.judgement import ChatReply, ChatRequest, Subject
from amem_integrations.ledger import Ledger
from amem_integrations.namespace import Namespace
from amem_integrations.note import Note
from amem_integrations.ports import IO, Engine, Runnable, SparseEncoder, Vector
from amem_integrations.store.reading import load, recent

_LOG = logging.getLogger(__name__)
_BACKGROUND = 64

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class MeteredIO:
    """An io whose model calls are counted for a namespace."""

    io: IO
    ledger: Ledger
    namespace: Namespace

    @property
    def engine(self) -> Engine:
        return self.io.engine

    @property
    def sparse(self) -> SparseEncoder:
        return self.io.sparse

    def now(self) -> datetime:
        return self.io.now()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await self.io.embed(texts)

    async def embed_query(self, text: str) -> Vector:
        return await self.io.embed_query(text)

    async def chat(self, request: ChatRequest) -> ChatReply:
        started = time.perf_counter()
        try:
            reply = await self.io.chat(request)
        except AnalysisError as error:
            self.ledger.count(f"model.{error.reason}")
            self.ledger.model_failure(self.namespace, request.step, time.perf_counter() - started)
            raise
        self.ledger.model_call(self.namespace, request.step, reply)
        return reply

    async def invoke(self, runnable: Runnable, input: Any) -> Any:
        return await self.io.invoke(runnable, input)

    async def sleep(self, seconds: float) -> None:
        await self.io.sleep(seconds)

    async def gather(self, *operations: Coroutine[Any, Any, T]) -> list[T]:
        return await self.io.gather(*operations)


async def judge_each(
    io: IO,
    settings: Settings,
    state: FormationState,
    judge: Callable[[IO, Subject], Awaitable[R]],
) -> tuple[dict[str, R], dict[str, Outcome]]:
    """`judge` of every open note, side by side; and the outcomes, failures added."""
    namespace = namespace_of(state)
    metered = MeteredIO(io, settings.ledger, namespace)
    notes = await load(io, open_ids(state), namespace)

    async def one(note: Note) -> R | AnalysisError:
        try:
            return await judge(metered, await _subject(io, settings, state, note))
        except AnalysisError as error:
            return error

    answers = await io.gather(*(one(note) for note in notes.values()))
    judged: dict[str, R] = {}
    outcomes = dict(state.get("outcomes", {}))
    for note_id, answer in zip(notes, answers, strict=True):
        if isinstance(answer, AnalysisError):
            outcomes[note_id] = failure(answer)
        else:
            judged[note_id] = answer
    return judged, outcomes


def failure(error: Exception) -> Outcome:
    """How a formation that hit `error` ended; its note stays raw and keeps the reason."""
    reason = error.reason if isinstance(error, AnalysisError) else type(error).__name__
    _LOG.warning("A judgement failed (%s); the note stays as it is.", reason)
    _LOG.debug("Why.", exc_info=error)
    # What others wrote into their errors may quote content or keys.
    return outcome("failed", f"{reason}: {error}" if isinstance(error, AMemError) else reason)


async def _subject(io: IO, settings: Settings, state: FormationState, note: Note) -> Subject:
    refs = state.get("candidates", {}).get(note.id, [])
    notes = await load(io, (ref["id"] for ref in refs), note.namespace)
    background: list[Note] = []
    if settings.analyst.needs_statistics:
        background = await recent(io, note.namespace, limit=_BACKGROUND, where=older_than(note))
    return Subject(note, candidates_from(refs, notes), tuple(background))
