"""What pictures are made of, asked of the memory: notes, their histories, their vectors.

Operations over io; `pictures.py` runs them. What a note was before it evolved is told from its
revisions here, and its vector then is made again by the memory's own embedder.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amem_integrations.core.filters import Not, match
from amem_integrations.core.io import IO, Vector
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Revision, Status
from amem_integrations.revisions.entry import Entry, entry_of, records_of
from amem_integrations.stores.passages import passages
from amem_integrations.stores.read import recent
from amem_integrations.stores.write import vectors_by_text, vectors_of

MOST = 20_000
"""Notes read for one picture; of a larger namespace, the newest."""
_PAGE = 256


@dataclass(frozen=True)
class Vectors:
    """The vector of each note, by its id: as first understood, and as it is stored now."""

    before: Mapping[str, Vector]
    after: Mapping[str, Vector]


async def notes_of(io: IO, namespace: Namespace) -> list[Note]:
    """The notes of a namespace, the newest first, with the links they made; no archived ones."""
    return await recent(io, namespace, limit=MOST, where=Not(match("status", str(Status.ARCHIVED))))


async def entries_of(io: IO, notes: Sequence[Note]) -> list[Entry]:
    """The notes with their histories."""
    entries: list[Entry] = []
    for start in range(0, len(notes), _PAGE):
        page = notes[start : start + _PAGE]
        records = await records_of(io, [note.id for note in page])
        entries += [entry_of(note, records[note.id]) for note in page]
    return entries


async def vectors_before_and_after(io: IO, entries: Sequence[Entry]) -> Vectors:
    """The vectors of the notes that have any; of several passages, their mean direction."""
    before: dict[str, Vector] = {}
    after: dict[str, Vector] = {}
    for start in range(0, len(entries), _PAGE):
        page = entries[start : start + _PAGE]
        points = await io.engine.get([entry.note.id for entry in page], vectors=True)
        after |= {point.id: _mean(point.dense) for point in points if point.dense}
        first = {
            entry.note.id: passages(as_first_understood(entry.note, entry.revisions))
            for entry in page
        }
        changed = {
            entry.note.id: first[entry.note.id]
            for entry in page
            if entry.note.id in after and first[entry.note.id] != passages(entry.note)
        }
        known = vectors_by_text(points)
        texts = (text for parts in changed.values() for text in parts)
        vectors = await vectors_of(io, texts, known)
        before |= {point.id: after[point.id] for point in points if point.dense}
        before |= {id: _mean([vectors[text] for text in parts]) for id, parts in changed.items()}
    return Vectors(before, after)


def as_first_understood(note: Note, revisions: Sequence[Revision]) -> Note:
    """The note as it was when its present text was first formed, before anything evolved it.

    One that was never formed comes back as it is. revisions: all of the note's, oldest first.
    """
    fields: dict[str, Any] = {
        "keywords": list(note.keywords),
        "tags": list(note.tags),
        "context": note.context,
    }
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
    return replace(
        note,
        keywords=tuple(first["keywords"]),
        tags=tuple(first["tags"]),
        context=first["context"],
    )


def _mean(vectors: Sequence[Vector]) -> Vector:
    """The mean direction, of length 1 unless the vectors cancel out."""
    if len(vectors) == 1:
        return list(vectors[0])
    summed = [sum(values, 0.0) for values in zip(*vectors, strict=True)]
    length = sum(value * value for value in summed) ** 0.5
    return [value / length for value in summed] if length else summed
