"""Commit: what was proposed becomes part of the memory, in one write or not at all.

The new note, and the neighbours it makes evolve, are written in one operation that states
the version each was read at. Whoever changed one of them meanwhile wins; the proposals are
then applied anew to what is there now, and what cannot be applied for long is dropped.
"""

import json
import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from amem_integrations.errors import AMemError
from amem_integrations.formation.embedding import embedded_points, known_vectors
from amem_integrations.formation.judging import failure
from amem_integrations.formation.outbox import NO_LEASE
from amem_integrations.formation.retract import retract
from amem_integrations.formation.revise import archived, revised
from amem_integrations.formation.state import (
    FormationState,
    Outcome,
    ReadRef,
    Settings,
    content_digest,
    failed,
    judgement_from,
    mode_of,
    namespace_of,
    outcome,
    read_with,
)
from amem_integrations.formation.validate import (
    MAX_REASON_CHARS,
    Tally,
    accepted_evolutions,
    accepted_links,
    evolved,
    merged,
    understood,
)
from amem_integrations.judgement import Judgement
from amem_integrations.note import Note, Status, clean_text
from amem_integrations.ports import IO
from amem_integrations.store.reading import load
from amem_integrations.store.schema import as_read, micros

_LOG = logging.getLogger(__name__)
_ROUNDS = 12
_LONGEST_WAIT = 5.0
# One more attempt at an answer that cannot be used seldom helps; an outage ends.
MAX_ATTEMPTS = 3
MAX_ATTEMPTS_IN_OUTAGE = 9
_FIRST_PAUSE = timedelta(seconds=30)
_LONGEST_PAUSE = timedelta(hours=1)


async def commit(io: IO, settings: Settings, state: FormationState) -> dict[str, Any]:
    """Commit every note of the state in order; failures are kept on their notes."""
    outcomes = dict(state.get("outcomes", {}))
    for ref in state.get("notes", []):
        note_id = ref["id"]
        if note_id not in outcomes:
            try:
                outcomes[note_id] = await _commit_one(io, settings, state, note_id, ref["version"])
            except AMemError as error:
                outcomes[note_id] = failure(error)
        result = outcomes[note_id]
        settings.ledger.count(f"formation.{result['status']}")
        if result["status"] == "failed":
            await note_failure(io, settings, state, note_id, result)
    return {"outcomes": outcomes}


async def note_failure(
    io: IO, settings: Settings, state: FormationState, note_id: str, result: Outcome
) -> None:
    """Keep the reason on the raw note, and when to try again; park it when that is no use."""
    note = (await load(io, [note_id], namespace_of(state))).get(note_id)
    if note is None or note.status is not Status.RAW:
        return
    attempts = note.attempts + 1
    most = MAX_ATTEMPTS_IN_OUTAGE if result["outage"] else MAX_ATTEMPTS
    fields: dict[str, Any] = {
        **NO_LEASE,
        "attempts": attempts,
        "last_error": result["reason"][:500],
    }
    if result["again"] is None or attempts >= most:
        fields["status"] = str(Status.PARKED)
        settings.ledger.count("formation.parked")
    else:
        pause = min(_FIRST_PAUSE * 2 ** (attempts - 1), _LONGEST_PAUSE)
        fields["retry_at"] = micros(io.now() + max(pause, timedelta(seconds=result["again"])))
    # Not a change of the note itself: the version stays, so that nothing in flight is upset.
    await io.engine.patch(
        note_id, fields, expect={"status": str(Status.RAW), "version": note.version}
    )


async def _commit_one(
    io: IO, settings: Settings, state: FormationState, note_id: str, version: int
) -> Outcome:
    if note_id not in state.get("understanding", {}):
        return outcome("gone", "forgotten before it was judged")
    judged = _judged(settings, state, note_id)
    stamps: set[datetime] = set()
    evolutions = 0
    for attempt in range(1, _ROUNDS + 1):
        notes = await load(io, [note_id, *judged.read], namespace_of(state))
        note = notes.pop(note_id, None)
        if note is None:
            if stamps:
                # A server may have written the neighbours and not the note.
                await retract(io, note_id, namespace_of(state), judged.analyst)
            return outcome("gone", "forgotten while it was being formed")
        written = (
            note.status is Status.FORMED
            and note.revision is not None
            and note.revision.at in stamps
        )
        if not written and (note.version != version or note.status is not Status.RAW):
            return outcome("superseded", "changed while it was being formed")
        if not written and any(_replaced(notes.get(id), ref) for id, ref in judged.read.items()):
            # What was proposed may carry text that is not there any more.
            return outcome("stale", "judged in the light of a note that was forgotten or changed")
        now = io.now()
        stamps.add(now)
        tally = Tally()
        writes = [] if written else [_formed(note, judged, notes, now, tally)]
        if attempt < _ROUNDS:
            writes += _evolved(note, judged, notes, now, tally)
        else:
            # Rather without them than not at all.
            tally["dropped.evolution.contention"] = len(judged.proposed.evolutions)
        evolutions = len(writes) - (not written)
        drawn_on = _drawn_on(note if written else writes[0], judged)
        if not writes or await _write(io, {note.id: note, **notes}, writes, drawn_on):
            _count(settings, tally)
            links = len((note if written else writes[0]).links)
            return outcome("formed", links=links, evolutions=evolutions)
        settings.ledger.count("commit.redone")
        await io.sleep(_wait(attempt, (io.now() - now).total_seconds()))
    return failed("contention: its neighbours kept changing")


def _wait(attempt: int, took: float) -> float:
    """Seconds until a commit is redone that took so many and came too late.

    By chance, and longer each time, so that of a crowd around one neighbour some get through.
    """
    return min(_LONGEST_WAIT, random.random() * took * 2 ** min(attempt - 1, 5))


@dataclass(frozen=True, slots=True)
class _Judged:
    """What was proposed for a note, by whom, and in the light of which notes.

    sources: those of `read` whose text may be in the proposals.
    """

    proposed: Judgement
    analyst: str
    read: Mapping[str, ReadRef]
    sources: tuple[str, ...]

    def offered(self, note: Note, present: Mapping[str, Note]) -> set[str]:
        """What the note may link to, and change: links lead from new to old (paper §3.2)."""
        return {
            id for id in self.read if id not in present or present[id].created_at < note.created_at
        }


def _judged(settings: Settings, state: FormationState, note_id: str) -> _Judged:
    analyst = settings.judged_by(mode_of(settings, state, note_id))
    read = {ref["id"]: ref for ref in read_with(state, note_id)}
    sources = tuple(read) if settings.analyst.reads_candidates else ()
    return _Judged(judgement_from(state, note_id), analyst, read, sources)


def _replaced(candidate: Note | None, ref: ReadRef) -> bool:
    return candidate is None or content_digest(candidate.content) != ref["digest"]


def _formed(
    note: Note, judged: _Judged, present: Mapping[str, Note], now: datetime, tally: Tally
) -> Note:
    offered = judged.offered(note, present)
    proposed = accepted_links(note, judged.proposed.links, offered, present, now, tally)
    # What the turn was woven with outranks what else may be said of the same note.
    woven = {link.to for link in note.outgoing}
    links = (*note.outgoing, *(link for link in proposed if link.to not in woven))
    formed = understood(note, judged.proposed.understanding).evolve(
        links=links, status=Status.FORMED, last_error=None
    )
    return revised(note, formed, "formed", note.id, now, judged.analyst, judged.sources)


def _evolved(
    note: Note, judged: _Judged, present: Mapping[str, Note], now: datetime, tally: Tally
) -> list[Note]:
    """The neighbours that change; one that is to stay as it is, is not written."""
    offered = judged.offered(note, present)
    writes: list[Note] = []
    for neighbour_id, proposal in accepted_evolutions(
        note, judged.proposed.evolutions, offered, present, tally
    ).items():
        neighbour = present[neighbour_id]
        if neighbour.status is not Status.FORMED:
            tally["dropped.evolution.not_formed"] += 1
            continue
        if neighbour.version == judged.read[neighbour_id]["version"]:
            changed = evolved(neighbour, proposal)
        else:
            changed = merged(neighbour, proposal)
            tally["evolution.merged"] += 1
        if changed == neighbour:
            tally["evolution.kept_as_is"] += 1
            continue
        writes.append(
            revised(
                neighbour,
                changed,
                "evolved",
                note.id,
                now,
                judged.analyst,
                tuple(id for id in judged.sources if id != neighbour_id),
                clean_text(proposal.reason, MAX_REASON_CHARS),
            )
        )
    return writes


def _drawn_on(note: Note, judged: _Judged) -> set[str]:
    """The notes without which, or with another text, the commit would be wrong."""
    return {link.to for link in note.outgoing}.union(judged.sources)


async def _write(
    io: IO, before: Mapping[str, Note], writes: Sequence[Note], drawn_on: set[str]
) -> bool:
    """Write all notes in one operation; False when one of them was changed meanwhile.

    So it is when the text of a note that is drawn on was, or when that note is gone.
    """
    olds = [before[note.id] for note in writes]
    known = await known_vectors(io, olds)
    points = await embedded_points(io, writes, known=known)
    left_out = await io.engine.commit(
        points,
        expect={id: {"content": before[id].content} for id in drawn_on & before.keys()}
        | {note.id: as_read(note) for note in olds},
        present=drawn_on - before.keys(),
        new=archived(olds),
    )
    return not left_out


def _count(settings: Settings, tally: Tally) -> None:
    for event, n in tally.items():
        settings.ledger.count(event, n)
    if tally:
        _LOG.debug("Of the proposals: %s", json.dumps(tally))
