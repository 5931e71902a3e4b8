"""`memory.admin`: what an operator does: check and repair, health, transfer, deletion in bulk."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from typing import Any

from amem_integrations import __version__
from amem_integrations.admin import repair as repairing
from amem_integrations.admin import transfer
from amem_integrations.admin.check import Finding, check
from amem_integrations.admin.copy import copy
from amem_integrations.admin.export import export
from amem_integrations.admin.health import Health, measure
from amem_integrations.admin.metrics import Metrics
from amem_integrations.admin.transfer import Imported, Lines
from amem_integrations.core.io import IO, async_form, run, sync_form
from amem_integrations.core.namespace import as_namespace
from amem_integrations.errors import InvalidInputError
from amem_integrations.formation import pipeline
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from amem_integrations.memory import operations
from amem_integrations.memory.wiring import MemoryPart, NamespaceLike, Progress
from amem_integrations.revisions import forget as forgetting
from amem_integrations.revisions.forget import Forgotten, forget_namespace


class Admin(MemoryPart):
    """Operations on a whole store: checks, repair, health, export and import, deletion in bulk."""

    @sync_form
    async def retry(self, io: IO) -> int:
        """Form every raw note, and the parked ones, which were given up after failures.

        Examples:
            >>> _ = memory.add("Tea is served at four", formation="off")
            >>> memory.admin.retry()
            1
        """
        return await pipeline.retry(self._wiring, io)

    @sync_form
    async def forget_namespace(self, io: IO, namespace: NamespaceLike) -> Forgotten:
        """Delete every note of exactly this namespace, and its usage records.

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
        return await forget_namespace(io, namespace)

    @sync_form
    async def forget_where(
        self, io: IO, filter: Mapping[str, Any], *, namespace: NamespaceLike
    ) -> Forgotten:
        """Delete every note of the namespace that meets a filter, and what each had caused.

        The notes are selected before the first is deleted.

        Args:
            filter: conditions, as for `search`.

        Raises:
            InvalidFilterError: the filter is invalid or empty.
            StoreError: not all notes could be deleted.

        Examples:
            >>> _ = memory.add("Tea at four", namespace="house", speaker="Ada")
            >>> _ = memory.add("Coffee at five", namespace="house", speaker="Bea")
            >>> memory.admin.forget_where({"speaker": "Bea"}, namespace="house").notes
            1
        """
        wiring = self._wiring
        namespace = as_namespace(namespace)
        forgotten = await forgetting.forget_where(io, filter, namespace, wiring.analyst_name)
        await pipeline.have_formed(
            wiring, io, wiring.formation, unformed={namespace: forgotten.unformed}
        )
        return forgotten

    @sync_form
    async def health(self, io: IO, namespace: NamespaceLike | None = None) -> Health:
        """Report the health of a namespace: figures, their meaning, and when to worry.

        The report is also a mapping of names to numbers. It reads every note with its history.

        Args:
            namespace: one label or several. None: only the notes by status and the events counted
                since opening, of the whole memory; that is quick.

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
        metrics = Metrics(
            io.now(),
            wiring.policy or DEFAULT_POLICY,
            wiring.covers,
            maintained=wiring.policy is not None,
        )
        return await measure(io, as_namespace(namespace), ledger, metrics)

    def count_event(self, event: str) -> None:
        """Count an event, such as what an adapter skipped, for `health` to show.

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
        """Scan the whole store for damage; an empty list means that all is well.

        Examples:
            >>> _ = memory.add("Tea at four")
            >>> memory.admin.check()
            []
        """
        return await check(io)

    @sync_form
    async def repair(self, io: IO) -> list[Finding]:
        """Repair what `check` finds, without losing content, and return the findings.

        Each finding says whether it is repaired. Notes that need it are formed again.

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

    def export(self, namespace: NamespaceLike) -> Iterator[str]:
        """Yield a namespace as lines of JSON: a header, one line a note, oldest first, and an end.

        A line holds the note, its links and its history, without a line end: of both at most the
        10,000 that are strongest or newest. Vectors are left out. The end holds the number of
        notes.

        Examples:
            >>> _ = memory.add("Tea at four", namespace="house")
            >>> lines = list(memory.admin.export("house"))
            >>> len(lines)
            3
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
        lines: Lines,
        *,
        namespace: NamespaceLike | None = None,
        replace: bool = False,
        trust: bool = False,
    ) -> Imported:
        """Add the notes that `export` wrote; no model is asked, and repeating changes nothing.

        A link to a note that is neither in the lines nor in the namespace is dropped and counted.
        If the end of the export is missing, or it counts other notes, the result says so.

        Args:
            lines: what `export` yielded; the async form also takes an async iterator.
            namespace: the target; None: the namespace that the lines name, if you trust them.
            replace: replace notes that exist under the same key in another state.
            trust: take each note as what its line says: its source, tier, confirmations and uses of
                links. Only for a file that nobody else could write, such as your own backup.
                Otherwise all notes get the source "import" and begin a new life.

        Returns:
            The numbers of what was added, replaced, kept and dropped.

        Raises:
            InvalidLineError: a line is invalid. The lines before it are imported, and importing
                again continues from there.
            StoreError: the store cannot be written.

        Examples:
            >>> _ = memory.add("Tea at four", namespace="house")
            >>> lines = list(memory.admin.export("house"))
            >>> imported = memory.admin.import_(lines)
            >>> imported.notes, imported.kept, imported.complete
            (0, 1, True)
        """
        wiring = self._wiring
        home = None if namespace is None else as_namespace(namespace)
        try:
            imported = await transfer.import_(
                io, lines, wiring.analyst_name, namespace=home, overwrite=replace, trust=trust
            )
        finally:
            # Also for what was imported before a line was found broken.
            if wiring.formation == "background":
                wiring.wake()
        if not imported.complete:
            wiring.settings.ledger.count("import.incomplete")
        unformed = {imported.namespace: imported.unformed}
        await pipeline.have_formed(wiring, io, wiring.formation, unformed=unformed)
        return imported

    @sync_form
    async def copy_to(
        self, io: IO, other: "MemoryPart", *, progress: Progress | None = None
    ) -> int:
        """Copy all namespaces into another memory, with the vectors of its embedder.

        Notes that exist there under the same ids are kept, so repeating the call continues.

        Args:
            other: an open memory.
            progress: called as progress(done, total).

        Returns:
            The number of notes copied.

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

    # -- the async forms -----------------------------------------------------------------------

    aretry = async_form(retry)
    aforget_namespace = async_form(forget_namespace)
    aforget_where = async_form(forget_where)
    ahealth = async_form(health)
    acheck = async_form(check)
    arepair = async_form(repair)
    aimport_ = async_form(import_)
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
