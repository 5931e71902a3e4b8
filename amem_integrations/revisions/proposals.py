"""Proposals: changes of a note that wait because their source is trusted much less.

They are points of their own, beside the notes, until somebody accepts or rejects them. Nothing else
applies them, whatever comes to support their source. Ours, not the paper's.
"""

import json
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeAlias

from amem_integrations.core.analysis import Evolution
from amem_integrations.core.engine import Point
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.filters import Condition, both, ids, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, decode, encode
from amem_integrations.core.note import OPPOSING, Note, Status
from amem_integrations.core.status import UNDERSTOOD_LISTS
from amem_integrations.core.usage import Ledger
from amem_integrations.errors import InvalidInputError, NoteNotFoundError
from amem_integrations.revisions.change import (
    Pair,
    change_note,
    change_until_done,
    understood_anew,
)
from amem_integrations.revisions.contradiction import RESOLVED, contradicted, is_outdated
from amem_integrations.stores.codec import micros, moment
from amem_integrations.stores.read import load, load_points, revisions

Believe: TypeAlias = Callable[[Note], float]
"""The trust in the source of a note, in [0, 1]."""


def must_wait(believe: Believe | None, gap: float, note: Note, target: Note) -> bool:
    """Return whether the source of `note` is believed less than that of `target`.

    Less by more than the share `gap` of the latter. Then the note must not change the target.
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


def _proposal_from(point: Point) -> Proposal:
    data: dict[str, Any] = json.loads(point.payload["proposal"])
    evolution = data["evolution"]
    if evolution is not None:
        for name in UNDERSTOOD_LISTS:
            if evolution.get(name) is not None:
                evolution[name] = tuple(evolution[name])
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
    points = await load_points(io, waiting(namespace))
    return sorted(map(_proposal_from, points), key=lambda proposal: (proposal.at, proposal.id))


async def contest(
    io: IO,
    note: Note,
    *,
    believe: Believe | None,
    trust_gap: float,
    analyst: str,
    ledger: Ledger,
) -> None:
    """Let a stored note contest the notes that its links contradict. Safe to repeat.

    A note that is believed much more gets a proposal instead. Without `believe` nothing happens.
    Raises StoreError if one of the notes keeps changing.
    """
    links = {link.to: link for link in note.outgoing if link.kind in OPPOSING}

    async def next_pairs() -> list[Pair]:
        notes = await load(io, [note.id, *links], note.namespace)
        if notes.pop(note.id, None) is None:
            return []
        now = io.now()
        pairs: list[Pair] = []
        for old in notes.values():
            if is_outdated(old, note) or note.id in old.contested_by:
                continue
            if await _was_resolved(io, old, links[old.id].created_at):
                continue
            reason = links[old.id].reason
            if must_wait(believe, trust_gap, note, old):
                ledger.count("evolution.waits")
                proposal = Proposal(
                    note.namespace,
                    cause=note.id,
                    target=old.id,
                    evolution=None,
                    contradicts=True,
                    version=old.version,
                    at=now,
                    analyst=analyst,
                    reason=reason,
                )
                await io.engine.insert([proposal_point(proposal)])
                continue
            after = contradicted(old, note, now, analyst, settled=False, reason=reason)
            pairs.append((old, after))
        return pairs

    if believe is not None and links:
        what = f"A note that note {note.id} contradicts kept changing"
        await change_until_done(io, next_pairs, what)


async def _was_resolved(io: IO, note: Note, since: datetime) -> bool:
    """Return whether somebody decided on the note after it was contradicted."""
    return any(each.kind == RESOLVED and each.at > since for each in await revisions(io, note))


async def accept(io: IO, proposal: Proposal, believe: Believe, *, settled: bool) -> Note:
    """Apply a proposal; returns its target.

    settled: a caller accepts it, so that a contradiction in it is settled. The trust of the target
    is capped by that in the proposer's source in any case. Raises InvalidInputError if the
    proposal does not wait any more or its target is not formed, NoteNotFoundError if one of its
    notes was forgotten meanwhile, StoreError if its target keeps changing.
    """
    if not await _is_waiting(io, proposal):
        raise InvalidInputError(
            f"The proposal {proposal.id} does not wait any more; it was settled, or one of its "
            "notes was changed or forgotten."
        )
    notes = await load(io, [proposal.cause, proposal.target], proposal.namespace)
    if len(notes) < 2:
        raise NoteNotFoundError(f"A note of the proposal {proposal.id} was forgotten.")
    cause, target = notes[proposal.cause], notes[proposal.target]
    # One time for both changes: they are one act.
    now = io.now()

    async def evolve(note: Note) -> Note:
        if proposal.evolution is None:
            return note
        if note.status is not Status.FORMED:
            raise InvalidInputError(f"Note {note.id} is {note.status}; only a formed one evolves.")
        return understood_anew(
            note,
            cause,
            proposal.evolution,
            now,
            proposal.analyst,
            proposal.sources,
            same=note.version == proposal.version,
            trust=believe(cause),
        )

    async def contradict(note: Note) -> Note:
        return contradicted(
            note,
            cause,
            now,
            proposal.analyst,
            settled=settled,
            sources=proposal.sources,
            reason=proposal.reason,
        )

    after = await change_note(io, target, evolve, "changed")
    if proposal.contradicts:
        after = await change_note(io, after, contradict, "contradicted")
    await io.engine.delete(ids([proposal.id]))
    return after


async def reject(io: IO, proposal: Proposal) -> bool:
    """Drop a proposal; returns False if it did not wait any more."""
    was_waiting = await _is_waiting(io, proposal)
    if was_waiting:
        await io.engine.delete(ids([proposal.id]))
    return was_waiting


async def _is_waiting(io: IO, proposal: Proposal) -> bool:
    points = await io.engine.get([proposal.id])
    return bool(points) and _proposal_from(points[0]) == proposal
