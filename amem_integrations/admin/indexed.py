"""Whether what is stored is found by its fields: the engine's indexes may be damaged.

Then notes are there and nobody sees them. `check` reports it; `repair` writes the fields again,
as that is what makes an index anew.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from amem_integrations.core.filters import Condition, Range, both, ids, match
from amem_integrations.core.io import IO, Point
from amem_integrations.stores.codec import INDEXES, Index

FIELDS = tuple(INDEXES)
_ANY = -(2**62)


async def not_found(io: IO, points: Sequence[Point]) -> list[tuple[str, str]]:
    """Ids and fields of the points that are not found by what these fields hold.

    points: with all of FIELDS that they have.
    """
    missing: list[tuple[str, str]] = []
    for field in FIELDS:
        held = {point.id: point for point in points if _values(point, field)}
        if not held or await io.engine.count(_found_by(field, held.values())) == len(held):
            continue
        found = await io.engine.scroll(
            _found_by(field, held.values()), limit=len(held), fields=("kind",)
        )
        for id in held.keys() - {point.id for point in found}:
            # It may have been written just now.
            again = [point for point in await io.engine.get([id]) if _values(point, field)]
            if again and not await io.engine.count(_found_by(field, again)):
                missing.append((id, field))
    return missing


async def index_again(io: IO, id: str, field: str) -> None:
    """Write what a field of a point holds once more, unless it was changed meanwhile."""
    for point in await io.engine.get([id]):
        held = {field: point.payload.get(field)}
        await io.engine.patch(id, held, expect=held)


def _found_by(field: str, points: Iterable[Point]) -> Condition:
    points = list(points)
    some = ids([point.id for point in points])
    if INDEXES[field] is Index.INTEGER:
        return both(some, Range(field, gte=_ANY))
    values = {value for point in points for value in _values(point, field)}
    return both(some, match(field, *sorted(values)))


def _values(point: Point, field: str) -> list[Any]:
    """What an index can hold of a field; anything else is found by nothing."""
    kind = int if INDEXES[field] is Index.INTEGER else str
    held = point.payload.get(field)
    values = cast("list[Any]", held if isinstance(held, list) else [held])
    return [value for value in values if type(value) is kind]
