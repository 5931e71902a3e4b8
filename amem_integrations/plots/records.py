"""What pictures are drawn from: notes, their histories, and their vectors."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from amem_integrations.core.engine import Vector
from amem_integrations.core.filters import Not, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Revision, Status
from amem_integrations.core.status import UNDERSTOOD
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.plots.picture import Picture, empty_figure
from amem_integrations.plots.text import line, many
from amem_integrations.revisions.entry import Entry, entry_of, records_of
from amem_integrations.stores.codec import fields_from
from amem_integrations.stores.read import recent
from amem_integrations.stores.write import passages, vectors_by_text, vectors_of

MOST = 20_000
"""Notes read for one picture; of a larger namespace, the newest."""
_PAGE = 256


async def notes_of(io: IO, namespace: Namespace) -> list[Note]:
    """Return the notes of a namespace, the newest first, with the links they made; no archived."""
    return await recent(io, namespace, limit=MOST, where=Not(match("status", str(Status.ARCHIVED))))


async def entries_of(io: IO, notes: Sequence[Note]) -> list[Entry]:
    """Return the notes with their histories."""
    entries: list[Entry] = []
    for start in range(0, len(notes), _PAGE):
        page = notes[start : start + _PAGE]
        records = await records_of(io, [note.id for note in page])
        entries += [entry_of(note, records[note.id]) for note in page]
    return entries


async def vectors_before_and_after(
    io: IO, entries: Sequence[Entry]
) -> tuple[dict[str, Vector], dict[str, Vector]]:
    """Return the vectors of notes, by id: as first understood, and as stored now.

    Notes without a vector are left out; of several passages, the mean direction counts.
    """
    before: dict[str, Vector] = {}
    after: dict[str, Vector] = {}
    for start in range(0, len(entries), _PAGE):
        page = entries[start : start + _PAGE]
        points = await io.engine.get([entry.note.id for entry in page], vectors=True)
        stored = {point.id: _mean(point.dense) for point in points if point.dense}
        changed: dict[str, Sequence[str]] = {}
        for entry in page:
            first = passages(as_first_understood(entry.note, entry.revisions))
            if entry.note.id in stored and first != passages(entry.note):
                changed[entry.note.id] = first
        wanted = (passage for parts in changed.values() for passage in parts)
        vectors = await vectors_of(io, wanted, vectors_by_text(points))
        after |= stored
        before |= stored
        before |= {id: _mean([vectors[part] for part in parts]) for id, parts in changed.items()}
    return before, after


def as_first_understood(note: Note, revisions: Sequence[Revision]) -> Note:
    """Return the note as its present text was first formed, before anything evolved it.

    A note that was never formed comes back as it is. revisions: all of the note's, oldest first.
    """
    fields: dict[str, Any] = {name: getattr(note, name) for name in UNDERSTOOD}
    first: dict[str, Any] | None = None
    for revision in reversed(revisions):
        if revision.kind == "formed":
            first = dict(fields)
        if "content" in revision.changes:
            break
        fields |= {
            name: change.before for name, change in revision.changes.items() if name in fields
        }
    if first is None:
        return note
    return replace(note, **fields_from(note.id, first))


def _mean(vectors: Sequence[Vector]) -> Vector:
    """Return the mean direction, of length 1 unless the vectors cancel out."""
    if len(vectors) == 1:
        return list(vectors[0])
    summed = [sum(values, 0.0) for values in zip(*vectors, strict=True)]
    length = sum(value * value for value in summed) ** 0.5
    return [value / length for value in summed] if length else summed


def check_limit(limit: int) -> None:
    """Raise InvalidInputError unless a picture may show so many notes."""
    if limit < 1:
        raise InvalidInputError(f"limit is at least 1; got {limit}.")


def namespace_name(namespace: Namespace) -> str:
    """Return the name of a namespace for a title."""
    return line("/".join(namespace), 60)


def shown_of(shown: int, total: int) -> str:
    """Return how many notes are shown: "3 notes", or "2 of 3 notes"."""
    return many(shown, "note") if shown == total else f"{shown:,} of {many(total, 'note')}"


def remarks_of(
    memory: AgenticMemory, namespace: Namespace, read: int, shown: int, which: str
) -> tuple[str, ...]:
    """Return what a reader must know of notes that are not shown; `which` ones are."""
    remarks: list[str] = []
    if read >= MOST:
        total = memory.count(namespace)
        remarks.append(f"The namespace has {total:,} notes; the newest {read:,} were read.")
    if shown < read:
        remarks.append(f"{shown:,} of {read:,} notes are shown: {which}. `limit` sets how many.")
    return tuple(remarks)


def empty_picture(title: str, data: Any) -> Picture:
    """Return a picture that says that there is nothing to see."""
    figure = empty_figure(title, "There are no notes in this namespace yet.")
    return Picture(figure, title, data, ())
