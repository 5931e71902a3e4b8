"""How near two notes are, held against what is usual between notes of their namespace.

A model can link what has nothing in common but its imagination. So its links begin with the
strength it gives them, times the share of random pairs that are less near to each other: a
true link loses little by that, a made-up one half. Ours, not the paper's.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import hypot

from amem_integrations.core.filters import match
from amem_integrations.core.io import IO, Point, Vector
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status
from amem_integrations.stores.codec import within

SHOWN = (Status.RAW, Status.PLAIN, Status.FORMED, Status.PARKED)
ENOUGH = 100
"""How many random pairs tell what is usual."""
_SAMPLE = 48
_SMALL_SAMPLE = 24


async def usual_cosines(io: IO, namespace: Namespace, *, sample: int = _SAMPLE) -> list[float]:
    """The cosines of random pairs of a namespace's notes, ascending; empty where they are few."""
    # Ids are digests, so the first ones are as good as any.
    where = within(namespace, match("status", *SHOWN))
    found = await io.engine.scroll(where, limit=sample, fields=("kind",))
    return cosines_of(await io.engine.get([point.id for point in found], vectors=True))


def cosines_of(points: Sequence[Point]) -> list[float]:
    """The cosines of all pairs of points, ascending; empty where there are fewer than ENOUGH."""
    units = [_unit(point.dense[0]) for point in points if point.dense]
    cosines = sorted(sum(map(float.__mul__, a, b)) for a, b in combinations(units, 2))
    return cosines if len(cosines) >= ENOUGH else []


async def percentiles(io: IO, note: Note, others: Collection[str]) -> Mapping[str, float]:
    """For each of the other notes, the share of random pairs less near than it is to `note`.

    In [0, 1]; empty where there are too few notes to tell what is usual.
    """
    if not others:
        return {}
    usual = await usual_cosines(io, note.namespace, sample=_SMALL_SAMPLE)
    if not usual:
        return {}
    points = await io.engine.get([note.id, *others], vectors=True)
    units = {point.id: [_unit(each) for each in point.dense] for point in points}
    own = units.pop(note.id, [])
    return {
        id: bisect_left(usual, max(_products(own, its), default=0.0)) / len(usual)
        for id, its in units.items()
    }


def _products(one: Sequence[Vector], other: Sequence[Vector]) -> list[float]:
    return [sum(map(float.__mul__, a, b)) for a in one for b in other]


def _unit(vector: Sequence[float]) -> Vector:
    length = hypot(*vector) or 1.0
    return [x / length for x in vector]
