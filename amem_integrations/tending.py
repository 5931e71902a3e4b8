"""The part of AgenticMemory that an operator uses, in both forms.

Forming what waits, looking after what is stored, counting what it took.
"""

from datetime import datetime

from amem_integrations import operations
from amem_integrations.ledger import UsageReport
from amem_integrations.lifecycle.check import Finding, check
from amem_integrations.lifecycle.forget import Forgotten, forget_namespace
from amem_integrations.namespace import as_namespace
from amem_integrations.note import as_utc
from amem_integrations.operations import Forms, NamespaceLike
from amem_integrations.ports import IO, run
from amem_integrations.store.usage import read_usage


class Tending(Forms):
    """Resuming, checking, counting, and forgetting much at once."""

    def resume(self) -> int:
        """Form every note that is still raw, oldest first; returns how many were formed.

        Each is tried once, also those that failed and would wait; those that another worker
        is at are left to it.
        """
        return run(operations.resume(self._rooms, self._sync))

    async def aresume(self) -> int:
        """`resume`, awaited."""
        return await operations.resume(self._rooms, self._async)

    def retry(self) -> int:
        """`resume`, parked notes included: those that were given up after repeated failures."""
        return run(operations.retry(self._rooms, self._sync))

    async def aretry(self) -> int:
        """`retry`, awaited."""
        return await operations.retry(self._rooms, self._async)

    def forget_namespace(self, namespace: NamespaceLike) -> Forgotten:
        """Remove every note of exactly this namespace, and what model calls took for it."""
        self._rooms.settings.ledger.forget(as_namespace(namespace))
        return run(forget_namespace(self._sync, as_namespace(namespace)))

    async def aforget_namespace(self, namespace: NamespaceLike) -> Forgotten:
        """`forget_namespace`, awaited."""
        self._rooms.settings.ledger.forget(as_namespace(namespace))
        return await forget_namespace(self._async, as_namespace(namespace))

    def health(self, namespace: NamespaceLike | None = None) -> dict[str, int]:
        """Notes by status, and every event counted since opening: dropped, failed, redone."""
        return {
            **run(operations.counts(self._sync, namespace)),
            **self._rooms.settings.ledger.events(),
        }

    async def ahealth(self, namespace: NamespaceLike | None = None) -> dict[str, int]:
        """`health`, awaited."""
        counts = await operations.counts(self._async, namespace)
        return {**counts, **self._rooms.settings.ledger.events()}

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
