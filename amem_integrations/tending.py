"""The part of AgenticMemory that an operator uses, in both forms.

Forming what waits, looking after what is stored, counting what it took.
"""

from collections.abc import Mapping

from amem_integrations import operations
from amem_integrations.ledger import Usage
from amem_integrations.lifecycle.check import Finding, check
from amem_integrations.lifecycle.forget import Forgotten, forget_namespace
from amem_integrations.namespace import as_namespace
from amem_integrations.operations import Forms, NamespaceLike
from amem_integrations.ports import run


class Tending(Forms):
    """Resuming, checking, counting, and forgetting much at once."""

    def resume(self, *, retry_parked: bool = False) -> int:
        """Form every note that is still raw, oldest first; returns how many were formed.

        retry_parked: also those that were given up after repeated failures.
        """
        return run(operations.resume(self._rooms, self._sync, retry_parked=retry_parked))

    async def aresume(self, *, retry_parked: bool = False) -> int:
        """`resume`, awaited."""
        return await operations.resume(self._rooms, self._async, retry_parked=retry_parked)

    def forget_namespace(self, namespace: NamespaceLike) -> Forgotten:
        """Remove every note of exactly this namespace."""
        return run(forget_namespace(self._sync, as_namespace(namespace)))

    async def aforget_namespace(self, namespace: NamespaceLike) -> Forgotten:
        """`forget_namespace`, awaited."""
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

    def usage(self, namespace: NamespaceLike | None = None) -> Mapping[str, Usage]:
        """Model calls, tokens and seconds since opening, by step and in total."""
        return self._rooms.settings.ledger.usage(
            None if namespace is None else as_namespace(namespace)
        )

    def check(self) -> list[Finding]:
        """Scan everything for what must not be there; empty when all is well."""
        return run(check(self._sync))

    async def acheck(self) -> list[Finding]:
        """`check`, awaited."""
        return await check(self._async)
