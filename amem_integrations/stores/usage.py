"""What model calls took, kept in the collection itself, beyond the process that made them.

A usage point is what one namespace used in one hour as one process counted it, overwritten as
that grows: no two processes ever write the same one. It has no `ns`, so nothing that is scoped
to a namespace sees it; its `owner` lets the forgetting of a namespace remove it.
"""

import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from amem_integrations.core.engine import Point
from amem_integrations.core.filters import Condition, Range, both, ids, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, encode
from amem_integrations.core.usage import Entries, Ledger, Record, Usage, UsageReport, hour, report
from amem_integrations.errors import StoreError
from amem_integrations.stores.codec import META_ID, micros
from amem_integrations.stores.read import load_points

_LOG = logging.getLogger(__name__)
_PAGE = 64
_ROUNDS = 3


async def save_usage(io: IO, ledger: Ledger, *, every: int | None = None) -> None:
    """Write what the store does not have yet; with `every`, only once in so many calls.

    A write that fails is counted ("usage.unsaved") and made up for by the next.
    """
    if every is not None and not ledger.due(every):
        return
    try:
        # Another save at the same time, or a forgetting, may come between.
        for _ in range(_ROUNDS):
            unsaved = ledger.unsaved()
            if not unsaved:
                return
            for start in range(0, len(unsaved), _PAGE):
                await _save(io, ledger, unsaved[start : start + _PAGE])
    except StoreError as error:
        _LOG.debug("Usage was not saved (%s).", type(error).__name__)
    ledger.count("usage.unsaved")


async def _save(io: IO, ledger: Ledger, records: Sequence[Record]) -> None:
    by_id = {_id(record.namespace, record.hour, ledger.writer): record for record in records}
    versions = {point.id: point.payload["version"] for point in await io.engine.get(list(by_id))}
    new, grown, there = list[Point](), list[Point](), list[str]()
    for id, record in by_id.items():
        if id in versions:
            if versions[id] < record.calls:
                grown.append(_point(id, record))
            elif versions[id] == record.calls:
                there.append(id)
        elif record.stored:
            ledger.erased(record)
        else:
            new.append(_point(id, record))
    failed = await io.engine.insert(new) if new else frozenset[str]()
    if grown:
        expect = {point.id: {"version": versions[point.id]} for point in grown}
        failed |= await io.engine.commit(grown, expect=expect)
    there += [point.id for point in (*new, *grown) if point.id not in failed]
    forgotten = [id for id in there if not ledger.saved(by_id[id])]
    if forgotten:
        await io.engine.delete(ids(forgotten))


async def read_usage(
    io: IO, ledger: Ledger, namespace: Namespace | None, since: datetime | None
) -> UsageReport:
    """What all processes used, of one namespace or of all, from the hour of `since` on."""
    start = None if since is None else hour(since)
    # Of its own records a ledger knows more than the store.
    tables: dict[str, Entries] = {
        _id(record.namespace, record.hour, ledger.writer): record.entries
        for record in ledger.records()
        if namespace in (None, record.namespace) and (start is None or record.hour >= start)
    }
    wanted: list[Condition] = [match("kind", "usage")]
    if namespace is not None:
        wanted.append(match("owner", encode(namespace)))
    if start is not None:
        wanted.append(Range("created_at", gte=micros(start)))
    for point in await load_points(io, both(*wanted), fields=("usage",)):
        tables.setdefault(point.id, _entries(point.payload["usage"]))
    return report(tables.values())


def _id(namespace: Namespace, hour: datetime, writer: str) -> str:
    name = json.dumps(["usage", namespace, hour.isoformat(), writer])
    return str(uuid.uuid5(uuid.UUID(META_ID), name))


def _point(id: str, record: Record) -> Point:
    return Point(
        id,
        {
            "kind": "usage",
            "owner": encode(record.namespace),
            "created_at": micros(record.hour),
            # It grows with every change, so that of two writes the older never wins.
            "version": record.calls,
            "usage": json.dumps(
                [
                    {"step": step, "mode": mode, **asdict(usage)}
                    for (step, mode), usage in record.entries.items()
                ]
            ),
        },
    )


def _entries(text: str) -> Entries:
    rows: list[Mapping[str, Any]] = json.loads(text)
    return {(row["step"], row["mode"]): _usage(row) for row in rows}


def _usage(row: Mapping[str, Any]) -> Usage:
    return Usage(**{name: value for name, value in row.items() if name not in ("step", "mode")})
