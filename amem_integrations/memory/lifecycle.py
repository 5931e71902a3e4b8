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
from amem_integrations.lifecycle import lineage
from amem_integrations.lifecycle import maintain as maintaining
from amem_integrations.lifecycle.audits import DECISIONS, Audit, Decision
from amem_integrations.lifecycle.confidence import Explanation, explain
from amem_integrations.lifecycle.consolidate import SIMILARITY, Consolidation, apply, plan
from amem_integrations.lifecycle.feedback import Report, feedback, feedback_from_reply, ways_of
from amem_integrations.lifecycle.lineage import Undone
from amem_integrations.lifecycle.maintain import Maintained
from amem_integrations.lifecycle.policy import DEFAULT_POLICY, Policy
from amem_integrations.memory.operations import (
    MemoryPart,
    NamespaceLike,
    NoteLike,
    Wiring,
    address,
    listed,
    read,
    require,
)
from amem_integrations.memory.options import check_choice
from amem_integrations.revisions import archive as archiving
from amem_integrations.revisions.proposals import Proposal
from amem_integrations.revisions.proposals import proposals as waiting
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
        """Report that notes from one prompt helped, or that they contradict what is so.

        Stored at once; `maintain` counts it.

        Args:
            notes: notes, their ids, or hits; those of one report were used together.
            outcome: "used" or "conflict".
            query: what was asked.
            session: in which conversation; uses within one count as one occasion.
            namespace: where ids without a note are looked up.

        Returns:
            How many of the notes are there; those that were forgotten meanwhile are left out.

        Raises:
            InvalidInputError: a value cannot be used, or the notes are of several namespaces.
            StoreError: it could not be stored.

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
        """`feedback` of those of a prompt's hits that a reply made use of; returns them.

        A note was used if the reply shares two or more of its rare words: such as few of the hits
        have, and the query does not bring up itself. No model is asked.

        Args:
            hits: what was found for the prompt.
            reply: what the model answered.
            query: what was asked.
            session: in which conversation.

        Raises:
            InvalidInputError: these are no hits, or a text is none.
            StoreError: it could not be stored.

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
        """Do what is due: count uses, settle notes and links, keep the short ones few.

        Where nothing is due it costs next to nothing. It can be broken off at any time, and be
        called by several at once. A background worker does it by itself where the memory was opened
        with `lifecycle`.

        Args:
            namespace: this one; None for all.

        Returns:
            What was done, in numbers.

        Raises:
            InvalidInputError: this can be no namespace.
            StoreError: the store cannot be read or written; what was done until then stays done.

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
            return await maintaining.maintain_all(io, policy, analyst)
        return await maintaining.maintain(io, as_namespace(namespace), policy, analyst)

    amaintain = async_form(maintain)

    @sync_form
    async def explain(
        self, io: IO, note: NoteLike, *, namespace: NamespaceLike | None = None
    ) -> Explanation:
        """How far a note is to be believed now, and how that comes about.

        Args:
            note: the note, or its id.
            namespace: where an id is looked up.

        Raises:
            NoteNotFoundError: there is no such note in the namespace.
            InvalidInputError: this can be no note.
            StoreError: the store cannot be read.

        Examples:
            >>> note = memory.add("Tea is served at four", source="user")
            >>> memory.lifecycle.explain(note).source_trust
            0.9
        """
        held = await require(io, *address(note, namespace))
        return explain(held, io.now(), _policy(self._wiring))

    aexplain = async_form(explain)

    @sync_form
    async def audits(self, io: IO, namespace: NamespaceLike = DEFAULT) -> list[Audit]:
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
        held = await require(io, *address(note, namespace))
        settled, taken_back = await auditing.resolve(
            io, held, decision, wiring.analyst_name, content
        )
        unformed = {held.namespace: taken_back.unformed}
        await have_formed(wiring, io, wiring.formation, [settled], unformed=unformed)
        return await read(io, settled.id, settled.namespace) or settled

    aresolve = async_form(resolve)

    @sync_form
    async def proposals(self, io: IO, namespace: NamespaceLike = DEFAULT) -> list[Proposal]:
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
            ...     [waiting] = memory.lifecycle.proposals()
            >>> waiting.target == said.id
            True
        """
        return await waiting(io, as_namespace(namespace))

    aproposals = async_form(proposals)

    @sync_form
    async def accept(self, io: IO, proposal: Proposal) -> Note:
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
            ...     changed = memory.lifecycle.accept(memory.lifecycle.proposals()[0])
            >>> sorted({*changed.keywords} - {*said.keywords})
            ['sells rye bread']
        """
        _check_proposal(proposal)
        policy = self._wiring.policy or DEFAULT_POLICY
        changed = await lineage.accept(io, proposal, policy, settled=True)
        return await read(io, changed.id, changed.namespace) or changed

    aaccept = async_form(accept)

    @sync_form
    async def reject(self, io: IO, proposal: Proposal) -> bool:
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
            ...     [proposal] = memory.lifecycle.proposals()
            ...     print(memory.lifecycle.reject(proposal), memory.lifecycle.proposals())
            True []
        """
        _check_proposal(proposal)
        return await lineage.reject(io, proposal)

    areject = async_form(reject)

    @sync_form
    async def revert_cause(
        self, io: IO, note: NoteLike, *, namespace: NamespaceLike | None = None
    ) -> Undone:
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
            >>> undone = memory.lifecycle.revert_cause(second)
            >>> undone.links, memory.links(second)
            (1, ())
        """
        wiring = self._wiring
        held = await require(io, *address(note, namespace))
        undone = await lineage.revert_cause(io, held, wiring.analyst_name)
        unformed = {held.namespace: undone.unformed}
        await have_formed(wiring, io, wiring.formation, unformed=unformed)
        return undone

    arevert_cause = async_form(revert_cause)

    @sync_form
    async def archive(
        self, io: IO, note: NoteLike, *, namespace: NamespaceLike | None = None, reason: str = ""
    ) -> Note:
        """Set a note aside: no search finds it, or follows a link to it, until it is restored.

        It stays stored, is exported, and can still be read by its id, listed and forgotten. Writing
        it anew under its key brings it back.

        Args:
            note: the note, or its id.
            namespace: where an id is looked up.
            reason: why, for its history.

        Returns:
            The note as it is now.

        Raises:
            NoteNotFoundError: there is no such note in the namespace.
            InvalidInputError: it still waits to be formed, or a value cannot be used.
            StoreError: it could not be written.

        Examples:
            >>> note = memory.add("Tea is served at four")
            >>> str(memory.lifecycle.archive(note, reason="the tea room closed").status)
            'archived'
            >>> memory.search("When is tea?")
            []
        """
        if reason != "":
            check_text("reason", reason)
        held = await require(io, *address(note, namespace))
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
        self, io: IO, note: NoteLike, *, namespace: NamespaceLike | None = None
    ) -> Note:
        """Bring an archived note back as it was, also one that was merged into another.

        What the other had gained from it stays there until that is reverted.

        Args:
            note: the note, or its id.
            namespace: where an id is looked up.

        Returns:
            The note as it is now; one that is not archived stays as it is.

        Raises:
            NoteNotFoundError: there is no such note in the namespace.
            InvalidInputError: this can be no note.
            StoreError: it could not be written.

        Examples:
            >>> note = memory.lifecycle.archive(memory.add("Tea is served at four"))
            >>> str(memory.lifecycle.restore(note).status)
            'formed'
        """
        back = await archiving.restore(io, await require(io, *address(note, namespace)))
        return (await with_links(io, [back]))[0]

    arestore = async_form(restore)

    @sync_form
    async def archived(
        self, io: IO, namespace: NamespaceLike = DEFAULT, *, limit: int = 100
    ) -> list[Note]:
        """The archived notes of a namespace, those stored last first.

        Args:
            namespace: one label or several.
            limit: how many, at most.

        Raises:
            InvalidInputError: a value cannot be used.
            StoreError: the store cannot be read.

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
        """What there is to tidy up in a namespace, as a list; with dry_run=False it is done.

        Notes that say the same are merged into the oldest of them: the words must agree, and they
        must be understood alike. Where a model is there, clusters are distilled: a new note says in
        short what they say. Archived is what was neither said, confirmed nor used for longer than
        `max_age`, unless it is of the long tier, then what is worth least, until `max_notes` are
        left. Nothing is deleted: `restore` and `revert` undo all of it.

        Args:
            namespace: one label or several.
            dry_run: whether to change nothing; `apply` does it then.
            max_notes: how many notes to keep at hand; None: as the policy has it.
            max_age: how long a note may be of no use; None: for ever.
            similarity: the least cosine of two notes' vectors, understanding included, for a merge.

        Raises:
            InvalidInputError: a value cannot be used.
            StoreError: the store cannot be read or written.
            ModelError: the embedder gives no usable vectors; its own errors pass through.

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
        """Do what `consolidate` listed; returns what was done, and in `left` what was not.

        Args:
            plan: the list. A note that was changed since is left alone.

        Raises:
            InvalidInputError: this is no such list.
            StoreError: the store cannot be read or written.
            ModelError: the embedder gives no usable vectors; its own errors pass through.

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
    addresses = [address(each, namespace) for each in told]
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
