"""Tenure: how notes rise and fall between tiers, and how links gain and lose weight.

Ours, not the paper's.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from amem_integrations.core.io import IO
from amem_integrations.core.note import LASTING, Link, Note, Revision, Status
from amem_integrations.core.status import Life, Tier
from amem_integrations.lifecycle.confidence import LEAST_WEIGHT, weight_now
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.revisions.change import ROUNDS, change_notes, revised
from amem_integrations.stores.read import load, revisions
from amem_integrations.stores.uses import Outcome

UPKEEP = frozenset({"tiered", "pruned", "co-used", "archived", "restored"})
"""Revisions that change nothing of what a note says or how it is understood."""
SETTLED = (Status.PLAIN, Status.SKIPPED, Status.FORMED, Status.PARKED)
"""Notes that can be found and wait for nothing: the lifecycle may change or archive them."""
_MOST_OCCASIONS = 8
_MOST_CONFLICTS = 5
_TURN = " #"
_NUMBER = re.compile(r"(-?[0-9]{1,19})?")
"""A sequence, of 64 bits; nothing where the session's own name ends like one."""


# -- occasions -------------------------------------------------------------------------------


def occasion(session: str | None, at: datetime, turn: int | None = None) -> str:
    """Return the occasion of something that happened: its session, or its UTC day without one.

    turn: where a whole namespace is one session, the turn it had come to.
    """
    if session is None:
        return f"{at:%Y-%m-%d}"
    if turn is not None:
        return f"{session}{_TURN}{turn}"
    # A session that is itself called so would be taken for another's turn.
    return session if _split_turn(session) == (session, None) else f"{session}{_TURN}"


def is_new_occasion(label: str, known: Iterable[str], segment: int) -> bool:
    """Return whether an occasion is none of the `known` ones.

    Two in one session that name their turns are different if these are `segment` turns apart.
    """
    session, turn = _split_turn(label)
    for other_label in known:
        other, at = _split_turn(other_label)
        if session == other and (turn is None or at is None or abs(turn - at) < segment):
            return False
    return True


def _split_turn(label: str) -> tuple[str, int | None]:
    session, mark, turn = label.rpartition(_TURN)
    if not mark or not _NUMBER.fullmatch(turn):
        return label, None
    return session, int(turn) if turn else None


def said_at(note: Note) -> datetime:
    return note.occurred_at or note.created_at


def life_of(note: Note, turn: int | None = None) -> Life:
    """Return the note's life, with its being said as the first occasion.

    turn: its own, where the whole namespace is one session.
    """
    if note.life.occasions:
        return note.life
    return replace(note.life, occasions=(occasion(note.session, said_at(note), turn),))


def came_up(life: Life, label: str, at: datetime, policy: Policy) -> Life:
    """Return a life after the note was used or repeated; that confirms it once an occasion."""
    if not is_new_occasion(label, life.occasions, policy.turns_per_occasion):
        return life
    return replace(
        life,
        occasions=(*life.occasions, label)[-max(_MOST_OCCASIONS, policy.occasions_to_mid) :],
        confirmations=life.confirmations + 1,
        confirmed_at=at if life.confirmed_at is None else max(at, life.confirmed_at),
    )


def used(life: Life, outcome: Outcome, label: str, at: datetime, policy: Policy) -> Life:
    """Return a life after a use; a clean one confirms it, and ends a run of conflicting ones."""
    used_at = at if life.used_at is None else max(at, life.used_at)
    if outcome == "conflict":
        conflicts = (*life.conflicts, at)[-most_conflicts(policy) :]
        more = life.conflicting + 1
        return replace(life, conflicting=more, conflicts=conflicts, used_at=used_at)
    clean = replace(life, clean=life.clean + 1, conflicts=(), used_at=used_at)
    return came_up(clean, label, at, policy)


def most_conflicts(policy: Policy) -> int:
    """Return how many times of conflicting uses a life keeps."""
    return max(_MOST_CONFLICTS, policy.audit_after_in_a_row, policy.audit_after)


# -- tiers -----------------------------------------------------------------------------------


def tier_of(note: Note, history: Sequence[Revision], now: datetime, policy: Policy) -> Tier:
    """Return the tier that a note belongs in now, at most one step from where it is.

    Short to mid: it came up on enough occasions. Mid to long: it was there for long enough, was
    hardly revised meanwhile, and nobody contradicts it. One step down: it was revised repeatedly.
    history: its revisions; those that change nothing of what it says do not count.
    """
    since = now - policy.time_to_long
    tiered_at = note.life.tiered_at or note.created_at
    times = [revision.at for revision in history if revision.kind not in UPKEEP]
    revised = sum(at > since for at in times)
    # What led up to this tier has been held against it.
    unsettled = sum(at > max(since, tiered_at) for at in times)
    if note.tier is not Tier.SHORT and unsettled >= policy.revisions_to_demote:
        return Tier.MID if note.tier is Tier.LONG else Tier.SHORT
    if note.tier is Tier.SHORT and len(note.life.occasions) >= policy.occasions_to_mid:
        return Tier.MID if revised < policy.revisions_to_demote else Tier.SHORT
    settled = now - tiered_at >= policy.time_to_long
    if note.tier is Tier.MID and settled and revised <= policy.max_revisions_to_long:
        return Tier.MID if note.contested_by else Tier.LONG
    return note.tier


def may_move(note: Note, now: datetime, policy: Policy) -> bool:
    """Return whether the tier may change, as far as that is known without the history."""
    if note.tier is Tier.SHORT:
        return len(note.life.occasions) >= policy.occasions_to_mid
    tiered_at = note.life.tiered_at or note.created_at
    if note.tier is Tier.MID and now - tiered_at >= policy.time_to_long and not note.contested_by:
        return True
    return note.revision is not None and note.revision.at > now - policy.time_to_long


# -- links -----------------------------------------------------------------------------------


def used_link(link: Link, outcome: Outcome, at: datetime, policy: Policy) -> Link:
    """Return the link after its two notes were used together, or one that it led to was.

    A clean use gives it a share of what it lacks; a conflict leaves it a share of what it has.
    """
    weight = weight_now(link, at, policy)
    if outcome == "used":
        weight += policy.link_gain * (1 - weight)
    else:
        weight = max(LEAST_WEIGHT, weight * policy.link_conflict_factor)
    return replace(link, weight=weight, used_at=at)


def is_worn_out(link: Link, now: datetime, policy: Policy) -> bool:
    """Return whether the link is to be removed."""
    return link.kind not in LASTING and weight_now(link, now, policy) < policy.min_link_weight


# -- applying both ---------------------------------------------------------------------------


async def update_tenure(
    io: IO, notes: Iterable[Note], policy: Policy, analyst: str
) -> Counter[str]:
    """Remove worn-out links and change tiers of `notes` where that is due, as revisions.

    Returns the number of changed `tiers` and of `pruned` links. Raw notes are skipped; a note that
    keeps changing is left to the next time.
    """
    total = Counter[str]()
    for note in notes:
        if moved := await _update(io, note, policy, analyst):
            total += moved
            # Let other tasks of the event loop run.
            await io.sleep(0)
    return total


async def _update(io: IO, note: Note, policy: Policy, analyst: str) -> Counter[str]:
    total = Counter[str]()
    for _ in range(ROUNDS):
        now = io.now()
        if note.status not in SETTLED:
            break
        if after := _pruned(note, now, policy, analyst):
            moved = Counter(pruned=len(note.outgoing) - len(after.outgoing))
        elif after := await _tiered(io, note, now, policy, analyst):
            moved = Counter(tiers=1)
        else:
            break
        if await change_notes(io, [(note, after)]):
            total += moved
            note = after
            if moved["tiers"]:
                break
        elif found := (await load(io, [note.id], note.namespace)).get(note.id):
            note = found
        else:
            break
    return total


def _pruned(note: Note, now: datetime, policy: Policy, analyst: str) -> Note | None:
    """The note without worn-out links; None if it has none."""
    links = tuple(link for link in note.outgoing if not is_worn_out(link, now, policy))
    if len(links) == len(note.outgoing):
        return None
    after = note.evolve(links=links)
    return revised(note, after, "pruned", note.id, now, analyst, reason="hardly ever used")


async def _tiered(io: IO, note: Note, now: datetime, policy: Policy, analyst: str) -> Note | None:
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
