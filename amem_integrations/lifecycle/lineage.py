"""Lineage: which notes had a part in which. Proposals are settled by it, and effects reverted.

Ours, not the paper's.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from amem_integrations.core.filters import ids
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Revision, Status
from amem_integrations.errors import InvalidInputError, NoteNotFoundError
from amem_integrations.formation.validate import understood_anew
from amem_integrations.lifecycle.confidence import base_by
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.revisions.change import (
    ROUNDS,
    change_note,
    change_notes,
    kept_changing,
    revised,
)
from amem_integrations.revisions.contradiction import contradicted
from amem_integrations.revisions.entry import entry_of, records_of
from amem_integrations.revisions.proposals import Proposal, must_wait, proposal_from, proposals
from amem_integrations.revisions.replay import took_part
from amem_integrations.revisions.retract import Retraction, retract, traces_of
from amem_integrations.stores.read import influenced_by, load

_ACTIVE = (Status.RAW, Status.FORMED, Status.PARKED)


@dataclass(frozen=True, slots=True)
class Trace:
    """A change of a note in which another note had a part.

    Attributes:
        note: id of the changed note.
        other: id of the note that had a part in it.
        kind: the kind of the revision.
        version: the version that the change made.
        at: when.
        analyst: who judged so.
        reason: why, in words.

    Examples:
        >>> note = memory.add("Bea runs the bakery on Mill Road")
        >>> other = memory.add("The bakery on Mill Road sells rye bread")
        >>> for session in "abc":
        ...     _ = memory.lifecycle.feedback(note, "conflict", session=session)
        >>> _ = memory.lifecycle.maintain()
        >>> [trace] = memory.lifecycle.audits()[0].lineage.came_from
        >>> trace.other == other.id, trace.kind
        (True, 'evolved')
    """

    note: str
    other: str
    kind: str
    version: int
    at: datetime
    analyst: str
    reason: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a note came from and what came of it.

    Attributes:
        source: the kind of source it is from, None if unknown.
        speaker: who said it.
        session: in which conversation.
        occurred_at: when it happened.
        created_at: when it was stored.
        came_from: its own changes in which other notes had a part.
        changed: the changes of other notes in which it had a part.
        conflicts: when it was reported to conflict, since it last helped.
        contested_by: ids of the notes that contradict it.

    Examples:
        >>> note = memory.add("The board meets on Monday", speaker="Ada")
        >>> for session in "abc":
        ...     _ = memory.lifecycle.feedback(note, "conflict", session=session)
        >>> _ = memory.lifecycle.maintain()
        >>> lineage = memory.lifecycle.audits()[0].lineage
        >>> lineage.speaker, len(lineage.conflicts), lineage.changed
        ('Ada', 3, ())
    """

    source: str | None
    speaker: str | None
    session: str | None
    occurred_at: datetime | None
    created_at: datetime
    came_from: tuple[Trace, ...]
    changed: tuple[Trace, ...]
    conflicts: tuple[datetime, ...]
    contested_by: tuple[str, ...]


async def lineage_of(io: IO, note: Note, chain: Sequence[Revision]) -> Lineage:
    """Return where a note came from and what came of it; chain: its revisions."""
    owners = await load(io, await influenced_by(io, note.namespace, note.id), note.namespace)
    records = await records_of(io, list(owners))
    changed = [
        _trace(owner.id, note.id, revision)
        for owner in owners.values()
        for revision in entry_of(owner, records[owner.id]).revisions
        if took_part(revision, note.id)
    ]
    return Lineage(
        source=note.source,
        speaker=note.speaker,
        session=note.session,
        occurred_at=note.occurred_at,
        created_at=note.created_at,
        came_from=tuple(
            _trace(note.id, other, revision)
            for revision in chain
            for other in dict.fromkeys((revision.cause, *revision.sources))
            if other != note.id
        ),
        changed=tuple(sorted(changed, key=lambda trace: (trace.at, trace.note))),
        conflicts=note.life.conflicts,
        contested_by=note.contested_by,
    )


def _trace(note_id: str, other: str, revision: Revision) -> Trace:
    kind, version, at = revision.kind, revision.version, revision.at
    return Trace(note_id, other, kind, version, at, revision.analyst, revision.reason)


# -- proposals -------------------------------------------------------------------------------


async def accept(io: IO, proposal: Proposal, policy: Policy, *, settled: bool) -> Note:
    """Apply a proposal; returns its target.

    settled: a caller does, so that a contradiction in it is settled. The trust of the target is
    capped by the confidence in the proposer in any case. Raises InvalidInputError if the proposal
    does not wait any more or its target is not formed, NoteNotFoundError if one of its notes was
    forgotten meanwhile, StoreError if its target keeps changing.
    """
    if not await _is_waiting(io, proposal):
        raise InvalidInputError(
            f"The proposal {proposal.id} does not wait any more; it was settled, or one of its "
            "notes was changed or forgotten."
        )
    for _ in range(ROUNDS):
        notes = await load(io, [proposal.cause, proposal.target], proposal.namespace)
        if len(notes) < 2:
            raise NoteNotFoundError(f"A note of the proposal {proposal.id} was forgotten.")
        cause, target = notes[proposal.cause], notes[proposal.target]
        after = _evolved(io, proposal, cause, target, policy)
        if after is target or await change_notes(io, [(target, after)]):
            break
    else:
        raise kept_changing(f"Note {proposal.target} kept changing while it was being changed")

    async def contradict(note: Note) -> Note:
        return contradicted(
            note,
            cause,
            io.now(),
            proposal.analyst,
            settled=settled,
            sources=proposal.sources,
            reason=proposal.reason,
        )

    if proposal.contradicts:
        after = await change_note(io, after, contradict, "contradicted")
    await io.engine.delete(ids([proposal.id]))
    return after


def _evolved(io: IO, proposal: Proposal, cause: Note, target: Note, policy: Policy) -> Note:
    if proposal.evolution is None:
        return target
    if target.status is not Status.FORMED:
        raise InvalidInputError(f"Note {target.id} is {target.status}; only a formed one evolves.")
    return understood_anew(
        target,
        cause,
        proposal.evolution,
        io.now(),
        proposal.analyst,
        proposal.sources,
        same=target.version == proposal.version,
        trust=base_by(policy)(cause),
    )


async def reject(io: IO, proposal: Proposal) -> bool:
    """Drop a proposal; returns False if it did not wait any more."""
    waiting = await _is_waiting(io, proposal)
    if waiting:
        await io.engine.delete(ids([proposal.id]))
    return waiting


async def _is_waiting(io: IO, proposal: Proposal) -> bool:
    points = await io.engine.get([proposal.id])
    return bool(points) and proposal_from(points[0]) == proposal


async def settle_proposals(io: IO, namespace: Namespace, policy: Policy) -> int:
    """Apply the proposals whose sources are believed enough by now; returns how many."""
    applied = 0
    for proposal in await proposals(io, namespace):
        notes = await load(io, [proposal.cause, proposal.target], namespace)
        cause, target = notes.get(proposal.cause), notes.get(proposal.target)
        if cause is None or target is None or target.status is not Status.FORMED:
            continue
        if must_wait(base_by(policy), policy.trust_gap, cause, target):
            continue
        # Somebody may have settled it meanwhile.
        with suppress(InvalidInputError, NoteNotFoundError):
            await accept(io, proposal, policy, settled=False)
            applied += 1
    return applied


# -- effects of a note -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Undone:
    """What was undone of the effects of one note.

    Attributes:
        note: the note as it is now.
        notes: ids of the notes that it had changed, or that linked to it.
        evolutions: how many changes of them were undone.
        links: how many links were removed.
        unformed: ids of those that were understood in its light and are to be formed anew.

    Examples:
        >>> first = memory.add("A cache would fix the slow product page", session="s1")
        >>> second = memory.add("Then a cache for the product page", session="s1")
        >>> undone = memory.lifecycle.revert_cause(second)
        >>> str(undone.note.status), undone.links
        ('plain', 1)
    """

    note: Note
    notes: tuple[str, ...] = ()
    evolutions: int = 0
    links: int = 0
    unformed: tuple[str, ...] = ()


async def revert_cause(io: IO, note: Note, analyst: str) -> Undone:
    """Undo all that a note did to others, whatever came later, without deleting it.

    It loses its links and becomes plain: no other note is linked to it or understood in its light,
    until it is formed again. What others did to it stays. Safe to repeat. Raises StoreError if
    notes keep taking it up.
    """
    links = 0

    async def withdraw(note: Note) -> Note:
        nonlocal links
        status = Status.PLAIN if note.status in _ACTIVE else note.status
        links = len(note.outgoing)
        if status is note.status and not links:
            return note
        rest = replace(note.evolve(status=status), links=())
        reason = "what it did to other notes was undone"
        return revised(note, rest, "withdrawn", note.id, io.now(), "caller", reason=reason)

    note = await change_note(io, note, withdraw, "withdrawn")
    total = Retraction()
    touched: dict[str, None] = {}
    for _ in range(ROUNDS):
        traces = await traces_of(io, note.id, note.namespace)
        if not traces:
            unformed = tuple(dict.fromkeys(total.unformed))
            return Undone(note, tuple(touched), total.evolutions, links + total.links, unformed)
        touched |= dict.fromkeys(traces)
        total += await retract(io, note.id, note.namespace, analyst, stays=True)
    raise kept_changing(f"Traces of note {note.id} keep coming back")
