"""Forgetting: a note, its vectors and records, and everything it caused in others."""

from dataclasses import dataclass

from amem_integrations.conditions import EVERYTHING, Any, Condition, HasId, both, match
from amem_integrations.errors import StoreError
from amem_integrations.formation.retract import Retraction, retract
from amem_integrations.namespace import Namespace, encode
from amem_integrations.ports import IO
from amem_integrations.store.reading import influenced_by, linking_to
from amem_integrations.store.schema import within

_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a forgetting removed.

    notes: how many notes. evolutions: changes of other notes that were undone. links: links
    of other notes that were removed. unformed: ids of notes that had been understood in the
    light of what was forgotten and are to be formed anew.
    """

    notes: int
    evolutions: int = 0
    links: int = 0
    unformed: tuple[str, ...] = ()


async def forget(
    io: IO, note_id: str, namespace: Namespace, analyst: str, *, only: Condition = EVERYTHING
) -> Forgotten:
    """Remove one note and its traces; a note that is not there counts as nothing.

    only: what it must meet, asked again in the moment of its removal.
    The note stays until its traces are gone, so an interrupted call can be repeated. Raises
    StoreError if other notes keep taking it up.
    """
    own = within(namespace, HasId((note_id,)))
    if not await io.engine.count(both(own, only)):
        return Forgotten(0)
    total = Retraction()
    for _ in range(_ROUNDS):
        total += await retract(io, note_id, namespace, analyst)
        await io.engine.delete(both(own, only))
        if await io.engine.count(own):
            return Forgotten(0, total.evolutions, total.links, total.unformed)
        await io.engine.delete(match("of", note_id))
        # A formation that was under way may have written once more.
        traces = [
            *await influenced_by(io, note_id),
            *await linking_to(io, namespace, note_id),
        ]
        if not traces:
            unformed = tuple(id for id in dict.fromkeys(total.unformed) if id != note_id)
            return Forgotten(1, total.evolutions, total.links, unformed)
    raise StoreError(f"Traces of note {note_id} keep coming back; try again when it is quiet.")


async def forget_namespace(io: IO, namespace: Namespace) -> Forgotten:
    """Remove every note of exactly this namespace, with all records of them."""
    notes = await io.engine.count(within(namespace))
    await io.engine.delete(
        Any((within(namespace), match("owner", encode(namespace)))),
    )
    return Forgotten(notes)
