"""Holding notes back until a person has looked at what is proposed for them.

A held note is parked: it is stored and found, and no background worker forms it meanwhile.
Asking the person is `graph`'s, because it is an interrupt.
"""

from typing import Any

from amem_integrations.core.io import IO
from amem_integrations.core.note import Note, Status
from amem_integrations.formation.state import FormationState, Settings, namespace_of, open_ids
from amem_integrations.stores.read import load

REJECTED = "turned down in review"
_WAITING = "waits for review"


async def hold(io: IO, settings: Settings, state: FormationState) -> dict[str, Any]:
    """Park the notes that are to be reviewed."""
    for note in await _open(io, state):
        if note.status is Status.RAW:
            await _set(io, note, Status.PARKED, _WAITING)
    return {}


async def release(io: IO, settings: Settings, state: FormationState) -> dict[str, Any]:
    """Let go of what may be committed, or failed; what was turned down stays parked."""
    outcomes = state.get("outcomes", {})
    for note in await _open(io, state, ended=True):
        if note.status is not Status.PARKED or note.last_error != _WAITING:
            continue
        if note.id in outcomes and outcomes[note.id]["status"] == "rejected":
            await _set(io, note, Status.PARKED, REJECTED)
        else:
            await _set(io, note, Status.RAW, None)
    return {}


async def _open(io: IO, state: FormationState, *, ended: bool = False) -> list[Note]:
    ids = [ref["id"] for ref in state.get("notes", ())] if ended else open_ids(state)
    return list((await load(io, ids, namespace_of(state))).values())


async def _set(io: IO, note: Note, status: Status, why: str | None) -> None:
    # Not a change of the note itself: the version stays, and with it what is judged of it.
    await io.engine.patch(
        note.id, {"status": str(status), "last_error": why}, expect={"version": note.version}
    )
