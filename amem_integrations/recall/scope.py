"""Which notes a search may return: one namespace, a filter, a moment, and what is not hidden.

`search` and `expand` both take their notes through a scope, so that no way of finding a
note gets around it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.filters import Condition, Not, Range, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status, as_utc
from amem_integrations.stores.codec import micros, within
from amem_integrations.stores.filters import match as filters
from amem_integrations.stores.filters.tree import And, Filter, Negation, Or
from amem_integrations.stores.read import load

Believe: TypeAlias = Callable[[Note], Note]

_SHOWN = (Status.RAW, Status.PLAIN, Status.FORMED, Status.PARKED)


@dataclass(frozen=True, slots=True)
class Scope:
    """`where` is met by every note that may be returned.

    unverified: a filter that `where` only approximates, to be held against the notes read.
    believe: what is computed of each note that is read.
    """

    namespace: Namespace
    where: Condition
    unverified: Filter | None = None
    believe: Believe | None = None

    async def load(self, io: IO, ids: Iterable[str]) -> dict[str, Note]:
        """Those of the notes found under `where` that may be returned, in the order of `ids`."""
        notes = await load(io, ids, self.namespace)
        if self.unverified is not None:
            known = notes.items()
            notes = {id: note for id, note in known if filters.matches(self.unverified, note)}
        if self.believe is not None:
            notes = {id: self.believe(note) for id, note in notes.items()}
        return notes


def scope_of(namespace: Namespace, filter: Mapping[Any, Any] | None, at: datetime | None) -> Scope:
    """The scope of a search; see `search` for what `filter` and `at` mean.

    Raises InvalidFilterError and InvalidInputError.
    """
    parts: list[Condition] = []
    unverified: Filter | None = None
    tree = filters.parse(filter)
    if not _asks_for_status(tree):
        parts.append(match("status", *_SHOWN))
    if at is not None:
        parts.extend(_known_at(micros(as_utc(at))))
    if filter:
        compiled = filters.compile(tree)
        parts.append(compiled.condition)
        unverified = None if compiled.exact else tree
    return Scope(namespace, within(namespace, *parts), unverified)


def _asks_for_status(tree: Filter) -> bool:
    match tree:
        case And(parts) | Or(parts):
            return any(map(_asks_for_status, parts))
        case Negation(part):
            return _asks_for_status(part)
        case _:
            return tree.field.name == "status"


def _known_at(instant: int) -> tuple[Condition, Condition]:
    """Notes said by then; those that do not say when, written by then."""
    return (
        Not(Range("occurred_at", gt=instant)),
        AnyOf((Range("occurred_at", lte=instant), Range("created_at", lte=instant))),
    )
