"""Setting notes aside, and bringing them back.

An archived note leaves recall and is offered to no new note; it stays on disk with its links,
its vectors and its history, is exported, and can be brought back or forgotten. Links to it
stay as they are and are shown where a note is read; a search does not follow them.
"""

from collections.abc import Sequence

from amem_integrations.core.filters import match
from amem_integrations.core.io import IO
from amem_integrations.core.note import Note, Status
from amem_integrations.revisions.change import change, changed
from amem_integrations.revisions.revise import revised
from amem_integrations.stores.read import revisions

_AT_ONCE = 32
_LEFT = (Status.RAW, Status.ARCHIVED)
ARCHIVED = match("status", Status.ARCHIVED)


async def archive(
    io: IO,
    notes: Sequence[Note],
    reason: str,
    cause: str | None = None,
    *,
    analyst: str = "lifecycle",
) -> int:
    """Archive notes of one namespace; returns how many of them were.

    cause: id of the note that brings it about; forgetting that one brings these back. None for
    each note itself.
    Passed over are those that wait to be formed (a worker may be at one of them), that are
    archived, or that were changed since they were read: who counts on it looks again.
    """
    count = 0
    for start in range(0, len(notes), _AT_ONCE):
        now = io.now()
        pairs = [
            (
                note,
                revised(
                    note,
                    note.evolve(status=Status.ARCHIVED),
                    "archived",
                    cause or note.id,
                    now,
                    analyst,
                    reason=reason,
                ),
            )
            for note in notes[start : start + _AT_ONCE]
            if note.status not in _LEFT
        ]
        if pairs and await change(io, pairs):
            count += len(pairs)
        elif pairs:
            # One of them was changed; the others need not suffer from it.
            count += sum([await change(io, [pair]) for pair in pairs])
    return count


async def restore(io: IO, note: Note, *, analyst: str = "caller") -> Note:
    """Bring an archived note back as it was, also one that was merged into another.

    What the other gained from it stays there. A note that is not archived stays as it is.
    Raises NoteNotFoundError and StoreError as `change.changed` does.
    """

    async def step(note: Note) -> Note:
        if note.status is not Status.ARCHIVED:
            return note
        back = note.evolve(status=await _status_before(io, note), merged_into=None)
        return revised(note, back, "restored", note.id, io.now(), analyst)

    return await changed(io, note, step, "restored")


async def _status_before(io: IO, note: Note) -> Status:
    """What it was when it was archived; formed, where its history does not say."""
    for revision in reversed(await revisions(io, note)):
        status = revision.changes.get("status")
        if status is not None and status.after == Status.ARCHIVED:
            return Status(status.before)
    return Status.FORMED if note.keywords or note.context else Status.PLAIN
