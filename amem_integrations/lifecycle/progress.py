"""How far the looking after a namespace has come: one small point for each.

It holds no more than times and a place to go on from, and is written after the work it tells
of. So whoever is killed in between does some of it again, and that changes nothing twice.
"""

import json
import uuid
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from amem_integrations.core.io import IO, Point
from amem_integrations.core.namespace import Namespace, encode
from amem_integrations.stores.codec import META_ID, micros, moment


@dataclass(frozen=True, slots=True)
class Kept:
    """done: when it was last looked after. uses: up to when reports of use are counted.

    notes: up to which `updated_at` notes were compared with others. swept: when all of them
    were last gone through; place: the id up to which, in a round that is under way.
    version: raised by each writing; 0 where nothing was written yet.
    """

    done: datetime | None = None
    uses: datetime | None = None
    notes: datetime | None = None
    swept: datetime | None = None
    place: str | None = None
    version: int = 0


async def read_kept(io: IO, namespace: Namespace | None) -> Kept:
    """What is kept of a namespace; None: of the whole store, which has `done` only."""
    found = await io.engine.get([_id(namespace)])
    if not found:
        return Kept()
    told: dict[str, Any] = json.loads(found[0].payload["kept"])
    times = {
        name: moment(told[name]) for name in ("done", "uses", "notes", "swept") if name in told
    }
    return Kept(**times, place=told.get("place"), version=found[0].payload["version"])


def as_of(kept: Kept, latest: datetime) -> Kept:
    """Without times after `latest`: a clock was wrong then. What they stand for is done again."""
    times = {"done": kept.done, "uses": kept.uses, "swept": kept.swept}
    wrong = {name: None for name, at in times.items() if at is not None and at > latest}
    return replace(kept, **wrong)


async def save_kept(io: IO, namespace: Namespace | None, kept: Kept) -> Kept | None:
    """Write it as it is now; None if another wrote since `kept` was read."""
    after = replace(kept, version=kept.version + 1)
    times = {"done": after.done, "uses": after.uses, "notes": after.notes, "swept": after.swept}
    told: dict[str, Any] = {name: micros(at) for name, at in times.items() if at is not None}
    if after.place is not None:
        told["place"] = after.place
    payload: dict[str, Any] = {"kind": "kept", "version": after.version, "kept": json.dumps(told)}
    if namespace is not None:
        payload["owner"] = encode(namespace)
    point = Point(_id(namespace), payload)
    if kept.version == 0:
        failed = await io.engine.insert([point])
    else:
        failed = await io.engine.commit([point], expect={point.id: {"version": kept.version}})
    return None if failed else after


def _id(namespace: Namespace | None) -> str:
    name = "kept" if namespace is None else f"kept {encode(namespace)}"
    return str(uuid.uuid5(uuid.UUID(META_ID), name))
