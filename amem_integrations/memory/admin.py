"""`memory.admin`: what an operator does: check and repair, health, transfer, deletion in bulk."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from amem_integrations import __version__
from amem_integrations.admin import import_ as importing
from amem_integrations.admin import repair as repairing
from amem_integrations.admin.check import Finding, check
from amem_integrations.admin.copy import copy
from amem_integrations.admin.export import export
from amem_integrations.admin.health import Health, Lenses, measure
from amem_integrations.admin.import_ import Imported, Line
from amem_integrations.core.io import IO, async_form, run, sync_form
from amem_integrations.core.namespace import as_namespace
from amem_integrations.errors import InvalidInputError
from amem_integrations.formation import pipeline
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from amem_integrations.memory import operations
from amem_integrations.memory.operations import MemoryPart, NamespaceLike, Progress
from amem_integrations.recall.dedupe import same_as
from amem_integrations.revisions import forget as forgetting
from amem_integrations.revisions.forget import Forgotten, forget_namespace


class Admin(MemoryPart):
    """Operations on a whole store: checks, repair, health, export and import, deletion in bulk."""

    @sync_form
    async def retry(self, io: IO) -> int:
        """`resume`, parked notes included: those that were given up after repeated failures.

        Raises:
            StoreError: the store cannot be read or written.

        Examples:
            >>> note = memory.add("Understood, and then not")
            >>> str(memory.revert(note).status)
            'parked'
            >>> memory.admin.retry()
            1
        """
        return await pipeline.retry(self._wiring, io)

    aretry = async_form(retry)

    @sync_form
    async def forget_namespace(self, io: IO, namespace: NamespaceLike) -> Forgotten:
        """Remove every note of exactly this namespace, and what model calls took for it.

        Args:
            namespace: one label or several.

        Returns:
            How much was removed.

        Raises:
            InvalidInputError: this can be no namespace.
            StoreError: it could not be removed.

        Examples:
            >>> _ = memory.add_many(["Tea at four", "Coffee at five"], namespace=("org", "calvin"))
            >>> memory.admin.forget_namespace(("org", "calvin")).notes
            2
            >>> memory.namespaces()
            []
        """
        wiring = self._wiring
        namespace = as_namespace(namespace)
        wiring.settings.ledger.forget(namespace)
        forgotten = await forget_namespace(io, namespace)
        wiring.recalls.drop(namespace)
        return forgotten

    aforget_namespace = async_form(forget_namespace)

    @sync_form
    async def forget_where(
        self, io: IO, filter: Mapping[str, Any], *, namespace: NamespaceLike
    ) -> Forgotten:
        """Remove every note of the namespace that meets a filter, and what each had caused.

        Which they are is settled before the first is removed.

        Args:
            filter: conditions, as for `search`.
            namespace: one label or several.

        Returns:
            How much was removed, and what has to be formed anew without it.

        Raises:
            InvalidFilterError: the filter means nothing, or asks for nothing.
            InvalidInputError: this can be no namespace.
            StoreError: not all of them could be removed.

        Examples:
            >>> _ = memory.add("Tea at four", namespace="house", speaker="Ada")
            >>> _ = memory.add("Coffee at five", namespace="house", speaker="Bea")
            >>> memory.admin.forget_where({"speaker": "Bea"}, namespace="house").notes
            1
        """
        wiring = self._wiring
        namespace = as_namespace(namespace)
        forgotten = await forgetting.forget_where(io, filter, namespace, wiring.analyst_name)
        wiring.recalls.drop(namespace)
        await pipeline.have_formed(
            wiring, io, wiring.formation, unformed={namespace: forgotten.unformed}
        )
        return forgotten

    aforget_where = async_form(forget_where)

    @sync_form
    async def health(self, io: IO, namespace: NamespaceLike | None = None) -> Health:
        """How a namespace is doing: a report of figures, with what they mean and when to worry.

        A mapping of names to numbers, too. It reads every note of the namespace with its history.

        Args:
            namespace: one label or several. None: the whole memory, of which there are only the
                notes by status and every event counted since opening (dropped, failed, redone);
                that is quick.

        Raises:
            InvalidInputError: this can be no namespace.
            StoreError: the store cannot be read.

        Examples:
            >>> _ = memory.add("Tea at four", namespace="house")
            >>> health = memory.admin.health("house")
            >>> health["formed"], health["orphans"], health.figure("orphans").meaning
            (1, 1.0, 'share of the formed notes without a link either way')
        """
        wiring = self._wiring
        ledger = wiring.settings.ledger
        if namespace is None:
            return Health(None, await operations.counts(io, None), ledger.events())
        lenses = Lenses(same_as, wiring.covers)
        policy, kept = wiring.policy or DEFAULT_POLICY, wiring.policy is not None
        return await measure(io, as_namespace(namespace), policy, ledger, lenses, kept=kept)

    ahealth = async_form(health)

    def count_event(self, event: str) -> None:
        """Count something that an adapter skipped or failed at, so that `health` shows it.

        Args:
            event: a short name with dots.

        Examples:
            >>> memory.admin.count_event("mailbox.skipped")
            >>> memory.admin.health()["mailbox.skipped"]
            1
        """
        self._wiring.settings.ledger.count(event)

    @sync_form
    async def check(self, io: IO) -> list[Finding]:
        """Scan everything for what must not be there; empty when all is well.

        Raises:
            StoreError: the store cannot be read.

        Examples:
            >>> _ = memory.add("Tea at four")
            >>> memory.admin.check()
            []
        """
        return await check(io)

    acheck = async_form(check)

    @sync_form
    async def repair(self, io: IO) -> list[Finding]:
        """Mend what `check` finds, without losing content; says of each whether it is mended.

        Notes that have to be formed again for it are, as `formation` says.

        Raises:
            StoreError: the store cannot be read or written.
            ModelError: the embedder gives no usable vectors; its own errors pass through.

        Examples:
            >>> memory.admin.repair()  # nothing to mend
            []
        """
        wiring = self._wiring
        repaired = await repairing.repair(io, wiring.analyst_name)
        for finding in repaired.findings:
            wiring.settings.ledger.count(
                f"{'repaired' if finding.mended else 'found'}.{finding.what}"
            )
        await pipeline.have_formed(wiring, io, wiring.formation, unformed=repaired.unformed)
        return repaired.findings

    arepair = async_form(repair)

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
            >>> lines = list(memory.admin.export("house"))
            >>> len(lines)
            2
            >>> memory.admin.import_(lines, namespace="attic").notes
            1
        """
        return _each(export(self._sync, as_namespace(namespace), __version__))

    def aexport(self, namespace: NamespaceLike) -> AsyncIterator[str]:
        """`export`, as an async iterator."""
        return export(self._async, as_namespace(namespace), __version__)

    @sync_form
    async def import_(
        self,
        io: IO,
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
            >>> lines = list(memory.admin.export("house"))
            >>> imported = memory.admin.import_(lines)
            >>> imported.notes, imported.kept
            (0, 1)
        """
        home = None if namespace is None else as_namespace(namespace)
        wiring = self._wiring
        namespace = home
        try:
            imported = await importing.import_(
                io, lines, wiring.analyst_name, namespace=namespace, replace_held=replace
            )
        finally:
            # Also for what was imported before a line was found broken.
            if wiring.formation == "background":
                wiring.wake()
        unformed = {imported.namespace: imported.unformed}
        await pipeline.have_formed(wiring, io, wiring.formation, unformed=unformed)
        return imported

    aimport_ = async_form(import_)

    @sync_form
    async def copy_to(
        self, io: IO, other: "MemoryPart", *, progress: Progress | None = None
    ) -> int:
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
            ...     print(memory.admin.copy_to(other), other.get(note).content)
            1 Tea at four
        """
        if not isinstance(other, MemoryPart) or other._sync is self._sync:  # pyright: ignore[reportUnnecessaryIsInstance]
            given = "the same one" if isinstance(other, MemoryPart) else type(other).__name__  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(
                "Expected another memory to copy to, such as AgenticMemory(directory, "
                f"embedder=...); got {given}."
            )
        target = other._sync if io is self._sync else other._async
        return await copy(io, target, progress)

    acopy_to = async_form(copy_to)


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
