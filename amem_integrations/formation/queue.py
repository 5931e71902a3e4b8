"""The queue of notes that wait to be formed: their own status, kept where they are kept.

Whoever forms a note takes a lease on it first, so that several workers share one collection.
A lease that has run out is taken over, and a note that failed waits until it is due. Notes
of one namespace are taken oldest first, by one worker at a time.
"""

import os
import uuid
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from amem_integrations.core.engine import Engine, Point
from amem_integrations.core.filters import EVERYTHING, Condition, Not, Range, both, ids, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import decode
from amem_integrations.core.note import Note, Status
from amem_integrations.errors import StoreError
from amem_integrations.stores.codec import micros, moment, note_from, within

LEASE = timedelta(minutes=5)
LONGEST_PAUSE = timedelta(days=1)
"""After which a note that failed is due, whatever the provider asks for."""
# What is said to hold for longer than this was written when a clock was ahead.
_LONGEST_LEASE = 2 * LEASE
_LONGEST_WAIT = 2 * LONGEST_PAUSE
_BUSY = 1_000
_RAW = match("status", Status.RAW)


def lease(io: IO) -> dict[str, Any]:
    """The payload fields that make a raw note this memory's to form for a while."""
    return {"leased_by": _holder(io.engine), "lease_until": micros(io.now() + LEASE)}


NO_LEASE: Mapping[str, Any] = {"leased_by": None, "lease_until": None}


# The names under which open stores of this process hold leases.
_holders: dict[Engine, str] = {}
# Notes whose lease could not be given back, by store.
_unreleased: dict[Engine, list[Note]] = {}


def _holder(engine: Engine) -> str:
    """A name for an open store that no other has, nor the same one in a forked process."""
    name = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
    held = _holders.setdefault(engine, name)
    if held.split("-")[0] != name.split("-")[0]:
        held = _holders[engine] = name
    return held


async def leave(io: IO, *engines: Engine) -> None:
    """Give back whatever is leased by stores that are about to be closed."""
    for engine in engines:
        _unreleased.pop(engine, None)
    names = [_holders.pop(engine) for engine in {*engines} if engine in _holders]
    if names:
        leased = both(_RAW, match("leased_by", *names))
        for point in await io.engine.scroll(leased, limit=_BUSY, fields=("leased_by",)):
            expect = {"status": str(Status.RAW), "leased_by": point.payload["leased_by"]}
            await io.engine.patch(point.id, NO_LEASE, expect=expect)


async def claim(
    io: IO, *, most: int, without: Collection[str] = (), early: bool = False
) -> list[Note]:
    """Take the lease on the oldest waiting notes of some namespace; empty when none waits.

    most: how many, at most. without: ids to pass over. early: also those that failed and are
    not due yet.
    """
    await release(io)
    passed = both(Not(ids(tuple(without)))) if without else EVERYTHING
    while True:
        now = io.now()
        waiting = both(_RAW, Not(_leased(io, now)), EVERYTHING if early else _due(now), passed)
        busy = await io.engine.facet("ns", both(_RAW, _leased(io, now)), limit=_BUSY)
        free = Not(match("ns", *busy)) if busy else EVERYTHING
        oldest = await io.engine.scroll(
            both(waiting, free), limit=1, order_by="created_at", fields=("ns",)
        )
        if not oldest:
            return []
        namespace = decode(oldest[0].payload["ns"])
        found = await io.engine.scroll(
            within(namespace, waiting), limit=most, order_by="created_at"
        )
        # Another memory of this process may have taken its first lease after `busy` was asked.
        found = [point for point in found if not _is_held(io, point, now)]
        taken = await _take(io, found, lease(io))
        # Where another worker was quicker with all of them, there may be more to look for.
        if taken:
            return taken


async def _take(io: IO, points: Sequence[Point], mine: Mapping[str, Any]) -> list[Note]:
    try:
        for point in points:
            expect = {
                "status": str(Status.RAW),
                "version": point.payload["version"],
                "lease_until": point.payload.get("lease_until"),
            }
            await io.engine.patch(point.id, mine, expect=expect)
        held = await io.engine.get([point.id for point in points])
    except StoreError:
        # Some leases may have been taken all the same.
        _unreleased.setdefault(io.engine, []).extend(map(note_from, points))
        raise
    return [note_from(point) for point in held if _is_leased(point, mine)]


def _is_leased(point: Point, mine: Mapping[str, Any]) -> bool:
    return all(point.payload.get(name) == value for name, value in mine.items())


async def release(io: IO, notes: Sequence[Note] = ()) -> None:
    """Give the leases of notes back that are still raw, so that anyone may form them.

    Leases that cannot be given back because the store fails are given back next time.
    """
    left = [*_unreleased.pop(io.engine, ()), *notes]
    while left:
        expect = {
            "status": str(Status.RAW),
            "version": left[-1].version,
            "leased_by": _holder(io.engine),
        }
        try:
            await io.engine.patch(left[-1].id, NO_LEASE, expect=expect)
        except StoreError:
            _unreleased[io.engine] = left
            return
        left.pop()


async def next_due(io: IO) -> datetime | None:
    """When the next note that waits now, for its turn or for a lease to run out, can be taken."""
    now = micros(io.now())
    moments: list[int] = []
    for field in ("retry_at", "lease_until"):
        points = await io.engine.scroll(
            both(_RAW, Range(field, gt=now)), limit=1, order_by=field, fields=(field,)
        )
        moments.extend(point.payload[field] for point in points)
    return moment(min(moments)) if moments else None


def _due(now: datetime) -> Condition:
    return Not(Range("retry_at", gt=micros(now), lte=micros(now + _LONGEST_WAIT)))


def _leased(io: IO, now: datetime) -> Condition:
    running = Range("lease_until", gt=micros(now), lte=micros(now + _LONGEST_LEASE))
    if not io.engine.exclusive:
        return running
    # No other process can have the store open; whoever is not open here is dead or closed.
    return both(running, match("leased_by", _holder(io.engine), *_holders.values()))


def _is_held(io: IO, point: Point, now: datetime) -> bool:
    """Whether someone who is known by now holds a lease on a note that was read."""
    holder, until = point.payload.get("leased_by"), point.payload.get("lease_until")
    running = until is not None and micros(now) < until <= micros(now + _LONGEST_LEASE)
    return running and (not io.engine.exclusive or holder in tuple(_holders.values()))


async def unpark(io: IO) -> int:
    """Queue every parked note again; returns how many there were."""
    count, after = 0, None
    while page := await io.engine.scroll(
        match("status", Status.PARKED), limit=256, after=after, fields=("version",)
    ):
        for point in page:
            await io.engine.patch(
                point.id,
                {"status": str(Status.RAW), "attempts": 0, "retry_at": None},
                expect={"status": str(Status.PARKED), "version": point.payload["version"]},
            )
        count += len(page)
        after = page[-1].id
    return count
