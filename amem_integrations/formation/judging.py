"""Putting one question to the analyst for every open note of a state.

What the steps share: the subject with its candidates, read fresh from the store; a failed
judgement ends that note's formation with a reason and leaves the other notes alone.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from amem_integrations.errors import AMemError, AnalysisError
from amem_integrations.formation.candidates import older_than
from amem_integrations.formation.metering import MeteredIO
from amem_integrations.formation.state import (
    FormationState,
    Outcome,
    Settings,
    candidates_from,
    namespace_of,
    open_ids,
    outcome,
)
from amem_integrations.judgement import Subject
from amem_integrations.note import Note
from amem_integrations.ports import IO
from amem_integrations.store.reading import load, recent
from amem_integrations.store.usage import save_usage

_LOG = logging.getLogger(__name__)
_BACKGROUND = 64
_CALLS_BETWEEN_SAVES = 32

R = TypeVar("R")


async def judge_each(
    io: IO,
    settings: Settings,
    state: FormationState,
    judge: Callable[[IO, Subject], Awaitable[R]],
) -> tuple[dict[str, R], dict[str, Outcome]]:
    """`judge` of every open note, side by side; and the outcomes, failures added."""
    namespace = namespace_of(state)
    notes = await load(io, open_ids(state), namespace)

    async def one(note: Note) -> R | AnalysisError:
        account = settings.ledger.account(namespace, settings.mode, again=note.attempts > 0)
        try:
            return await judge(MeteredIO(io, account), await _subject(io, settings, state, note))
        except AnalysisError as error:
            return error

    answers = await io.gather(*(one(note) for note in notes.values()))
    await save_usage(io, settings.ledger, every=_CALLS_BETWEEN_SAVES)
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
