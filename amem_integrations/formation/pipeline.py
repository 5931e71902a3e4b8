"""The way of a note: stored raw, then formed at once, by a worker, or by `resume`."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal, TypeAlias

from amem_integrations.core.filters import Range
from amem_integrations.core.io import IO, Runnable
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status
from amem_integrations.errors import StoreError, loggable
from amem_integrations.formation import queue
from amem_integrations.formation.commit import note_failure
from amem_integrations.formation.state import (
    Embedded,
    Outcome,
    RunContext,
    Settings,
    initial_state,
    outcome,
)
from amem_integrations.formation.steps import failure
from amem_integrations.formation.worker import Batch
from amem_integrations.llms.failures import is_interrupt
from amem_integrations.revisions.forget import make_way
from amem_integrations.stores.codec import place_of, within
from amem_integrations.stores.read import load
from amem_integrations.stores.write import FIRST_PASSAGES, embedded_points, passages, vectors_of

# Sequences beyond these are the caller's own, such as times, and are not counted on from.
_LONGEST_SESSION = 2**40
_BLUR = 2**12
_LOG = logging.getLogger(__name__)
# Notes that became stale meanwhile go through the graph again, this often in all.
_ROUNDS = 3
_OPEN = outcome("open")
_RELEASED = ("open", "stale")

FORMATIONS = ("inline", "background", "off")
Formation: TypeAlias = Literal["inline", "background", "off"]


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """What formation works with.

    formation: when notes are formed, unless a call says otherwise. graph: builds the formation
    graph on first use, because that imports LangGraph. wake: tells the background worker that
    there is something to form. maintain: what the worker does when no note waits; returns the
    time until it is due again. upkeep: a little of the same, after so many notes were added
    inline to a namespace; returns whether anything was done.
    """

    settings: Settings
    formation: Formation
    graph: Callable[[], Runnable]
    wake: Callable[[], None]
    maintain: Callable[[IO], Awaitable[timedelta]] | None = None
    upkeep: Callable[[IO, Namespace, int], Awaitable[bool]] | None = None

    @property
    def analyst_name(self) -> str:
        return self.settings.analyst_name

    @property
    def at_once(self) -> int:
        """How many notes go through the graph together; one after another they see each other."""
        return self.settings.batch if self.settings.is_batched else 1


async def accept(
    pipeline: Pipeline,
    io: IO,
    notes: Sequence[Note],
    context: RunContext,
    leased: Mapping[str, Any],
) -> list[Note]:
    """Store raw notes of one namespace; those whose id is taken are returned as they are stored.

    leased: the fields of a lease for whoever forms them next. The new ones are added to
    `context`. Other content under the same id is an update: the caller compares.
    """
    unique = {note.id: note for note in notes}
    stored = await load(io, unique, notes[0].namespace)
    new = [note for note in unique.values() if note.id not in stored]
    if new:
        # Numbers are taken once nothing but the insertion can fail, as a gap parts two turns.
        texts = (text for note in new for text in passages(note)[:FIRST_PASSAGES])
        vectors = await vectors_of(io, texts, {})
        new = await number_turns(io, new)
        points = await embedded_points(io, new, first=FIRST_PASSAGES, known=vectors)
        for point in points:
            if point.payload["status"] == Status.RAW:
                point.payload.update(leased)
        taken = await io.engine.insert(points)
        if taken:
            taken, unformed = await make_way(io, points, taken, pipeline.analyst_name)
            if any(unformed.values()):
                pipeline.wake()
            stored |= await load(io, taken, notes[0].namespace)
        context.notes.update((note.id, note) for note in new if note.id not in taken)
        stored = {note.id: note for note in new} | stored
        context.vectors.update(
            (note.id, Embedded(note, point.dense, point.questions))
            for note, point in zip(new, points, strict=True)
            if note.id not in taken
        )
    return [stored.get(note.id, note) for note in notes]


async def have_formed(
    pipeline: Pipeline,
    io: IO,
    formation: Formation,
    notes: Iterable[Note] = (),
    *,
    unformed: Mapping[Namespace, Sequence[str]] | None = None,
) -> None:
    """Form those of the notes that are raw now, or wake the worker for them, or leave them.

    unformed: ids, by namespace, of more notes whose formation was taken back. The oldest is formed
    first, as a worker does it: later notes are understood in the light of earlier ones.
    """
    raw: dict[Namespace, dict[str, Note]] = {}
    for note in notes:
        if note.status is Status.RAW:
            raw.setdefault(note.namespace, {})[note.id] = note
    again = {namespace: ids for namespace, ids in (unformed or {}).items() if ids}
    if formation == "background" and (raw or again):
        pipeline.wake()
    elif formation == "inline":
        for namespace in {**raw, **again}:
            own = raw.get(namespace, {})
            more = await load(io, set(again.get(namespace, ())) - own.keys(), namespace)
            together = sorted({**more, **own}.values(), key=lambda note: note.created_at)
            await form(pipeline, io, together)


async def form(
    pipeline: Pipeline, io: IO, notes: Sequence[Note], known: RunContext | None = None
) -> dict[str, Note]:
    """Take raw notes of one namespace through the graph; whatever fails, they stay stored.

    known: what was read before, and is added to. Returns the notes that were written, as they are
    now.
    """
    known = known or RunContext()
    committed: dict[str, Note] = {}
    try:
        for start in range(0, len(notes), pipeline.at_once):
            group = notes[start : start + pipeline.at_once]
            own = {note.id: known.vectors.pop(note.id, None) for note in group}
            vectors = {id: found for id, found in own.items() if found is not None}
            if pipeline.settings.analyst.needs_statistics:
                known.vectors.update(vectors)
                context = replace(known, committed=committed, recent={})
            else:
                # A model sees nothing that was not read for its question.
                context = RunContext(vectors=vectors, committed=committed)
            ended = await _run_graph(pipeline, io, group, context)
            for id in own:
                # As the engine keeps them they are a little different.
                known.vectors.pop(id, None)
            if any(result["status"] != "formed" for result in ended.values()):
                known.clear()
            known.trim()
    except StoreError as error:
        pipeline.settings.ledger.count("formation.error")
        _LOG.warning("Formation failed (%s); the note stays raw.", loggable(error))
        # It is formed when the store is back.
        pipeline.wake()
    return committed


async def _run_graph(
    pipeline: Pipeline, io: IO, notes: Sequence[Note], context: RunContext
) -> dict[str, Outcome]:
    """How it ended for each note. Failures are kept on the notes, unless it is the store's."""
    graph, ledger = pipeline.graph(), pipeline.settings.ledger
    ended: dict[str, Outcome] = {}
    left = notes
    context.notes.update((note.id, note) for note in notes)
    try:
        for _ in range(_ROUNDS):
            try:
                ended |= (await io.invoke(graph, (initial_state(left), context)))["outcomes"]
            except StoreError:
                raise
            except Exception as error:
                if is_interrupt(error):
                    raise
                result = failure(error)
                for note in left:
                    ledger.count("formation.failed")
                    await note_failure(io, ledger, note.namespace, note.id, result)
                    ended[note.id] = result
            left = [note for note in left if ended[note.id]["status"] == "stale"]
            if not left:
                break
            context.clear()
            context = RunContext(committed=context.committed)
    finally:
        await queue.release(io, [n for n in notes if ended.get(n.id, _OPEN)["status"] in _RELEASED])
    return ended


async def take(pipeline: Pipeline, io: IO) -> Batch:
    """The oldest waiting notes of a namespace, leased; or seconds until there are some."""
    if notes := await queue.claim(io, most=pipeline.at_once):
        return Batch(notes)
    due = await queue.next_due(io)
    waits = [] if due is None else [due - io.now()]
    if pipeline.maintain is not None:
        waits.append(await pipeline.maintain(io))
    return Batch([], min(waits).total_seconds() if waits else None)


async def form_taken(pipeline: Pipeline, io: IO, notes: Sequence[Note]) -> bool:
    """Form notes that were taken; True if others would fail as well."""
    ended = await _run_graph(pipeline, io, notes, RunContext())
    return any(result["outage"] for result in ended.values())


async def resume(pipeline: Pipeline, io: IO) -> int:
    """Form every raw note that nobody else forms, each tried once; returns how many were."""
    formed, tried = 0, set[str]()
    while notes := await queue.claim(io, most=pipeline.at_once, without=tried, early=True):
        ended = await _run_graph(pipeline, io, notes, RunContext())
        formed += sum(result["status"] == "formed" for result in ended.values())
        # One that was given other text meanwhile is another note.
        tried.update(id for id, result in ended.items() if result["status"] != "superseded")
    return formed


async def retry(pipeline: Pipeline, io: IO) -> int:
    """Queue parked notes again, and form whatever waits."""
    await queue.unpark(io)
    return await resume(pipeline, io)


async def number_turns(io: IO, notes: Sequence[Note]) -> list[Note]:
    """Return new notes of one namespace, turns with their places in their sessions.

    Turns without a sequence get the next ones, in their order. Notes without session and speaker
    are no turns but facts: neighbours that have nothing to do with each other cost 3 points of
    recall@10 (LoCoMo's turns in random order).
    Where other processes may write, the last one is asked for each time; two that write at the
    same moment may share a place.
    """
    sequences = io.caches.sequences
    given: dict[str | None, int] = {}
    waiting: dict[str | None, list[int]] = {}
    for at, note in enumerate(notes):
        if note.sequence is None:
            if note.session is not None or note.speaker is not None:
                waiting.setdefault(note.session, []).append(at)
        elif note.sequence <= _LONGEST_SESSION:
            given[note.session] = max(given.get(note.session, -1), note.sequence)
    for session in given.keys() - waiting.keys():
        if sequences.last(notes[0].namespace, session) is not None:
            sequences.take(notes[0].namespace, session, given[session], 0)
    stored = await io.gather(*(_last_sequence(io, notes[0].namespace, each) for each in waiting))
    numbered = list(notes)
    for (session, places), last in zip(waiting.items(), stored, strict=True):
        last = max(last, given.get(session, -1))
        first = sequences.take(notes[0].namespace, session, last, len(places))
        for sequence, at in enumerate(places, first):
            numbered[at] = replace(notes[at], sequence=sequence)
    return numbered


async def _last_sequence(io: IO, namespace: Namespace, session: str | None) -> int:
    """The greatest sequence of a session that is stored or was given away; -1 if there is none."""
    known = io.caches.sequences.last(namespace, session) if io.engine.exclusive else None
    if known is not None:
        return known
    start = place_of(namespace, session, 0) or 0
    # Engines compare bounds as floats; what is a little below it belongs to nobody.
    where = within(namespace, Range("place", gte=start - _BLUR))
    found = await io.engine.scroll(
        where,
        limit=1,
        order_by="place",
        descending=True,
        start_from=start + _LONGEST_SESSION,
        fields=("place",),
    )
    return max((point.payload["place"] - start for point in found), default=-1)
