"""Occasions and tiers: how a note comes to be believed for weeks, then for years, and back.

Pure. `maintain` asks these, and writes what they say. Ours, not the paper's.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from amem_integrations.core.note import Note, Revision
from amem_integrations.core.status import Life, Tier
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.stores.uses import Outcome

_MOST_OCCASIONS = 8
_MOST_CONFLICTS = 5
_TURN = " #"
_NUMBER = re.compile(r"(-?[0-9]{1,19})?")
"""A sequence, of 64 bits; nothing where the session's own name ends like one."""
OWN_WORK = frozenset({"tiered", "pruned", "bridged", "archived", "restored"})
"""Revisions that change nothing of what a note says or how it is understood."""


def occasion(session: str | None, at: datetime, turn: int | None = None) -> str:
    """The occasion of something that happened: its session; its UTC day where none is known.

    turn: where a whole namespace is one session, the turn it had come to.
    """
    if session is None:
        return f"{at:%Y-%m-%d}"
    if turn is not None:
        return f"{session}{_TURN}{turn}"
    # A session that is itself called so would be taken for another's turn.
    return session if _parted(session) == (session, None) else f"{session}{_TURN}"


def is_new(label: str, known: Iterable[str], segment: int) -> bool:
    """Whether an occasion is none of the `known` ones.

    Of two in one session, those that say at which turn are different `segment` turns apart.
    """
    session, turn = _parted(label)
    for each in known:
        other, at = _parted(each)
        if session == other and (turn is None or at is None or abs(turn - at) < segment):
            return False
    return True


def _parted(label: str) -> tuple[str, int | None]:
    session, mark, turn = label.rpartition(_TURN)
    if not mark or not _NUMBER.fullmatch(turn):
        return label, None
    return session, int(turn) if turn else None


def seeded(note: Note, turn: int | None = None) -> Life:
    """What happened to a note, that it was said among it: its first occasion, if there is none.

    turn: its own, where the whole namespace is one session.
    """
    if note.life.occasions:
        return note.life
    said = note.occurred_at or note.created_at
    return replace(note.life, occasions=(occasion(note.session, said, turn),))


def came_up(life: Life, label: str, at: datetime, policy: Policy) -> Life:
    """After the note was used or repeated; it confirms the note once an occasion."""
    if not is_new(label, life.occasions, policy.segment):
        return life
    return replace(
        life,
        occasions=(*life.occasions, label)[-max(_MOST_OCCASIONS, policy.occasions) :],
        confirmations=life.confirmations + 1,
        confirmed_at=at if life.confirmed_at is None else max(at, life.confirmed_at),
    )


def used(life: Life, outcome: Outcome, label: str, at: datetime, policy: Policy) -> Life:
    """After a use; a clean one confirms it, and ends a run of conflicting ones."""
    used_at = at if life.used_at is None else max(at, life.used_at)
    if outcome == "conflict":
        conflicts = (*life.conflicts, at)[-most_conflicts(policy) :]
        more = life.conflicting + 1
        return replace(life, conflicting=more, conflicts=conflicts, used_at=used_at)
    clean = replace(life, clean=life.clean + 1, conflicts=(), used_at=used_at)
    return came_up(clean, label, at, policy)


def most_conflicts(policy: Policy) -> int:
    """How many of the conflicting uses are told apart."""
    return max(_MOST_CONFLICTS, policy.in_a_row, policy.repeated)


def tier_of(note: Note, history: Sequence[Revision], now: datetime, policy: Policy) -> Tier:
    """The tier that a note belongs in now, one step from where it is at most.

    short to mid: it came up on enough occasions. mid to long: settled there for long enough,
    hardly revised meanwhile, and nobody contradicts it. One step down: revised again and again.
    history: its revisions; those that change nothing of what it says do not count.
    """
    since = now - policy.settled
    tiered_at = note.life.tiered_at or note.created_at
    revised = sum(each.at > since and each.kind not in OWN_WORK for each in history)
    # What led up to this tier has been held against it.
    unsettled = sum(
        each.at > max(since, tiered_at) and each.kind not in OWN_WORK for each in history
    )
    if note.tier is not Tier.SHORT and unsettled >= policy.unsettled:
        return Tier.MID if note.tier is Tier.LONG else Tier.SHORT
    if note.tier is Tier.SHORT and len(note.life.occasions) >= policy.occasions:
        return Tier.MID if revised < policy.unsettled else Tier.SHORT
    settled = now - tiered_at >= policy.settled
    if note.tier is Tier.MID and settled and revised <= policy.revised_most:
        return Tier.MID if note.contested_by else Tier.LONG
    return note.tier


def may_move(note: Note, now: datetime, policy: Policy) -> bool:
    """Whether its tier can be another than it is: what is known without its history."""
    if note.tier is Tier.SHORT:
        return len(note.life.occasions) >= policy.occasions
    tiered_at = note.life.tiered_at or note.created_at
    if note.tier is Tier.MID and now - tiered_at >= policy.settled and not note.contested_by:
        return True
    return note.revision is not None and note.revision.at > now - policy.settled
