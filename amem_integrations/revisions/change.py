"""Writing the next versions of notes: all of them in one operation, or none.

What a note was stands in its revision, which is kept as a record of its own beside the newest.
Every change that the lifecycle makes, and a caller's own, goes through here.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from amem_integrations.core.io import IO
from amem_integrations.core.note import Link, Note, Status
from amem_integrations.errors import NoteNotFoundError, StoreError
from amem_integrations.revisions.revise import archived
from amem_integrations.stores.codec import as_read
from amem_integrations.stores.passages import FIRST_PASSAGES
from amem_integrations.stores.read import existing, load
from amem_integrations.stores.write import embedded_points, vectors_by_text

ROUNDS = 8


async def change(io: IO, pairs: Sequence[tuple[Note, Note]]) -> bool:
    """Put the second note of each pair in the place of the first; False if one was changed.

    Vectors of texts that stay are kept, so nothing is embedded where only a standing changes.
    Also False if a note is gone to which one of the new versions links.
    """
    before = [old for old, _ in pairs]
    known = vectors_by_text(await io.engine.get([note.id for note in before], vectors=True))
    raw = [new for _, new in pairs if new.status is Status.RAW]
    rest = [new for _, new in pairs if new.status is not Status.RAW]
    points = await embedded_points(io, raw, first=FIRST_PASSAGES, known=known)
    points += await embedded_points(io, rest, known=known)
    left_out = await io.engine.commit(
        points,
        expect={note.id: as_read(note) for note in before},
        present={link.to for _, new in pairs for link in new.outgoing} - {n.id for n in before},
        new=archived(before),
    )
    return not left_out


async def changed(io: IO, note: Note, step: Callable[[Note], Awaitable[Note]], doing: str) -> Note:
    """What `step` makes of a note, written; made anew each time that somebody came between.

    step: gives the next version of a note, or the note itself if there is nothing to do.
    doing: what is being done to it, for errors, such as "reverted".
    Raises NoteNotFoundError if the note was forgotten meanwhile, StoreError if it keeps
    changing, and what `step` raises.
    """
    for _ in range(ROUNDS):
        after = await step(note)
        if after is note or await change(io, [(note, after)]):
            return after
        note = await again(io, note, doing)
    raise kept_changing(note, doing)


async def again(io: IO, note: Note, doing: str) -> Note:
    """The note as it is now. Raises NoteNotFoundError if it was forgotten."""
    held = await load(io, [note.id], note.namespace)
    if note.id not in held:
        raise NoteNotFoundError(f"Note {note.id} was forgotten while it was being {doing}.")
    return held[note.id]


def kept_changing(note: Note, doing: str) -> StoreError:
    return StoreError(
        f"Note {note.id} kept changing while it was being {doing}; try again when it is quiet."
    )


async def only_present(io: IO, note: Note, fields: dict[str, Any]) -> None:
    """Leave out of `fields`, as a note once had them, what leads to notes forgotten since."""
    links: Iterable[Link] = fields.get("links", ())
    contested: Iterable[str] = fields.get("contested_by", ())
    merged = fields.get("merged_into")
    named = {*(link.to for link in links), *contested, *([merged] if merged else [])}
    there = await existing(io, sorted(named), note.namespace)
    if "links" in fields:
        fields["links"] = tuple(link for link in links if link.to in there)
    if "contested_by" in fields:
        fields["contested_by"] = tuple(id for id in contested if id in there)
    if merged is not None and merged not in there:
        fields["merged_into"] = None
