"""The files of other programs for `amem import`: surveyed first, stored, and reported on."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from amem_integrations import __version__
from amem_integrations.cli import terminal
from amem_integrations.cli.terminal import Advance
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.importers.items import BROKEN, Item
from amem_integrations.importers.kinds import KINDS, read_items
from amem_integrations.importers.writer import export_lines, store_turn
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.turns import Remember

_NAMED = 5


class Foreign:
    """A file of another program, on its way into a namespace.

    `survey` reads all of it once, so that nothing is stored, and no memory made, of a file that
    cannot be read, and so that it is known how much there is. `store` reads it again.
    """

    def __init__(
        self,
        path: Path,
        kind: str,
        namespace: Namespace,
        *,
        trust: bool,
        replace: bool,
        remember: Remember,
    ) -> None:
        self._path, self._kind, self._namespace = path, kind, namespace
        self._trust, self._replace = trust, replace
        self._remember: Remember = remember
        self._total = 0
        self._left_out: Counter[str] = Counter()
        self._counts = dict.fromkeys(("notes", "replaced", "kept", "skipped"), 0)
        self._waiting = 0
        self._named: list[str] = []

    @property
    def things(self) -> str:
        """What its items are called."""
        return "turns" if KINDS[self._kind].is_chat else "notes"

    @property
    def broken(self) -> int:
        """How many entries cannot be read."""
        return self._left_out[BROKEN]

    def survey(self) -> None:
        """Count the items and what is left out. Raises InvalidInputError if there are no items."""
        for entry in read_items(self._path, self._kind):
            if isinstance(entry, Item):
                self._total += 1
                continue
            self._left_out[entry.reason] += 1
            if entry.where and len(self._named) < _NAMED:
                self._named.append(entry.where)
        if not self._total:
            first = f" ({self._named[0]})" if self._named else ""
            raise InvalidInputError(
                f"There is nothing to import in {self._path}, read as {KINDS[self._kind].title}"
                f"{terminal.counts(*self._reasons())}{first}."
            )

    def store(self, memory: AgenticMemory, bar: Callable[..., Advance]) -> None:
        """Store every item, in the order of the file."""
        if KINDS[self._kind].is_chat:
            self._store_turns(memory, bar("Importing"))
        else:
            self._store_notes(memory, bar)

    def _items(self) -> Iterator[Item]:
        entries = read_items(self._path, self._kind)
        return (entry for entry in entries if isinstance(entry, Item))

    def _store_turns(self, memory: AgenticMemory, advance: Advance) -> None:
        places: Counter[str | None] = Counter()
        for done, item in enumerate(self._items(), 1):
            store = partial(
                store_turn,
                item=item,
                sequence=places[item.session],
                namespace=self._namespace,
                trust=self._trust,
                replace=self._replace,
                remember=self._remember,
            )
            places[item.session] += 1
            notes, known = memory.perform(store)
            skipped = sum(note.status is Status.SKIPPED for note in notes)
            new = "replaced" if known else "notes"
            self._counts["kept" if known and not self._replace else new] += len(notes) - skipped
            self._counts["skipped"] += skipped + (not notes)
            self._waiting += sum(note.status is Status.RAW for note in notes)
            advance(done, self._total)

    def _store_notes(self, memory: AgenticMemory, bar: Callable[..., Advance]) -> None:
        advance = bar("Importing")

        def reported() -> Iterator[Item]:
            for done, item in enumerate(self._items()):
                advance(done, self._total)
                yield item

        lines = export_lines(reported(), self._namespace, __version__)
        imported = memory.admin.import_(
            lines, namespace=self._namespace, replace=self._replace, trust=self._trust
        )
        self._counts |= {name: getattr(imported, name) for name in ("notes", "replaced", "kept")}
        advance = bar("Forming", "formed")
        for done, item in enumerate(self._items(), 1):
            note = memory.get(key=item.key, namespace=self._namespace)
            if note is not None and note.status is Status.RAW:
                note = memory.form(note)
                self._waiting += note.status is Status.RAW
            advance(done, self._total)

    @property
    def report(self) -> dict[str, Any]:
        """What was done, for JSON."""
        return {
            "kind": self._kind,
            "namespace": list(self._namespace),
            "items": self._total,
            **self._counts,
            "waiting": self._waiting,
            "left_out": dict(self._left_out),
            "broken": self._named,
        }

    @property
    def lines(self) -> Iterator[str]:
        """What was done, for a reader."""
        counts = terminal.counts(
            (self._counts["replaced"], "replaced"),
            (self._counts["kept"], "kept as they were"),
            (self._counts["skipped"], "small talk, repetitions and the like, skipped"),
            *self._reasons(),
        )
        notes = terminal.many(self._counts["notes"], "note")
        read = terminal.many(self._total, self.things[:-1])
        home = "/".join(self._namespace)
        yield f"Namespace {home}: {notes} added from {read} of {KINDS[self._kind].title}{counts}."
        if self._waiting:
            waiting = terminal.many(self._waiting, "note")
            yield f"To be formed: {waiting}; `amem admin retry` does it now."
        for where in self._named:
            yield f"Broken: {where}"
        if self.broken > len(self._named):
            yield f"And {self.broken - len(self._named):,} more."

    def _reasons(self) -> Iterator[tuple[int, str]]:
        return ((count, f"left out, {reason}") for reason, count in self._left_out.items())
