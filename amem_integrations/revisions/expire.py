"""Expiry: notes that are kept for a while after they were last written or read.

A note may outlive its time until it is swept; whether it is shown meanwhile is the reader's
choice (`alive`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from amem_integrations.core.filters import Condition, Not, Range
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, decode
from amem_integrations.core.note import Note
from amem_integrations.revisions.forget import forget
from amem_integrations.stores.codec import duration, micros

_PAGE = 256


@dataclass(frozen=True, slots=True)
class Swept:
    """How many notes were removed, and which are to be formed anew, by namespace."""

    notes: int = 0
    unformed: Mapping[Namespace, list[str]] = field(default_factory=dict[Namespace, list[str]])


def alive(now: datetime) -> Condition:
    """The notes whose time has not come by `now`, among them those that are kept for good."""
    return Not(_past(now))


def is_alive(note: Note, now: datetime) -> bool:
    return note.expires_at is None or note.expires_at > now


async def prolong(io: IO, notes: Iterable[Note]) -> None:
    """Start the time of each note anew; nothing for one that has none, or another by now."""
    now = io.now()
    await io.gather(
        *(
            io.engine.patch(
                note.id, {"expires_at": micros(now + note.ttl)}, expect={"ttl": duration(note.ttl)}
            )
            for note in notes
            if note.ttl is not None
        )
    )


async def sweep(io: IO, analyst: str) -> Swept:
    """Forget every note whose time has passed; one that is written or read meanwhile stays."""
    past = _past(io.now())
    swept, unformed, after = 0, dict[Namespace, list[str]](), None
    while page := await io.engine.scroll(past, limit=_PAGE, after=after, fields=("ns",)):
        for point in page:
            namespace = decode(point.payload["ns"])
            forgotten = await forget(io, point.id, namespace, analyst, only=past)
            swept += forgotten.notes
            unformed.setdefault(namespace, []).extend(forgotten.unformed)
        after = page[-1].id
    return Swept(swept, unformed)


def _past(now: datetime) -> Range:
    return Range("expires_at", lte=micros(now))
