"""The part of AgenticMemory that keeps a namespace small without deleting anything, in both forms.

Setting notes aside and bringing them back, merging what says the same, distilling.
"""

from dataclasses import dataclass
from datetime import timedelta

from amem_integrations.errors import InvalidInputError, StoreError
from amem_integrations.forming import Rooms
from amem_integrations.lifecycle import archive as archiving
from amem_integrations.lifecycle.consolidate import SIMILARITY, apply, plan
from amem_integrations.lifecycle.plan import Consolidation
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from amem_integrations.namespace import DEFAULT, as_namespace
from amem_integrations.note import Note, Status, check_text
from amem_integrations.operations import (
    Forms,
    NamespaceLike,
    NoteLike,
    address,
    listed,
    require,
)
from amem_integrations.ports import IO, run
from amem_integrations.store.reading import with_links

_ROUNDS = 8


class Archiving(Forms):
    """Archiving notes, bringing them back, and consolidating what there is."""

    def archive(
        self, note: NoteLike, *, namespace: NamespaceLike | None = None, reason: str = ""
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
            >>> str(memory.archive(note, reason="the tea room closed").status)
            'archived'
            >>> memory.search("When is tea?")
            []
        """
        return run(_archive(self._sync, note, namespace, reason))

    async def aarchive(
        self, note: NoteLike, *, namespace: NamespaceLike | None = None, reason: str = ""
    ) -> Note:
        """`archive`, awaited."""
        return await _archive(self._async, note, namespace, reason)

    def restore(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Note:
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
            >>> note = memory.archive(memory.add("Tea is served at four"))
            >>> str(memory.restore(note).status)
            'formed'
        """
        return run(_restore(self._sync, note, namespace))

    async def arestore(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Note:
        """`restore`, awaited."""
        return await _restore(self._async, note, namespace)

    def archived(self, namespace: NamespaceLike = DEFAULT, *, limit: int = 100) -> list[Note]:
        """The archived notes of a namespace, those stored last first.

        Args:
            namespace: one label or several.
            limit: how many, at most.

        Raises:
            InvalidInputError: a value cannot be used.
            StoreError: the store cannot be read.

        Examples:
            >>> note = memory.archive(memory.add("Tea is served at four"))
            >>> [each.content for each in memory.archived()]
            ['Tea is served at four']
        """
        return run(listed(self._sync, as_namespace(namespace), limit, archiving.ARCHIVED))

    async def aarchived(
        self, namespace: NamespaceLike = DEFAULT, *, limit: int = 100
    ) -> list[Note]:
        """`archived`, awaited."""
        return await listed(self._async, as_namespace(namespace), limit, archiving.ARCHIVED)

    def consolidate(
        self,
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
            >>> plan = memory.consolidate()
            >>> [merge.into == first.id for merge in plan.merges]
            [True]
            >>> print(memory.consolidate(dry_run=False).applied, memory.get(again).session)
            True monday
        """
        limits = _Limits(max_notes, max_age, similarity)
        return run(_consolidate(self._rooms, self._sync, namespace, dry_run, limits))

    async def aconsolidate(
        self,
        namespace: NamespaceLike = DEFAULT,
        *,
        dry_run: bool = True,
        max_notes: int | None = None,
        max_age: timedelta | None = None,
        similarity: float = SIMILARITY,
    ) -> Consolidation:
        """`consolidate`, awaited."""
        limits = _Limits(max_notes, max_age, similarity)
        return await _consolidate(self._rooms, self._async, namespace, dry_run, limits)

    def apply(self, plan: Consolidation) -> Consolidation:
        """Do what `consolidate` listed; returns what was done, and in `left` what was not.

        Args:
            plan: the list. A note that was changed since is left alone.

        Raises:
            InvalidInputError: this is no such list.
            StoreError: the store cannot be read or written.
            ModelError: the embedder gives no usable vectors; its own errors pass through.

        Examples:
            >>> _ = memory.add_many(["The oldest note", "A newer one", "The newest"])
            >>> done = memory.apply(memory.consolidate(max_notes=2))
            >>> len(done.archived), len(memory.search("note", k=10))
            (1, 2)
        """
        return run(_apply(self._rooms, self._sync, plan))

    async def aapply(self, plan: Consolidation) -> Consolidation:
        """`apply`, awaited."""
        return await _apply(self._rooms, self._async, plan)


@dataclass(frozen=True, slots=True)
class _Limits:
    max_notes: int | None
    max_age: timedelta | None
    similarity: float


async def _consolidate(
    rooms: Rooms, io: IO, namespace: NamespaceLike, dry_run: bool, limits: _Limits
) -> Consolidation:
    planned = await plan(
        io,
        rooms.settings,
        as_namespace(namespace),
        rooms.policy or DEFAULT_POLICY,
        max_notes=limits.max_notes,
        max_age=limits.max_age,
        similarity=limits.similarity,
    )
    return planned if dry_run else await _apply(rooms, io, planned)


async def _apply(rooms: Rooms, io: IO, planned: Consolidation) -> Consolidation:
    if not isinstance(planned, Consolidation):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(
            f"Expected a plan, as consolidate() gives one; got {type(planned).__name__}."
        )
    return await apply(io, rooms.settings, planned, rooms.policy or DEFAULT_POLICY)


async def _archive(io: IO, note: NoteLike, namespace: NamespaceLike | None, reason: str) -> Note:
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


async def _restore(io: IO, note: NoteLike, namespace: NamespaceLike | None) -> Note:
    back = await archiving.restore(io, await require(io, *address(note, namespace)))
    return (await with_links(io, [back]))[0]
