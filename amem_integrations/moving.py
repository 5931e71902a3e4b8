"""The part of AgenticMemory that takes notes out and in, in both forms.

As lines of JSON, which leave and come, and from one memory into another.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator

from amem_integrations import __version__, forming
from amem_integrations.errors import InvalidInputError
from amem_integrations.forming import Rooms
from amem_integrations.lifecycle import import_ as importing
from amem_integrations.lifecycle.copy import copy
from amem_integrations.lifecycle.export import export
from amem_integrations.lifecycle.import_ import Imported, Line, Lines
from amem_integrations.namespace import Namespace, as_namespace
from amem_integrations.operations import Forms, NamespaceLike, Progress
from amem_integrations.ports import IO, run


class Moving(Forms):
    """Exporting, importing, copying."""

    def export(self, namespace: NamespaceLike) -> Iterator[str]:
        """The notes of a namespace with all that is kept of them, as lines of JSON.

        A header first, then a line a note, oldest first, read page by page; without line ends.
        Vectors are left out, as they follow from the texts.

        Args:
            namespace: one label or several.

        Raises:
            InvalidInputError: this can be no namespace.
            StoreError: the store cannot be read.

        Examples:
            >>> _ = memory.add("Tea at four", namespace="house")
            >>> lines = list(memory.export("house"))
            >>> len(lines)
            2
            >>> memory.import_(lines, namespace="attic").notes
            1
        """
        return _each(export(self._sync, as_namespace(namespace), __version__))

    def aexport(self, namespace: NamespaceLike) -> AsyncIterator[str]:
        """`export`, as an async iterator."""
        return export(self._async, as_namespace(namespace), __version__)

    def import_(
        self,
        lines: Iterable[Line],
        *,
        namespace: NamespaceLike | None = None,
        replace: bool = False,
    ) -> Imported:
        """Add the notes that `export` wrote, here or elsewhere; no model is asked.

        Links lead to the same notes in their new place; one to a note that is neither among the
        lines nor in the namespace is dropped and counted. Importing twice changes nothing.

        Args:
            lines: what `export` gave, or the lines of a file of it.
            namespace: where to; None for the one that the lines name, which should be those of
                somebody you trust.
            replace: let lines take the place of notes that are there under the same key in another
                state; otherwise these are kept.

        Returns:
            What was added, replaced, kept and dropped.

        Raises:
            InvalidLineError: a line cannot be used; what stands before it was imported, and
                importing again goes on from there.
            InvalidInputError: this can be no namespace.
            StoreError: the store cannot be written.
            ModelError: the embedder gives no usable vectors; its own errors pass through.

        Examples:
            >>> _ = memory.add("Tea at four", namespace="house")
            >>> lines = list(memory.export("house"))
            >>> imported = memory.import_(lines)
            >>> imported.notes, imported.kept
            (0, 1)
        """
        home = None if namespace is None else as_namespace(namespace)
        return run(_import(self._rooms, self._sync, lines, home, replace))

    async def aimport_(
        self, lines: Lines, *, namespace: NamespaceLike | None = None, replace: bool = False
    ) -> Imported:
        """`import_`, awaited; the lines may come from an async iterator, such as `aexport`."""
        home = None if namespace is None else as_namespace(namespace)
        return await _import(self._rooms, self._async, lines, home, replace)

    def copy_to(self, other: "Moving", *, progress: Progress | None = None) -> int:
        """Copy everything, all namespaces, into another memory, embedded by the other's embedder.

        What is stored there under the same ids stays as it is, so that repeating it goes on where
        it was broken off.

        Args:
            other: another memory, which is open.
            progress: called as progress(done, total), of everything stored.

        Returns:
            How many notes were copied.

        Raises:
            InvalidInputError: this is no other memory.
            StoreError: a store cannot be read or written.
            ModelError: the other's embedder gives no usable vectors; its own errors pass through.

        Examples:
            >>> from amem_integrations import AgenticMemory
            >>> note = memory.add("Tea at four", namespace="house")
            >>> with AgenticMemory() as other:
            ...     print(memory.copy_to(other), other.get(note).content)
            1 Tea at four
        """
        return run(copy(self._sync, _other(self, other)._sync, progress))

    async def acopy_to(self, other: "Moving", *, progress: Progress | None = None) -> int:
        """`copy_to`, awaited."""
        return await copy(self._async, _other(self, other)._async, progress)


def _other(memory: Moving, other: object) -> Moving:
    if not isinstance(other, Moving) or other is memory:
        raise InvalidInputError(
            "Expected another memory to copy to, such as AgenticMemory(directory, embedder=...); "
            f"got {'the same one' if other is memory else type(other).__name__}."
        )
    return other


def _each(lines: AsyncGenerator[str, None]) -> Iterator[str]:
    """Drive an operation that yields, one line at a time."""
    try:
        while True:
            try:
                line = run(anext(lines))
            except StopAsyncIteration:
                return
            yield line
    finally:
        run(lines.aclose())


async def _import(
    rooms: Rooms, io: IO, lines: Lines, namespace: Namespace | None, replace: bool
) -> Imported:
    try:
        imported = await importing.import_(
            io, lines, rooms.analyst_name, namespace=namespace, replace_held=replace
        )
    finally:
        # Also for what was imported before a line was found broken.
        if rooms.formation == "background":
            rooms.wake()
    unformed = {imported.namespace: imported.unformed}
    await forming.have_formed(rooms, io, rooms.formation, unformed=unformed)
    return imported
