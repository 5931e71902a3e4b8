"""Overwriting: a value takes the place of what was kept under its key, as in any key-value store.

The old text is gone then, with its history and with what it had caused in other notes; only
the time of creation stays. `revise` is for a note that keeps its history.
"""

from collections.abc import Mapping
from dataclasses import replace

from amem_integrations.core.filters import Range, both, match
from amem_integrations.core.io import IO, Vector
from amem_integrations.core.note import Note
from amem_integrations.errors import StoreError
from amem_integrations.revisions.retract import Retraction, retract, retract_late
from amem_integrations.stores.codec import as_read
from amem_integrations.stores.read import load
from amem_integrations.stores.write import embedded_points

_ROUNDS = 8


async def overwrite(
    io: IO,
    given: Note,
    held: Note | None,
    analyst: str,
    *,
    known: Mapping[str, Vector] | None = None,
) -> tuple[Note, Retraction]:
    """Keep `given` in place of `held`, the note with its id; None if there was none.

    With the same texts, what was understood of them stays. If another value was put there in
    the meantime, this one counts as overwritten by it. known: vectors of texts.
    Raises StoreError if the note keeps changing.
    """
    taken_back = Retraction()
    for _ in range(_ROUNDS):
        if held is None:
            if not await io.engine.insert(await embedded_points(io, [given], known=known)):
                return given, taken_back
        else:
            same = (given.content, given.parts) == (held.content, held.parts)
            if not same:
                taken_back += await retract(io, held.id, held.namespace, analyst)
            after = _after(held, given, same)
            points = await embedded_points(io, [after], known=known)
            if not await io.engine.commit(points, expect={held.id: as_read(held)}):
                if not same:
                    await _drop_history(io, held)
                    taken_back += await retract_late(io, after, analyst)
                return after, taken_back
        before = None if held is None else (held.value_json, held.parts)
        held = (await load(io, [given.id], given.namespace)).get(given.id)
        if held is not None and held.value_json and (held.value_json, held.parts) != before:
            return held, taken_back
        given = replace(given, updated_at=io.now())
    raise StoreError(f"Note {given.id} kept changing while it was being overwritten.")


def _after(held: Note, given: Note, same: bool) -> Note:
    version = held.version + 1
    if not same:
        return replace(given, created_at=held.created_at, version=version)
    return replace(
        held,
        value_json=given.value_json,
        updated_at=given.updated_at,
        ttl=given.ttl,
        expires_at=given.expires_at,
        version=version,
    )


async def _drop_history(io: IO, held: Note) -> None:
    older = Range("version", lte=held.version)
    await io.engine.delete(both(match("kind", "revision"), match("of", held.id), older))
