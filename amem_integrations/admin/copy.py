"""Copying everything that is stored into another collection, with vectors of its own encoders.

That is how a memory comes to another embedder, or from a directory to a server. Unlike an export
it takes all namespaces and whatever is kept beside the notes. `tending` gives it its two forms.
"""

from collections.abc import Callable

from amem_integrations.admin.check import DAMAGED
from amem_integrations.core.engine import Point
from amem_integrations.core.filters import EVERYTHING
from amem_integrations.core.io import IO
from amem_integrations.core.note import Note
from amem_integrations.errors import StoreCorruptError
from amem_integrations.stores.codec import note_from, note_point
from amem_integrations.stores.write import embedded_points

_PAGE = 64


async def copy(source: IO, target: IO, progress: Callable[[int, int], None] | None = None) -> int:
    """Copy what the target does not hold yet; returns how many notes that were.

    Repeating it goes on where it was broken off. Raises StoreCorruptError for a damaged note.
    """
    total, seen, copied = await source.engine.count(EVERYTHING), 0, 0
    after: str | None = None
    while page := await source.engine.scroll(EVERYTHING, limit=_PAGE, after=after):
        kinds = {point.id: point.payload.get("kind") for point in page}
        there = {point.id for point in await target.engine.get([point.id for point in page])}
        missing = [point for point in page if point.id not in there]
        notes = [point for point in missing if kinds[point.id] == "note"]
        fresh = await embedded_points(target, [_readable(point) for point in notes])
        points = [
            # The payload as it is, so that what no note says of itself comes along.
            Point(old.id, old.payload, new.dense, new.sparse)
            for old, new in zip(notes, fresh, strict=True)
        ]
        points += [point for point in missing if kinds[point.id] not in ("note", "meta")]
        if points:
            copied += len(notes) - len(
                {point.id for point in notes} & await target.engine.insert(points)
            )
        seen += len(page)
        if progress is not None:
            progress(min(seen, total), total)
        after = page[-1].id
    return copied


def _readable(point: Point) -> Note:
    try:
        note = note_from(point)
        # Reads what the note keeps as text, too.
        note_point(note, (), None)
    except DAMAGED as error:
        raise StoreCorruptError(
            f"Note {point.id} cannot be read, so it cannot be copied; what stands before it was. "
            "`amem admin repair` says what can be done, and copying again goes on from there."
        ) from error
    return note
