"""The steps of the formation graph: each asks the analyst one question about every open note.

A failed analysis ends the formation of that note with a reason and leaves the others alone.
Model calls are counted, whichever step makes them.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from amem_integrations.analysts.plausibility import IMPLAUSIBLE
from amem_integrations.core.analysis import (
    Candidate,
    ChatReply,
    ChatRequest,
    Evolution,
    Judgement,
    LinkProposal,
    Subject,
)
from amem_integrations.core.io import IO
from amem_integrations.core.note import Note, Status
from amem_integrations.core.usage import Account
from amem_integrations.errors import (
    AMemError,
    AnalysisError,
    ModelUnavailableError,
    StoreClosedError,
    loggable,
)
from amem_integrations.formation.candidates import background, turns_before
from amem_integrations.formation.state import (
    CandidateRef,
    FormationState,
    Mode,
    NoteRef,
    Outcome,
    Run,
    outcome,
    proposal_json,
)
from amem_integrations.llms.failures import classify
from amem_integrations.stores.codec import micros
from amem_integrations.stores.usage import save_usage

_LOG = logging.getLogger(__name__)
_CALLS_BETWEEN_SAVES = 32
# The note's own text is the cause, so asking again is no use.
_PERMANENT = ("refusal", "content-filter", "too-long")
# The cause is in this answer; any other reason is the model's or the account's, and may pass.
UNUSABLE = ("unparsable", "empty", IMPLAUSIBLE)
_THIS_ANSWER = (*UNUSABLE, "error", "bad-request")
# Failures of requests that a model has read.
_READ = frozenset({"refusal", "content-filter", "timeout", "unparsable", "empty"})

R = TypeVar("R")


async def admit(io: IO, run: Run) -> dict[str, Any]:
    """Start with the notes that exist and are raw, oldest first; end the others at once.

    In the order of their creation, a note finds the earlier ones formed when it is committed.
    """
    refs = run.state.get("notes", [])
    notes = await run.load(io, (ref["id"] for ref in refs))
    outcomes = run.outcomes
    admitted: list[NoteRef] = []
    for ref in sorted(refs, key=lambda ref: _created(notes.get(ref["id"]))):
        note = notes.get(ref["id"])
        if note is None:
            outcomes[ref["id"]] = outcome("gone", "forgotten")
        elif note.status is not Status.RAW:
            outcomes[ref["id"]] = outcome("superseded", f"already {note.status}")
        else:
            ref = NoteRef(id=note.id, version=note.version)
        admitted.append(ref)
    return {"notes": admitted, "outcomes": outcomes}


def _created(note: Note | None) -> tuple[int, str]:
    return (micros(note.created_at), note.id) if note is not None else (0, "")


async def construct(io: IO, run: Run) -> dict[str, Any]:
    """Propose keywords, tags, context and questions (paper §3.1)."""
    read: FormationState = {}
    if run.settings.analyst.reads_candidates:
        # A short answer says nothing without the turn that it answers.
        read = {"candidates": await turns_before(io, run)}
        run = replace(run, state={**run.state, **read})
    found, outcomes = await _ask_each_open(io, run, run.settings.analyst.construct)
    understanding = {id: proposal_json(proposal) for id, proposal in found.items()}
    return {**read, "understanding": understanding, "outcomes": outcomes}


async def link(io: IO, run: Run) -> dict[str, Any]:
    """Propose links to candidates (paper §3.2); none if linking is off."""
    if not run.settings.link:
        return {"links": {}}

    async def ask(io: IO, subject: Subject) -> list[LinkProposal]:
        if not subject.candidates:
            return []
        return await run.settings.analyst.link(io, _understood(subject, run))

    found, outcomes = await _ask_each_open(io, run, ask)
    return {"links": _as_json(found), "outcomes": outcomes}


async def evolve(io: IO, run: Run) -> dict[str, Any]:
    """Propose changes of candidates (paper §3.3); none if evolution is off."""
    if not run.settings.evolve:
        return {"evolutions": {}}

    async def ask(io: IO, subject: Subject) -> list[Evolution]:
        if not subject.candidates:
            return []
        links = run.links(subject.note.id)
        return await run.settings.analyst.evolve(io, _understood(subject, run), links)

    found, outcomes = await _ask_each_open(io, run, ask)
    return {"evolutions": _as_json(found), "outcomes": outcomes}


async def fuse(io: IO, run: Run) -> dict[str, Any]:
    """Propose all three in one question."""
    found, outcomes = await _ask_each_open(io, run, run.settings.analyst.fuse)
    return {**proposals_json(run, found), "outcomes": outcomes}


def proposals_json(run: Run, found: Mapping[str, Judgement]) -> dict[str, Any]:
    """What was proposed as the state keeps it, without the steps that are switched off."""
    links = {id: each.links for id, each in found.items() if run.settings.link}
    evolutions = {id: each.evolutions for id, each in found.items() if run.settings.evolve}
    return {
        "understanding": {id: proposal_json(each.understanding) for id, each in found.items()},
        "links": _as_json(links),
        "evolutions": _as_json(evolutions),
    }


def _as_json(
    found: Mapping[str, Sequence[LinkProposal | Evolution]],
) -> dict[str, list[dict[str, Any]]]:
    return {id: [proposal_json(each) for each in proposals] for id, proposals in found.items()}


def _understood(subject: Subject, run: Run) -> Subject:
    """The subject with what construction proposed for it."""
    return Subject(run.as_understood(subject.note), subject.candidates, subject.background)


# -- asking ----------------------------------------------------------------------------------


async def _ask_each_open(
    io: IO, run: Run, ask: Callable[[IO, Subject], Awaitable[R]]
) -> tuple[dict[str, R], dict[str, Outcome]]:
    answers = await ask_each(io, run, await run.open_notes(io), ask, run.settings.mode)
    return await sort_answers(io, run, answers)


async def ask_each(
    io: IO,
    run: Run,
    notes: Sequence[Note],
    ask: Callable[[IO, Subject], Awaitable[R]],
    mode: Mode,
) -> dict[str, R | AnalysisError]:
    """Ask about each note among its candidates, side by side; model calls count under `mode`."""

    async def one(note: Note) -> R | AnalysisError | None:
        # Opened first: what is forgotten from here on is not counted.
        account = run.settings.ledger.account(run.namespace, mode, again=note.attempts > 0)
        refs = run.candidates(note.id)
        ids = [ref["id"] for ref in refs]
        if not run.settings.analyst.needs_statistics:
            await run.context.refresh(io, [note.id, *ids], run.namespace)
        notes = await run.load(io, [note.id, *ids])
        if note.id not in notes:
            return None
        subject = await subject_of(io, run, notes[note.id], refs, notes)
        try:
            return await ask(metered(io, account), subject)
        except AnalysisError as error:
            return error

    found = await io.gather(*(one(note) for note in notes))
    answers = zip(notes, found, strict=True)
    return {note.id: answer for note, answer in answers if answer is not None}


async def sort_answers(
    io: IO, run: Run, answers: Mapping[str, R | AnalysisError]
) -> tuple[dict[str, R], dict[str, Outcome]]:
    """The proposals among the answers, and the outcomes of the state with failures added."""
    await save_usage(io, run.settings.ledger, every=_CALLS_BETWEEN_SAVES)
    for answer in answers.values():
        if isinstance(answer, AnalysisError) and answer.reason == IMPLAUSIBLE:
            run.settings.ledger.count("formation.implausible")
    found = {id: a for id, a in answers.items() if not isinstance(a, AnalysisError)}
    failures = {id: failure(a) for id, a in answers.items() if isinstance(a, AnalysisError)}
    return found, {**run.outcomes, **failures}


async def subject_of(
    io: IO, run: Run, note: Note, refs: Sequence[CandidateRef], notes: Mapping[str, Note]
) -> Subject:
    """The note with those of its candidates that are among `notes`."""
    recent = run.context.recent
    if run.settings.analyst.needs_statistics and note.id not in recent:
        known = run.context.notes
        recent[note.id] = await background(io, note, known)
        for each in recent[note.id]:
            # What candidates were read as stays: the commit compares it with what is stored.
            known.setdefault(each.id, each)
    candidates = tuple(
        Candidate(notes[ref["id"]], ref["similarity"], ref["rank"], ref["reverse_rank"])
        for ref in refs
        if ref["id"] in notes
    )
    return Subject(note, candidates, tuple(recent.get(note.id, ())))


class _Metered:
    def __init__(self, io: IO, account: Account) -> None:
        self._io = io
        self._account = account

    def __getattr__(self, name: str) -> Any:
        return getattr(self._io, name)

    async def chat(self, request: ChatRequest) -> ChatReply:
        started = time.perf_counter()
        try:
            reply = await self._io.chat(request)
        except BaseException as error:
            reason = error.reason if isinstance(error, AnalysisError) else type(error).__name__
            self._account.ledger.count(f"model.{reason}")
            # A call that was broken off, as by a cancelled task, may well have been read.
            read = reason in _READ or not isinstance(error, Exception)
            self._account.failed(request, time.perf_counter() - started, read=read)
            raise
        self._account.answered(request, reply)
        return reply


def metered(io: IO, account: Account) -> IO:
    """An io that enters its model calls in an account; see `Ledger.account`."""
    return cast("IO", _Metered(io, account))


# -- failures --------------------------------------------------------------------------------


def is_about_the_question(reason: str) -> bool:
    """Whether a reason, as `failure` gives it, lies in the question or its answer."""
    return reason.split(":")[0] in (*_PERMANENT, *_THIS_ANSWER)


def failure(error: Exception) -> Outcome:
    """The outcome of a formation that raised `error`; the note stays raw and keeps the reason."""
    ours = isinstance(error, AnalysisError)
    reason = error.reason if ours else type(error).__name__
    # Closing a memory does not wait for ever; who closed it need not be told.
    level = logging.DEBUG if isinstance(error, StoreClosedError) else logging.WARNING
    told = reason if ours else loggable(error)
    _LOG.log(level, "An analysis failed (%s); the note stays as it is.", told)
    _LOG.debug("Why.", exc_info=error)
    # Errors of others may quote content or keys.
    text = f"{reason}: {error}" if isinstance(error, AMemError) else reason
    if not ours:
        return outcome("failed", text, again=0.0, outage=_is_away(error))
    if reason in _PERMANENT:
        return outcome("failed", text)
    outage = reason not in _THIS_ANSWER
    return outcome("failed", text, again=error.retry_after or 0.0, outage=outage)


def _is_away(error: Exception) -> bool:
    """Whether the embedder's provider or its weights failed, rather than the text."""
    if isinstance(error, AMemError):
        return isinstance(error, ModelUnavailableError)
    return not is_about_the_question(classify(error, "The embedder").reason)
