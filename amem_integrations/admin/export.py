"""Export: the notes of one namespace, with their histories, as lines of JSON.

A header, then one line a note, oldest first, then an end line with their number, so that whoever
reads lines that were cut off can tell (`lines` has the format, `transfer` reads them).
"""

from collections.abc import AsyncGenerator, Sequence

from amem_integrations.admin.lines import end_line, header_line, note_line
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
    count = 0
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
        entries = await _unchanging(io, [point.id for point in page if point.id not in seen])
        named = {id for entry in entries for id in entry.references}
        keys = await keys_of(io, named, namespace)
        for entry in entries:
            yield note_line(entry.only(keys), keys)
        count += len(entries)
        if len(page) < limit:
            break
        last = page[-1].payload["created_at"]
        # The next page starts with the notes of the same instant, however many these are.
        limit = _PAGE if entries and last != start else 2 * limit
        at_last = {point.id for point in page if point.payload["created_at"] == last}
        seen = at_last | seen if last == start else at_last
        start = last
    yield end_line(count)


async def _unchanging(io: IO, note_ids: list[str]) -> list[Entry]:
    """The notes with their histories, read again while one of them changes meanwhile."""
    if not note_ids:
        return []
    points, records = await io.engine.get(note_ids), await records_of(io, note_ids)
    for _ in range(_ROUNDS):
        again = await io.engine.get(note_ids)
        if _versions(again) == _versions(points):
            break
        points, records = again, await records_of(io, note_ids)
    return [entry_of(note_from(point), records[point.id]) for point in points]


def _versions(points: Sequence[Point]) -> dict[str, int]:
    return {point.id: point.payload["version"] for point in points}
