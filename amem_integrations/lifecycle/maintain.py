"""Maintenance: what is due in a namespace, done in small steps that can be taken twice.

Uses are counted, notes compared, bridges made; once in a while all notes are gone through for
tiers, worn links and the ring of short ones. Nothing holds a lease: every write states what it
read, so of two at once one finds the work done. How far it came is kept (`kept`), after the
work; whoever was killed in between takes the last step again.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta

from amem_integrations.core.filters import match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.errors import NoteNotFoundError
from amem_integrations.lifecycle.audits import audit, audit_due
from amem_integrations.lifecycle.co_use import bridge
from amem_integrations.lifecycle.consensus import SHOWN, agree, usual_nearness
from amem_integrations.lifecycle.counting import Occasions, count_uses
from amem_integrations.lifecycle.echo import clusters_of, cocoon
from amem_integrations.lifecycle.lineage import settle_proposals
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.progress import Kept, as_of, read_kept, save_kept
from amem_integrations.lifecycle.settle import Settled, make_room, settle, thin_out
from amem_integrations.stores.codec import micros, moment, note_from, within
from amem_integrations.stores.read import load, namespaces
from amem_integrations.stores.uses import all_uses, drop_uses, uses_since

COMPARED = 512
"""How many new notes are compared with the others at a time; each asks the whole namespace."""
_PAGE = 64
# Small, as whoever else is on the loop waits for so many of these questions.
_COMPARED_AT_ONCE = 16
_SWEPT = 256
# Reports of other processes may arrive after later ones.
_LATE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Maintained:
    """What was done, in numbers; such reports can be added up.

    Attributes:
        uses: reports counted.
        links: weights moved.
        bridged: links made.
        pruned: links removed.
        compared: new notes held against the others.
        supported: notes whose figures that changed.
        tiers: notes that changed theirs.
        archived: short notes set aside.
        audited: notes that keep being contradicted, put under audit.
        applied: proposals that had waited.
        left: whether there is more to do than was done at once.

    Examples:
        >>> note = memory.add("Tea is served at four")
        >>> _ = memory.lifecycle.feedback(note, session="monday")
        >>> done = memory.lifecycle.maintain()
        >>> done.uses, done.archived, done.left
        (1, 0, False)
    """

    uses: int = 0
    links: int = 0
    bridged: int = 0
    pruned: int = 0
    compared: int = 0
    supported: int = 0
    tiers: int = 0
    archived: int = 0
    audited: int = 0
    applied: int = 0
    left: bool = False

    def __add__(self, other: "Maintained") -> "Maintained":
        names = [each.name for each in fields(self) if each.name != "left"]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return replace(Maintained(left=self.left or other.left), **sums)


async def maintain(io: IO, namespace: Namespace, policy: Policy, analyst: str) -> Maintained:
    """Do what is due in one namespace. Where nothing is, that costs a few counts.

    Raises StoreError; what was done until then stays done.
    """
    work = _Work(io, namespace, policy, analyst, await read_kept(io, namespace))
    return await work.do()


async def maintain_all(io: IO, policy: Policy, analyst: str) -> Maintained:
    """`maintain` in every namespace."""
    total = Maintained()
    for namespace in await namespaces(io):
        total += await maintain(io, namespace, policy, analyst)
        # Whoever else is on the loop has a turn.
        await io.sleep(0)
    return total


async def maintain_if_due(io: IO, policy: Policy, analyst: str) -> timedelta:
    """`maintain_all`, unless somebody did so within `policy.due`; how long until the next time.

    Of several workers that ask at once, one does it.
    """
    now = io.now()
    kept = as_of(await read_kept(io, None), now + _LATE)
    if kept.done is not None and now - kept.done < policy.due:
        return kept.done + policy.due - now
    if await save_kept(io, None, replace(kept, done=now)) is not None:
        await maintain_all(io, policy, analyst)
    return policy.due


class _Work:
    """The maintenance of one namespace. Stops quietly where another one came between."""

    def __init__(
        self, io: IO, namespace: Namespace, policy: Policy, analyst: str, kept: Kept
    ) -> None:
        self._io = io
        self._namespace = namespace
        self._policy = policy
        self._analyst = analyst
        self._now = io.now()
        self._kept = as_of(kept, self._now + _LATE)
        self._done = Maintained()

    async def do(self) -> Maintained:
        going_on = await self._count() and await self._compare()
        if going_on and self._sweep_is_due():
            going_on = await self._sweep()
        if going_on:
            archived = await thin_out(self._io, self._namespace, self._policy, self._analyst)
            archived += await make_room(self._io, self._namespace, self._policy, self._analyst)
            self._add(archived=archived)
            applied = await settle_proposals(self._io, self._namespace, self._policy)
            self._add(applied=applied)
        if self._done != Maintained() and going_on:
            await self._save(done=self._now)
        return self._done

    def _add(self, **counts: int) -> None:
        self._done += replace(Maintained(), **counts)

    async def _save(self, **changes: datetime | str | None) -> bool:
        after = await save_kept(self._io, self._namespace, replace(self._kept, **changes))
        if after is None:
            self._done = replace(self._done, left=True)
            return False
        self._kept = after
        return True

    async def _settle(self, note_ids: Iterable[str]) -> None:
        held = await load(self._io, sorted(note_ids), self._namespace)
        for note in list(held.values()):
            if reason := audit_due(note.life, self._now, self._policy):
                del held[note.id]
                # Somebody may have forgotten it meanwhile.
                with suppress(NoteNotFoundError):
                    audited = await audit(self._io, note, reason, self._analyst)
                    self._add(audited=int(audited is not note))
        self._settled(await settle(self._io, held.values(), self._policy, self._analyst))

    def _settled(self, settled: Settled) -> None:
        self._add(tiers=settled.tiers, pruned=settled.pruned)

    async def _count(self) -> bool:
        """Reports of use that are new; False if somebody else is at it."""
        io = self._io
        until = self._now if io.engine.exclusive else self._now - _LATE
        uses = await uses_since(io, self._namespace, self._kept.uses, until)
        if not uses:
            return True
        occasions = await Occasions.of(io, self._namespace)
        for start in range(0, len(uses), _PAGE):
            page = uses[start : start + _PAGE]
            links = await count_uses(io, self._namespace, page, occasions, self._policy)
            bridged = await bridge(io, self._namespace, page, self._policy, self._analyst)
            # All of them, also those that were counted before whoever did it was killed.
            await self._settle({id for use in page for id in use.concerns})
            self._add(uses=len(page), links=links, bridged=bridged)
            if not await self._save(uses=page[-1].at):
                return False
            await io.sleep(0)
        return True

    async def _compare(self) -> bool:
        """Notes with new content, with those that may say the same."""
        io, usual, occasions = self._io, None, None
        for _ in range(0, COMPARED, _COMPARED_AT_ONCE):
            start = None if self._kept.notes is None else micros(self._kept.notes) + 1
            found = await io.engine.scroll(
                within(self._namespace),
                limit=_COMPARED_AT_ONCE,
                order_by="updated_at",
                start_from=start,
                fields=("updated_at",),
            )
            if not found:
                return True
            if usual is None or occasions is None:
                usual = await usual_nearness(io, self._namespace)
                occasions = await Occasions.of(io, self._namespace)
            changed = await agree(
                io,
                self._namespace,
                [point.id for point in found],
                usual,
                occasions,
                self._policy,
            )
            await self._settle(changed)
            self._add(compared=len(found), supported=len(changed))
            if not await self._save(notes=moment(found[-1].payload["updated_at"])):
                return False
            if len(found) < _COMPARED_AT_ONCE:
                return True
            await io.sleep(0)
        self._done = replace(self._done, left=True)
        return True

    def _sweep_is_due(self) -> bool:
        swept = self._kept.swept
        return self._kept.place is not None or (
            swept is None or self._now - swept >= self._policy.due
        )

    async def _sweep(self) -> bool:
        """All notes, page by page, from where the last round was broken off."""
        io, where = self._io, within(self._namespace, match("status", *SHOWN))
        while page := await io.engine.scroll(where, limit=_SWEPT, after=self._kept.place):
            notes = map(note_from, page)
            self._settled(await settle(io, notes, self._policy, self._analyst))
            if not await self._save(place=page[-1].id):
                return False
            await io.sleep(0)
        await drop_uses(io, self._namespace, self._now - self._policy.log)
        await self._open_up()
        return await self._save(place=None, swept=self._now)

    async def _open_up(self) -> None:
        """Where links keep to what is alike anyway, let fewer sessions do for a bridge."""
        uses = await all_uses(self._io, self._namespace)
        if not any(len(use.notes) > 1 for use in uses):
            return
        clusters, links = await clusters_of(self._io, self._namespace, self._policy)
        if cocoon(clusters, links) > self._policy.cocoon:
            bridged = await bridge(
                self._io,
                self._namespace,
                uses,
                self._policy,
                self._analyst,
                sessions=max(1, self._policy.bridged - 1),
                is_wanted=lambda pair: clusters.get(pair[0]) != clusters.get(pair[1]),
            )
            self._add(bridged=bridged)
