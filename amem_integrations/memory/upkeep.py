"""Upkeep: a little maintenance with the writes, where no worker does it.

A memory that forms inline has no worker. After every few notes of a namespace, one bounded step
of maintenance is done there: notes are compared, uses counted, tiers and audits updated.
"""

import logging
from threading import Lock

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.errors import AMemError, StoreClosedError, loggable
from amem_integrations.formation.state import Settings
from amem_integrations.lifecycle.maintenance import maintain
from amem_integrations.lifecycle.policy import Policy

_LOG = logging.getLogger(__name__)

EVERY = 16
"""Notes of a namespace between two steps."""
_MOST = 64
# Namespaces whose notes are counted; of more, the oldest counts begin anew.
_COUNTED = 10_000


class Upkeep:
    """Counts the notes added to each namespace, and does a step when there are enough."""

    def __init__(self, policy: Policy, settings: Settings) -> None:
        self._policy = policy
        self._settings = settings
        self._added: dict[Namespace, int] = {}
        self._lock = Lock()

    async def after(self, io: IO, namespace: Namespace, added: int) -> bool:
        """Note that so many notes were added; whether a step was done. It fails no write."""
        if not self._is_due(namespace, added):
            return False
        try:
            await maintain(io, namespace, self._policy, self._settings.analyst_name, most=_MOST)
        except StoreClosedError:
            raise
        except AMemError as error:
            broke_off(self._settings, error)
        return True

    def _is_due(self, namespace: Namespace, added: int) -> bool:
        with self._lock:
            total = self._added.pop(namespace, 0) + added
            if total >= EVERY:
                return True
            self._added[namespace] = total
            if len(self._added) > _COUNTED:
                del self._added[next(iter(self._added))]
            return False


def broke_off(settings: Settings, error: AMemError) -> None:
    """Count and log it. Nothing of it is lost, and whatever else was being done goes on."""
    settings.ledger.count("maintain.failed")
    _LOG.warning("Maintenance broke off (%s).", loggable(error))
