"""Pages of notes in a settled order: by nearness to a query, or the last changed first.

For callers that list and page over many namespaces, as key-value stores do. Unlike `search`,
a score here is nothing but a cosine, the same whatever page it is on; ties have an order, and
while nothing is written, pages neither overlap nor leave anything out.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from amem_integrations.core.filters import Condition
from amem_integrations.core.io import IO, Query
from amem_integrations.core.note import Note
from amem_integrations.recall.search import MAX_EMBEDDED_CHARS
from amem_integrations.stores.read import notes_by_id

Place: TypeAlias = tuple[str, float | int]
Meets: TypeAlias = Callable[[Note], bool]

_MIN_DEPTH = 32
_COUNTED_DEPTH = 1000
_PAGE = 256
_FEW = 8


async def nearest(
    io: IO,
    query: str,
    where: Condition,
    *,
    limit: int,
    offset: int = 0,
    meets: Meets | None = None,
) -> list[tuple[Note, float]]:
    """Notes by the cosine of their best passage to the query, in [-1, 1]; ties in id order.

    Notes without any text are not among them. meets: what notes that are met under `where`
    must meet besides.
    """
    vector = await io.embed_query(query[:MAX_EMBEDDED_CHARS])

    async def first(depth: int) -> list[Place]:
        [found] = await io.engine.query([Query(vector, where, depth)])
        return [(scored.id, scored.score) for scored in found]

    return await _page(io, first, where, limit, offset, meets)


async def newest(
    io: IO, where: Condition, *, limit: int, offset: int = 0, meets: Meets | None = None
) -> list[Note]:
    """Notes by the time at which their callers last changed them; ties in id order."""

    async def first(depth: int) -> list[Place]:
        points = await io.engine.scroll(
            where, limit=depth, order_by="updated_at", descending=True, fields=("updated_at",)
        )
        return [(point.id, point.payload["updated_at"]) for point in points]

    return [note for note, _ in await _page(io, first, where, limit, offset, meets)]


async def _page(
    io: IO,
    first: Callable[[int], Awaitable[list[Place]]],
    where: Condition,
    limit: int,
    offset: int,
    meets: Meets | None,
) -> list[tuple[Note, float]]:
    """The page of what `first(depth)` gives, the best `depth` places, ties in any order."""
    if limit == 0:
        return []
    end = offset + limit
    depth = end + 1 if meets is None else max(_MIN_DEPTH, 2 * end)
    known: dict[str, Note | None] = {}
    while True:
        if depth > _COUNTED_DEPTH:
            depth = min(depth, await io.engine.count(where) + 1)
        places = await first(depth)
        complete = len(places) < depth
        if not complete:
            # Of those that tie with the last one, some may have been left out.
            places = [place for place in places if place[1] > places[-1][1]]
        places.sort(key=lambda place: (-place[1], place[0]))
        if meets is not None:
            places = await _passing(io, places, meets, end, known)
        if complete or len(places) >= end:
            chosen = places[offset:end]
            await _read(io, [id for id, _ in chosen], known)
            return [(note, rank) for id, rank in chosen if (note := known[id]) is not None]
        depth *= 4


async def _passing(
    io: IO, places: Sequence[Place], meets: Meets, wanted: int, known: dict[str, Note | None]
) -> list[Place]:
    """The first `wanted` of the places whose notes are there and meet the test."""
    passing: list[Place] = []
    start = 0
    while len(passing) < wanted and start < len(places):
        page = places[start : start + min(max(wanted - len(passing), _FEW), _PAGE)]
        start += len(page)
        await _read(io, [id for id, _ in page], known)
        passing.extend(
            place for place in page if (note := known[place[0]]) is not None and meets(note)
        )
        # Reading a long list must not hold up everything else on the loop.
        await io.sleep(0)
    return passing[:wanted]


async def _read(io: IO, ids: Sequence[str], known: dict[str, Note | None]) -> None:
    missing = [id for id in ids if id not in known]
    known.update(dict.fromkeys(missing))
    known.update(await notes_by_id(io, missing))
