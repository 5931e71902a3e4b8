"""Maintenance: what is due in a namespace, done in small steps that can be repeated.

Uses are counted, notes compared, co-use links made; once in a while all notes are swept for tiers,
worn links and limits. There is no lease: every write states what it read, so of two at once one
finds the work done. Progress is saved after the work; who is killed in between repeats a step.
"""

import json
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from amem_integrations.core.engine import Point
from amem_integrations.core.filters import match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, encode
from amem_integrations.core.note import OPPOSING, Note
from amem_integrations.core.status import AT_HAND
from amem_integrations.errors import NoteNotFoundError
from amem_integrations.lifecycle.audits import audit, audit_due
from amem_integrations.lifecycle.co_use import clusters_of, echo_index, link_co_used
from amem_integrations.lifecycle.feedback import Occasions, count_uses
from amem_integrations.lifecycle.limits import archive_excess
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.support import update_support, usual_nearness
from amem_integrations.lifecycle.tenure import update_tenure
from amem_integrations.stores.codec import META_ID, micros, moment, note_from, within
from amem_integrations.stores.read import load, namespaces
from amem_integrations.stores.uses import all_uses, drop_uses, uses_since

COMPARED = 512
"""How many new notes are compared with the others at a time; each asks the whole namespace."""
_PAGE = 64
# Small, so that other tasks of the event loop wait less.
_COMPARED_AT_ONCE = 16
_SWEPT = 256
# Reports of other processes may arrive after later ones.
_LATE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Maintained:
    """What maintenance did, in numbers; such reports can be added up.

    Attributes:
        uses: reports counted.
        links: link weights changed.
        co_used: co-use links made.
        pruned: links removed.
        compared: new notes compared with the others.
        supported: notes whose confirmations or supports that changed.
        tiers: notes that changed their tier.
        archived: notes archived.
        audited: notes put under audit.
        left: whether there is more to do.
    """

    uses: int = 0
    links: int = 0
    co_used: int = 0
    pruned: int = 0
    compared: int = 0
    supported: int = 0
    tiers: int = 0
    archived: int = 0
    audited: int = 0
    left: bool = False

    def __add__(self, other: "Maintained") -> "Maintained":
        names = [item.name for item in fields(self) if item.name != "left"]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return replace(Maintained(left=self.left or other.left), **sums)


async def maintain(
    io: IO, namespace: Namespace, policy: Policy, analyst: str, *, most: int | None = None
) -> Maintained:
    """Do what is due in one namespace. Raises StoreError; what was done until then stays done.

    most: how many notes are compared, how many swept, and how many uses counted; the rest is left
        to the next time. None: up to COMPARED, and all of the others.
    """
    progress = await read_progress(io, namespace)
    return await _Work(io, namespace, policy, analyst, progress, most).do()


async def maintain_all(io: IO, policy: Policy, analyst: str) -> Maintained:
    """`maintain` in every namespace."""
    total = Maintained()
    for namespace in await namespaces(io):
        total += await maintain(io, namespace, policy, analyst)
        # Let other tasks of the event loop run.
        await io.sleep(0)
    return total


async def maintain_if_due(io: IO, policy: Policy, analyst: str) -> timedelta:
    """Run `maintain_all` if `policy.maintain_every` has passed; return the time until the next run.

    Of several workers that ask at once, one does it.
    """
    now = io.now()
    progress = (await read_progress(io, None)).until(now + _LATE)
    if progress.done is not None and now - progress.done < policy.maintain_every:
        return progress.done + policy.maintain_every - now
    if await _save_progress(io, None, replace(progress, done=now)) is not None:
        await maintain_all(io, policy, analyst)
    return policy.maintain_every


@dataclass(frozen=True, slots=True)
class Progress:
    """How far maintenance of a namespace has come; one point for each namespace.

    done: when it was last done. uses: up to when reports of use are counted. notes: up to which
    `updated_at` notes were compared. swept: when all notes were last swept; place: the id that a
    sweep has come to. version: raised by each write; 0 if nothing was written yet.
    """

    done: datetime | None = None
    uses: datetime | None = None
    notes: datetime | None = None
    swept: datetime | None = None
    place: str | None = None
    version: int = 0

    def until(self, latest: datetime) -> "Progress":
        """Return the progress without times after `latest`, which a wrong clock gave."""
        times = {"done": self.done, "uses": self.uses, "swept": self.swept}
        wrong = {name: None for name, at in times.items() if at is not None and at > latest}
        return replace(self, **wrong)


_TIMES = ("done", "uses", "notes", "swept")


async def read_progress(io: IO, namespace: Namespace | None) -> Progress:
    """Return the progress of a namespace; None: of the whole store, which has `done` only."""
    points = await io.engine.get([_progress_id(namespace)])
    if not points:
        return Progress()
    data: dict[str, Any] = json.loads(points[0].payload["kept"])
    times = {name: moment(data[name]) for name in _TIMES if name in data}
    return Progress(**times, place=data.get("place"), version=points[0].payload["version"])


async def _save_progress(
    io: IO, namespace: Namespace | None, progress: Progress
) -> Progress | None:
    """Write progress and return it; None if another wrote since it was read."""
    after = replace(progress, version=progress.version + 1)
    times = {name: getattr(after, name) for name in _TIMES}
    data: dict[str, Any] = {name: micros(at) for name, at in times.items() if at is not None}
    if after.place is not None:
        data["place"] = after.place
    payload: dict[str, Any] = {"kind": "kept", "version": after.version, "kept": json.dumps(data)}
    if namespace is not None:
        payload["owner"] = encode(namespace)
    point = Point(_progress_id(namespace), payload)
    if progress.version == 0:
        failed = await io.engine.insert([point])
    else:
        failed = await io.engine.commit([point], expect={point.id: {"version": progress.version}})
    return None if failed else after


def _progress_id(namespace: Namespace | None) -> str:
    name = "kept" if namespace is None else f"kept {encode(namespace)}"
    return str(uuid.uuid5(uuid.UUID(META_ID), name))


class _Work:
    """The maintenance of one namespace. It stops if another one came between."""

    def __init__(
        self,
        io: IO,
        namespace: Namespace,
        policy: Policy,
        analyst: str,
        progress: Progress,
        most: int | None,
    ) -> None:
        self._io = io
        self._namespace = namespace
        self._policy = policy
        self._analyst = analyst
        self._most = most
        self._now = io.now()
        self._progress = progress.until(self._now + _LATE)
        self._done = Maintained()

    async def do(self) -> Maintained:
        if not (await self._count() and await self._compare() and await self._sweep()):
            self._done = replace(self._done, left=True)
            return self._done
        io, namespace, policy = self._io, self._namespace, self._policy
        if self._most is None:
            # In small steps between writes a note could go before anything confirms it.
            self._add(archived=await archive_excess(io, namespace, policy, self._analyst))
        if self._done != Maintained() and not await self._save(done=self._now):
            self._done = replace(self._done, left=True)
        return self._done

    def _add(self, **counts: int) -> None:
        self._done += replace(Maintained(), **counts)

    async def _save(self, **changes: datetime | str | None) -> bool:
        """Save the progress; returns False if another one came between."""
        progress = replace(self._progress, **changes)
        after = await _save_progress(self._io, self._namespace, progress)
        if after is not None:
            self._progress = after
        return after is not None

    async def _count(self) -> bool:
        """Count new reports of use; returns False if somebody else does."""
        io, namespace = self._io, self._namespace
        until = self._now if io.engine.exclusive else self._now - _LATE
        uses = await uses_since(io, namespace, self._progress.uses, until)
        if self._most is not None and len(uses) > self._most:
            self._done = replace(self._done, left=True)
            uses = uses[: self._most]
        occasions = await Occasions.of(io, namespace) if uses else Occasions(namespace)
        for start in range(0, len(uses), _PAGE):
            page = uses[start : start + _PAGE]
            links = await count_uses(io, namespace, page, occasions, self._policy)
            made = await link_co_used(io, namespace, page, self._policy, self._analyst)
            # All of them, also those that were counted before whoever did it was killed.
            await self._follow_up({id for use in page for id in use.concerns})
            self._add(uses=len(page), links=links, co_used=made)
            if not await self._save(uses=page[-1].at):
                return False
            await io.sleep(0)
        return True

    async def _compare(self) -> bool:
        """Compare notes with new content with those that may say the same."""
        io, namespace, usual, occasions = self._io, self._namespace, None, None
        most = COMPARED if self._most is None else self._most
        for _ in range(0, most, _COMPARED_AT_ONCE):
            start = None if self._progress.notes is None else micros(self._progress.notes) + 1
            found = await io.engine.scroll(
                within(namespace),
                limit=_COMPARED_AT_ONCE,
                order_by="updated_at",
                start_from=start,
                fields=("updated_at",),
            )
            if not found:
                return True
            if usual is None or occasions is None:
                usual = await usual_nearness(io, namespace)
                occasions = await Occasions.of(io, namespace)
            ids = [point.id for point in found]
            changed = await update_support(io, namespace, ids, usual, occasions, self._policy)
            await self._follow_up(changed | await self._opposed(ids))
            self._add(compared=len(found), supported=len(changed))
            if not await self._save(notes=moment(found[-1].payload["updated_at"])):
                return False
            if len(found) < _COMPARED_AT_ONCE:
                return True
            await io.sleep(0)
        self._done = replace(self._done, left=True)
        return True

    async def _opposed(self, note_ids: Sequence[str]) -> set[str]:
        """Return the ids of the notes that these contradict."""
        notes = await load(self._io, note_ids, self._namespace)
        links = (link for note in notes.values() for link in note.outgoing)
        return {link.to for link in links if link.kind in OPPOSING}

    async def _follow_up(self, note_ids: Iterable[str]) -> None:
        """Audit the notes that conflict too often, and update the tenure of the others."""
        notes = await load(self._io, sorted(note_ids), self._namespace)
        for note in list(notes.values()):
            if reason := audit_due(note, self._now, self._policy):
                del notes[note.id]
                # Somebody may have forgotten it meanwhile.
                with suppress(NoteNotFoundError):
                    audited = await audit(
                        self._io,
                        note,
                        reason,
                        self._analyst,
                        quarantine=self._policy.quarantine,
                    )
                    self._add(audited=int(audited is not note))
        await self._update_tenure(notes.values())

    async def _update_tenure(self, notes: Iterable[Note]) -> None:
        self._add(**await update_tenure(self._io, notes, self._policy, self._analyst))

    async def _sweep(self) -> bool:
        """Update all notes, if that is due, page by page from where the last sweep stopped."""
        io, swept = self._io, self._progress.swept
        if (
            self._progress.place is None
            and swept
            and self._now - swept < self._policy.maintain_every
        ):
            return True
        where = within(self._namespace, match("status", *AT_HAND))
        limit = _SWEPT if self._most is None else self._most
        while page := await io.engine.scroll(where, limit=limit, after=self._progress.place):
            await self._update_tenure(map(note_from, page))
            if not await self._save(place=page[-1].id):
                return False
            if self._most is not None:
                self._done = replace(self._done, left=True)
                return True
            await io.sleep(0)
        await drop_uses(io, self._namespace, self._now - self._policy.keep_use_reports)
        await self._link_clusters()
        return await self._save(place=None, swept=self._now)

    async def _link_clusters(self) -> None:
        """If the echo index is high, link clusters by co-use in one session fewer."""
        io, namespace, policy = self._io, self._namespace, self._policy
        uses = await all_uses(io, namespace)
        if not any(len(use.notes) > 1 for use in uses):
            return
        clusters, links = await clusters_of(io, namespace, policy)
        if echo_index(clusters, links) > policy.max_echo:
            made = await link_co_used(
                io,
                namespace,
                uses,
                policy,
                self._analyst,
                sessions=max(1, policy.co_use_sessions - 1),
                is_wanted=lambda pair: clusters.get(pair[0]) != clusters.get(pair[1]),
            )
            self._add(co_used=made)
