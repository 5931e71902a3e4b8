"""Proposals that wait: changes of a note by one that is believed much less than it is.

Kept as points of their own, beside the notes. `commit` makes them, `retract` removes those of a
note that is taken back, `lifecycle.lineage` applies or drops them. Ours, not the paper's.
"""

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeAlias

from amem_integrations.core.analysis import Evolution
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.filters import Condition, both, match
from amem_integrations.core.io import IO, Point
from amem_integrations.core.namespace import Namespace, decode, encode
from amem_integrations.core.note import Note
from amem_integrations.stores.codec import micros, moment
from amem_integrations.stores.read import every_point

Believe: TypeAlias = Callable[[Note], float]
"""How far a note is to be believed, whatever its age, in [0, 1]."""


def must_wait(believe: Believe | None, gap: float, note: Note, target: Note) -> bool:
    """Whether `note` is believed less than `target` by more than the share `gap` of that.

    Then it must not change it. Age does not count: else whoever came last would have a say over
    whatever was not confirmed of late. As a share, so that the gap is one between the less
    believed, too.
    """
    return believe is not None and believe(note) < (1 - gap) * believe(target)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of the note `target` that waits, because its proposer `cause` is believed less.

    Attributes:
        namespace: whose notes they are.
        cause: id of the note that would bring it about.
        target: id of the note that would be changed.
        evolution: how the target is to be understood; None if only a contradiction was found.
        contradicts: whether the target is said to hold no longer.
        version: that of the target when it was proposed.
        at: when.
        analyst: who judged so.
        sources: ids of the notes that were read for it.
        reason: why, in words.

    Examples:
        >>> from amem_integrations import AgenticMemory
        >>> with AgenticMemory(lifecycle=True) as memory:
        ...     _ = memory.add("Bea runs the bakery on Mill Road", source="user")
        ...     _ = memory.add("The bakery on Mill Road sells rye bread", source="import")
        ...     [proposal] = memory.lifecycle.proposals()
        >>> proposal.contradicts, proposal.evolution is not None
        (False, True)
    """

    namespace: Namespace
    cause: str
    target: str
    evolution: Evolution | None
    contradicts: bool
    version: int
    at: datetime
    analyst: str
    sources: tuple[str, ...] = ()
    reason: str = ""

    @property
    def id(self) -> str:
        """The same whenever the same note proposes to change the same note."""
        return str(uuid.uuid5(uuid.UUID(self.target), f"proposal {self.cause}"))


def proposal_point(proposal: Proposal) -> Point:
    evolution = None if proposal.evolution is None else asdict(proposal.evolution)
    kept: dict[str, Any] = {
        "cause": proposal.cause,
        "evolution": evolution,
        "contradicts": proposal.contradicts,
        "version": proposal.version,
        "at": micros(proposal.at),
        "analyst": proposal.analyst,
        "sources": list(proposal.sources),
        "reason": proposal.reason,
    }
    return Point(
        proposal.id,
        {
            "kind": "proposal",
            "of": proposal.target,
            "owner": encode(proposal.namespace),
            "influences": sorted({proposal.cause, *proposal.sources} - {proposal.target}),
            "proposal": json.dumps(kept, ensure_ascii=False),
        },
    )


def proposal_from(point: Point) -> Proposal:
    kept = json.loads(point.payload["proposal"])
    evolution = kept["evolution"]
    if evolution is not None:
        for name in ("keywords", "tags"):
            if evolution[name] is not None:
                evolution[name] = tuple(evolution[name])
        evolution = Evolution(**evolution)
    return Proposal(
        namespace=decode(point.payload["owner"]),
        cause=kept["cause"],
        target=point.payload["of"],
        evolution=evolution,
        contradicts=kept["contradicts"],
        version=kept["version"],
        at=moment(kept["at"]),
        analyst=kept["analyst"],
        sources=tuple(kept["sources"]),
        reason=kept["reason"],
    )


def waiting(namespace: Namespace, *parts: Condition) -> Condition:
    """The proposals of exactly this namespace that also meet `parts`."""
    return both(match("kind", "proposal"), match("owner", encode(namespace)), *parts)


def concerning(namespace: Namespace, note_id: str) -> Condition:
    """Those that the note has a part in: made by it, in its light, or about it."""
    part = AnyOf((match("of", note_id), match("influences", note_id)))
    return waiting(namespace, part)


async def proposals(io: IO, namespace: Namespace) -> list[Proposal]:
    """All that wait in a namespace, oldest first."""
    points: Sequence[Point] = await every_point(io, waiting(namespace))
    return sorted(map(proposal_from, points), key=lambda each: (each.at, each.id))
