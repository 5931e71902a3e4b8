"""Links that live by use: how strong one is now, what use does to it, when a new one is due.

Pure. A stored weight is that of the moment of its last use; what time wore off since is
computed where it is asked for, so that nothing has to be written for it. Ours, not the paper's.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import combinations
from math import hypot

from amem_integrations.core.io import Vector
from amem_integrations.core.note import CONTRADICTS, CORRECTS, DISTILS, REPEATS, Link
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.stores.uses import Outcome

BRIDGE = "bridge"
_FULL = 6
"""In how many sessions notes must have been used together for a bridge of weight 1."""
_LEAST = 1e-6
# They say how two notes stand to each other, and that does not wear off.
_LASTING = (REPEATS, CORRECTS, CONTRADICTS, DISTILS)


def weight_now(link: Link, now: datetime, policy: Policy) -> float:
    """Its weight, halved for each half-life since it was made or used."""
    if link.kind in _LASTING:
        return link.weight
    idle = max(timedelta(), now - (link.used_at or link.created_at))
    return max(_LEAST, link.weight * 2.0 ** (-idle / policy.link_half_life))


def faded(link: Link, now: datetime, policy: Policy) -> Link:
    """The link with the weight it has now."""
    weight = weight_now(link, now, policy)
    return link if weight == link.weight else replace(link, weight=weight)


def moved(link: Link, outcome: Outcome, at: datetime, policy: Policy) -> Link:
    """After its two notes were used together, or one that it led to was.

    It gains a share of what it lacks, or keeps a share of what it has.
    """
    weight = weight_now(link, at, policy)
    if outcome == "used":
        weight += policy.together * (1 - weight)
    else:
        weight = max(_LEAST, weight * policy.apart)
    return replace(link, weight=weight, used_at=at)


def is_worn_out(link: Link, now: datetime, policy: Policy) -> bool:
    """Whether it is to be removed."""
    return link.kind not in _LASTING and weight_now(link, now, policy) < policy.pruned


def divergence(queries: Sequence[Vector]) -> float:
    """1 - the mean cosine of any two of the questions; 0 for fewer than two."""
    units = [[x / length for x in q] for q in queries if (length := hypot(*q)) > 0]
    pairs = list(combinations(units, 2))
    if not pairs:
        return 0.0
    return 1 - sum(sum(map(float.__mul__, a, b)) for a, b in pairs) / len(pairs)


def bridge_weight(sessions: int, queries: Sequence[Vector]) -> float:
    """Of a link between notes used together in so many sessions, for these questions.

    0, and no link, where the questions have nothing in common.
    """
    return max(0.0, min(1.0, sessions / _FULL) * (1 - divergence(queries)))
