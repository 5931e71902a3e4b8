"""Commit: what was proposed becomes part of the memory, in one write or not at all.

The new note, and the neighbours it makes evolve, are written in one operation that states
the version each was read at. Whoever changed one of them meanwhile wins; the proposals are
then applied anew to what is there now.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from amem_integrations.errors import AMemError
from amem_integrations.formation.embedding import embedded_points, known_vectors
from amem_integrations.formation.judging import failure
from amem_integrations.formation.retract import retract
from amem_integrations.formation.revise import archived, revised
from amem_integrations.formation.state import (
    CandidateRef,
    FormationState,
    Outcome,
    Settings,
    content_digest,
    judgement_from,
    namespace_of,
    outcome,
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
from amem_integrations.store.schema import as_read

_LOG = logging.getLogger(__name__)
_ROUNDS = 8
MAX_ATTEMPTS = 3


async def commit(io: IO, settings: Settings, state: FormationState) -> dict[str, Any]:
    """Commit every note of the state in order; failures are kept on their notes."""
    outcomes = dict(state.get("outcomes", {}))
    for ref in state.get("notes", []):
        note_id = ref["id"]
        if note_id not in outcomes:
            refs = state.get("candidates", {}).get(note_id, [])
            try:
                outcomes[note_id] = await _commit_one(
                    io, settings, state, note_id, ref["version"], refs
                )
            except AMemError as error:
                outcomes[note_id] = failure(error)
        result = outcomes[note_id]
        settings.ledger.count(f"formation.{result['status']}")
        if result["status"] == "failed":
            await note_failure(io, settings, state, note_id, result["reason"])
    return {"outcomes": outcomes}


async def note_failure(
    io: IO, settings: Settings, state: FormationState, note_id: str, reason: str
) -> None:
    """Keep the reason on the raw note; park it once MAX_ATTEMPTS have failed."""
    note = (await load(io, [note_id], namespace_of(state))).get(note_id)
    if note is None or note.status is not Status.RAW:
        return
    attempts = note.attempts + 1
    status = Status.PARKED if attempts >= MAX_ATTEMPTS else Status.RAW
    if status is Status.PARKED:
        settings.ledger.count("formation.parked")
    # Not a change of the note itself: the version stays, so that nothing in flight is upset.
    await io.engine.patch(
        note_id,
        {"attempts": attempts, "last_error": reason[:500], "status": str(status)},
        expect={"version": note.version},
    )


async def _commit_one(
    io: IO,
    settings: Settings,
    state: FormationState,
    note_id: str,
    version: int,
    refs: Sequence[CandidateRef],
) -> Outcome:
    if note_id not in state.get("understanding", {}):
        return outcome("gone", "forgotten before it was judged")
    judgement = judgement_from(state, note_id)
    offered = [ref["id"] for ref in refs]
    stamps: set[datetime] = set()
    evolutions = 0
    for _ in range(_ROUNDS):
        notes = await load(io, [note_id, *offered], namespace_of(state))
        note = notes.pop(note_id, None)
        if note is None:
            if stamps:
                # A server may have written the neighbours and not the note.
                await retract(io, note_id, namespace_of(state), settings.analyst_name)
            return outcome("gone", "forgotten while it was being formed")
        written = (
            note.status is Status.FORMED
            and note.revision is not None
            and note.revision.at in stamps
        )
        if not written and (note.version != version or note.status is not Status.RAW):
            return outcome("superseded", "changed while it was being formed")
        if not written and any(_replaced(notes.get(ref["id"]), ref) for ref in refs):
            # What was proposed may carry text that is not there any more.
            return outcome("stale", "judged in the light of a note that was forgotten or changed")
        now = io.now()
        stamps.add(now)
        tally = Tally()
        writes = [] if written else [_formed(note, judgement, offered, notes, settings, now, tally)]
        writes += _evolved(note, judgement, refs, notes, settings, now, tally)
        evolutions = len(writes) - (not written)
        present = _must_exist(note if written else writes[0], settings, offered)
        if not writes or await _write(io, {note.id: note, **notes}, writes, present):
            _count(settings, tally)
            links = len((note if written else writes[0]).links)
            return outcome("formed", links=links, evolutions=evolutions)
        settings.ledger.count("commit.redone")
    return outcome("failed", "contention: its neighbours kept changing")


def _replaced(candidate: Note | None, ref: CandidateRef) -> bool:
    return candidate is None or content_digest(candidate.content) != ref["digest"]


def _formed(
    note: Note,
    judgement: Judgement,
    offered: Sequence[str],
    present: Mapping[str, Note],
    settings: Settings,
    now: datetime,
    tally: Tally,
) -> Note:
    links = accepted_links(note, judgement.links, offered, present, now, tally)
    formed = understood(note, judgement.understanding).evolve(
        links=links, status=Status.FORMED, last_error=None
    )
    sources = tuple(offered) if settings.analyst.reads_candidates else ()
    return revised(note, formed, "formed", note.id, now, settings.analyst_name, sources)


def _evolved(
    note: Note,
    judgement: Judgement,
    refs: Sequence[CandidateRef],
    present: Mapping[str, Note],
    settings: Settings,
    now: datetime,
    tally: Tally,
) -> list[Note]:
    """The neighbours that change; one that is to stay as it is, is not written."""
    offered = {ref["id"]: ref["version"] for ref in refs}
    sources = tuple(offered) if settings.analyst.reads_candidates else ()
    writes: list[Note] = []
    for neighbour_id, proposal in accepted_evolutions(
        note, judgement.evolutions, offered, present, tally
    ).items():
        neighbour = present[neighbour_id]
        if neighbour.status is not Status.FORMED:
            tally["dropped.evolution.not_formed"] += 1
            continue
        if neighbour.version == offered[neighbour_id]:
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
                settings.analyst_name,
                tuple(id for id in sources if id != neighbour_id),
                clean_text(proposal.reason, MAX_REASON_CHARS),
            )
        )
    return writes


def _must_exist(note: Note, settings: Settings, offered: Sequence[str]) -> set[str]:
    """The notes without which the commit would be wrong."""
    linked = {link.to for link in note.outgoing}
    return linked | set(offered) if settings.analyst.reads_candidates else linked


async def _write(
    io: IO, before: Mapping[str, Note], writes: Sequence[Note], present: set[str]
) -> bool:
    """Write all notes in one operation; False when one of them was changed meanwhile."""
    olds = [before[note.id] for note in writes]
    known = await known_vectors(io, olds)
    points = await embedded_points(io, writes, known=known)
    left_out = await io.engine.commit(
        points,
        expect={note.id: as_read(note) for note in olds},
        present=present - {note.id for note in writes},
        new=archived(olds),
    )
    return not left_out


def _count(settings: Settings, tally: Tally) -> None:
    for event, n in tally.items():
        settings.ledger.count(event, n)
    if tally:
        _LOG.debug("Of the proposals: %s", json.dumps(tally))
