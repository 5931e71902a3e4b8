"""Forgetting: a note, its vectors and records, and everything it caused in others.

One note, all that match a filter, a whole namespace, or the notes that have expired.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from amem_integrations.core.engine import Point
from amem_integrations.core.filters import EVERYTHING, Condition, HasId, both, match
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, decode, encode
from amem_integrations.core.note import Note, Status
from amem_integrations.errors import InvalidFilterError, StoreError
from amem_integrations.revisions.change import ROUNDS, back_off
from amem_integrations.revisions.retract import Retraction, retract, traces_of
from amem_integrations.stores.codec import duration, micros, note_from, within
from amem_integrations.stores.expiry import expired, including_expired
from amem_integrations.stores.filters import match as filters
from amem_integrations.stores.read import influenced_by, load
from amem_integrations.stores.uses import leave_out

_PAGE = 256


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a forgetting removed; such reports can be added up.

    Attributes:
        notes: how many notes were removed.
        evolutions: how many changes of other notes were undone.
        links: how many links of other notes were removed.
        unformed: ids of notes that were understood in the light of the removed ones and are to be
            formed anew.
        waiting: how many of the removed notes were raw.
        duplicates: ids of notes that say the same and are still stored: they were merged into a
            removed note, or with it into a third. Without the removed note they can be found again.

    Examples:
        >>> first = memory.add("A cache would fix the slow product page", session="s1")
        >>> second = memory.add("Then a cache for the product page", session="s1")
        >>> forgotten = memory.forget(first)
        >>> forgotten.notes, forgotten.links, memory.links(second)
        (1, 1, ())
    """

    notes: int
    evolutions: int = 0
    links: int = 0
    unformed: tuple[str, ...] = ()
    waiting: int = 0
    duplicates: tuple[str, ...] = ()

    def __add__(self, other: "Forgotten") -> "Forgotten":
        return Forgotten(
            self.notes + other.notes,
            self.evolutions + other.evolutions,
            self.links + other.links,
            tuple(dict.fromkeys((*self.unformed, *other.unformed))),
            self.waiting + other.waiting,
            tuple(dict.fromkeys((*self.duplicates, *other.duplicates))),
        )

    def without(self, note_ids: Collection[str]) -> "Forgotten":
        """Return the report without what it says of notes that were removed since."""
        unformed, duplicates = (
            tuple(id for id in ids if id not in note_ids)
            for ids in (self.unformed, self.duplicates)
        )
        return replace(self, unformed=unformed, duplicates=duplicates)


async def forget(
    io: IO,
    note_id: str,
    namespace: Namespace,
    analyst: str,
    *,
    only: Condition = EVERYTHING,
    duplicates: bool = False,
) -> Forgotten:
    """Remove one note and its traces, also traces that an interrupted call left.

    only: what the note must match, asked again in the moment of its removal. duplicates: also
    remove the notes that were merged with it.
    Raises StoreError if other notes keep taking it up.
    """
    io = including_expired(io)
    try:
        return await _forget(io, note_id, namespace, analyst, only, duplicates)
    finally:
        # Also if it broke off: the note itself may be gone by then.
        io.caches.drop(namespace, (note_id,))


async def _forget(
    io: IO, note_id: str, namespace: Namespace, analyst: str, only: Condition, duplicates: bool
) -> Forgotten:
    own = within(namespace, HasId((note_id,)))
    points = await io.engine.scroll(both(own, only), limit=1, fields=("status",))
    if not points and await io.engine.count(own):
        return Forgotten(0)
    waiting = sum(point.payload["status"] == Status.RAW for point in points)
    same = await _duplicates_of(io, note_id, namespace)
    if same and duplicates:
        removed = [await forget(io, id, namespace, analyst) for id in (note_id, *same)]
        return sum(removed, Forgotten(0)).without((note_id, *same))
    records = both(match("of", note_id), match("owner", encode(namespace)))
    total = Retraction()
    for tried in range(ROUNDS):
        await back_off(io, tried)
        total += await retract(io, note_id, namespace, analyst)
        await io.engine.delete(both(own, only))
        if await io.engine.count(own):
            return Forgotten(0, total.evolutions, total.links, total.unformed)
        await leave_out(io, namespace, note_id)
        await io.engine.delete(records)
        # A formation that was under way may have written once more.
        if not await traces_of(io, note_id, namespace):
            unformed = tuple(id for id in dict.fromkeys(total.unformed) if id != note_id)
            return Forgotten(len(points), total.evolutions, total.links, unformed, waiting, same)
    raise StoreError(f"Traces of note {note_id} keep coming back; try again when it is quiet.")


async def _duplicates_of(io: IO, note_id: str, namespace: Namespace) -> tuple[str, ...]:
    """Return the ids of the notes that were merged with a note, in either direction."""
    found: dict[str, Note] = {}
    left = {note_id}
    while left:
        id = left.pop()
        notes = await load(io, [id, *await influenced_by(io, namespace, id)], namespace)
        if id not in notes:
            continue
        found[id] = notes[id]
        left |= {other.id for other in notes.values() if other.merged_into == id}
        left |= {into for into in [notes[id].merged_into] if into is not None}
        left -= found.keys()
    return tuple(sorted(found.keys() - {note_id}))


async def forget_where(
    io: IO, filter: Mapping[Any, Any], namespace: Namespace, analyst: str
) -> Forgotten:
    """Remove every note of the namespace that matches a filter, as `forget` removes one.

    The notes are chosen first, because removing some changes others: those become raw, or lose
    keywords. Raises InvalidFilterError, also for a filter without a condition.
    """
    tree = filters.parse(filter)
    if not filters.count_tests(tree):
        raise InvalidFilterError(
            "A filter that asks for nothing is met by every note. To remove them all, use "
            "forget_namespace()."
        )
    compiled = filters.compile(tree)
    where = within(namespace, compiled.condition)
    io = including_expired(io)
    wanted: dict[str, bool] = {}
    after: str | None = None
    while page := await io.engine.scroll(where, limit=_PAGE, after=after):
        for point in page:
            if compiled.exact or filters.matches(tree, note_from(point)):
                wanted[point.id] = point.payload["status"] == Status.RAW
        after = page[-1].id
    total = Forgotten(0)
    for note_id, was_raw in wanted.items():
        forgotten = await forget(io, note_id, namespace, analyst)
        # It may only have become raw by what was removed before it.
        total += replace(forgotten, waiting=forgotten.notes if was_raw else 0)
    return total.without(wanted)


async def forget_namespace(io: IO, namespace: Namespace) -> Forgotten:
    """Remove every note of exactly this namespace, with all records of them."""
    io = including_expired(io)
    notes = await io.engine.count(within(namespace))
    waiting = await io.engine.count(within(namespace, match("status", Status.RAW)))
    try:
        await io.engine.delete(AnyOf((within(namespace), match("owner", encode(namespace)))))
    finally:
        io.caches.drop(namespace)
    return Forgotten(notes, waiting=waiting)


# -- expiry ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Swept:
    """How many expired notes were removed, and which are to be formed anew, by namespace."""

    notes: int = 0
    unformed: Mapping[Namespace, list[str]] = field(default_factory=dict[Namespace, list[str]])


async def make_way(
    io: IO, points: Sequence[Point], taken: frozenset[str], analyst: str
) -> tuple[frozenset[str], dict[Namespace, list[str]]]:
    """Forget notes that have expired, and insert the points that were refused their ids.

    taken: the ids that `Engine.insert(points)` refused. Returns those that still are, and by
    namespace the ids of notes that are to be formed anew.
    """
    unformed: dict[Namespace, list[str]] = {}
    if not taken:
        return taken, unformed
    homes = {point.id: point.payload["ns"] for point in points if "ns" in point.payload}
    there = await io.engine.get(sorted(taken))
    gone = (taken & homes.keys()) - {point.id for point in there}
    for note_id in sorted(gone):
        namespace = decode(homes[note_id])
        forgotten = await forget(io, note_id, namespace, analyst, only=expired(io.now()))
        unformed.setdefault(namespace, []).extend(forgotten.unformed)
    if gone:
        taken = (taken - gone) | (gone & await io.engine.insert(points))
    return taken, unformed


async def renew(io: IO, notes: Iterable[Note]) -> dict[str, datetime]:
    """Start the time of each note anew, if it has one and that is still the same.

    Returns when they expire now, by id.
    """
    timed = {note.id: note.ttl for note in notes if note.ttl is not None}
    if not timed:
        return {}
    now = io.now()
    await io.gather(
        *(
            io.engine.patch(id, {"expires_at": micros(now + ttl)}, expect={"ttl": duration(ttl)})
            for id, ttl in timed.items()
        )
    )
    return {id: now + ttl for id, ttl in timed.items()}


async def sweep(io: IO, analyst: str) -> Swept:
    """Forget every expired note; one that is written or read meanwhile stays."""
    io, past = including_expired(io), expired(io.now())
    swept, unformed, after = 0, dict[Namespace, list[str]](), None
    while page := await io.engine.scroll(past, limit=_PAGE, after=after, fields=("ns",)):
        for point in page:
            namespace = decode(point.payload["ns"])
            forgotten = await forget(io, point.id, namespace, analyst, only=past)
            swept += forgotten.notes
            unformed.setdefault(namespace, []).extend(forgotten.unformed)
        after = page[-1].id
    return Swept(swept, unformed)
