"""Settling notes: into the tier they belong in, without links that are worn out, not too many.

Each change is a revision of its own that can be undone. `maintain` says which notes are looked
at; `tiers` and `ties` decide.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from amem_integrations.core.filters import Not, both, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status
from amem_integrations.core.status import Tier
from amem_integrations.lifecycle.confidence import confidence
from amem_integrations.lifecycle.consensus import SHOWN
from amem_integrations.lifecycle.link_decay import is_worn_out
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.tiers import may_move, tier_of
from amem_integrations.lifecycle.value import worth
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
    """Prune and move those of `notes` where that is due.

    A note that waits to be formed is left to whoever forms it; one that keeps changing, to the
    next time.
    """
    total = Settled()
    for note in notes:
        done = await _settle(io, note, policy, analyst)
        total += done
        if done != Settled():
            # Whoever else is on the loop has a turn.
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
        held = await load(io, [note.id], note.namespace)
        if note.id not in held:
            return done
        note = held[note.id]
    return done


def _pruned(note: Note, now: datetime, policy: Policy, analyst: str) -> Note | None:
    """The note without the links that are worn out; None where none is."""
    links = tuple(link for link in note.outgoing if not is_worn_out(link, now, policy))
    if len(links) == len(note.outgoing):
        return None
    after = note.evolve(links=links)
    return revised(note, after, "pruned", note.id, now, analyst, reason="hardly ever used")


async def _moved(io: IO, note: Note, now: datetime, policy: Policy, analyst: str) -> Note | None:
    """The note in the tier that it belongs in; None where it is there."""
    if not may_move(note, now, policy):
        return None
    tier = tier_of(note, await revisions(io, note), now, policy)
    if tier is note.tier:
        return None
    # One more, as for whatever is put down of a note's life.
    life = replace(note.life, tiered_at=now, counted=note.life.counted + 1)
    after = replace(note, tier=tier, life=life)
    return revised(note, after, "tiered", note.id, now, analyst, reason=_why(note.tier, tier))


def _why(before: Tier, after: Tier) -> str:
    if before is Tier.SHORT:
        return "it came up on several occasions"
    return "it stayed as it is" if after is Tier.LONG else "it was revised again and again"


async def thin_out(io: IO, namespace: Namespace, policy: Policy, analyst: str) -> int:
    """Archive the least believed short notes beyond as many as there may be; how many.

    What a caller keeps as a value is left alone, and so is what waits to be formed.
    """
    short = both(match("status", *_SETTLED), Not(match("tier", Tier.MID, Tier.LONG)))
    where = within(namespace, short)
    if await io.engine.count(where) <= policy.most_short:
        return 0
    now = io.now()
    notes = [note for note in await every_note(io, where) if _is_movable(note)]
    notes.sort(key=lambda note: (confidence(note, now, policy), note.created_at))
    excess = max(0, len(notes) - policy.most_short)
    reason = f"the least believed of more than {policy.most_short} short notes"
    return await archive(io, _oldest_first(notes[:excess]), reason, analyst=analyst)


async def make_room(io: IO, namespace: Namespace, policy: Policy, analyst: str) -> int:
    """Archive what is worth least beyond as many notes as there may be in all; how many.

    Left alone is what `thin_out` leaves alone.
    """
    where = within(namespace, match("status", *SHOWN))
    most = policy.most_notes
    if most is None or await io.engine.count(where) <= most:
        return 0
    now = io.now()
    notes = await every_note(io, where)
    links = Counter(end for note in notes for link in note.outgoing for end in (note.id, link.to))
    movable = [note for note in notes if _is_movable(note)]
    movable.sort(key=lambda each: (worth(each, links[each.id], now, policy).value, each.created_at))
    excess = max(0, len(notes) - most)
    reason = f"worth least of more than {most} notes"
    return await archive(io, _oldest_first(movable[:excess]), reason, analyst=analyst)


def _is_movable(note: Note) -> bool:
    return note.status in _SETTLED and note.value_json is None and note.parts is None


def _oldest_first(notes: Sequence[Note]) -> list[Note]:
    return sorted(notes, key=lambda note: note.created_at)
