"""`memory.lifecycle`: what learns from use, settles contradictions and keeps a namespace small."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from amem_integrations.core.io import IO, async_form, sync_form
from amem_integrations.core.namespace import DEFAULT, Namespace, as_namespace
from amem_integrations.core.note import Hit, Note, Status, check_text
from amem_integrations.errors import InvalidInputError, StoreError
from amem_integrations.formation.pipeline import have_formed
from amem_integrations.lifecycle import audits as auditing
from amem_integrations.lifecycle import maintenance
from amem_integrations.lifecycle.audits import DECISIONS, Audit, Decision
from amem_integrations.lifecycle.confidence import Explanation, base_by, explain
from amem_integrations.lifecycle.consolidation import SIMILARITY, Consolidation, apply, plan
from amem_integrations.lifecycle.feedback import Report, feedback, feedback_from_reply, ways_of
from amem_integrations.lifecycle.maintenance import Maintained
from amem_integrations.lifecycle.policy import DEFAULT_POLICY, Policy
from amem_integrations.memory.operations import (
    MemoryPart,
    NamespaceLike,
    NoteLike,
    Wiring,
    address_of,
    listed,
    read,
    require,
)
from amem_integrations.memory.options import check_choice
from amem_integrations.revisions import archive as archiving
from amem_integrations.revisions import proposals as proposing
from amem_integrations.revisions.proposals import Proposal
from amem_integrations.revisions.retract import Undone, revert_cause
from amem_integrations.stores.read import with_links
from amem_integrations.stores.uses import Outcome

Reported = NoteLike | Hit | Iterable[NoteLike | Hit]
_ROUNDS = 8


class Lifecycle(MemoryPart):
    """Feedback, maintenance, audits, proposals, archiving and consolidation."""

    @sync_form
    async def feedback(
        self,
        io: IO,
        notes: Reported,
        outcome: Outcome = "used",
        *,
        query: str | None = None,
        session: str | None = None,
        namespace: NamespaceLike | None = None,
    ) -> int:
        """Report that the notes of one prompt helped, or that they contradict the facts.

        The report is stored at once; `maintain` counts it.

        Args:
            notes: notes, their ids, or hits that were used together.
            outcome: "used" or "conflict".
            query: the question.
            session: the conversation; uses within one session count as one occasion.
            namespace: the namespace of ids.

        Returns:
            The number of notes that still exist.

        Raises:
            InvalidInputError: a value is invalid, or the notes belong to several namespaces.

        Examples:
            >>> _ = memory.add("Tea is served at four")
            >>> hits = memory.search("When is tea?")
            >>> memory.lifecycle.feedback(hits, query="When is tea?", session="monday")
            1
        """
        home, report = _report(notes, outcome, query, session, namespace)
        return await feedback(io, home, report)

    afeedback = async_form(feedback)

    @sync_form
    async def feedback_from_reply(
        self,
        io: IO,
        hits: Sequence[Hit],
        reply: str,
        *,
        query: str | None = None,
        session: str | None = None,
    ) -> list[Hit]:
        """Report the hits that a reply used, and return them.

        A hit counts as used if the reply shares two or more of its rare words: words that few of
        the hits have and the query does not. No model is asked.

        Args:
            hits: the hits in the prompt.
            reply: the model's answer.
            query: the question.
            session: the conversation.

        Raises:
            InvalidInputError: the hits are no hits, or a text is no text.

        Examples:
            >>> _ = memory.add("The violin lesson with Rosalyn is on Tuesday morning")
            >>> query = "When is my lesson?"
            >>> hits = memory.search(query)
            >>> reply = "On Tuesday, Rosalyn expects you."
            >>> memory.lifecycle.feedback_from_reply(hits, reply, query=query) == hits
            True
        """
        given = list(hits) if isinstance(hits, Iterable) else [hits]  # pyright: ignore[reportUnnecessaryIsInstance]
        if wrong := [each for each in given if not isinstance(each, Hit)]:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(
                f"Expected the hits of a search, in a list; got {type(wrong[0]).__name__}."
            )
        if not given:
            return []
        home, _ = _report(given, "used", query, session, None)
        return await feedback_from_reply(io, home, given, reply, query, session)

    afeedback_from_reply = async_form(feedback_from_reply)

    @sync_form
    async def maintain(self, io: IO, namespace: NamespaceLike | None = None) -> Maintained:
        """Do the upkeep that is due: count uses, update tiers and links, audit and archive.

        It is cheap when nothing is due. It can be interrupted at any time, and several processes
        may call it at once. With `lifecycle`, a background worker calls it by itself.

        Args:
            namespace: one label or several; None: all namespaces.

        Returns:
            The numbers of what was done.

        Raises:
            StoreError: the store cannot be read or written; what was done before is kept.

        Examples:
            >>> note = memory.add("Tea is served at four")
            >>> _ = memory.lifecycle.feedback(note, session="monday")
            >>> memory.lifecycle.maintain().uses
            1
            >>> memory.get(note).life.clean
            1
        """
        wiring = self._wiring
        policy, analyst = _policy(wiring), wiring.analyst_name
        if namespace is None:
            return await maintenance.maintain_all(io, policy, analyst)
        return await maintenance.maintain(io, as_namespace(namespace), policy, analyst)

    amaintain = async_form(maintain)

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

        Args:
            note: the note or its id.
            key: the note's key, instead of `note`.
            namespace: the namespace of an id or key.

        Raises:
            NoteNotFoundError: the note does not exist in the namespace.

        Examples:
            >>> note = memory.add("Tea is served at four", source="user")
            >>> memory.lifecycle.explain(note).source_trust
            0.9
        """
        held = await require(io, *address_of(note, namespace, key))
        return explain(held, io.now(), _policy(self._wiring))

    aexplain = async_form(explain)

    @sync_form
    async def audits(self, io: IO, namespace: NamespaceLike = DEFAULT) -> list[Audit]:
        """Return the notes under audit, the oldest audit first, with reason and lineage.

        `maintain` takes a note out of recall after five conflicting uses in a row, or three within
        90 days without a clean use between them.

        Args:
            namespace: one label or several.

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
        """Decide on a note that is under audit or contested by another note.

        The decision is a revision, which `revert` undoes.

        Args:
            note: the note or its id.
            key: the note's key, instead of `note`.
            decision: "keep" brings it back as it was, "correct" gives it `content` and forms it
                again, "retire" archives it.
            content: the right text, for "correct".
            namespace: the namespace of an id or key.

        Returns:
            The note as it is now.

        Raises:
            NoteNotFoundError: the note does not exist in the namespace.
            InvalidInputError: there is nothing to decide about it, or a value is invalid.

        Examples:
            >>> note = memory.add("The board meets on Monday")
            >>> for session in "abc":
            ...     _ = memory.lifecycle.feedback(note, "conflict", session=session)
            >>> _ = memory.lifecycle.maintain()
            >>> memory.lifecycle.resolve(note, "correct", "The board meets on Tuesday").content
            'The board meets on Tuesday'
            >>> memory.lifecycle.audits()
            []
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

        The oldest comes first. A proposal is applied by itself once its source is trusted enough,
        and removed with its source. Proposals exist only with `lifecycle`.

        Args:
            namespace: one label or several.

        Examples:
            >>> from amem_integrations import AgenticMemory
            >>> with AgenticMemory(lifecycle=True) as memory:
            ...     said = memory.add("Bea runs the bakery on Mill Road", source="user")
            ...     _ = memory.add("The bakery on Mill Road sells rye bread", source="import")
            ...     [waiting] = memory.lifecycle.proposals()
            >>> waiting.target == said.id
            True
        """
        return await proposing.proposals(io, as_namespace(namespace))

    aproposals = async_form(proposals)

    @sync_form
    async def accept(self, io: IO, proposal: Proposal) -> Note:
        """Apply a proposal and return the note that it changes.

        Args:
            proposal: one of `proposals()`.

        Raises:
            InvalidInputError: it is no longer open, or the note cannot be changed.

        Examples:
            >>> from amem_integrations import AgenticMemory
            >>> with AgenticMemory(lifecycle=True) as memory:
            ...     said = memory.add("Bea runs the bakery on Mill Road", source="user")
            ...     _ = memory.add("The bakery on Mill Road sells rye bread", source="import")
            ...     changed = memory.lifecycle.accept(memory.lifecycle.proposals()[0])
            >>> sorted({*changed.keywords} - {*said.keywords})
            ['sells rye bread']
        """
        _check_proposal(proposal)
        believe = base_by(_policy(self._wiring))
        changed = await proposing.accept(io, proposal, believe, settled=True)
        return await read(io, changed.id, changed.namespace) or changed

    aaccept = async_form(accept)

    @sync_form
    async def reject(self, io: IO, proposal: Proposal) -> bool:
        """Drop a proposal; False if it did not wait any more.

        Args:
            proposal: one of `proposals()`.

        Raises:
            InvalidInputError: this is no proposal.

        Examples:
            >>> from amem_integrations import AgenticMemory
            >>> with AgenticMemory(lifecycle=True) as memory:
            ...     said = memory.add("Bea runs the bakery on Mill Road", source="user")
            ...     _ = memory.add("The bakery on Mill Road sells rye bread", source="import")
            ...     [proposal] = memory.lifecycle.proposals()
            ...     print(memory.lifecycle.reject(proposal), memory.lifecycle.proposals())
            True []
        """
        _check_proposal(proposal)
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

        Args:
            note: the note or its id.
            key: the note's key, instead of `note`.
            namespace: the namespace of an id or key.

        Returns:
            The numbers of what was undone.

        Raises:
            NoteNotFoundError: the note does not exist in the namespace.

        Examples:
            >>> first = memory.add("A cache would fix the slow product page", session="s1")
            >>> second = memory.add("Then a cache for the product page", session="s1")
            >>> undone = memory.lifecycle.revert_cause(second)
            >>> undone.links, memory.links(second)
            (1, ())
        """
        wiring = self._wiring
        held = await require(io, *address_of(note, namespace, key))
        undone = await revert_cause(io, held, wiring.analyst_name)
        unformed = {held.namespace: undone.unformed}
        await have_formed(wiring, io, wiring.formation, unformed=unformed)
        return undone

    arevert_cause = async_form(revert_cause)

    @sync_form
    async def archive(
        self,
        io: IO,
        note: NoteLike | None = None,
        *,
        key: str | None = None,
        namespace: NamespaceLike | None = None,
        reason: str = "",
    ) -> Note:
        """Archive a note: no search finds it or follows a link to it until it is restored.

        It stays stored and can be read by its id, listed, exported and forgotten. Adding it again
        under its key restores it.

        Args:
            note: the note or its id.
            key: the note's key, instead of `note`.
            namespace: the namespace of an id or key.
            reason: the reason, for its history.

        Returns:
            The note as it is now.

        Raises:
            NoteNotFoundError: the note does not exist in the namespace.
            InvalidInputError: the note is not formed yet, or a value is invalid.

        Examples:
            >>> note = memory.add("Tea is served at four")
            >>> str(memory.lifecycle.archive(note, reason="the tea room closed").status)
            'archived'
            >>> memory.search("When is tea?")
            []
        """
        if reason != "":
            check_text("reason", reason)
        held = await require(io, *address_of(note, namespace, key))
        for _ in range(_ROUNDS):
            if held.status is Status.RAW:
                raise InvalidInputError(
                    f"Note {held.id} waits to be formed and cannot be archived yet. Have it formed "
                    "with form() or resume(), or forget() it."
                )
            if held.status is Status.ARCHIVED:
                return (await with_links(io, [held]))[0]
            await archiving.archive(io, [held], reason, analyst="caller")
            held = await require(io, held.id, held.namespace)
        raise StoreError(f"Note {held.id} kept changing while it was being archived.")

    aarchive = async_form(archive)

    @sync_form
    async def restore(
        self,
        io: IO,
        note: NoteLike | None = None,
        *,
        key: str | None = None,
        namespace: NamespaceLike | None = None,
    ) -> Note:
        """Restore an archived note as it was, also one that was merged into another.

        The other note keeps what it gained until it is reverted.

        Args:
            note: the note or its id.
            key: the note's key, instead of `note`.
            namespace: the namespace of an id or key.

        Returns:
            The note as it is now; a note that is not archived stays as it is.

        Raises:
            NoteNotFoundError: the note does not exist in the namespace.

        Examples:
            >>> note = memory.lifecycle.archive(memory.add("Tea is served at four"))
            >>> str(memory.lifecycle.restore(note).status)
            'formed'
        """
        back = await archiving.restore(io, await require(io, *address_of(note, namespace, key)))
        return (await with_links(io, [back]))[0]

    arestore = async_form(restore)

    @sync_form
    async def archived(
        self, io: IO, namespace: NamespaceLike = DEFAULT, *, limit: int = 100
    ) -> list[Note]:
        """Return the archived notes of a namespace, newest first.

        Args:
            namespace: one label or several.
            limit: the maximum number of notes.

        Examples:
            >>> note = memory.lifecycle.archive(memory.add("Tea is served at four"))
            >>> [each.content for each in memory.lifecycle.archived()]
            ['Tea is served at four']
        """
        return await listed(io, as_namespace(namespace), limit, archiving.ARCHIVED)

    aarchived = async_form(archived)

    @sync_form
    async def consolidate(
        self,
        io: IO,
        namespace: NamespaceLike = DEFAULT,
        *,
        dry_run: bool = True,
        max_notes: int | None = None,
        max_age: timedelta | None = None,
        similarity: float = SIMILARITY,
    ) -> Consolidation:
        """Plan how to tidy up a namespace; with dry_run=False, do it.

        Notes that say the same are merged into the oldest. A model, if there is one, distils
        clusters into new, shorter notes. Notes unused for longer than `max_age` are archived,
        except in the long tier, and then the least valuable ones until `max_notes` are left.
        Nothing is deleted: `restore` and `revert` undo all of it.

        Args:
            namespace: one label or several.
            dry_run: change nothing; `apply` carries the plan out.
            max_notes: the number of notes to keep; None: the policy's.
            max_age: how long a note may go unused; None: no limit.
            similarity: the minimum cosine of two notes' vectors for a merge.

        Examples:
            >>> first = memory.add("The parcel desk closes at 6 pm", session="monday")
            >>> again = memory.add("the parcel desk closes at 6 pm.", session="friday")
            >>> plan = memory.lifecycle.consolidate()
            >>> [merge.into == first.id for merge in plan.merges]
            [True]
            >>> memory.lifecycle.consolidate(dry_run=False).applied
            True
            >>> memory.get(again).session
            'monday'
        """
        limits = _Limits(max_notes, max_age, similarity)
        wiring = self._wiring
        planned = await plan(
            io,
            wiring.settings,
            as_namespace(namespace),
            wiring.policy or DEFAULT_POLICY,
            max_notes=limits.max_notes,
            max_age=limits.max_age,
            similarity=limits.similarity,
        )
        return planned if dry_run else await _apply(wiring, io, planned)

    aconsolidate = async_form(consolidate)

    @sync_form
    async def apply(self, io: IO, plan: Consolidation) -> Consolidation:
        """Carry out a plan of `consolidate`; the result lists in `left` what was not done.

        Args:
            plan: the plan. A note that has changed since is left alone.

        Raises:
            InvalidInputError: this is no plan.

        Examples:
            >>> _ = memory.add_many(["The oldest note", "A newer one", "The newest"])
            >>> done = memory.lifecycle.apply(memory.lifecycle.consolidate(max_notes=2))
            >>> len(done.archived), len(memory.search("note", k=10))
            (1, 2)
        """
        return await _apply(self._wiring, io, plan)

    aapply = async_form(apply)


def _policy(wiring: Wiring) -> Policy:
    return wiring.policy or DEFAULT_POLICY


def _report(
    notes: Reported,
    outcome: Outcome,
    query: str | None,
    session: str | None,
    namespace: NamespaceLike | None,
) -> tuple[Namespace, Report]:
    if isinstance(notes, str | Note | Hit):
        notes = [notes]
    if not isinstance(notes, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(
            f"Expected notes, their ids or hits, one or a list; got {type(notes).__name__}."
        )
    given = list(notes)
    if not given:
        raise InvalidInputError("A report of use is about at least one note; got none.")
    told = [each.note if isinstance(each, Hit) else each for each in given]
    addresses = [address_of(each, namespace) for each in told]
    homes = {home for _, home in addresses}
    if len(homes) > 1:
        raise InvalidInputError(
            f"A report of use is about notes of one namespace; got {len(homes)}."
        )
    hits = [each for each in given if isinstance(each, Hit)]
    ids = tuple(id for id, _ in addresses)
    return homes.pop(), Report(ids, outcome, ways_of(hits), session, query)


def _check_proposal(proposal: object) -> None:
    if not isinstance(proposal, Proposal):
        raise InvalidInputError(
            f"Expected a proposal, as proposals() gives them; got {type(proposal).__name__}."
        )


@dataclass(frozen=True, slots=True)
class _Limits:
    max_notes: int | None
    max_age: timedelta | None
    similarity: float


async def _apply(wiring: Wiring, io: IO, planned: Consolidation) -> Consolidation:
    if not isinstance(planned, Consolidation):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(
            f"Expected a plan, as consolidate() gives one; got {type(planned).__name__}."
        )
    return await apply(io, wiring.settings, planned, wiring.policy or DEFAULT_POLICY)
