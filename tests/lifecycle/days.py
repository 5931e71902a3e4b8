"""A clock that a test moves on by days."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from amem_integrations import AgenticMemory, Policy
from amem_integrations.core.io import run
from amem_integrations.core.note import Link, Note
from amem_integrations.lifecycle.maintenance import Maintained
from amem_integrations.revisions.change import change_notes, revised
from amem_integrations.stores.read import load
from tests.support import io_of

PRUNING = Policy(min_link_weight=0.05)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


class Days:
    """As a `clock=`; it stands still until it is told how many days pass."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def __iadd__(self, days: float) -> "Days":
        self.now += timedelta(days=days)
        return self


class Lived:
    """A memory, the clock that it goes by, and a namespace of its own."""

    def __init__(self, memory: AgenticMemory, days: Days, namespace: str) -> None:
        self.memory = memory
        self.days = days
        self.namespace = namespace

    def add(self, text: str, **said: Any) -> str:
        """The id of a new note."""
        return self.memory.add(text, namespace=self.namespace, **said).id

    def note(self, id: str) -> Note:
        """The note as it is stored."""
        return run(load(io_of(self.memory), [id], (self.namespace,)))[id]

    def use(self, *ids: str, session: str | None = None, days: float = 1, **how: Any) -> None:
        """Report a use of these notes, some days later."""
        self.days += days
        self.memory.lifecycle.feedback(list(ids), session=session, namespace=self.namespace, **how)

    def maintain(self, days: float = 0) -> Maintained:
        """What maintenance does, some days later."""
        self.days += days
        return self.memory.lifecycle.maintain(self.namespace)

    def link(
        self,
        source: str,
        to: str,
        weight: float = 0.5,
        kind: str = "related",
        change: str = "formed",
    ) -> None:
        """Have one note link to another, by a change of this kind."""
        before = self.note(source)
        link = Link(source, to, "for a test", self.days(), kind, weight)
        links = (*(each for each in before.outgoing if each.to != to), link)
        after = revised(before, replace(before, links=links), change, source, self.days(), "tests")
        assert run(change_notes(io_of(self.memory), [(before, after)]))
