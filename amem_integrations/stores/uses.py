"""Reports of use: which notes helped with what, or contradicted it, kept until they are counted.

A report is a point of its own, so that reporting touches no note. `lifecycle.feedback` writes
them, `lifecycle.maintenance` reads them. They go with any of their notes, and with the namespace.
"""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, TypeAlias

from amem_integrations.core.engine import Point, Vector
from amem_integrations.core.filters import EVERYTHING, Condition, Range, both, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, encode
from amem_integrations.errors import StoreError
from amem_integrations.stores.codec import micros, moment
from amem_integrations.stores.read import load_points

Outcome: TypeAlias = Literal["used", "conflict"]
OUTCOMES = ("used", "conflict")

_KIND = match("kind", "use")


@dataclass(frozen=True, slots=True)
class Use:
    """One report: what came of notes that were in a prompt together.

    notes: their ids. ways: the links, as (source, to), by which some of them had been found.
    session: in which conversation; None if nobody said. query: the vector of the question, if
    it is known; it is not read with the rest (`queries_of`).
    """

    id: str
    at: datetime
    notes: tuple[str, ...]
    outcome: Outcome
    ways: tuple[tuple[str, str], ...] = ()
    session: str | None = None
    query: Vector | None = None

    @property
    def concerns(self) -> tuple[str, ...]:
        """The notes, and those at the ends of the ways."""
        ends = (end for way in self.ways for end in way)
        return tuple(dict.fromkeys((*self.notes, *ends)))


async def save_use(io: IO, namespace: Namespace, use: Use) -> None:
    """Keep a report. Raises StoreError."""
    payload: dict[str, Any] = {
        "kind": "use",
        "owner": encode(namespace),
        "created_at": micros(use.at),
        **_fields(use),
    }
    point = Point(use.id, payload, [] if use.query is None else [use.query])
    if await io.engine.insert([point]):
        raise StoreError(f"Use {use.id} was reported before.")


async def leave_out(io: IO, namespace: Namespace, note_id: str) -> None:
    """Take a note out of the reports that are of others as well, and the question with it.

    Those that tell of it alone, or that are changed meanwhile, stay as they are.
    """
    for point in await load_points(io, _kept(namespace, match("of", note_id))):
        use = _use(point)
        notes = tuple(id for id in use.notes if id != note_id)
        if notes:
            version = point.payload.get("version")
            rest = replace(
                use, notes=notes, ways=tuple(way for way in use.ways if note_id not in way)
            )
            payload = {**point.payload, **_fields(rest), "version": (version or 0) + 1}
            # The question may have been about what is forgotten: its vector is not kept.
            await io.engine.commit([Point(use.id, payload)], expect={use.id: {"version": version}})


def _fields(use: Use) -> dict[str, Any]:
    told: dict[str, Any] = {
        "notes": list(use.notes),
        "outcome": use.outcome,
        "ways": [list(way) for way in use.ways],
        "session": use.session,
    }
    return {"of": list(use.concerns), "use": json.dumps(told, ensure_ascii=False)}


def new_id() -> str:
    return str(uuid.uuid4())


async def all_uses(io: IO, namespace: Namespace, where: Condition = EVERYTHING) -> list[Use]:
    """Return the reports of a namespace that meet `where`, oldest first."""
    points = await load_points(io, _kept(namespace, where))
    return sorted(map(_use, points), key=lambda use: (use.at, use.id))


async def uses_since(
    io: IO, namespace: Namespace, since: datetime | None, until: datetime
) -> list[Use]:
    """Return the reports after `since`, up to `until`, oldest first."""
    after = None if since is None else micros(since)
    return await all_uses(io, namespace, Range("created_at", gt=after, lte=micros(until)))


async def count_since(io: IO, namespace: Namespace, since: datetime | None) -> int:
    """How many reports there are after `since`."""
    when = EVERYTHING if since is None else Range("created_at", gt=micros(since))
    return await io.engine.count(_kept(namespace, when))


async def uses_of(io: IO, namespace: Namespace, note_ids: Sequence[str]) -> list[Use]:
    """Return the reports of any of these notes, oldest first."""
    return await all_uses(io, namespace, match("of", *note_ids))


async def queries_of(io: IO, uses: Sequence[Use]) -> list[Vector]:
    """The vectors of their questions, of those that have one."""
    points = await io.engine.get([use.id for use in uses], vectors=True)
    return [list(point.dense[0]) for point in points if point.dense]


async def drop_uses(io: IO, namespace: Namespace, before: datetime) -> None:
    """Remove the reports that are older than `before`."""
    await io.engine.delete(_kept(namespace, Range("created_at", lt=micros(before))))


def _kept(namespace: Namespace, where: Condition) -> Condition:
    return both(_KIND, match("owner", encode(namespace)), where)


def _use(point: Point) -> Use:
    fields: dict[str, Any] = json.loads(point.payload["use"])
    return Use(
        id=point.id,
        at=moment(point.payload["created_at"]),
        notes=tuple(fields["notes"]),
        outcome=fields["outcome"],
        ways=tuple((source, to) for source, to in fields["ways"]),
        session=None if fields["session"] is None else str(fields["session"]),
    )
