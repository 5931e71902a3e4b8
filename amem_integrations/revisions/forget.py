"""Forgetting: a note, its vectors and records, and everything it caused in others.

One note, all that meet a filter, or a whole namespace; each says what it removed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from amem_integrations.core.filters import EVERYTHING, Condition, HasId, both, match
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, encode
from amem_integrations.core.note import Status
from amem_integrations.errors import InvalidFilterError, StoreError
from amem_integrations.revisions.retract import Retraction, retract
from amem_integrations.stores.codec import note_from, within
from amem_integrations.stores.filters import match as filters
from amem_integrations.stores.read import influenced_by, linking_to
from amem_integrations.stores.uses import leave_out

_ROUNDS = 8
_PAGE = 256


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a forgetting removed; such reports can be added up.

    Attributes:
        notes: how many notes.
        evolutions: changes of other notes that were undone.
        links: links of other notes that were removed.
        unformed: ids of notes that had been understood in the light of what was forgotten and are
            to be formed anew.
        waiting: how many of the removed notes were raw, and so left the queue of what is to be
            formed.

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

    def __add__(self, other: "Forgotten") -> "Forgotten":
        return Forgotten(
            self.notes + other.notes,
            self.evolutions + other.evolutions,
            self.links + other.links,
            tuple(dict.fromkeys((*self.unformed, *other.unformed))),
            self.waiting + other.waiting,
        )


async def forget(
    io: IO, note_id: str, namespace: Namespace, analyst: str, *, only: Condition = EVERYTHING
) -> Forgotten:
    """Remove one note and its traces; a note that is not there counts as nothing.

    only: what it must meet, asked again in the moment of its removal.
    An interrupted call can be repeated: traces are looked for even where the note is gone.
    Raises StoreError if other notes keep taking it up.
    """
    own = within(namespace, HasId((note_id,)))
    held = await io.engine.scroll(both(own, only), limit=1, fields=("status",))
    if not held and await io.engine.count(own):
        return Forgotten(0)
    waiting = sum(point.payload["status"] == Status.RAW for point in held)
    records = both(match("of", note_id), match("owner", encode(namespace)))
    total = Retraction()
    for _ in range(_ROUNDS):
        total += await retract(io, note_id, namespace, analyst)
        await io.engine.delete(both(own, only))
        if await io.engine.count(own):
            return Forgotten(0, total.evolutions, total.links, total.unformed)
        await leave_out(io, namespace, note_id)
        await io.engine.delete(records)
        # A formation that was under way may have written once more.
        traces = [
            *await influenced_by(io, namespace, note_id),
            *await linking_to(io, namespace, note_id),
        ]
        if not traces:
            unformed = tuple(id for id in dict.fromkeys(total.unformed) if id != note_id)
            return Forgotten(len(held), total.evolutions, total.links, unformed, waiting)
    raise StoreError(f"Traces of note {note_id} keep coming back; try again when it is quiet.")


async def forget_where(
    io: IO, filter: Mapping[Any, Any], namespace: Namespace, analyst: str
) -> Forgotten:
    """Remove every note of the namespace that meets a filter, as `forget` removes one.

    Which they are is settled first, because removing some changes others: those become raw,
    or lose keywords. Raises InvalidFilterError, also for a filter that asks for nothing.
    """
    tree = filters.parse(filter)
    if not filters.count_tests(tree):
        raise InvalidFilterError(
            "A filter that asks for nothing is met by every note. To remove them all, use "
            "forget_namespace()."
        )
    compiled = filters.compile(tree)
    where = within(namespace, compiled.condition)
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
    left = tuple(id for id in total.unformed if id not in wanted)
    return replace(total, unformed=left)


async def forget_namespace(io: IO, namespace: Namespace) -> Forgotten:
    """Remove every note of exactly this namespace, with all records of them."""
    notes = await io.engine.count(within(namespace))
    waiting = await io.engine.count(within(namespace, match("status", Status.RAW)))
    await io.engine.delete(
        AnyOf((within(namespace), match("owner", encode(namespace)))),
    )
    return Forgotten(notes, waiting=waiting)
