"""Putting one question to the analyst for every open note of a state.

What the steps share: the subject with its candidates, read fresh from the store; a failed
judgement ends that note's formation with a reason and leaves the other notes alone.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from amem_integrations.core.analysis import Subject
from amem_integrations.core.io import IO
from amem_integrations.core.note import Note
from amem_integrations.errors import (
    AMemError,
    AnalysisError,
    ModelUnavailableError,
    loggable,
)
from amem_integrations.formation.candidates import older_than
from amem_integrations.formation.metering import MeteredIO
from amem_integrations.formation.state import (
    CandidateRef,
    FormationState,
    Mode,
    Outcome,
    Settings,
    candidates_from,
    failed,
    namespace_of,
    open_ids,
)
from amem_integrations.llms.failures import classify
from amem_integrations.stores.read import load, recent
from amem_integrations.stores.usage import save_usage

_LOG = logging.getLogger(__name__)
_BACKGROUND = 64
_CALLS_BETWEEN_SAVES = 32
# The note's own text is why, so that asking again is no use.
_FOR_GOOD = ("refusal", "content-filter", "too-long")
# Something about this answer; anything else is the model's or the account's, and may pass.
_THIS_TIME = ("unparsable", "empty", "error", "bad-request")

R = TypeVar("R")


async def judge_each(
    io: IO,
    settings: Settings,
    state: FormationState,
    judge: Callable[[IO, Subject], Awaitable[R]],
) -> tuple[dict[str, R], dict[str, Outcome]]:
    """`judge` of every open note, side by side; and the outcomes, failures added."""
    notes = await load(io, open_ids(state), namespace_of(state))
    answers = await judge_alone(io, settings, state, list(notes.values()), judge, settings.mode)
    return await settled(io, settings, state, answers)


async def judge_alone(
    io: IO,
    settings: Settings,
    state: FormationState,
    notes: Sequence[Note],
    judge: Callable[[IO, Subject], Awaitable[R]],
    mode: Mode,
) -> dict[str, R | AnalysisError]:
    """`judge` of each note among its candidates, or why it failed; counted under `mode`."""

    async def one(note: Note) -> R | AnalysisError:
        account = settings.ledger.account(note.namespace, mode, again=note.attempts > 0)
        refs = state.get("candidates", {}).get(note.id, [])
        among = await load(io, (ref["id"] for ref in refs), note.namespace)
        subject = await subject_of(io, settings, note, refs, among)
        try:
            return await judge(MeteredIO(io, account), subject)
        except AnalysisError as error:
            return error

    found = await io.gather(*(one(note) for note in notes))
    return {note.id: answer for note, answer in zip(notes, found, strict=True)}


async def settled(
    io: IO, settings: Settings, state: FormationState, answers: Mapping[str, R | AnalysisError]
) -> tuple[dict[str, R], dict[str, Outcome]]:
    """The judgements among the answers, and the outcomes of the state, failures added."""
    await save_usage(io, settings.ledger, every=_CALLS_BETWEEN_SAVES)
    judged: dict[str, R] = {}
    outcomes = dict(state.get("outcomes", {}))
    for note_id, answer in answers.items():
        if isinstance(answer, AnalysisError):
            outcomes[note_id] = failure(answer)
        else:
            judged[note_id] = answer
    return judged, outcomes


async def subject_of(
    io: IO,
    settings: Settings,
    note: Note,
    refs: Sequence[CandidateRef],
    among: Mapping[str, Note],
) -> Subject:
    """The note with those of its candidates that are in `among`."""
    background: list[Note] = []
    if settings.analyst.needs_statistics:
        background = await recent(io, note.namespace, limit=_BACKGROUND, where=older_than(note))
    return Subject(note, candidates_from(refs, among), tuple(background))


def is_about_the_question(reason: str) -> bool:
    """Whether a kept reason, as `failure` gives it, lies in what was asked or answered."""
    return reason.split(":")[0] in (*_FOR_GOOD, *_THIS_TIME)


def failure(error: Exception) -> Outcome:
    """How a formation that hit `error` ended; its note stays raw and keeps the reason."""
    judged = isinstance(error, AnalysisError)
    reason = error.reason if judged else type(error).__name__
    said = reason if judged else loggable(error)
    _LOG.warning("A judgement failed (%s); the note stays as it is.", said)
    _LOG.debug("Why.", exc_info=error)
    # What others wrote into their errors may quote content or keys.
    text = f"{reason}: {error}" if isinstance(error, AMemError) else reason
    if not judged:
        return failed(text, outage=_is_away(error))
    if reason in _FOR_GOOD:
        return failed(text, again=None)
    return failed(text, again=error.retry_after or 0.0, outage=reason not in _THIS_TIME)


def _is_away(error: Exception) -> bool:
    """Whether it is the embedder's provider, or its weights, and no fault of the text's."""
    if isinstance(error, AMemError):
        return isinstance(error, ModelUnavailableError)
    return not is_about_the_question(classify(error, "The embedder").reason)
