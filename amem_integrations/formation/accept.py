"""Accepting: a note becomes durable and findable before any model has seen it.

Also the graph's first node, which admits the notes that still wait to be formed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from amem_integrations.core.io import IO
from amem_integrations.core.note import Note, Status
from amem_integrations.formation.state import (
    FormationState,
    NoteRef,
    Settings,
    namespace_of,
    outcome,
)
from amem_integrations.stores.codec import micros
from amem_integrations.stores.passages import FIRST_PASSAGES
from amem_integrations.stores.read import load
from amem_integrations.stores.write import embedded_points


async def accept(
    io: IO, notes: Sequence[Note], *, leased: Mapping[str, Any] | None = None
) -> list[Note]:
    """Store raw notes of one namespace; those whose id is taken come back as they are stored.

    leased: the fields of a lease, for whoever is to form them next.

    A caller compares what came back with what it gave: other content under the same key is
    an update, which this does not do.
    """
    unique = {note.id: note for note in notes}
    stored = await load(io, unique, notes[0].namespace)
    new = [note for note in unique.values() if note.id not in stored]
    if new:
        points = await embedded_points(io, new, first=FIRST_PASSAGES)
        for point in points:
            if point.payload["status"] == Status.RAW:
                point.payload.update(leased or {})
        taken = await io.engine.insert(points)
        if taken:
            stored |= await load(io, taken, notes[0].namespace)
    return [stored.get(note.id, note) for note in notes]


async def admit(io: IO, settings: Settings, state: FormationState) -> dict[str, Any]:
    """Start with the notes that exist and are raw, oldest first; end the others at once.

    In the order of their making, a note finds the earlier ones formed when it is committed.
    """
    refs = state.get("notes", [])
    notes = await load(io, (ref["id"] for ref in refs), namespace_of(state))
    outcomes = dict(state.get("outcomes", {}))
    admitted: list[NoteRef] = []
    for ref in sorted(refs, key=lambda ref: _made(notes.get(ref["id"]))):
        note = notes.get(ref["id"])
        if note is None:
            outcomes[ref["id"]] = outcome("gone", "forgotten")
        elif note.status is not Status.RAW:
            outcomes[ref["id"]] = outcome("superseded", f"already {note.status}")
        else:
            ref = NoteRef(id=note.id, version=note.version)
        admitted.append(ref)
    return {"notes": admitted, "outcomes": outcomes}


def _made(note: Note | None) -> tuple[int, str]:
    return (micros(note.created_at), note.id) if note is not None else (0, "")
