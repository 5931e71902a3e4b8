"""Commit: proposals become part of the memory, in one write or not at all.

The new note and the neighbours that it changes are written in one operation that states the
version each was read at. If another writer changed one of them meanwhile, the proposals are
applied anew to what is there now; a neighbour that keeps changing is left out in the end.
"""

import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from amem_integrations.core.engine import Fields, Point
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import CONTRADICTS, Note, Status
from amem_integrations.core.usage import Ledger
from amem_integrations.errors import AMemError
from amem_integrations.formation.candidates import percentiles
from amem_integrations.formation.queue import LONGEST_PAUSE, NO_LEASE
from amem_integrations.formation.state import Outcome, ReadRef, Run, content_digest, outcome
from amem_integrations.formation.steps import failure
from amem_integrations.formation.validate import (
    Changes,
    Proposals,
    Tally,
    changes_by,
    formed_note,
)
from amem_integrations.revisions.change import revision_points
from amem_integrations.revisions.retract import retract
from amem_integrations.stores.codec import as_read, micros
from amem_integrations.stores.read import load
from amem_integrations.stores.write import embedded_points

_ROUNDS = 12
_LONGEST_WAIT = 5.0
# One more attempt at an answer that cannot be used seldom helps; an outage ends.
MAX_ATTEMPTS = 3
MAX_ATTEMPTS_IN_OUTAGE = 9
_FIRST_PAUSE = timedelta(seconds=30)
_LONGEST_PAUSE = timedelta(hours=1)


async def commit(io: IO, run: Run) -> dict[str, Any]:
    """Commit every note of the state in order; failures are kept on their notes."""
    outcomes = run.outcomes
    ledger = run.settings.ledger
    for ref in run.state.get("notes", []):
        note_id = ref["id"]
        if note_id not in outcomes:
            try:
                outcomes[note_id] = await _commit_one(io, run, note_id, ref["version"])
            except AMemError as error:
                outcomes[note_id] = failure(error)
        result = outcomes[note_id]
        ledger.count(f"formation.{result['status']}")
        if result["status"] == "formed":
            ledger.formed(run.namespace)
        if result["status"] == "failed":
            await note_failure(io, ledger, run.namespace, note_id, result)
    return {"outcomes": outcomes}


async def note_failure(
    io: IO, ledger: Ledger, namespace: Namespace, note_id: str, result: Outcome
) -> None:
    """Keep the reason on the raw note, and when to try again; park it when that is no use."""
    note = (await load(io, [note_id], namespace)).get(note_id)
    if note is None or note.status is not Status.RAW:
        return
    attempts = note.attempts + 1
    most = MAX_ATTEMPTS_IN_OUTAGE if result["outage"] else MAX_ATTEMPTS
    fields = {**NO_LEASE, "attempts": attempts, "last_error": result["reason"][:500]}
    if result["again"] is None or attempts >= most:
        fields["status"] = str(Status.PARKED)
        ledger.count("formation.parked")
    else:
        pause = min(_FIRST_PAUSE * 2 ** (attempts - 1), _LONGEST_PAUSE)
        asked = timedelta(seconds=min(result["again"], LONGEST_PAUSE.total_seconds()))
        fields["retry_at"] = micros(io.now() + max(pause, asked))
    # Not a change of the note itself: the version stays, so that nothing in flight is upset.
    await io.engine.patch(
        note_id, fields, expect={"status": str(Status.RAW), "version": note.version}
    )


async def _commit_one(io: IO, run: Run, note_id: str, version: int) -> Outcome:
    if note_id not in run.state.get("understanding", {}):
        return outcome("gone", "forgotten before it was analysed")
    settings, proposals = run.settings, _proposals(run, note_id)
    statistical = settings.analyst.needs_statistics and not proposals.sources
    shares: Mapping[str, float] | None = None
    stamps: set[datetime] = set()
    for attempt in range(1, _ROUNDS + 1):
        wanted = [note_id, *proposals.read]
        # Where no text of others is in the proposals, the write tells soon enough whether what
        # they rest on has changed since it was read.
        as_read_before = attempt == 1 and statistical
        notes = await (run.load(io, wanted) if as_read_before else load(io, wanted, run.namespace))
        note = notes.pop(note_id, None)
        if note is None:
            if stamps:
                # A server may have written the neighbours and not the note.
                await retract(io, note_id, run.namespace, proposals.analyst)
            return outcome("gone", "forgotten while it was being formed")
        written = (
            note.status is Status.FORMED
            and note.revision is not None
            and note.revision.at in stamps
        )
        if not written and (note.version != version or note.status is not Status.RAW):
            return outcome("superseded", "changed while it was being formed")
        if not written and any(_is_replaced(notes.get(id), r) for id, r in proposals.read.items()):
            # What was proposed may carry text that is not there any more.
            return outcome("stale", "analysed with a note that was forgotten or changed")
        if shares is None:
            shares = await _shares(io, run, note, proposals)
        now = io.now()
        stamps.add(now)
        tally = Tally()
        formed = note
        if not written:
            formed = formed_note(settings, note, proposals, notes, now, tally, shares)
        changes = Changes()
        if attempt < _ROUNDS:
            linked_before = set[str]() if written else {link.to for link in note.outgoing}
            changes = changes_by(settings, formed, proposals, notes, now, tally, linked_before)
        else:
            # Rather without them than not at all.
            tally["dropped.evolution.contention"] = len(proposals.judgement.evolutions)
        writes = [*changes.notes] if written else [formed, *changes.notes]
        # Without these notes, or with another text of theirs, the commit would be wrong.
        drawn_on = {link.to for link in formed.outgoing}.union(proposals.sources)
        if not (writes or changes.new) or await _write(
            io, run, {note.id: note, **notes}, writes, changes.new, drawn_on
        ):
            run.context.committed.update((each.id, each) for each in (formed, *changes.notes))
            for event, count in tally.items():
                settings.ledger.count(event, count)
            return outcome("formed", links=len(formed.links), evolutions=changes.evolutions)
        settings.ledger.count("commit.redone")
        await io.sleep(_wait(attempt, (io.now() - now).total_seconds()))
    return outcome("failed", "contention: its neighbours kept changing", again=0.0)


def _wait(attempt: int, took: float) -> float:
    """Seconds until a commit is redone that took so many and came too late.

    By chance, and longer each time, so that of a crowd around one neighbour some get through.
    """
    return min(_LONGEST_WAIT, random.random() * took * 2 ** min(attempt - 1, 5))


def _proposals(run: Run, note_id: str) -> Proposals:
    analyst = run.settings.analyst_in(run.mode_of(note_id))
    read = {ref["id"]: ref for ref in run.read_with(note_id)}
    sources = tuple(read) if run.settings.analyst.reads_candidates else ()
    return Proposals(run.judgement(note_id), analyst, read, sources)


def _is_replaced(candidate: Note | None, ref: ReadRef) -> bool:
    return candidate is None or content_digest(candidate.content) != ref["digest"]


async def _shares(io: IO, run: Run, note: Note, proposals: Proposals) -> Mapping[str, float]:
    """By target, what the weight of a model's link is multiplied with; see `percentiles`.

    Statistics have measured similarity already. Without a lifecycle, a link could not regain by
    use what it loses here.
    """
    if run.settings.believe is None or run.settings.analyst.needs_statistics:
        return {}
    named = {link.to for link in proposals.judgement.links if link.kind != CONTRADICTS}
    return await percentiles(io, note, sorted(named & proposals.read.keys()), run.context)


async def _write(
    io: IO,
    run: Run,
    before: Mapping[str, Note],
    writes: Sequence[Note],
    new: Sequence[Point],
    drawn_on: set[str],
) -> bool:
    """Write all notes in one operation; False if one of them was changed meanwhile.

    Also False if the text of a note in `drawn_on` was changed, or that note is gone.
    """
    olds = [before[note.id] for note in writes]
    points = await embedded_points(io, writes, known=run.context.vectors_by_text(olds))
    left_out = await io.engine.commit(
        points,
        expect={id: {"content": before[id].content} for id in drawn_on & before.keys()}
        | {note.id: {**as_read(note), **_same_as(note)} for note in olds},
        present=drawn_on - before.keys(),
        new=[*revision_points(olds), *new],
    )
    if not left_out:
        run.context.wrote(writes, points)
    return not left_out


def _same_as(note: Note) -> Fields:
    """What tells it from a note that was forgotten and added anew, or parked meanwhile."""
    return {"status": str(note.status), "created_at": micros(note.created_at)}
