"""Trust follows lineage: proposals that wait are settled, and what one note did is undone.

`formation.neighbours` lets proposals wait; maintenance calls `settle_proposals`, and `settling`
gives the rest its two forms. Ours, not the paper's.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

from amem_integrations.core.filters import ids
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status
from amem_integrations.errors import InvalidInputError, NoteNotFoundError, StoreError
from amem_integrations.formation.neighbours import understood_anew
from amem_integrations.lifecycle.confidence import believing
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.revisions.change import ROUNDS, change_note, change_notes, revised
from amem_integrations.revisions.contradiction import contradicted
from amem_integrations.revisions.proposals import (
    Proposal,
    must_wait,
    proposal_from,
    proposals,
)
from amem_integrations.revisions.retract import Retraction, retract
from amem_integrations.stores.read import influenced_by, linking_to, load

_ACTIVE = (Status.RAW, Status.FORMED, Status.PARKED)


async def accept(io: IO, proposal: Proposal, policy: Policy, *, settled: bool) -> Note:
    """Apply a proposal that waits, by whoever is answerable for it; returns its target.

    settled: a caller does, so that a contradiction in it is settled by that. The trust of the
    target is capped by the confidence in the proposer in any case. Raises InvalidInputError if
    it does not wait any more or its target is not formed, NoteNotFoundError if a note of it was
    forgotten meanwhile, StoreError if its target keeps changing.
    """
    points = await io.engine.get([proposal.id])
    if not points or proposal_from(points[0]) != proposal:
        raise InvalidInputError(
            f"The proposal {proposal.id} does not wait any more; it was settled, or one of its "
            "notes was changed or forgotten."
        )
    for _ in range(ROUNDS):
        held = await load(io, [proposal.cause, proposal.target], proposal.namespace)
        if len(held) < 2:
            raise NoteNotFoundError(f"A note of the proposal {proposal.id} was forgotten.")
        cause, target = held[proposal.cause], held[proposal.target]
        after = _understood(io, proposal, cause, target, policy)
        if after is target or await change_notes(io, [(target, after)]):
            break
    else:
        raise StoreError(f"Note {proposal.target} kept changing while it was being changed.")
    if proposal.contradicts:
        after = await _contradicted(io, proposal, cause, after, settled)
    await io.engine.delete(ids([proposal.id]))
    return after


def _understood(io: IO, proposal: Proposal, cause: Note, target: Note, policy: Policy) -> Note:
    if proposal.evolution is None:
        return target
    if target.status is not Status.FORMED:
        raise InvalidInputError(f"Note {target.id} is {target.status}; only a formed one evolves.")
    now = io.now()
    return understood_anew(
        target,
        cause,
        proposal.evolution,
        now,
        proposal.analyst,
        proposal.sources,
        same=target.version == proposal.version,
        trust=believing(policy)(cause),
    )


async def _contradicted(
    io: IO, proposal: Proposal, cause: Note, target: Note, settled: bool
) -> Note:
    async def step(note: Note) -> Note:
        return contradicted(
            note,
            cause,
            io.now(),
            proposal.analyst,
            settled=settled,
            sources=proposal.sources,
            reason=proposal.reason,
        )

    return await change_note(io, target, step, "contradicted")


async def reject(io: IO, proposal: Proposal) -> bool:
    """Drop a proposal; False if it did not wait any more."""
    points = await io.engine.get([proposal.id])
    if not points or proposal_from(points[0]) != proposal:
        return False
    await io.engine.delete(ids([proposal.id]))
    return True


async def settle_proposals(io: IO, namespace: Namespace, policy: Policy) -> int:
    """Apply the proposals whose proposers are believed enough by now; returns how many."""
    applied = 0
    believe = believing(policy)
    for proposal in await proposals(io, namespace):
        held = await load(io, [proposal.cause, proposal.target], namespace)
        cause, target = held.get(proposal.cause), held.get(proposal.target)
        if cause is None or target is None or target.status is not Status.FORMED:
            continue
        if must_wait(believe, policy.trust_gap, cause, target):
            continue
        # Somebody may have settled it meanwhile.
        with suppress(InvalidInputError, NoteNotFoundError):
            await accept(io, proposal, policy, settled=False)
            applied += 1
    return applied


@dataclass(frozen=True, slots=True)
class Undone:
    """What of one note's doings was undone.

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

    It loses its links and becomes plain: it is found as before, and no other note is linked to
    it or understood in its light, until it is formed again. What others did to it stays.
    Repeating it changes nothing more. Raises StoreError if notes keep taking it up.
    """
    note, own = await _withdrawn(io, note)
    total = Retraction()
    touched: dict[str, None] = {}
    for _ in range(ROUNDS):
        traces = [
            *await influenced_by(io, note.namespace, note.id),
            *await linking_to(io, note.namespace, note.id),
        ]
        if not traces:
            unformed = tuple(dict.fromkeys(total.unformed))
            links = own + total.links
            return Undone(note, tuple(touched), total.evolutions, links, unformed)
        touched |= dict.fromkeys(traces)
        total += await retract(io, note.id, note.namespace, analyst, stays=True)
    raise StoreError(f"Traces of note {note.id} keep coming back; try again when it is quiet.")


async def _withdrawn(io: IO, note: Note) -> tuple[Note, int]:
    """The note without its links, and how many it had; kept plain if it was in use."""
    had = 0

    async def step(note: Note) -> Note:
        nonlocal had
        status = Status.PLAIN if note.status in _ACTIVE else note.status
        had = len(note.outgoing)
        if status is note.status and not had:
            return note
        rest = replace(note.evolve(status=status), links=())
        reason = "what it did to other notes was undone"
        return revised(note, rest, "withdrawn", note.id, io.now(), "caller", reason=reason)

    return await change_note(io, note, step, "withdrawn"), had
