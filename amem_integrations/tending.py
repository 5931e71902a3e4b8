"""The part of AgenticMemory that an operator uses, in both forms.

Forming what waits, looking after what is stored, counting what it took.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from amem_integrations import __version__, forming, operations
from amem_integrations.errors import InvalidInputError
from amem_integrations.forming import Rooms
from amem_integrations.ledger import UsageReport
from amem_integrations.lifecycle import forget as forgetting
from amem_integrations.lifecycle import import_ as importing
from amem_integrations.lifecycle import repair as repairing
from amem_integrations.lifecycle.check import Finding, check
from amem_integrations.lifecycle.copy import copy
from amem_integrations.lifecycle.export import export
from amem_integrations.lifecycle.forget import Forgotten, forget_namespace
from amem_integrations.lifecycle.health import Health, Lenses, measure
from amem_integrations.lifecycle.import_ import Imported, Line, Lines
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from amem_integrations.namespace import Namespace, as_namespace
from amem_integrations.note import Note, as_utc
from amem_integrations.operations import Forms, NamespaceLike, NoteLike, Progress
from amem_integrations.ports import IO, run
from amem_integrations.recall.distinct import same_as
from amem_integrations.store.usage import read_usage
from amem_integrations.weaving import form_note


class Tending(Forms):
    """Resuming, checking, counting, and forgetting much at once."""

    def resume(self) -> int:
        """Form every note that is still raw, oldest first; returns how many were formed.

        Each is tried once, also those that failed and would wait; those that another worker
        is at are left to it.
        """
        return run(forming.resume(self._rooms, self._sync))

    async def aresume(self) -> int:
        """`resume`, awaited."""
        return await forming.resume(self._rooms, self._async)

    def retry(self) -> int:
        """`resume`, parked notes included: those that were given up after repeated failures."""
        return run(forming.retry(self._rooms, self._sync))

    async def aretry(self) -> int:
        """`retry`, awaited."""
        return await forming.retry(self._rooms, self._async)

    def form(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Note:
        """Form one note now, though it was kept plain by `weave`, or given up.

        A note that is formed stays as it is. Raises NoteNotFoundError.
        """
        return run(form_note(self._rooms, self._sync, note, namespace))

    async def aform(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Note:
        """`form`, awaited."""
        return await form_note(self._rooms, self._async, note, namespace)

    def forget_namespace(self, namespace: NamespaceLike) -> Forgotten:
        """Remove every note of exactly this namespace, and what model calls took for it."""
        return run(_forget_namespace(self._rooms, self._sync, as_namespace(namespace)))

    async def aforget_namespace(self, namespace: NamespaceLike) -> Forgotten:
        """`forget_namespace`, awaited."""
        return await _forget_namespace(self._rooms, self._async, as_namespace(namespace))

    def forget_where(self, filter: Mapping[str, Any], *, namespace: NamespaceLike) -> Forgotten:
        """Remove every note of the namespace that meets a filter, and what each had caused.

        Which they are is settled before the first is removed. Raises InvalidFilterError, also
        for a filter that asks for nothing.
        """
        return run(_forget_where(self._rooms, self._sync, filter, as_namespace(namespace)))

    async def aforget_where(
        self, filter: Mapping[str, Any], *, namespace: NamespaceLike
    ) -> Forgotten:
        """`forget_where`, awaited."""
        return await _forget_where(self._rooms, self._async, filter, as_namespace(namespace))

    def export(self, namespace: NamespaceLike) -> Iterator[str]:
        """The notes of a namespace with all that is kept of them, as lines of JSON.

        A header first, then a line a note, oldest first, read page by page; without line ends.
        Vectors are left out, as they follow from the texts.
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

        namespace: where to; None for the one that the lines name, which should be those of
        somebody you trust. replace: let lines take the place of notes that are there under the
        same key in another state; otherwise these are kept.
        Links lead to the same notes in their new place; one to a note that is neither among the
        lines nor in the namespace is dropped and counted. Importing twice changes nothing.
        Raises InvalidLineError for a line that cannot be used; what stands before it was
        imported, and importing again goes on from there.
        """
        home = None if namespace is None else as_namespace(namespace)
        return run(_import(self._rooms, self._sync, lines, home, replace))

    async def aimport_(
        self, lines: Lines, *, namespace: NamespaceLike | None = None, replace: bool = False
    ) -> Imported:
        """`import_`, awaited; the lines may come from an async iterator, such as `aexport`."""
        home = None if namespace is None else as_namespace(namespace)
        return await _import(self._rooms, self._async, lines, home, replace)

    def copy_to(self, other: "Tending", *, progress: Progress | None = None) -> int:
        """Copy everything, all namespaces, into another memory, embedded by the other's embedder.

        What is stored there under the same ids stays as it is, so that repeating it goes on where
        it was broken off. progress: called as progress(done, total), of everything stored.
        Returns how many notes were copied. Raises InvalidInputError, StoreError, ModelError.
        """
        return run(copy(self._sync, _other(self, other)._sync, progress))

    async def acopy_to(self, other: "Tending", *, progress: Progress | None = None) -> int:
        """`copy_to`, awaited."""
        return await copy(self._async, _other(self, other)._async, progress)

    def health(self, namespace: NamespaceLike | None = None) -> Health:
        """How a namespace is doing: a report of figures, with what they mean and when to worry.

        A mapping of names to numbers, too. It reads every note of the namespace with its history.
        None: the whole memory, of which there are only the notes by status and every event
        counted since opening (dropped, failed, redone); that is quick. Raises StoreError.
        """
        return run(_health(self._rooms, self._sync, namespace))

    async def ahealth(self, namespace: NamespaceLike | None = None) -> Health:
        """`health`, awaited."""
        return await _health(self._rooms, self._async, namespace)

    def count_event(self, event: str) -> None:
        """Count something that an adapter skipped or failed at, so that `health` shows it."""
        self._rooms.settings.ledger.count(event)

    def usage(
        self, namespace: NamespaceLike | None = None, since: datetime | None = None
    ) -> UsageReport:
        """What model calls took, by step, by mode and in total, whichever process made them.

        namespace: of exactly this one, otherwise of all. since: from the beginning of the UTC
        hour in which it lies; a naive datetime is taken as UTC. Other processes tell of their
        calls by and by, when they are flushed and closed at the latest.
        """
        return run(self._usage(self._sync, namespace, since))

    async def ausage(
        self, namespace: NamespaceLike | None = None, since: datetime | None = None
    ) -> UsageReport:
        """`usage`, awaited."""
        return await self._usage(self._async, namespace, since)

    async def _usage(
        self, io: IO, namespace: NamespaceLike | None, since: datetime | None
    ) -> UsageReport:
        return await read_usage(
            io,
            self._rooms.settings.ledger,
            None if namespace is None else as_namespace(namespace),
            None if since is None else as_utc(since),
        )

    def check(self) -> list[Finding]:
        """Scan everything for what must not be there; empty when all is well."""
        return run(check(self._sync))

    async def acheck(self) -> list[Finding]:
        """`check`, awaited."""
        return await check(self._async)

    def repair(self) -> list[Finding]:
        """Mend what `check` finds, without losing content; says of each whether it is mended.

        Notes that have to be formed again for it are, as `formation` says.
        """
        return run(_repair(self._rooms, self._sync))

    async def arepair(self) -> list[Finding]:
        """`repair`, awaited."""
        return await _repair(self._rooms, self._async)


def _other(memory: Tending, other: object) -> Tending:
    if not isinstance(other, Tending) or other is memory:
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


async def _health(rooms: Rooms, io: IO, namespace: NamespaceLike | None) -> Health:
    ledger = rooms.settings.ledger
    if namespace is None:
        return Health(None, await operations.counts(io, None), ledger.events())
    lenses = Lenses(same_as, rooms.covers)
    policy, kept = rooms.policy or DEFAULT_POLICY, rooms.policy is not None
    return await measure(io, as_namespace(namespace), policy, ledger, lenses, kept=kept)


async def _forget_namespace(rooms: Rooms, io: IO, namespace: Namespace) -> Forgotten:
    rooms.settings.ledger.forget(namespace)
    forgotten = await forget_namespace(io, namespace)
    rooms.recalls.drop(namespace)
    return forgotten


async def _forget_where(
    rooms: Rooms, io: IO, filter: Mapping[str, Any], namespace: Namespace
) -> Forgotten:
    forgotten = await forgetting.forget_where(io, filter, namespace, rooms.analyst_name)
    rooms.recalls.drop(namespace)
    await forming.have_formed(rooms, io, rooms.formation, unformed={namespace: forgotten.unformed})
    return forgotten


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


async def _repair(rooms: Rooms, io: IO) -> list[Finding]:
    repaired = await repairing.repair(io, rooms.analyst_name)
    for finding in repaired.findings:
        rooms.settings.ledger.count(f"{'repaired' if finding.mended else 'found'}.{finding.what}")
    await forming.have_formed(rooms, io, rooms.formation, unformed=repaired.unformed)
    return repaired.findings
