"""The part of AgenticMemory that learns from use, in both forms: feedback and maintenance."""

from collections.abc import Iterable, Sequence

from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle import maintain as maintaining
from amem_integrations.lifecycle.confidence import Explanation, explain
from amem_integrations.lifecycle.feedback import Report, feedback, feedback_from_reply, ways_of
from amem_integrations.lifecycle.maintain import Maintained
from amem_integrations.lifecycle.policy import DEFAULT_POLICY, Policy
from amem_integrations.namespace import Namespace, as_namespace
from amem_integrations.note import Hit, Note
from amem_integrations.operations import (
    Forms,
    NamespaceLike,
    NoteLike,
    Rooms,
    address,
    require,
)
from amem_integrations.ports import IO, run
from amem_integrations.store.uses import Outcome

Reported = NoteLike | Hit | Iterable[NoteLike | Hit]


class Keeping(Forms):
    """Telling the memory what came of its notes, and letting it draw its conclusions."""

    def feedback(
        self,
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
            >>> memory.feedback(hits, query="When is tea?", session="monday")
            1
        """
        home, report = _report(notes, outcome, query, session, namespace)
        return run(feedback(self._sync, home, report))

    async def afeedback(
        self,
        notes: Reported,
        outcome: Outcome = "used",
        *,
        query: str | None = None,
        session: str | None = None,
        namespace: NamespaceLike | None = None,
    ) -> int:
        """`feedback`, awaited."""
        home, report = _report(notes, outcome, query, session, namespace)
        return await feedback(self._async, home, report)

    def feedback_from_reply(
        self,
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
            >>> memory.feedback_from_reply(hits, reply, query=query) == hits
            True
        """
        return run(_replied(self._sync, hits, reply, query, session))

    async def afeedback_from_reply(
        self,
        hits: Sequence[Hit],
        reply: str,
        *,
        query: str | None = None,
        session: str | None = None,
    ) -> list[Hit]:
        """`feedback_from_reply`, awaited."""
        return await _replied(self._async, hits, reply, query, session)

    def maintain(self, namespace: NamespaceLike | None = None) -> Maintained:
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
            >>> _ = memory.feedback(note, session="monday")
            >>> memory.maintain().uses
            1
            >>> memory.get(note).life.clean
            1
        """
        return run(_maintain(self._rooms, self._sync, namespace))

    async def amaintain(self, namespace: NamespaceLike | None = None) -> Maintained:
        """`maintain`, awaited."""
        return await _maintain(self._rooms, self._async, namespace)

    def explain(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Explanation:
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
            >>> memory.explain(note).source_trust
            0.9
        """
        return run(_explain(self._rooms, self._sync, note, namespace))

    async def aexplain(
        self, note: NoteLike, *, namespace: NamespaceLike | None = None
    ) -> Explanation:
        """`explain`, awaited."""
        return await _explain(self._rooms, self._async, note, namespace)


def _policy(rooms: Rooms) -> Policy:
    return rooms.policy or DEFAULT_POLICY


async def _maintain(rooms: Rooms, io: IO, namespace: NamespaceLike | None) -> Maintained:
    policy, analyst = _policy(rooms), rooms.analyst_name
    if namespace is None:
        return await maintaining.maintain_all(io, policy, analyst)
    return await maintaining.maintain(io, as_namespace(namespace), policy, analyst)


async def _explain(
    rooms: Rooms, io: IO, note: NoteLike, namespace: NamespaceLike | None
) -> Explanation:
    held = await require(io, *address(note, namespace))
    return explain(held, io.now(), _policy(rooms))


async def _replied(
    io: IO, hits: Sequence[Hit], reply: str, query: str | None, session: str | None
) -> list[Hit]:
    given = list(hits) if isinstance(hits, Iterable) else [hits]  # pyright: ignore[reportUnnecessaryIsInstance]
    if wrong := [each for each in given if not isinstance(each, Hit)]:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(
            f"Expected the hits of a search, in a list; got {type(wrong[0]).__name__}."
        )
    if not given:
        return []
    home, _ = _report(given, "used", query, session, None)
    return await feedback_from_reply(io, home, given, reply, query, session)


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
