"""What a filter means on a note, in plain Python; and the door to the filter language.

`matches` is the reference that every engine is held to. `compile` gives the condition that
narrows a query down, and says whether `matches` must still be asked of what came back.
Recall and the key-value adapter call this.
"""

import operator
from collections.abc import Callable
from typing import Any

from amem_integrations.core.note import Note
from amem_integrations.stores.codec import micros
from amem_integrations.stores.facts import canonical
from amem_integrations.stores.filters.compile import Compiled, compile  # noqa: A004
from amem_integrations.stores.filters.language import count_tests, parse
from amem_integrations.stores.filters.tree import (
    And,
    Compare,
    Contains,
    Exists,
    Field,
    Filter,
    Kind,
    Negation,
    OneOf,
    Operator,
    Or,
)

__all__ = ["Compiled", "Filter", "compile", "count_tests", "matches", "parse"]

_MISSING = object()


def matches(filter: Filter, note: Note) -> bool:
    """Whether the note meets the filter: the reference that every engine is held to."""
    return _meets(filter, _Reader(note))


class _Reader:
    """Reads fields of one note, and parses its JSON once."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._roots: dict[str, Any] = {}

    def __call__(self, field: Field) -> Any:
        if field.name not in self._roots:
            self._roots[field.name] = self._root(field)
        value = self._roots[field.name]
        for key in field.path[1:]:
            if not isinstance(value, dict) or key not in value:
                return _MISSING
            value = value[key]  # pyright: ignore[reportUnknownVariableType]
        return value  # pyright: ignore[reportUnknownVariableType]

    def _root(self, field: Field) -> Any:
        if field.name == "value" and self._note.value_json is None:
            return _MISSING
        value = getattr(self._note, field.name)
        if field.kind is Kind.JSON:
            return value
        if value is None:
            return _MISSING
        return micros(value) if field.kind is Kind.TIME else value


def _meets(filter: Filter, read: _Reader) -> bool:
    match filter:
        case And(parts):
            return all(_meets(part, read) for part in parts)
        case Or(parts):
            return any(_meets(part, read) for part in parts)
        case Negation(part):
            return not _meets(part, read)
        case Exists(field):
            return read(field) is not _MISSING
        case OneOf(field, values):
            return (value := read(field)) is not _MISSING and canonical(value) in values
        case Contains(field, wanted):
            value = read(field)
            return isinstance(value, list | tuple) and any(
                canonical(item) == wanted
                for item in value  # pyright: ignore[reportUnknownVariableType]
            )
        case Compare(field, op, bound):
            return _in_range(read(field), op, bound)


_COMPARISONS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.GT: operator.gt,
    Operator.GTE: operator.ge,
    Operator.LT: operator.lt,
    Operator.LTE: operator.le,
}


def _in_range(value: Any, op: Operator, bound: int | float | str) -> bool:
    comparable = (
        isinstance(value, str)
        if isinstance(bound, str)
        else isinstance(value, int | float) and not isinstance(value, bool)
    )
    return comparable and _COMPARISONS[op](value, bound)
