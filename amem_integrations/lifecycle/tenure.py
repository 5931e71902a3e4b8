"""Tenure: how notes rise and fall between tiers, and how links gain and lose weight. Pure.

A stored link weight is that of its last use; what time wore off since is computed when asked for.
Ours, not the paper's.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import combinations
from math import hypot

from amem_integrations.core.engine import Vector
from amem_integrations.core.note import (
    CONTRADICTS,
    CORRECTS,
    DISTILS,
    REPEATS,
    Link,
    Note,
    Revision,
)
from amem_integrations.core.status import Life, Tier
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.stores.uses import Outcome

CO_USE = "co-use"
"""The kind of a link between notes that are used together."""
UPKEEP = frozenset({"tiered", "pruned", "co-used", "archived", "restored"})
"""Revisions that change nothing of what a note says or how it is understood."""
_MOST_OCCASIONS = 8
_MOST_CONFLICTS = 5
_TURN = " #"
_NUMBER = re.compile(r"(-?[0-9]{1,19})?")
"""A sequence, of 64 bits; nothing where the session's own name ends like one."""
_FULL = 6
"""In how many sessions notes must have been used together for a co-use link of weight 1."""
_LEAST = 1e-6
# They say how two notes stand to each other, and that does not wear off.
_LASTING = (REPEATS, CORRECTS, CONTRADICTS, DISTILS)


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
    if not is_new_occasion(label, life.occasions, policy.segment):
        return life
    return replace(
        life,
        occasions=(*life.occasions, label)[-max(_MOST_OCCASIONS, policy.occasions) :],
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
    return max(_MOST_CONFLICTS, policy.in_a_row, policy.repeated)


# -- tiers -----------------------------------------------------------------------------------


def tier_of(note: Note, history: Sequence[Revision], now: datetime, policy: Policy) -> Tier:
    """Return the tier that a note belongs in now, at most one step from where it is.

    Short to mid: it came up on enough occasions. Mid to long: it was there for long enough, was
    hardly revised meanwhile, and nobody contradicts it. One step down: it was revised repeatedly.
    history: its revisions; those that change nothing of what it says do not count.
    """
    since = now - policy.settled
    tiered_at = note.life.tiered_at or note.created_at
    times = [revision.at for revision in history if revision.kind not in UPKEEP]
    revised = sum(at > since for at in times)
    # What led up to this tier has been held against it.
    unsettled = sum(at > max(since, tiered_at) for at in times)
    if note.tier is not Tier.SHORT and unsettled >= policy.unsettled:
        return Tier.MID if note.tier is Tier.LONG else Tier.SHORT
    if note.tier is Tier.SHORT and len(note.life.occasions) >= policy.occasions:
        return Tier.MID if revised < policy.unsettled else Tier.SHORT
    settled = now - tiered_at >= policy.settled
    if note.tier is Tier.MID and settled and revised <= policy.revised_most:
        return Tier.MID if note.contested_by else Tier.LONG
    return note.tier


def may_move(note: Note, now: datetime, policy: Policy) -> bool:
    """Return whether the tier may change, as far as that is known without the history."""
    if note.tier is Tier.SHORT:
        return len(note.life.occasions) >= policy.occasions
    tiered_at = note.life.tiered_at or note.created_at
    if note.tier is Tier.MID and now - tiered_at >= policy.settled and not note.contested_by:
        return True
    return note.revision is not None and note.revision.at > now - policy.settled


# -- links -----------------------------------------------------------------------------------


def weight_now(link: Link, now: datetime, policy: Policy) -> float:
    """Return the weight, halved for each half-life since the link was made or used."""
    if link.kind in _LASTING:
        return link.weight
    unused = max(timedelta(), now - (link.used_at or link.created_at))
    return max(_LEAST, link.weight * 2.0 ** (-unused / policy.link_half_life))


def current_link(link: Link, now: datetime, policy: Policy) -> Link:
    """Return the link with the weight it has now."""
    weight = weight_now(link, now, policy)
    return link if weight == link.weight else replace(link, weight=weight)


def used_link(link: Link, outcome: Outcome, at: datetime, policy: Policy) -> Link:
    """Return the link after its two notes were used together, or one that it led to was.

    A clean use gives it a share of what it lacks; a conflict leaves it a share of what it has.
    """
    weight = weight_now(link, at, policy)
    if outcome == "used":
        weight += policy.together * (1 - weight)
    else:
        weight = max(_LEAST, weight * policy.apart)
    return replace(link, weight=weight, used_at=at)


def is_worn_out(link: Link, now: datetime, policy: Policy) -> bool:
    """Return whether the link is to be removed."""
    return link.kind not in _LASTING and weight_now(link, now, policy) < policy.pruned


def divergence(queries: Sequence[Vector]) -> float:
    """Return 1 - the mean cosine of any two of the questions; 0 for fewer than two."""
    units = [[x / length for x in query] for query in queries if (length := hypot(*query)) > 0]
    pairs = list(combinations(units, 2))
    if not pairs:
        return 0.0
    return 1 - sum(sum(map(float.__mul__, a, b)) for a, b in pairs) / len(pairs)


def co_use_weight(sessions: int, queries: Sequence[Vector]) -> float:
    """Return the weight of a link between notes used together in so many sessions.

    It is 0, and no link, if the questions have nothing in common.
    """
    return max(0.0, min(1.0, sessions / _FULL) * (1 - divergence(queries)))
