"""What a person reviews in `memory.lifecycle`: trust in notes, audits, proposals and effects."""

from amem_integrations.core.io import IO, async_form, sync_form
from amem_integrations.core.namespace import DEFAULT, as_namespace
from amem_integrations.core.note import Note
from amem_integrations.errors import InvalidInputError
from amem_integrations.formation.pipeline import have_formed
from amem_integrations.lifecycle import audits as auditing
from amem_integrations.lifecycle.audits import DECISIONS, Audit, Decision
from amem_integrations.lifecycle.confidence import Explanation, explain, trust_by
from amem_integrations.lifecycle.policy import DEFAULT_POLICY, Policy
from amem_integrations.memory.operations import read, require
from amem_integrations.memory.options import check_choice
from amem_integrations.memory.wiring import MemoryPart, NamespaceLike, NoteLike, address_of
from amem_integrations.revisions import proposals as proposing
from amem_integrations.revisions.proposals import Proposal
from amem_integrations.revisions.retract import Undone, revert_cause


class Review(MemoryPart):
    """Explanations, audits, proposals, and undoing what one note caused."""

    @sync_form
    async def explain(
        self,
        io: IO,
        note: NoteLike | None = None,
        *,
        key: str | None = None,
        namespace: NamespaceLike | None = None,
    ) -> Explanation:
        """Explain how far a note is trusted now, factor by factor.

        Examples:
            >>> note = memory.add("Tea is served at four", source="user")
            >>> memory.lifecycle.explain(note).source_trust
            0.9
        """
        held = await require(io, *address_of(note, namespace, key))
        return explain(held, io.now(), self._policy)

    aexplain = async_form(explain)

    @sync_form
    async def audits(self, io: IO, namespace: NamespaceLike = DEFAULT) -> list[Audit]:
        """Return the notes under audit, the oldest audit first, with reason and lineage.

        `maintain` puts a note under audit after five conflicting uses in a row, or three within
        90 days without a clean use between them.

        Examples:
            >>> note = memory.add("The board meets on Monday")
            >>> for session in "abc":
            ...     _ = memory.lifecycle.feedback(note, "conflict", session=session)
            >>> memory.lifecycle.maintain().audited
            1
            >>> [(audit.note.content, audit.reason) for audit in memory.lifecycle.audits()]
            [('The board meets on Monday', '...')]
        """
        return await auditing.audits(io, as_namespace(namespace))

    aaudits = async_form(audits)

    @sync_form
    async def resolve(
        self,
        io: IO,
        note: NoteLike | None = None,
        decision: Decision = "keep",
        content: str | None = None,
        *,
        key: str | None = None,
        namespace: NamespaceLike | None = None,
    ) -> Note:
        """Decide on a note that is under audit or contested by another note; returns it.

        The decision is a revision, which `revert` undoes.

        Args:
            note: the note or its id.
            decision: "keep" brings it back as it was, "correct" gives it `content` and forms it
                again, "retire" archives it.
            content: the right text, for "correct".
            key: the note's key, instead of `note`.
            namespace: the namespace of an id or key.

        Raises:
            InvalidInputError: there is nothing to decide about it, or a value is invalid.

        Examples:
            >>> note = memory.add("The board meets on Monday")
            >>> for session in "abc":
            ...     _ = memory.lifecycle.feedback(note, "conflict", session=session)
            >>> _ = memory.lifecycle.maintain()
            >>> memory.lifecycle.resolve(note, "correct", "The board meets on Tuesday").content
            'The board meets on Tuesday'
        """
        wiring = self._wiring
        check_choice("decision", decision, DECISIONS)
        held = await require(io, *address_of(note, namespace, key))
        settled, taken_back = await auditing.resolve(
            io, held, decision, wiring.analyst_name, content
        )
        unformed = {held.namespace: taken_back.unformed}
        await have_formed(wiring, io, wiring.formation, [settled], unformed=unformed)
        return await read(io, settled.id, settled.namespace) or settled

    aresolve = async_form(resolve)

    @sync_form
    async def proposals(self, io: IO, namespace: NamespaceLike = DEFAULT) -> list[Proposal]:
        """Return proposed changes that need approval because their source is less trusted.

        The oldest comes first. A proposal waits until you `accept` or `reject` it, and is removed
        with its source. Proposals exist only with `lifecycle`.

        Examples:
            >>> from amem_integrations import AgenticMemory
            >>> with AgenticMemory(lifecycle=True) as memory:
            ...     said = memory.add("Bea runs the bakery on Mill Road", source="user")
            ...     _ = memory.add("The bakery on Mill Road sells rye bread", source="import")
            ...     waiting = memory.lifecycle.proposals()
            ...     changed = memory.lifecycle.accept(waiting[0])
            >>> len(waiting), sorted({*changed.keywords} - {*said.keywords})
            (1, ['sells rye bread'])
        """
        return await proposing.proposals(io, as_namespace(namespace))

    aproposals = async_form(proposals)

    @sync_form
    async def accept(self, io: IO, proposal: Proposal) -> Note:
        """Apply one of `proposals()` and return the note that it changes.

        Raises:
            InvalidInputError: it is no longer open, or the note cannot be changed.
        """
        check_type(proposal, Proposal, "a proposal, as proposals() gives them")
        believe = trust_by(self._policy)
        changed = await proposing.accept(io, proposal, believe, settled=True)
        return await read(io, changed.id, changed.namespace) or changed

    aaccept = async_form(accept)

    @sync_form
    async def reject(self, io: IO, proposal: Proposal) -> bool:
        """Drop one of `proposals()`; returns False if it did not wait any more.

        Raises:
            InvalidInputError: this is no proposal.
        """
        check_type(proposal, Proposal, "a proposal, as proposals() gives them")
        return await proposing.reject(io, proposal)

    areject = async_form(reject)

    @sync_form
    async def revert_cause(
        self,
        io: IO,
        note: NoteLike | None = None,
        *,
        key: str | None = None,
        namespace: NamespaceLike | None = None,
    ) -> Undone:
        """Undo everything that a note caused in other notes, without deleting it.

        The note is found as before, but it has no links and influences no other note until
        `form(note)`. Repeating the call changes nothing.

        Examples:
            >>> first = memory.add("A cache would fix the slow product page", session="s1")
            >>> second = memory.add("Then a cache for the product page", session="s1")
            >>> memory.lifecycle.revert_cause(second).links, memory.links(second)
            (1, ())
        """
        wiring = self._wiring
        held = await require(io, *address_of(note, namespace, key))
        undone = await revert_cause(io, held, wiring.analyst_name)
        unformed = {held.namespace: undone.unformed}
        await have_formed(wiring, io, wiring.formation, unformed=unformed)
        return undone

    arevert_cause = async_form(revert_cause)

    @property
    def _policy(self) -> Policy:
        return self._wiring.policy or DEFAULT_POLICY


def check_type(value: object, wanted: type, description: str) -> None:
    if not isinstance(value, wanted):
        raise InvalidInputError(f"Expected {description}; got {type(value).__name__}.")
