"""The part of AgenticMemory in which somebody decides what is to be believed, in both forms.

Audits, proposals that wait, and undoing all that one note did.
"""

from amem_integrations.errors import InvalidInputError
from amem_integrations.formation.waiting import Proposal
from amem_integrations.formation.waiting import proposals as waiting
from amem_integrations.forming import Rooms, have_formed
from amem_integrations.lifecycle import audit as auditing
from amem_integrations.lifecycle import lineage
from amem_integrations.lifecycle.audit import DECISIONS, Audit, Decision
from amem_integrations.lifecycle.lineage import Undone
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from amem_integrations.namespace import DEFAULT, as_namespace
from amem_integrations.note import Note
from amem_integrations.operations import (
    Forms,
    NamespaceLike,
    NoteLike,
    address,
    check_choice,
    read,
    require,
)
from amem_integrations.ports import IO, run


class Settling(Forms):
    """Settling audits and contradictions, accepting proposals, undoing what a note did."""

    def audits(self, namespace: NamespaceLike = DEFAULT) -> list[Audit]:
        """The notes under audit, the longest first, each with why and its lineage.

        A note whose uses were reported to conflict five times in a row, or three times in 90
        days with no clean use between, leaves recall at the next `maintain`.
        """
        return run(auditing.audits(self._sync, as_namespace(namespace)))

    async def aaudits(self, namespace: NamespaceLike = DEFAULT) -> list[Audit]:
        """`audits`, awaited."""
        return await auditing.audits(self._async, as_namespace(namespace))

    def resolve(
        self,
        note: NoteLike,
        decision: Decision,
        content: str | None = None,
        *,
        namespace: NamespaceLike | None = None,
    ) -> Note:
        """Settle a note that is under audit, or that another note contests.

        "keep": it holds, and is back as it was. "correct": it gets `content` in place of its own
        and is formed again. "retire": it is archived. Each is a revision.
        Raises NoteNotFoundError, and InvalidInputError where nothing is open.
        """
        return run(_resolve(self._rooms, self._sync, note, decision, content, namespace))

    async def aresolve(
        self,
        note: NoteLike,
        decision: Decision,
        content: str | None = None,
        *,
        namespace: NamespaceLike | None = None,
    ) -> Note:
        """`resolve`, awaited."""
        return await _resolve(self._rooms, self._async, note, decision, content, namespace)

    def proposals(self, namespace: NamespaceLike = DEFAULT) -> list[Proposal]:
        """The changes of notes that wait because who proposed them is believed less; oldest first.

        They are applied by themselves once it is believed enough, and go when it is forgotten.
        """
        return run(waiting(self._sync, as_namespace(namespace)))

    async def aproposals(self, namespace: NamespaceLike = DEFAULT) -> list[Proposal]:
        """`proposals`, awaited."""
        return await waiting(self._async, as_namespace(namespace))

    def accept(self, proposal: Proposal) -> Note:
        """Apply a proposal that waits; returns the note that it changes.

        Raises InvalidInputError if it does not wait any more, or the note cannot be changed.
        """
        return run(_accept(self._rooms, self._sync, proposal))

    async def aaccept(self, proposal: Proposal) -> Note:
        """`accept`, awaited."""
        return await _accept(self._rooms, self._async, proposal)

    def reject(self, proposal: Proposal) -> bool:
        """Drop a proposal; False if it did not wait any more."""
        return run(_reject(self._sync, proposal))

    async def areject(self, proposal: Proposal) -> bool:
        """`reject`, awaited."""
        return await _reject(self._async, proposal)

    def revert_cause(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Undone:
        """Undo all that a note did to others, whatever came later, without deleting it.

        It is found as before, but has no links, and no note is understood in its light any
        more, until `form(note)`. Repeating it changes nothing more. Raises NoteNotFoundError.
        """
        return run(_revert_cause(self._rooms, self._sync, note, namespace))

    async def arevert_cause(
        self, note: NoteLike, *, namespace: NamespaceLike | None = None
    ) -> Undone:
        """`revert_cause`, awaited."""
        return await _revert_cause(self._rooms, self._async, note, namespace)


async def _resolve(
    rooms: Rooms,
    io: IO,
    note: NoteLike,
    decision: Decision,
    content: str | None,
    namespace: NamespaceLike | None,
) -> Note:
    check_choice("decision", decision, DECISIONS)
    held = await require(io, *address(note, namespace))
    settled, taken_back = await auditing.resolve(io, held, decision, rooms.analyst_name, content)
    unformed = {held.namespace: taken_back.unformed}
    await have_formed(rooms, io, rooms.formation, [settled], unformed=unformed)
    return await read(io, settled.id, settled.namespace) or settled


async def _accept(rooms: Rooms, io: IO, proposal: Proposal) -> Note:
    _check_proposal(proposal)
    policy = rooms.policy or DEFAULT_POLICY
    changed = await lineage.accept(io, proposal, policy, settled=True)
    return await read(io, changed.id, changed.namespace) or changed


async def _reject(io: IO, proposal: Proposal) -> bool:
    _check_proposal(proposal)
    return await lineage.reject(io, proposal)


def _check_proposal(proposal: object) -> None:
    if not isinstance(proposal, Proposal):
        raise InvalidInputError(
            f"Expected a proposal, as proposals() gives them; got {type(proposal).__name__}."
        )


async def _revert_cause(
    rooms: Rooms, io: IO, note: NoteLike, namespace: NamespaceLike | None
) -> Undone:
    held = await require(io, *address(note, namespace))
    undone = await lineage.revert_cause(io, held, rooms.analyst_name)
    unformed = {held.namespace: undone.unformed}
    await have_formed(rooms, io, rooms.formation, unformed=unformed)
    return undone
