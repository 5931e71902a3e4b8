"""The steps of the formation graph: each asks the analyst one question about every open note.

A failed analysis ends the formation of that note with a reason and leaves the others alone.
Model calls are counted, whichever step makes them.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from amem_integrations.core.analysis import (
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
    loggable,
)
from amem_integrations.formation.candidates import as_understood, older_than
from amem_integrations.formation.state import (
    CandidateRef,
    FormationState,
    Mode,
    NoteRef,
    Outcome,
    RunContext,
    Settings,
    candidates_from,
    links_from,
    namespace_of,
    open_ids,
    outcome,
    proposal_json,
)
from amem_integrations.llms.failures import classify
from amem_integrations.stores.codec import micros
from amem_integrations.stores.read import load, recent
from amem_integrations.stores.usage import save_usage

_LOG = logging.getLogger(__name__)
_BACKGROUND = 64
_CALLS_BETWEEN_SAVES = 32
# The note's own text is the cause, so that asking again is no use.
_FOR_GOOD = ("refusal", "content-filter", "too-long")
# Something about this answer; any other reason is the model's or the account's, and may pass.
_THIS_TIME = ("unparsable", "empty", "error", "bad-request")
# Failures of requests that a model has read.
_READ = frozenset({"refusal", "content-filter", "timeout", "unparsable", "empty"})

REJECTED = "turned down in review"
_WAITING = "waits for review"

R = TypeVar("R")


async def admit(
    io: IO, settings: Settings, state: FormationState, context: RunContext
) -> dict[str, Any]:
    """Start with the notes that exist and are raw, oldest first; end the others at once.

    In the order of their creation, a note finds the earlier ones formed when it is committed.
    """
    refs = state.get("notes", [])
    notes = await context.load(io, (ref["id"] for ref in refs), namespace_of(state))
    outcomes = dict(state.get("outcomes", {}))
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


async def construct(
    io: IO, settings: Settings, state: FormationState, context: RunContext
) -> dict[str, Any]:
    """Propose keywords, tags and context (paper §3.1)."""
    judged, outcomes = await _judge(io, settings, state, context, settings.analyst.construct)
    return {
        "understanding": {id: proposal_json(found) for id, found in judged.items()},
        "outcomes": outcomes,
    }


async def link(
    io: IO, settings: Settings, state: FormationState, context: RunContext
) -> dict[str, Any]:
    """Propose links to candidates (paper §3.2); none if linking is off."""
    if not settings.link:
        return {"links": {}}

    async def judge(io: IO, subject: Subject) -> list[LinkProposal]:
        if not subject.candidates:
            return []
        return await settings.analyst.link(io, _understood(subject, state))

    judged, outcomes = await _judge(io, settings, state, context, judge)
    return {"links": _as_json(judged), "outcomes": outcomes}


async def evolve(
    io: IO, settings: Settings, state: FormationState, context: RunContext
) -> dict[str, Any]:
    """Propose changes of candidates (paper §3.3); none if evolution is off."""
    if not settings.evolve:
        return {"evolutions": {}}

    async def judge(io: IO, subject: Subject) -> list[Evolution]:
        if not subject.candidates:
            return []
        links = links_from(state, subject.note.id)
        return await settings.analyst.evolve(io, _understood(subject, state), links)

    judged, outcomes = await _judge(io, settings, state, context, judge)
    return {"evolutions": _as_json(judged), "outcomes": outcomes}


async def fuse(
    io: IO, settings: Settings, state: FormationState, context: RunContext
) -> dict[str, Any]:
    """Propose all three in one question."""
    judged, outcomes = await _judge(io, settings, state, context, settings.analyst.fuse)
    return {**proposed(settings, judged), "outcomes": outcomes}


def proposed(settings: Settings, judged: Mapping[str, Judgement]) -> dict[str, Any]:
    """The judgements as the state keeps them, without the steps that are switched off."""
    links = {id: each.links for id, each in judged.items() if settings.link}
    evolutions = {id: each.evolutions for id, each in judged.items() if settings.evolve}
    return {
        "understanding": {id: proposal_json(each.understanding) for id, each in judged.items()},
        "links": _as_json(links),
        "evolutions": _as_json(evolutions),
    }


def _as_json(
    judged: Mapping[str, Sequence[LinkProposal | Evolution]],
) -> dict[str, list[dict[str, Any]]]:
    return {id: [proposal_json(proposal) for proposal in found] for id, found in judged.items()}


def _understood(subject: Subject, state: FormationState) -> Subject:
    """The subject with what construction proposed for it."""
    data = state.get("understanding", {}).get(subject.note.id)
    if data is None:
        return subject
    return Subject(as_understood(subject.note, data), subject.candidates, subject.background)


# -- asking ----------------------------------------------------------------------------------


async def _judge(
    io: IO,
    settings: Settings,
    state: FormationState,
    context: RunContext,
    judge: Callable[[IO, Subject], Awaitable[R]],
) -> tuple[dict[str, R], dict[str, Outcome]]:
    notes = await context.load(io, open_ids(state), namespace_of(state))
    answers = await judge_alone(
        io, settings, state, context, list(notes.values()), judge, settings.mode
    )
    return await settled(io, settings, state, answers)


async def judge_alone(
    io: IO,
    settings: Settings,
    state: FormationState,
    context: RunContext,
    notes: Sequence[Note],
    judge: Callable[[IO, Subject], Awaitable[R]],
    mode: Mode,
) -> dict[str, R | AnalysisError]:
    """Judge each note among its candidates, side by side; model calls count under `mode`."""

    async def one(note: Note) -> R | AnalysisError | None:
        # Opened first: what is forgotten from here on is not counted.
        account = settings.ledger.account(note.namespace, mode, again=note.attempts > 0)
        refs = state.get("candidates", {}).get(note.id, [])
        ids = [ref["id"] for ref in refs]
        if not settings.analyst.needs_statistics:
            await context.refresh(io, [note.id, *ids], note.namespace)
        here = await context.load(io, [note.id], note.namespace)
        if note.id not in here:
            return None
        note = here[note.id]
        among = await context.load(io, ids, note.namespace)
        subject = await subject_of(io, settings, note, refs, among, context)
        try:
            return await judge(metered(io, account), subject)
        except AnalysisError as error:
            return error

    found = await io.gather(*(one(note) for note in notes))
    answers = zip(notes, found, strict=True)
    return {note.id: answer for note, answer in answers if answer is not None}


async def settled(
    io: IO, settings: Settings, state: FormationState, answers: Mapping[str, R | AnalysisError]
) -> tuple[dict[str, R], dict[str, Outcome]]:
    """The judgements among the answers, and the outcomes of the state with failures added."""
    await save_usage(io, settings.ledger, every=_CALLS_BETWEEN_SAVES)
    judged = {id: a for id, a in answers.items() if not isinstance(a, AnalysisError)}
    failures = {id: failure(a) for id, a in answers.items() if isinstance(a, AnalysisError)}
    return judged, {**state.get("outcomes", {}), **failures}


async def subject_of(
    io: IO,
    settings: Settings,
    note: Note,
    refs: Sequence[CandidateRef],
    among: Mapping[str, Note],
    context: RunContext,
) -> Subject:
    """The note with those of its candidates that are in `among`."""
    if settings.analyst.needs_statistics and note.id not in context.recent:
        where = older_than(note)
        context.recent[note.id] = await recent(io, note.namespace, limit=_BACKGROUND, where=where)
    background = tuple(context.recent.get(note.id, ()))
    return Subject(note, candidates_from(refs, among), background)


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
    return reason.split(":")[0] in (*_FOR_GOOD, *_THIS_TIME)


def failure(error: Exception) -> Outcome:
    """The outcome of a formation that raised `error`; the note stays raw and keeps the reason."""
    judged = isinstance(error, AnalysisError)
    reason = error.reason if judged else type(error).__name__
    _LOG.warning(
        "A judgement failed (%s); the note stays as it is.", reason if judged else loggable(error)
    )
    _LOG.debug("Why.", exc_info=error)
    # Errors of others may quote content or keys.
    text = f"{reason}: {error}" if isinstance(error, AMemError) else reason
    if not judged:
        return outcome("failed", text, again=0.0, outage=_is_away(error))
    if reason in _FOR_GOOD:
        return outcome("failed", text)
    return outcome("failed", text, again=error.retry_after or 0.0, outage=reason not in _THIS_TIME)


def _is_away(error: Exception) -> bool:
    """Whether the embedder's provider or its weights failed, rather than the text."""
    if isinstance(error, AMemError):
        return isinstance(error, ModelUnavailableError)
    return not is_about_the_question(classify(error, "The embedder").reason)


# -- review ----------------------------------------------------------------------------------


async def hold(
    io: IO, settings: Settings, state: FormationState, context: RunContext
) -> dict[str, Any]:
    """Park the notes that are to be reviewed: nothing else forms them meanwhile."""
    for note in (await load(io, open_ids(state), namespace_of(state))).values():
        if note.status is Status.RAW:
            await _set(io, note, Status.PARKED, _WAITING)
    return {}


async def release(
    io: IO, settings: Settings, state: FormationState, context: RunContext
) -> dict[str, Any]:
    """Queue the notes again that may be committed or failed; rejected ones stay parked."""
    outcomes = state.get("outcomes", {})
    ids = [ref["id"] for ref in state.get("notes", ())]
    for note in (await load(io, ids, namespace_of(state))).values():
        if note.status is not Status.PARKED or note.last_error != _WAITING:
            continue
        if note.id in outcomes and outcomes[note.id]["status"] == "rejected":
            await _set(io, note, Status.PARKED, REJECTED)
        else:
            await _set(io, note, Status.RAW, None)
    return {}


async def _set(io: IO, note: Note, status: Status, why: str | None) -> None:
    # The version stays, and with it what is judged of the note.
    await io.engine.patch(
        note.id, {"status": str(status), "last_error": why}, expect={"version": note.version}
    )
