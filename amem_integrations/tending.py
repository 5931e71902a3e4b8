"""The part of AgenticMemory that an operator uses, in both forms.

Forming what waits, looking after what is stored, counting what it took.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from amem_integrations import forming, operations
from amem_integrations.forming import Rooms
from amem_integrations.ledger import UsageReport
from amem_integrations.lifecycle import forget as forgetting
from amem_integrations.lifecycle import repair as repairing
from amem_integrations.lifecycle.check import Finding, check
from amem_integrations.lifecycle.forget import Forgotten, forget_namespace
from amem_integrations.lifecycle.health import Health, Lenses, measure
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from amem_integrations.namespace import Namespace, as_namespace
from amem_integrations.note import Note, as_utc
from amem_integrations.operations import Forms, NamespaceLike, NoteLike
from amem_integrations.ports import IO, run
from amem_integrations.recall.distinct import same_as
from amem_integrations.store.usage import read_usage
from amem_integrations.weaving import form_note


class Tending(Forms):
    """Resuming, checking, counting, and forgetting much at once."""

    def resume(self) -> int:
        """Form every note that is still raw, oldest first; returns how many were formed.

        Each is tried once, also those that failed and would wait; those that another worker is at
        are left to it.

        Raises:
            StoreError: the store cannot be read or written.

        Examples:
            >>> note = memory.add("Formed when asked to", formation="off")
            >>> memory.resume()
            1
            >>> str(memory.get(note).status)
            'formed'
        """
        return run(forming.resume(self._rooms, self._sync))

    async def aresume(self) -> int:
        """`resume`, awaited."""
        return await forming.resume(self._rooms, self._async)

    def retry(self) -> int:
        """`resume`, parked notes included: those that were given up after repeated failures.

        Raises:
            StoreError: the store cannot be read or written.

        Examples:
            >>> note = memory.add("Understood, and then not")
            >>> str(memory.revert(note).status)
            'parked'
            >>> memory.retry()
            1
        """
        return run(forming.retry(self._rooms, self._sync))

    async def aretry(self) -> int:
        """`retry`, awaited."""
        return await forming.retry(self._rooms, self._async)

    def form(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Note:
        """Form one note now, though it was kept plain by `weave`, or given up.

        Args:
            note: the note, or its id.
            namespace: where an id is looked up.

        Returns:
            The note as it is now; one that was formed before stays as it is.

        Raises:
            NoteNotFoundError: there is no such note in the namespace.
            InvalidInputError: this can be no note.
            StoreError: it could not be written.

        Examples:
            >>> [note] = memory.weave("ok, thanks", session="s1").notes
            >>> str(note.status), str(memory.form(note).status)
            ('plain', 'formed')
        """
        return run(form_note(self._rooms, self._sync, note, namespace))

    async def aform(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Note:
        """`form`, awaited."""
        return await form_note(self._rooms, self._async, note, namespace)

    def forget_namespace(self, namespace: NamespaceLike) -> Forgotten:
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
            >>> memory.forget_namespace(("org", "calvin")).notes
            2
            >>> memory.namespaces()
            []
        """
        return run(_forget_namespace(self._rooms, self._sync, as_namespace(namespace)))

    async def aforget_namespace(self, namespace: NamespaceLike) -> Forgotten:
        """`forget_namespace`, awaited."""
        return await _forget_namespace(self._rooms, self._async, as_namespace(namespace))

    def forget_where(self, filter: Mapping[str, Any], *, namespace: NamespaceLike) -> Forgotten:
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
            >>> memory.forget_where({"speaker": "Bea"}, namespace="house").notes
            1
        """
        return run(_forget_where(self._rooms, self._sync, filter, as_namespace(namespace)))

    async def aforget_where(
        self, filter: Mapping[str, Any], *, namespace: NamespaceLike
    ) -> Forgotten:
        """`forget_where`, awaited."""
        return await _forget_where(self._rooms, self._async, filter, as_namespace(namespace))

    def health(self, namespace: NamespaceLike | None = None) -> Health:
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
            >>> health = memory.health("house")
            >>> health["formed"], health["orphans"], health.figure("orphans").meaning
            (1, 1.0, 'share of the formed notes without a link either way')
        """
        return run(_health(self._rooms, self._sync, namespace))

    async def ahealth(self, namespace: NamespaceLike | None = None) -> Health:
        """`health`, awaited."""
        return await _health(self._rooms, self._async, namespace)

    def count_event(self, event: str) -> None:
        """Count something that an adapter skipped or failed at, so that `health` shows it.

        Args:
            event: a short name with dots.

        Examples:
            >>> memory.count_event("mailbox.skipped")
            >>> memory.health()["mailbox.skipped"]
            1
        """
        self._rooms.settings.ledger.count(event)

    def usage(
        self, namespace: NamespaceLike | None = None, since: datetime | None = None
    ) -> UsageReport:
        """What model calls took, by step, by mode and in total, whichever process made them.

        Other processes tell of their calls by and by, when they are flushed and closed at the
        latest.

        Args:
            namespace: of exactly this one, otherwise of all.
            since: from the beginning of the UTC hour in which it lies; a naive datetime is taken as
                UTC.

        Raises:
            InvalidInputError: a value cannot be used.
            StoreError: the store cannot be read.

        Examples:
            >>> _ = memory.add("Tea at four")  # formed by statistics
            >>> memory.usage().total.calls
            0
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
        """Scan everything for what must not be there; empty when all is well.

        Raises:
            StoreError: the store cannot be read.

        Examples:
            >>> _ = memory.add("Tea at four")
            >>> memory.check()
            []
        """
        return run(check(self._sync))

    async def acheck(self) -> list[Finding]:
        """`check`, awaited."""
        return await check(self._async)

    def repair(self) -> list[Finding]:
        """Mend what `check` finds, without losing content; says of each whether it is mended.

        Notes that have to be formed again for it are, as `formation` says.

        Raises:
            StoreError: the store cannot be read or written.
            ModelError: the embedder gives no usable vectors; its own errors pass through.

        Examples:
            >>> memory.repair()  # nothing to mend
            []
        """
        return run(_repair(self._rooms, self._sync))

    async def arepair(self) -> list[Finding]:
        """`repair`, awaited."""
        return await _repair(self._rooms, self._async)


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


async def _repair(rooms: Rooms, io: IO) -> list[Finding]:
    repaired = await repairing.repair(io, rooms.analyst_name)
    for finding in repaired.findings:
        rooms.settings.ledger.count(f"{'repaired' if finding.mended else 'found'}.{finding.what}")
    await forming.have_formed(rooms, io, rooms.formation, unformed=repaired.unformed)
    return repaired.findings
