"""Proposals: changes of a note that wait because their source is believed much less.

They are points of their own, beside the notes. `lifecycle.audits` applies or drops them. Ours, not
the paper's.
"""

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeAlias

from amem_integrations.core.analysis import Evolution
from amem_integrations.core.engine import Point
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.filters import Condition, both, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, decode, encode
from amem_integrations.core.note import Note
from amem_integrations.stores.codec import micros, moment
from amem_integrations.stores.read import every_point

Believe: TypeAlias = Callable[[Note], float]
"""How far a note is to be believed, whatever its age, in [0, 1]."""


def must_wait(believe: Believe | None, gap: float, note: Note, target: Note) -> bool:
    """Return whether `note` is believed less than `target` by more than the share `gap` of that.

    Then it must not change the target. Age does not count, or the newest note would have a say over
    whatever was not confirmed lately.
    """
    return believe is not None and believe(note) < (1 - gap) * believe(target)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of the note `target` that waits, because its proposer `cause` is believed less.

    Attributes:
        namespace: the namespace of both notes.
        cause: id of the note that would change the other.
        target: id of the note that would be changed.
        evolution: how the target is to be understood; None if only a contradiction was found.
        contradicts: whether the target is said to be outdated.
        version: the version of the target when this was proposed.
        at: when it was proposed.
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
    data = asdict(proposal) | {"at": micros(proposal.at)}
    del data["namespace"], data["target"]
    return Point(
        proposal.id,
        {
            "kind": "proposal",
            "of": proposal.target,
            "owner": encode(proposal.namespace),
            "influences": sorted({proposal.cause, *proposal.sources} - {proposal.target}),
            "proposal": json.dumps(data, ensure_ascii=False),
        },
    )


def proposal_from(point: Point) -> Proposal:
    data: dict[str, Any] = json.loads(point.payload["proposal"])
    evolution = data["evolution"]
    if evolution is not None:
        for name in ("keywords", "tags"):
            evolution[name] = None if evolution[name] is None else tuple(evolution[name])
        evolution = Evolution(**evolution)
    data |= {"evolution": evolution, "at": moment(data["at"]), "sources": tuple(data["sources"])}
    return Proposal(decode(point.payload["owner"]), target=point.payload["of"], **data)


def waiting(namespace: Namespace, *parts: Condition) -> Condition:
    """Return the condition of the proposals of exactly this namespace that also match `parts`."""
    return both(match("kind", "proposal"), match("owner", encode(namespace)), *parts)


def concerning(namespace: Namespace, note_id: str) -> Condition:
    """Return the condition of the proposals made by a note, in its light, or about it."""
    return waiting(namespace, AnyOf((match("of", note_id), match("influences", note_id))))


async def proposals(io: IO, namespace: Namespace) -> list[Proposal]:
    """Return all proposals of a namespace, oldest first."""
    points: Sequence[Point] = await every_point(io, waiting(namespace))
    return sorted(map(proposal_from, points), key=lambda proposal: (proposal.at, proposal.id))
