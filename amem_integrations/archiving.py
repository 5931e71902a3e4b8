"""The part of AgenticMemory that keeps a namespace small without deleting anything, in both forms.

Setting notes aside and bringing them back.
"""

from amem_integrations.errors import InvalidInputError, StoreError
from amem_integrations.lifecycle import archive as archiving
from amem_integrations.namespace import DEFAULT, as_namespace
from amem_integrations.note import Note, Status
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
    """Archiving notes, and bringing them back."""

    def archive(
        self, note: NoteLike, *, namespace: NamespaceLike | None = None, reason: str = ""
    ) -> Note:
        """Set a note aside: no search finds it, or follows a link to it, until it is restored.

        It stays stored, is exported, and can still be read by its id, listed and forgotten.
        Writing it anew under its key brings it back. Raises NoteNotFoundError, and
        InvalidInputError for a note that still waits to be formed.
        """
        return run(_archive(self._sync, note, namespace, reason))

    async def aarchive(
        self, note: NoteLike, *, namespace: NamespaceLike | None = None, reason: str = ""
    ) -> Note:
        """`archive`, awaited."""
        return await _archive(self._async, note, namespace, reason)

    def restore(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Note:
        """Bring an archived note back as it was, also one that was merged into another.

        What the other had gained from it stays there until that is reverted. A note that is
        not archived stays as it is. Raises NoteNotFoundError.
        """
        return run(_restore(self._sync, note, namespace))

    async def arestore(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Note:
        """`restore`, awaited."""
        return await _restore(self._async, note, namespace)

    def archived(self, namespace: NamespaceLike = DEFAULT, *, limit: int = 100) -> list[Note]:
        """The archived notes of a namespace, those stored last first."""
        return run(listed(self._sync, as_namespace(namespace), limit, archiving.ARCHIVED))

    async def aarchived(
        self, namespace: NamespaceLike = DEFAULT, *, limit: int = 100
    ) -> list[Note]:
        """`archived`, awaited."""
        return await listed(self._async, as_namespace(namespace), limit, archiving.ARCHIVED)


async def _archive(io: IO, note: NoteLike, namespace: NamespaceLike | None, reason: str) -> Note:
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
