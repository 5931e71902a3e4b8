"""Expiry: a note past its time is found by nothing that reads a store.

`LiveEngine` hides such notes inside each question to the engine, so no reader has to think of
them, no limit counts them, and one that is added later cannot forget. `including_expired` is for
the few that must see all that is stored: forgetting, sweeping, checking, copying.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar, cast

from amem_integrations.core.caches import Speakers
from amem_integrations.core.engine import Engine, Fields, Point, Query, Scored
from amem_integrations.core.filters import Condition, Not, Range, both
from amem_integrations.core.io import IO, SyncIO
from amem_integrations.core.note import Note
from amem_integrations.stores.codec import micros

T = TypeVar("T", bound=IO)


def expired(now: datetime) -> Condition:
    """Return the condition of notes past their time."""
    return Range("expires_at", lte=micros(now))


def is_expired(note: Note, now: datetime) -> bool:
    return note.expires_at is not None and note.expires_at <= now


def including_expired(io: T) -> T:
    """Return an io that also sees notes past their time which were not removed yet."""
    engine = io.engine
    if not isinstance(engine, LiveEngine):
        return io
    return cast("T", replace(cast("SyncIO", io), engine=engine.whole))


class LiveEngine:
    """An engine that shows no note past its time. What is written reaches `whole` unchanged.

    whole: the engine with everything that is stored.
    now: the time, without any effect on the times that are told later.
    speakers: what is kept of who speaks where; a write drops it.
    """

    def __init__(self, whole: Engine, now: Callable[[], datetime], speakers: Speakers) -> None:
        self.whole = whole
        self._now = now
        self._speakers = speakers

    @property
    def exclusive(self) -> bool:
        return self.whole.exclusive

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        points = await self.whole.get(ids, vectors=vectors)
        if all(point.payload.get("expires_at") is None for point in points):
            return points
        now = micros(self._now())
        return [p for p in points if (until := p.payload.get("expires_at")) is None or until > now]

    async def query(self, queries: Sequence[Query]) -> list[list[Scored]]:
        # Queries of one condition go on sharing it, as engines take each apart only once.
        live = {id(query.where): self._live(query.where) for query in queries}
        return await self.whole.query(
            [replace(query, where=live[id(query.where)]) for query in queries]
        )

    async def scroll(
        self,
        where: Condition,
        *,
        limit: int,
        order_by: str | None = None,
        descending: bool = False,
        start_from: int | None = None,
        after: str | None = None,
        fields: tuple[str, ...] | None = None,
    ) -> list[Point]:
        return await self.whole.scroll(
            self._live(where),
            limit=limit,
            order_by=order_by,
            descending=descending,
            start_from=start_from,
            after=after,
            fields=fields,
        )

    async def count(self, where: Condition) -> int:
        return await self.whole.count(self._live(where))

    async def facet(
        self, key: str, where: Condition, *, limit: int, exact: bool = True
    ) -> dict[str, int]:
        return await self.whole.facet(key, self._live(where), limit=limit, exact=exact)

    async def insert(self, points: Sequence[Point]) -> frozenset[str]:
        try:
            return await self.whole.insert(points)
        finally:
            self._drop_speakers(points)

    async def commit(
        self,
        points: Sequence[Point],
        *,
        expect: Mapping[str, Fields],
        present: Collection[str] = (),
        new: Sequence[Point] = (),
    ) -> frozenset[str]:
        try:
            return await self.whole.commit(points, expect=expect, present=present, new=new)
        finally:
            self._drop_speakers([*points, *new])

    async def patch(
        self, id: str, payload: Mapping[str, Any], *, expect: Fields | None = None
    ) -> None:
        await self.whole.patch(id, payload, expect=expect)

    async def delete(self, where: Condition) -> None:
        try:
            await self.whole.delete(where)
        finally:
            self._speakers.drop()

    async def flush(self) -> None:
        await self.whole.flush()

    async def close(self) -> None:
        await self.whole.close()

    def _drop_speakers(self, points: Sequence[Point]) -> None:
        for namespace in {point.payload["ns"] for point in points if "ns" in point.payload}:
            self._speakers.drop(namespace)

    def _live(self, where: Condition) -> Condition:
        return both(where, Not(expired(self._now())))
