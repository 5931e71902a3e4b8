"""Notes with their vectors: what is written to the store for a note.

Texts are embedded together, once each, and vectors of unchanged passages are reused.
"""

from collections.abc import Mapping, Sequence

from amem_integrations.formation.passages import passages, sparse_text
from amem_integrations.note import Note
from amem_integrations.ports import IO, Point, Vector
from amem_integrations.store.schema import note_point


async def embedded_points(
    io: IO,
    notes: Sequence[Note],
    *,
    first: int | None = None,
    known: Mapping[str, Vector] | None = None,
) -> list[Point]:
    """A point for each note, all texts embedded in one request.

    first: embed only that many passages of a note. known: vectors of texts embedded before.
    """
    texts = [passages(note)[:first] for note in notes]
    vectors = dict(known or {})
    missing = list(dict.fromkeys(text for parts in texts for text in parts if text not in vectors))
    if missing:
        vectors.update(zip(missing, await io.embed(missing), strict=True))
    return [
        note_point(note, [vectors[text] for text in parts], io.sparse.document(sparse_text(note)))
        for note, parts in zip(notes, texts, strict=True)
    ]


async def known_vectors(io: IO, notes: Sequence[Note]) -> dict[str, Vector]:
    """The stored vectors of long notes by the text they stand for.

    Short notes are one passage, which changes with every change: nothing to reuse.
    """
    long = {note.id: parts for note in notes if len(parts := passages(note)) > 1}
    if not long:
        return {}
    found: dict[str, Vector] = {}
    for point in await io.engine.get(list(long), vectors=True):
        parts = long[point.id]
        if len(parts) == len(point.dense):
            found.update(zip(parts, point.dense, strict=True))
    return found
