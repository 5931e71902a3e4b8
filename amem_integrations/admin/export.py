"""Exporting: the notes of one namespace, each with its whole history, as lines of JSON.

The first line is a header; then one line a note, oldest first. Notes are named by their keys,
never by ids: an id follows from namespace and key, so a line means the same in any namespace,
and cannot name a note of another one. Vectors are left out; they follow from the texts, and
so does everything else that is derived. `lines` and `import_` are the way back.
"""

from collections.abc import AsyncGenerator
from typing import Any

from amem_integrations.admin.lines import header_line, note_line
from amem_integrations.core.engine import Point
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.revisions.entry import Entry, entry_of, keys_of, records_of
from amem_integrations.stores.codec import note_from, within

_PAGE = 128
_ROUNDS = 8


async def export(io: IO, namespace: Namespace, package: str) -> AsyncGenerator[str, None]:
    """The lines, without line ends. Notes added meanwhile come at the end or not at all.

    package: the version of the package that writes them, for the header.
    """
    yield header_line(namespace, package)
    start: int | None = None
    seen: set[str] = set()
    limit = _PAGE
    while True:
        page = await io.engine.scroll(
            within(namespace),
            limit=limit,
            order_by="created_at",
            start_from=start,
            fields=("created_at",),
        )
        new = [point.id for point in page if point.id not in seen]
        for line in await _lines(io, new, namespace):
            yield line
        if len(page) < limit:
            return
        last = page[-1].payload["created_at"]
        # The next page starts with the notes of the same instant, however many these are.
        limit = _PAGE if new and last != start else 2 * limit
        at_last = {point.id for point in page if point.payload["created_at"] == last}
        seen = at_last | seen if last == start else at_last
        start = last


async def _lines(io: IO, note_ids: list[str], namespace: Namespace) -> list[str]:
    entries = await _settled(io, note_ids)
    named = {id for entry in entries for id in entry.references}
    keys = await keys_of(io, named, namespace) if named else {}
    return [note_line(entry.only(keys), keys) for entry in entries]


async def _settled(io: IO, note_ids: list[str]) -> list[Entry]:
    """The notes with their histories, read again while one of them changes meanwhile."""
    if not note_ids:
        return []
    points = await io.engine.get(note_ids)
    records = await records_of(io, note_ids)
    for _ in range(_ROUNDS):
        again = await io.engine.get(note_ids)
        if _versions(again) == _versions(points):
            break
        points, records = again, await records_of(io, note_ids)
    notes = [note_from(point) for point in points]
    return [entry_of(note, records[note.id]) for note in notes]


def _versions(points: list[Point]) -> dict[str, Any]:
    return {point.id: point.payload["version"] for point in points}
