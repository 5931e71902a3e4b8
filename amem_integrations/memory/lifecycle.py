"""`memory.lifecycle`: what learns from use, settles contradictions and keeps a namespace small."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from amem_integrations.core.hit import Hit
from amem_integrations.core.io import IO, async_form, sync_form
from amem_integrations.core.namespace import DEFAULT, Namespace, as_namespace
from amem_integrations.core.note import Note, check_text
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle import consolidation, maintenance
from amem_integrations.lifecycle.consolidation import SIMILARITY, Consolidation
from amem_integrations.lifecycle.feedback import feedback, feedback_from_reply, ways_of
from amem_integrations.lifecycle.maintenance import Maintained
from amem_integrations.memory.operations import listed, require
from amem_integrations.memory.review import Review, check_type
from amem_integrations.memory.wiring import NamespaceLike, NoteLike, address_of
from amem_integrations.revisions import archive as archiving
from amem_integrations.stores.read import with_links
from amem_integrations.stores.uses import Outcome

Reported = NoteLike | Hit | Iterable[NoteLike | Hit]


class Lifecycle(Review):
    """Feedback, maintenance, audits, proposals, archiving and consolidation.

    A method about one note takes the note, its id, or its `key`; `namespace` is that of the id or
    key. It raises NoteNotFoundError if there is no such note in the namespace. Elsewhere,
    `namespace` is one label or several.
    """

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

        The report is stored at once; `maintain` counts it. Returns the number of notes that still
        exist.

        Args:
            notes: notes, their ids, or hits that were used together.
            outcome: "used" or "conflict".
            query: the question.
            session: the conversation; uses within one session count as one occasion.
            namespace: the namespace of ids.

        Raises:
            InvalidInputError: a value is invalid, or the notes belong to several namespaces.

        Examples:
            >>> _ = memory.add("Tea is served at four")
            >>> hits = memory.search("When is tea?")
            >>> memory.lifecycle.feedback(hits, query="When is tea?", session="monday")
            1
        """
        home, ids, hits = _reported(notes, namespace)
        ways = ways_of(hits)
        return await feedback(io, home, ids, outcome, ways=ways, session=session, query=query)

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
        for hit in given:
            check_type(hit, Hit, "the hits of a search, in a list")
        if not given:
            return []
        home, _, _ = _reported(given, None)
        return await feedback_from_reply(io, home, given, reply, query, session)

    afeedback_from_reply = async_form(feedback_from_reply)

    @sync_form
    async def maintain(self, io: IO, namespace: NamespaceLike | None = None) -> Maintained:
        """Do the upkeep that is due: count uses, update tiers and links, audit and archive.

        It is cheap when nothing is due. It can be interrupted at any time, and several processes
        may call it at once. With `lifecycle`, a background worker calls it by itself.

        Args:
            namespace: one label or several; None: all namespaces.

        Raises:
            StoreError: the store cannot be read or written; what was done before is kept.

        Examples:
            >>> note = memory.add("Tea is served at four")
            >>> _ = memory.lifecycle.feedback(note, session="monday")
            >>> memory.lifecycle.maintain().uses, memory.get(note).life.clean
            (1, 1)
        """
        analyst = self._wiring.analyst_name
        if namespace is None:
            return await maintenance.maintain_all(io, self._policy, analyst)
        return await maintenance.maintain(io, as_namespace(namespace), self._policy, analyst)

    amaintain = async_form(maintain)

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
        under its key restores it. Returns the note; `reason` goes into its history.

        Raises:
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
        archived = await archiving.archive_note(io, held, reason)
        return (await with_links(io, [archived]))[0]

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

        The other note keeps what it gained until it is reverted. Returns the note; one that is not
        archived stays as it is.

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
        """Return at most `limit` archived notes of a namespace, newest first."""
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
            >>> memory.lifecycle.apply(plan).applied, memory.get(again).session
            (True, 'monday')
        """
        plan = await consolidation.plan(
            io,
            self._wiring.settings,
            as_namespace(namespace),
            self._policy,
            max_notes=max_notes,
            max_age=max_age,
            similarity=similarity,
        )
        return plan if dry_run else await self._apply(io, plan)

    aconsolidate = async_form(consolidate)

    @sync_form
    async def apply(self, io: IO, plan: Consolidation) -> Consolidation:
        """Carry out a plan of `consolidate`; the result lists in `left` what was not done.

        A note that has changed since the plan was made is left alone.

        Raises:
            InvalidInputError: this is no plan.
        """
        check_type(plan, Consolidation, "a plan, as consolidate() gives one")
        return await self._apply(io, plan)

    aapply = async_form(apply)

    async def _apply(self, io: IO, plan: Consolidation) -> Consolidation:
        return await consolidation.apply(io, self._wiring.settings, plan, self._policy)


def _reported(
    notes: Reported, namespace: NamespaceLike | None
) -> tuple[Namespace, list[str], list[Hit]]:
    """Return the namespace and the ids of the notes, and the hits among them."""
    if isinstance(notes, str | Note | Hit):
        notes = [notes]
    check_type(notes, Iterable, "notes, their ids or hits, one or a list")
    given = list(notes)
    named = [each.note if isinstance(each, Hit) else each for each in given]
    addresses = [address_of(note, namespace) for note in named]
    homes = {home for _, home in addresses}
    if len(homes) != 1:
        raise InvalidInputError(
            f"A report of use is about notes of one namespace, at least one; got {len(given)} "
            f"notes of {len(homes)} namespaces."
        )
    hits = [each for each in given if isinstance(each, Hit)]
    return homes.pop(), [id for id, _ in addresses], hits
