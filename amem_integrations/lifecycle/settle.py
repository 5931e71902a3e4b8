"""Settling notes: tiers, links that are worn out, and archiving what there is too much of.

Each change is a revision of its own that can be undone. `maintain` chooses the notes.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from amem_integrations.core.filters import Not, both, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status
from amem_integrations.core.status import Tier
from amem_integrations.formation.candidates import SHOWN
from amem_integrations.lifecycle.confidence import confidence, value
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.tenure import is_worn_out, may_move, tier_of
from amem_integrations.revisions.archive import archive
from amem_integrations.revisions.change import change_notes, revised
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import every_note, load, revisions

_ROUNDS = 4
_SETTLED = (Status.PLAIN, Status.FORMED, Status.PARKED)


@dataclass(frozen=True, slots=True)
class Settled:
    """How many notes changed their tier, and how many links were removed."""

    tiers: int = 0
    pruned: int = 0

    def __add__(self, other: "Settled") -> "Settled":
        return Settled(self.tiers + other.tiers, self.pruned + other.pruned)


async def settle(io: IO, notes: Iterable[Note], policy: Policy, analyst: str) -> Settled:
    """Prune links and change tiers of `notes` where that is due.

    Raw notes are skipped; a note that keeps changing is left to the next time.
    """
    total = Settled()
    for note in notes:
        done = await _settle(io, note, policy, analyst)
        total += done
        if done != Settled():
            # Let other tasks of the event loop run.
            await io.sleep(0)
    return total


async def _settle(io: IO, note: Note, policy: Policy, analyst: str) -> Settled:
    done = Settled()
    for _ in range(_ROUNDS):
        now = io.now()
        if note.status not in _SETTLED:
            return done
        if after := _pruned(note, now, policy, analyst):
            step = Settled(pruned=len(note.outgoing) - len(after.outgoing))
        elif after := await _moved(io, note, now, policy, analyst):
            step = Settled(tiers=1)
        else:
            return done
        if await change_notes(io, [(note, after)]):
            done += step
            note = after
            if step.tiers:
                return done
            continue
        notes = await load(io, [note.id], note.namespace)
        if note.id not in notes:
            return done
        note = notes[note.id]
    return done


def _pruned(note: Note, now: datetime, policy: Policy, analyst: str) -> Note | None:
    """The note without worn-out links; None if it has none."""
    links = tuple(link for link in note.outgoing if not is_worn_out(link, now, policy))
    if len(links) == len(note.outgoing):
        return None
    after = note.evolve(links=links)
    return revised(note, after, "pruned", note.id, now, analyst, reason="hardly ever used")


async def _moved(io: IO, note: Note, now: datetime, policy: Policy, analyst: str) -> Note | None:
    """The note in the tier that it belongs in; None if it is there."""
    if not may_move(note, now, policy):
        return None
    tier = tier_of(note, await revisions(io, note), now, policy)
    if tier is note.tier:
        return None
    if note.tier is Tier.SHORT:
        reason = "it came up on several occasions"
    else:
        reason = "it stayed as it is" if tier is Tier.LONG else "it was revised again and again"
    # `counted` rises as with any other write of a life.
    life = replace(note.life, tiered_at=now, counted=note.life.counted + 1)
    after = replace(note, tier=tier, life=life)
    return revised(note, after, "tiered", note.id, now, analyst, reason=reason)


async def archive_short(io: IO, namespace: Namespace, policy: Policy, analyst: str) -> int:
    """Archive the least believed short notes beyond the policy's limit; returns how many.

    Values and raw notes are left alone.
    """
    short = both(match("status", *_SETTLED), Not(match("tier", Tier.MID, Tier.LONG)))
    where = within(namespace, short)
    if await io.engine.count(where) <= policy.most_short:
        return 0
    now = io.now()
    notes = [note for note in await every_note(io, where) if _is_movable(note)]
    notes.sort(key=lambda note: (confidence(note, now, policy), note.created_at))
    excess = notes[: max(0, len(notes) - policy.most_short)]
    reason = f"the least believed of more than {policy.most_short} short notes"
    return await _archive_oldest_first(io, excess, reason, analyst)


async def archive_excess(io: IO, namespace: Namespace, policy: Policy, analyst: str) -> int:
    """Archive the notes of least value beyond the policy's limit in all; returns how many.

    Values and raw notes are left alone.
    """
    where = within(namespace, match("status", *SHOWN))
    most = policy.most_notes
    if most is None or await io.engine.count(where) <= most:
        return 0
    now = io.now()
    notes = await every_note(io, where)
    links = Counter(end for note in notes for link in note.outgoing for end in (note.id, link.to))
    movable = [note for note in notes if _is_movable(note)]
    movable.sort(key=lambda note: (value(note, links[note.id], now, policy).value, note.created_at))
    excess = movable[: max(0, len(notes) - most)]
    return await _archive_oldest_first(
        io, excess, f"of the least value of more than {most} notes", analyst
    )


def _is_movable(note: Note) -> bool:
    return note.status in _SETTLED and note.value_json is None and note.parts is None


async def _archive_oldest_first(io: IO, notes: list[Note], reason: str, analyst: str) -> int:
    notes.sort(key=lambda note: note.created_at)
    return await archive(io, notes, reason, analyst=analyst)
