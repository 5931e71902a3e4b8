"""A clock that a test moves on by days."""

from datetime import UTC, datetime, timedelta

from amem_integrations import AgenticMemory
from tests.support import open_memory

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
    """A memory and the clock that it goes by."""

    def __init__(self, **settings: object) -> None:
        self.days = Days()
        settings.setdefault("lifecycle", True)
        self.memory: AgenticMemory = open_memory(clock=self.days, **settings)

    def add(self, text: str, **said: object) -> str:
        """The id of a new note."""
        return self.memory.add(text, **said).id  # pyright: ignore[reportArgumentType]

    def use(self, *ids: str, session: str | None = None, days: float = 1, **how: object) -> None:
        """Report a use of these notes, some days later."""
        self.days += days
        self.memory.feedback(list(ids), session=session, **how)  # pyright: ignore[reportArgumentType]
