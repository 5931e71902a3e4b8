"""New content from a caller: a new version of a note, or a value in place of another.

Both take back what the replaced text had caused in other notes.
"""

from collections.abc import Mapping
from dataclasses import replace

from amem_integrations.core.engine import Vector
from amem_integrations.core.filters import Range, both, match
from amem_integrations.core.io import IO
from amem_integrations.core.note import NOT_UNDERSTOOD, Note, Status, check_content
from amem_integrations.revisions.change import (
    ROUNDS,
    back_off,
    change_notes,
    kept_changing,
    reload,
    revised,
)
from amem_integrations.revisions.retract import Retraction, retract, retract_late
from amem_integrations.stores.codec import as_read
from amem_integrations.stores.read import load
from amem_integrations.stores.write import embedded_points


async def update(
    io: IO,
    note: Note,
    analyst: str,
    *,
    content: str,
    metadata_json: str | None = None,
    source: str | None = None,
    kind: str = "updated",
    reason: str = "",
) -> tuple[Note, Retraction]:
    """Give a note new content (and metadata): a new raw version, to be formed again.

    source: whose the new content is, if that was given. Unchanged content leaves the understanding
    alone and is no revision. New content takes the
    place of a value that was put there, and of its history. Raises InvalidInputError for content
    that cannot be stored, NoteNotFoundError if the note was forgotten meanwhile, StoreError if
    it keeps changing.
    """
    check_content(content)
    taken_back = Retraction()
    for tried in range(ROUNDS):
        await back_off(io, tried)
        now = io.now()
        metadata = note.metadata_json if metadata_json is None else metadata_json
        if content == note.content:
            if metadata == note.metadata_json:
                return note, taken_back
            after = note.evolve(metadata_json=metadata, updated_at=now, version=note.version + 1)
        else:
            raw = note.evolve(
                metadata_json=metadata,
                updated_at=now,
                content=content,
                source=source or note.source,
                parts=None,
                value_json=None,
                **NOT_UNDERSTOOD,
                links=(),
                status=Status.RAW,
                attempts=0,
                last_error=None,
                # What other notes said was about the old text.
                valid_until=None,
                contested_by=(),
                merged_into=None,
                trust=1.0,
                life=replace(note.life, conflicts=()),
            )
            if note.value_json is not None:
                return await overwrite(io, replace(raw, revision=None), note, analyst)
            # Its own understanding goes below; its history keeps it, for `revert`.
            taken_back += await retract(io, note.id, note.namespace, analyst, stays=True)
            after = revised(note, raw, kind, note.id, now, "caller", reason=reason)
        if await change_notes(io, [(note, after)]):
            if content != note.content:
                taken_back += await retract_late(io, after, analyst)
            return after, taken_back
        note = await reload(io, note, "updated")
    raise kept_changing(f"Note {note.id} kept changing while it was being updated")


async def overwrite(
    io: IO,
    given: Note,
    stored: Note | None,
    analyst: str,
    *,
    known: Mapping[str, Vector] | None = None,
) -> tuple[Note, Retraction]:
    """Write the value `given` in place of `stored`, the note with its id, as any key-value store.

    The old text goes with its history; only the time of creation stays. With the same texts, what
    was understood of them stays. If another value was put there in the meantime, this one counts
    as overwritten by it. known: vectors of texts. Raises StoreError if the note keeps changing.
    """
    taken_back = Retraction()
    for tried in range(ROUNDS):
        await back_off(io, tried)
        if stored is None:
            if not await io.engine.insert(await embedded_points(io, [given], known=known)):
                return given, taken_back
        else:
            same = (given.content, given.parts) == (stored.content, stored.parts)
            if not same:
                taken_back += await retract(io, stored.id, stored.namespace, analyst)
            after = _overwritten(stored, given, same)
            points = await embedded_points(io, [after], known=known)
            if not await io.engine.commit(points, expect={stored.id: as_read(stored)}):
                if not same:
                    history = both(match("kind", "revision"), match("of", stored.id))
                    older = Range("version", lte=stored.version)
                    await io.engine.delete(both(history, older))
                    taken_back += await retract_late(io, after, analyst)
                return after, taken_back
        before = None if stored is None else (stored.value_json, stored.parts)
        stored = (await load(io, [given.id], given.namespace)).get(given.id)
        if stored and stored.value_json and (stored.value_json, stored.parts) != before:
            return stored, taken_back
        given = replace(given, updated_at=io.now())
    raise kept_changing(f"Note {given.id} kept changing while it was being overwritten")


def _overwritten(stored: Note, given: Note, same: bool) -> Note:
    if not same:
        return replace(given, created_at=stored.created_at, version=stored.version + 1)
    return replace(
        stored,
        value_json=given.value_json,
        updated_at=given.updated_at,
        ttl=given.ttl,
        expires_at=given.expires_at,
        refresh_on_read=given.refresh_on_read,
        version=stored.version + 1,
    )
