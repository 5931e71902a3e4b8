"""LangGraph's filters over values, as filters over notes.

A key names what is under it at the top of a value. Where a value has no such key, dots in it
lead into nested objects; a tuple of keys is a path and nothing else. A plain object asks for
each of its keys: `{"user": {"name": "Ann"}}` is met by every user of that name, and
`{"user": {"$eq": {...}}}` by exactly that object. Operators, and what equality and order
mean, are those of `stores.filters.language`.
A note that is no item is one `{"content": ...}`.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from amem_integrations.errors import InvalidFilterError
from amem_integrations.stores.filters.language import (
    And,
    Compare,
    Contains,
    Exists,
    Field,
    Filter,
    Negation,
    OneOf,
    Operator,
    Or,
    parse,
)

Path: TypeAlias = tuple[str, ...]
NoteFilter: TypeAlias = dict[Any, Any]


_VALUE = Exists(Field(("value",)))
_CONTENT = Field(("content",))
_NOTHING = Or(())


def filter_tree(written: Any) -> Filter:
    """Return the filter over notes that means the same.

    Raises InvalidFilterError for a filter that means nothing.
    """
    tree = parse(to_note_filter(written))
    return Or((And((_VALUE, tree)), And((Negation(_VALUE), _of_content(tree)))))


def _of_content(tree: Filter) -> Filter:
    """Return what a filter over values asks of `{"content": text}`."""
    match tree:
        case And(parts):
            return And(tuple(map(_of_content, parts)))
        case Or(parts):
            return Or(tuple(map(_of_content, parts)))
        case Negation(part):
            return Negation(_of_content(part))
        case OneOf(field, values) if _is_content(field):
            return OneOf(_CONTENT, values)
        case Exists(field) if _is_content(field):
            return Exists(_CONTENT)
        case Compare(field, operator, str(bound)) if _is_content(field):
            return Compare(_CONTENT, operator, bound)
        case Contains() | Compare():
            return _NOTHING
        case _:
            return tree


def _is_content(field: Field) -> bool:
    return field.path == ("value", "content")


def to_note_filter(written: Any) -> NoteFilter:
    """The filter over notes that means the same; what is wrong in it is left for its parser."""
    if not isinstance(written, Mapping):
        raise InvalidFilterError(
            f"A filter is a dict, such as {{'kind': 'fact'}}; got {type(written).__name__}."
        )
    items = cast("Mapping[Any, Any]", written).items()
    return _all([_entry(("value",), key, operand) for key, operand in items])


def _entry(at: Path, key: Any, operand: Any) -> NoteFilter:
    match key:
        case "$and" | "$or" if isinstance(operand, list | tuple):
            return {key: [to_note_filter(each) for each in cast("list[Any]", operand)]}
        case "$not":
            return {key: to_note_filter(operand)}
        case str() if key.startswith("$") and len(at) == 1:
            return {key: operand}
        case str():
            return _named(at, key, operand)
        case tuple():
            return _test((*at, *cast("Path", key)), operand)
        case _:
            raise InvalidFilterError(
                f"A filter's keys are strings, or tuples of strings; got {key!r}."
            )


def _named(at: Path, key: str, operand: Any) -> NoteFilter:
    whole = (*at, key)
    parts = key.split(".")
    if len(parts) == 1 or "" in parts:
        return _test(whole, operand)
    return {
        "$or": [
            _all([{whole: {"$exists": True}}, _test(whole, operand)]),
            _all([{whole: {"$exists": False}}, _test((*at, *parts), operand)]),
        ]
    }


def _test(path: Path, operand: Any) -> NoteFilter:
    if not isinstance(operand, Mapping) or not operand:
        return {path: dict([_possible(Operator.EQ, operand)])}
    tests = cast("Mapping[Any, Any]", operand)
    if any(isinstance(key, str) and key.startswith("$") for key in tests):
        return {path: dict(_possible(key, value) for key, value in tests.items())}
    return _all([_entry(path, key, value) for key, value in tests.items()])


def _possible(operator: Any, operand: Any) -> tuple[Any, Any]:
    """The test, or one that is always or never met where JSON has no such number."""
    if operator in ("$eq", "$ne") and isinstance(operand, float) and not math.isfinite(operand):
        return ("$in" if operator == "$eq" else "$nin"), []
    return operator, operand


def _all(parts: list[NoteFilter]) -> NoteFilter:
    return parts[0] if len(parts) == 1 else {"$and": parts}
