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

        A note whose uses were reported to conflict five times in a row, or three times in 90 days
        with no clean use between, leaves recall at the next `maintain`.

        Args:
            namespace: one label or several.

        Raises:
            InvalidInputError: this can be no namespace.
            StoreError: the store cannot be read.

        Examples:
            >>> note = memory.add("The board meets on Monday")
            >>> reports = [memory.feedback(note, "conflict", session=each) for each in "abc"]
            >>> memory.maintain().audited
            1
            >>> [(audit.note.content, audit.reason) for audit in memory.audits()]
            [('The board meets on Monday', '...')]
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

        Each decision is a revision, which `revert` undoes.

        Args:
            note: the note, or its id.
            decision: "keep": it holds, and is back as it was. "correct": it gets `content` in place
                of its own and is formed again. "retire": it is archived.
            content: the right text, for "correct".
            namespace: where an id is looked up.

        Returns:
            The note as it is now.

        Raises:
            NoteNotFoundError: there is no such note in the namespace.
            InvalidInputError: nothing is open about it, or a value cannot be used.
            StoreError: it could not be written.
            ModelError: the embedder gives no usable vectors; its own errors pass through.

        Examples:
            >>> note = memory.add("The board meets on Monday")
            >>> reports = [memory.feedback(note, "conflict", session=each) for each in "abc"]
            >>> _ = memory.maintain()
            >>> memory.resolve(note, "correct", "The board meets on Tuesday").content
            'The board meets on Tuesday'
            >>> memory.audits()
            []
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
        There are some only where the memory was opened with `lifecycle`.

        Args:
            namespace: one label or several.

        Raises:
            InvalidInputError: this can be no namespace.
            StoreError: the store cannot be read.

        Examples:
            >>> from amem_integrations import AgenticMemory
            >>> with AgenticMemory(lifecycle=True) as memory:
            ...     said = memory.add("Bea runs the bakery on Mill Road", source="user")
            ...     _ = memory.add("The bakery on Mill Road sells rye bread", source="import")
            ...     [waiting] = memory.proposals()
            >>> waiting.target == said.id
            True
        """
        return run(waiting(self._sync, as_namespace(namespace)))

    async def aproposals(self, namespace: NamespaceLike = DEFAULT) -> list[Proposal]:
        """`proposals`, awaited."""
        return await waiting(self._async, as_namespace(namespace))

    def accept(self, proposal: Proposal) -> Note:
        """Apply a proposal that waits; returns the note that it changes.

        Args:
            proposal: one of `proposals()`.

        Raises:
            InvalidInputError: it does not wait any more, or the note cannot be changed.
            StoreError: it could not be written.
            ModelError: the embedder gives no usable vectors; its own errors pass through.

        Examples:
            >>> from amem_integrations import AgenticMemory
            >>> with AgenticMemory(lifecycle=True) as memory:
            ...     said = memory.add("Bea runs the bakery on Mill Road", source="user")
            ...     _ = memory.add("The bakery on Mill Road sells rye bread", source="import")
            ...     changed = memory.accept(memory.proposals()[0])
            >>> sorted({*changed.keywords} - {*said.keywords})
            ['sells rye bread']
        """
        return run(_accept(self._rooms, self._sync, proposal))

    async def aaccept(self, proposal: Proposal) -> Note:
        """`accept`, awaited."""
        return await _accept(self._rooms, self._async, proposal)

    def reject(self, proposal: Proposal) -> bool:
        """Drop a proposal; False if it did not wait any more.

        Args:
            proposal: one of `proposals()`.

        Raises:
            InvalidInputError: this is no proposal.
            StoreError: it could not be removed.

        Examples:
            >>> from amem_integrations import AgenticMemory
            >>> with AgenticMemory(lifecycle=True) as memory:
            ...     said = memory.add("Bea runs the bakery on Mill Road", source="user")
            ...     _ = memory.add("The bakery on Mill Road sells rye bread", source="import")
            ...     [proposal] = memory.proposals()
            ...     print(memory.reject(proposal), memory.proposals())
            True []
        """
        return run(_reject(self._sync, proposal))

    async def areject(self, proposal: Proposal) -> bool:
        """`reject`, awaited."""
        return await _reject(self._async, proposal)

    def revert_cause(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Undone:
        """Undo all that a note did to others, whatever came later, without deleting it.

        It is found as before, but has no links, and no note is understood in its light any more,
        until `form(note)`. Repeating it changes nothing more.

        Args:
            note: the note, or its id.
            namespace: where an id is looked up.

        Returns:
            What was undone.

        Raises:
            NoteNotFoundError: there is no such note in the namespace.
            InvalidInputError: this can be no note.
            StoreError: it could not be written.

        Examples:
            >>> first = memory.add("A cache would fix the slow product page", session="s1")
            >>> second = memory.add("Then a cache for the product page", session="s1")
            >>> undone = memory.revert_cause(second)
            >>> undone.links, memory.links(second)
            (1, ())
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
