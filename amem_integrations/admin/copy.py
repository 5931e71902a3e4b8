"""Copy a whole store into another, with vectors of the target's embedder.

That moves a memory to another embedder, or from a directory to a server. Unlike an export, a copy
has all namespaces and everything that is stored with the notes.
"""

from collections.abc import Callable

from amem_integrations.admin.check import DAMAGED
from amem_integrations.core.engine import Point
from amem_integrations.core.filters import EVERYTHING
from amem_integrations.core.io import IO
from amem_integrations.core.note import Note
from amem_integrations.errors import StoreCorruptError
from amem_integrations.stores.codec import note_from, note_point
from amem_integrations.stores.expiry import including_expired
from amem_integrations.stores.write import embedded_points

_PAGE = 64


async def copy(source: IO, target: IO, progress: Callable[[int, int], None] | None = None) -> int:
    """Copy what the target does not hold yet; returns how many notes that were.

    Notes that have expired and are not yet swept are copied too, and expire there.

    Repeating it continues after an error. Raises StoreCorruptError for a damaged note.
    """
    source, target = including_expired(source), including_expired(target)
    total, seen, copied = await source.engine.count(EVERYTHING), 0, 0
    after: str | None = None
    while page := await source.engine.scroll(EVERYTHING, limit=_PAGE, after=after):
        stored = {point.id for point in await target.engine.get([point.id for point in page])}
        missing = [point for point in page if point.id not in stored]
        notes = [point for point in missing if point.payload.get("kind") == "note"]
        others = [p for p in missing if p.payload.get("kind") not in ("note", "meta")]
        encoded = await embedded_points(target, [_readable(point) for point in notes])
        # The payload as it is, with what the codec does not know.
        points = [
            Point(old.id, old.payload, new.dense, new.sparse, new.questions)
            for old, new in zip(notes, encoded, strict=True)
        ]
        if points or others:
            refused = await target.engine.insert([*points, *others])
            copied += len({point.id for point in notes} - refused)
        seen += len(page)
        if progress is not None:
            progress(min(seen, total), total)
        after = page[-1].id
    return copied


def _readable(point: Point) -> Note:
    try:
        note = note_from(point)
        # This reads what the note keeps as text, too.
        note_point(note, (), None)
    except DAMAGED as error:
        raise StoreCorruptError(
            f"Note {point.id} cannot be read, so it cannot be copied; what stands before it was. "
            "`amem admin repair` says what can be done, and copying again goes on from there."
        ) from error
    return note
