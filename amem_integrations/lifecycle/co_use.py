"""Bridges: links between notes that are used together and that nobody linked.

`maintain` calls this with the uses that are new, or with all that are kept when links close
in on themselves.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Link, Note
from amem_integrations.lifecycle.consensus import SHOWN
from amem_integrations.lifecycle.link_decay import BRIDGE, bridge_weight
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.tiers import occasion
from amem_integrations.revisions.change import change_notes, revised
from amem_integrations.stores.read import load
from amem_integrations.stores.uses import Use, queries_of, uses_of

_MOST_OF_A_USE = 20
_MOST_ASKED = 16
_AT_ONCE = 64
_ROUNDS = 4

Pair = tuple[str, str]


async def bridge(
    io: IO,
    namespace: Namespace,
    uses: Sequence[Use],
    policy: Policy,
    analyst: str,
    *,
    sessions: int | None = None,
    is_wanted: Callable[[Pair], bool] = lambda pair: True,
) -> int:
    """Link the pairs of `uses` that were used together in enough sessions; how many.

    sessions: how many are enough, in place of the policy's. The later note makes the link.
    """
    needed = policy.bridged if sessions is None else sessions
    pairs = sorted(pair for pair in set(_pairs(uses)) if is_wanted(pair))
    made = 0
    for start in range(0, len(pairs), _AT_ONCE):
        chunk = pairs[start : start + _AT_ONCE]
        logs = _together(await uses_of(io, namespace, sorted({id for p in chunk for id in p})))
        for pair in chunk:
            log = logs.get(pair, [])
            count = len({occasion(use.session, use.at) for use in log})
            if count >= needed:
                weight = round(bridge_weight(count, await queries_of(io, log[-_MOST_ASKED:])), 4)
                if weight >= policy.pruned:
                    made += await _link(io, namespace, pair, weight, count, analyst)
    return made


def _pairs(uses: Iterable[Use]) -> Iterable[Pair]:
    for use in uses:
        if use.outcome == "used":
            yield from combinations(sorted(use.notes)[:_MOST_OF_A_USE], 2)


def _together(uses: Iterable[Use]) -> dict[Pair, list[Use]]:
    logs: dict[Pair, list[Use]] = {}
    for use in uses:
        for pair in _pairs([use]):
            logs.setdefault(pair, []).append(use)
    return logs


async def _link(
    io: IO, namespace: Namespace, pair: Pair, weight: float, count: int, analyst: str
) -> bool:
    reason = f"used together in {count} sessions"
    for _ in range(_ROUNDS):
        notes = list((await load(io, pair, namespace)).values())
        if len(notes) < 2 or any(note.status not in SHOWN for note in notes):
            return False
        earlier, later = sorted(notes, key=lambda note: (note.created_at, note.id))
        if _are_linked(earlier, later):
            return False
        now = io.now()
        link = Link(later.id, earlier.id, reason, now, BRIDGE, weight)
        after = revised(
            later,
            later.evolve(links=(*later.outgoing, link)),
            "bridged",
            later.id,
            now,
            analyst,
            reason=reason,
        )
        if await change_notes(io, [(later, after)]):
            return True
    return False


def _are_linked(one: Note, other: Note) -> bool:
    return any(link.to == other.id for link in one.outgoing) or any(
        link.to == one.id for link in other.outgoing
    )
