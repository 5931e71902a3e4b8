"""What pages show, asked of the memory: operations over io that only read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from amem_integrations.core.filters import EVERYTHING, Condition, Range, both, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, decode
from amem_integrations.core.note import Note, Revision
from amem_integrations.errors import NoteNotFoundError
from amem_integrations.memory import operations
from amem_integrations.revisions.entry import Entry
from amem_integrations.stores.codec import micros, note_from, within
from amem_integrations.stores.read import notes_by_id, recent, revisions


@dataclass(frozen=True, slots=True)
class Page:
    """Notes, the newest first. newer, older: where the pages beside it are; None at an end."""

    notes: tuple[Note, ...]
    newer: int | None
    older: int | None


@dataclass(frozen=True, slots=True)
class Told:
    """A note with its links, its revisions, oldest first, and the notes that these name."""

    note: Note
    revisions: tuple[Revision, ...]
    others: Mapping[str, Note]


async def namespaces(io: IO) -> list[tuple[Namespace, int]]:
    """Every namespace with how many notes it holds, in the order of labels."""
    where = match("kind", "note")
    counts = await io.engine.facet("ns", where, limit=await io.engine.count(where))
    return sorted((decode(name), count) for name, count in counts.items())


async def notes_page(
    io: IO,
    namespace: Namespace,
    *,
    size: int,
    where: Condition = EVERYTHING,
    before: int | None = None,
    after: int | None = None,
) -> Page:
    """`size` notes of a namespace that meet `where`.

    The newest ones, or those made just before or just after a moment.
    """
    if after is not None:
        points = await io.engine.scroll(
            within(namespace, both(where, Range("created_at", gt=after))),
            limit=size + 1,
            order_by="created_at",
        )
        notes = [note_from(point) for point in points[:size]][::-1]
        more_newer, more_older = len(points) > size, True
    else:
        past = EVERYTHING if before is None else Range("created_at", lt=before)
        notes = await recent(io, namespace, limit=size + 1, where=both(where, past))
        more_newer, more_older = before is not None, len(notes) > size
        notes = notes[:size]
    return Page(
        tuple(notes),
        micros(notes[0].created_at) if notes and more_newer else None,
        micros(notes[-1].created_at) if notes and more_older else None,
    )


async def told(io: IO, note_id: str, namespace: Namespace) -> Told:
    """A note with all that its page shows; of one that was merged, what it went into.

    Raises NoteNotFoundError.
    """
    note = await operations.read(io, note_id, namespace)
    if note is None:
        raise NoteNotFoundError(
            f"There is no note {note_id} in namespace {'/'.join(namespace)}; "
            "it may have been forgotten, or live in another namespace."
        )
    history = tuple(await revisions(io, note))
    named = Entry(note, history).references | {link.source for link in note.incoming}
    return Told(note, history, await named_notes(io, named - {note.id}, namespace))


async def named_notes(io: IO, ids: Iterable[str], namespace: Namespace) -> dict[str, Note]:
    """The notes among `ids` that are of this namespace."""
    found = await notes_by_id(io, sorted(ids))
    return {id: note for id, note in found.items() if note.namespace == namespace}
