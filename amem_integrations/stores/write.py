"""Notes with their vectors: what is written to the store for a note.

Texts are embedded together, once each, and vectors of unchanged passages are reused.
"""

from collections.abc import Iterable, Mapping, Sequence

from amem_integrations.core.engine import Point, Vector
from amem_integrations.core.io import IO
from amem_integrations.core.note import Note
from amem_integrations.stores.codec import note_from, note_point
from amem_integrations.stores.passages import passages, sparse_text


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
    vectors = await vectors_of(io, (text for parts in texts for text in parts), known or {})
    return [
        note_point(note, [vectors[text] for text in parts], io.sparse.document(sparse_text(note)))
        for note, parts in zip(notes, texts, strict=True)
    ]


async def vectors_of(
    io: IO, texts: Iterable[str], known: Mapping[str, Vector]
) -> dict[str, Vector]:
    """A vector for each text, those that are not known embedded in one request."""
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    return {**known, **dict(zip(missing, await io.embed(missing) if missing else (), strict=True))}


async def known_vectors(io: IO, notes: Sequence[Note]) -> dict[str, Vector]:
    """The stored vectors of notes by the text they stand for.

    A short note has none to reuse: its one passage changes with every change.
    """
    reusable = [note.id for note in notes if note.parts is not None or len(passages(note)) > 1]
    return vectors_by_text(await io.engine.get(reusable, vectors=True)) if reusable else {}


def vectors_by_text(points: Iterable[Point]) -> dict[str, Vector]:
    """The vectors of points that hold notes, by the text they stand for."""
    found: dict[str, Vector] = {}
    for point in points:
        # A raw note may have no more than its first passages embedded.
        found.update(zip(passages(note_from(point)), point.dense, strict=False))
    return found
