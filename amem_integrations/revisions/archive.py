"""Archiving: notes that leave recall, stay stored with links and history, and can be restored."""

from collections.abc import Sequence

from amem_integrations.core.filters import match
from amem_integrations.core.io import IO
from amem_integrations.core.note import Note, Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.revisions.change import change_note, change_notes, revised
from amem_integrations.stores.read import revisions

_BATCH = 32
ARCHIVED = match("status", Status.ARCHIVED)


async def archive(io: IO, notes: Sequence[Note], reason: str, *, analyst: str = "lifecycle") -> int:
    """Archive notes of one namespace; returns how many were archived.

    Skips notes that are raw (a worker may be forming them), archived, or changed since they were
    read.
    """
    count = 0
    left = [note for note in notes if note.status not in (Status.RAW, Status.ARCHIVED)]
    for start in range(0, len(left), _BATCH):
        batch = left[start : start + _BATCH]
        pairs = [(note, _archived(io, note, reason, analyst)) for note in batch]
        if await change_notes(io, pairs):
            count += len(pairs)
        else:
            # One of them was changed; the others need not suffer from it.
            count += sum([await change_notes(io, [pair]) for pair in pairs])
    return count


async def archive_note(io: IO, note: Note, reason: str) -> Note:
    """Archive one note, as its caller asks; one that is archived stays as it is.

    Raises InvalidInputError for a raw note, NoteNotFoundError and StoreError as `change_note` does.
    """

    async def step(note: Note) -> Note:
        if note.status is Status.RAW:
            raise InvalidInputError(
                f"Note {note.id} waits to be formed and cannot be archived yet. Have it formed "
                "with form() or resume(), or forget() it."
            )
        if note.status is Status.ARCHIVED:
            return note
        return _archived(io, note, reason, "caller")

    return await change_note(io, note, step, "archived")


def _archived(io: IO, note: Note, reason: str, analyst: str) -> Note:
    after = note.evolve(status=Status.ARCHIVED)
    return revised(note, after, "archived", note.id, io.now(), analyst, reason=reason)


async def restore(io: IO, note: Note) -> Note:
    """Bring an archived note back as it was, also one that was merged into another.

    What the other note gained from it stays there. A note that is not archived stays as it is.
    Raises NoteNotFoundError and StoreError as `change_note` does.
    """

    async def step(note: Note) -> Note:
        if note.status is not Status.ARCHIVED:
            return note
        back = note.evolve(status=await _status_before(io, note), merged_into=None)
        return revised(note, back, "restored", note.id, io.now(), "caller")

    return await change_note(io, note, step, "restored")


async def _status_before(io: IO, note: Note) -> Status:
    for revision in reversed(await revisions(io, note)):
        status = revision.changes.get("status")
        if status is not None and status.after == Status.ARCHIVED:
            return Status(status.before)
    return Status.FORMED if note.keywords or note.context else Status.PLAIN
