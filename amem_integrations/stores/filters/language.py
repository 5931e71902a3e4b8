"""The filter language over notes: what a caller may write, made into a tree.

    {"tags": {"$contains": "db"}, "metadata.priority": {"$gte": 2}, "session": "s1",
     "$or": [{"speaker": "Ann"}, {"occurred_at": {"$lt": datetime(2026, 1, 1)}}],
     "$not": {"status": "archived"}}

Several fields, and several operators on one field, must all hold. `parse` makes a tree of plain
values, which `match` evaluates and compiles for an engine.

*Operand or operators?* A dict under a field whose keys all start with "$" is operators; any
other value, dicts included, stands for `{"$eq": value}`. Mixed keys are refused, and `$eq`
compares with an object whose keys start with "$".

*Where?* "metadata.a.b" is key "b" of the object at key "a" of the metadata. A key that holds
a dot, or is empty, is reached by a tuple: `{("metadata", "a.b"): 1}`. Paths lead through
objects only, never into arrays.

*Equality* is JSON's: 1 equals 1.0; true, "1" and [1] do not; arrays and objects are compared
whole. Only of tags and keywords, a string means the lists that hold it: `{"tags": "db"}`,
`{"tags": {"$in": ["db", "cache"]}}`. `$contains` asks whether an array has an element; it does
not search in text.

*Missing.* A field that is not there meets no test but `{"$exists": False}`. So `$ne` and
`$nin` need the field to be there, as they do in LangGraph's Postgres and SQLite stores;
`{"$not": {"speaker": "Ann"}}` includes notes without a speaker. null is there.

*Ranges* compare numbers with numbers and strings, by code point, with strings; any other
pair is out of range. Times are datetimes (naive means UTC) or ISO 8601 strings.
"""

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, TypeAlias, cast

from amem_integrations.core import json_value
from amem_integrations.core.note import Status, as_utc
from amem_integrations.errors import InvalidFilterError, InvalidInputError
from amem_integrations.stores.codec import micros
from amem_integrations.stores.facts import canonical

MAX_DEPTH = 16
MAX_TESTS = 1000


class Kind(Enum):
    """What a field holds, and so which operators it takes."""

    TEXT = "text"
    STATUS = "a status"
    TERMS = "a list of text"
    INTEGER = "a number"
    TIME = "a time"
    JSON = "any JSON"


class Operator(StrEnum):
    EQ = "$eq"
    NE = "$ne"
    IN = "$in"
    NIN = "$nin"
    EXISTS = "$exists"
    CONTAINS = "$contains"
    GT = "$gt"
    GTE = "$gte"
    LT = "$lt"
    LTE = "$lte"


FIELDS: Mapping[str, Kind] = {
    "content": Kind.TEXT,
    "context": Kind.TEXT,
    "key": Kind.TEXT,
    "speaker": Kind.TEXT,
    "session": Kind.TEXT,
    "source_id": Kind.TEXT,
    "status": Kind.STATUS,
    "tags": Kind.TERMS,
    "keywords": Kind.TERMS,
    "sequence": Kind.INTEGER,
    "occurred_at": Kind.TIME,
    "created_at": Kind.TIME,
    "updated_at": Kind.TIME,
    "metadata": Kind.JSON,
    "value": Kind.JSON,
}

_EQUALITY = (Operator.EQ, Operator.NE, Operator.IN, Operator.NIN, Operator.EXISTS)
_RANGES = (Operator.GT, Operator.GTE, Operator.LT, Operator.LTE)
OPERATORS: Mapping[Kind, tuple[Operator, ...]] = {
    Kind.TEXT: (*_EQUALITY, *_RANGES),
    Kind.STATUS: _EQUALITY,
    Kind.TERMS: (*_EQUALITY, Operator.CONTAINS),
    Kind.INTEGER: (*_EQUALITY, *_RANGES),
    Kind.TIME: (*_EQUALITY, *_RANGES),
    Kind.JSON: (*_EQUALITY, Operator.CONTAINS, *_RANGES),
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a note; `path` starts with its name and goes on with JSON keys below it."""

    path: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path[0]

    @property
    def kind(self) -> Kind:
        return FIELDS[self.name]

    def __str__(self) -> str:
        return reprlib.repr(".".join(self.path))


@dataclass(frozen=True, slots=True)
class OneOf:
    """The field equals one of `values`, which are in canonical form."""

    field: Field
    values: frozenset[Any]


@dataclass(frozen=True, slots=True)
class Contains:
    """The field is an array with an element equal to `value`, which is in canonical form."""

    field: Field
    value: Any


@dataclass(frozen=True, slots=True)
class Exists:
    field: Field


@dataclass(frozen=True, slots=True)
class Compare:
    """The field lies on one side of `bound`: a number or a string; microseconds for a time."""

    field: Field
    operator: Operator
    bound: int | float | str


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Negation:
    part: "Filter"


Filter: TypeAlias = OneOf | Contains | Exists | Compare | And | Or | Negation

ANYTHING = And(())


# -- reading ------------------------------------------------------------------------------------


def parse(written: Mapping[Any, Any] | Filter | None) -> Filter:
    """The tree of a filter; None and {} are met by every note. A tree is returned as it is.

    Raises InvalidFilterError for an unknown field or operator, an operand of the wrong type,
    nesting beyond MAX_DEPTH or more than MAX_TESTS tests.
    """
    if isinstance(written, Filter):
        return written
    tree = ANYTHING if written is None else _filter(written, 1)
    if (tests := count_tests(tree)) > MAX_TESTS:
        raise InvalidFilterError(
            f"A filter has at most {MAX_TESTS} tests; this one has {tests}. "
            'Ask for many values of one field with {"$in": [...]}.'
        )
    return tree


def count_tests(tree: Filter) -> int:
    """How many fields are asked for something; 0 for a filter that every note meets or none."""
    match tree:
        case And(parts) | Or(parts):
            return sum(map(count_tests, parts))
        case Negation(part):
            return count_tests(part)
        case _:
            return 1


def _filter(written: Any, depth: int) -> Filter:
    if not isinstance(written, Mapping):
        raise InvalidFilterError(
            f"A filter is a dict of fields, such as {{'speaker': 'Ann'}}; "
            f"got {type(written).__name__}."
        )
    if depth > MAX_DEPTH:
        raise InvalidFilterError(f"A filter is nested at most {MAX_DEPTH} levels deep.")
    items = cast("Mapping[Any, Any]", written).items()
    return _and([_entry(key, operand, depth) for key, operand in items])


def _and(parts: list[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _entry(key: Any, operand: Any, depth: int) -> Filter:
    match key:
        case "$and":
            return And(tuple(_filter(part, depth + 1) for part in _list(key, operand)))
        case "$or":
            return Or(tuple(_filter(part, depth + 1) for part in _list(key, operand)))
        case "$not":
            return Negation(_filter(operand, depth + 1))
        case str() if key.startswith("$"):
            raise InvalidFilterError(
                f"{reprlib.repr(key)} cannot stand here: around fields there are $and, $or and "
                f"$not; under a field, {', '.join(Operator)}."
            )
        case _:
            field = _field(key)
            return _and([_test(field, *test) for test in _tests(field, operand)])


def _list(operator: str, operand: Any) -> list[Any]:
    if not isinstance(operand, list | tuple | set | frozenset):
        raise InvalidFilterError(f"{operator} takes a list; got {type(operand).__name__}.")
    return list(cast("list[Any]", operand))


def _field(key: Any) -> Field:
    field = Field(_path(key))
    if field.name not in FIELDS:
        raise InvalidFilterError(
            f"Unknown field {field}. There are {', '.join(FIELDS)}; "
            "a key of your own is reached as 'metadata.<key>' or 'value.<key>'."
        )
    if len(field.path) > 1 and field.kind is not Kind.JSON:
        raise InvalidFilterError(
            f"Field {field}: nothing lies below {field.name}. "
            "A key of your own is reached as 'metadata.<key>' or 'value.<key>'."
        )
    return field


def _path(key: Any) -> tuple[str, ...]:
    if isinstance(key, str):
        path = tuple(key.split("."))
        if "" in path[1:]:
            raise InvalidFilterError(
                f"Field {reprlib.repr(key)} has an empty key between its dots. A key that is "
                "empty or holds dots is reached by a tuple: ('metadata', 'a.b')."
            )
        return path
    path = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else ()
    if not path or not all(isinstance(part, str) for part in path):
        raise InvalidFilterError(
            f"A field is a string or a tuple of strings; got {reprlib.repr(cast('object', key))}."
        )
    return path


def _tests(field: Field, operand: Any) -> list[tuple[Operator, Any]]:
    if not isinstance(operand, Mapping):
        return [(Operator.EQ, operand)]
    operators = cast("Mapping[Any, Any]", operand)
    marked = [isinstance(key, str) and key.startswith("$") for key in operators]
    if not any(marked):
        return [(Operator.EQ, operand)]
    for key, is_operator in zip(operators, marked, strict=True):
        if not is_operator:
            raise InvalidFilterError(
                f"{field} mixes operators with the plain key {reprlib.repr(key)}. Compare with "
                'an object that has such keys by {"$eq": {...}}.'
            )
        if key not in tuple(Operator):
            around = " ($not stands around a whole filter.)" if key == "$not" else ""
            raise InvalidFilterError(
                f"Unknown operator {reprlib.repr(key)} on {field}. "
                f"There are {', '.join(Operator)}.{around}"
            )
    return [(Operator(key), value) for key, value in operators.items()]


def _test(field: Field, operator: Operator, operand: Any) -> Filter:
    allowed = OPERATORS[field.kind]
    if operator not in allowed:
        raise InvalidFilterError(
            f"{operator} cannot be asked of {field}, which holds {field.kind.value}. "
            f"It takes {', '.join(allowed)}."
        )
    if field.kind is Kind.TERMS and operator in _EQUALITY[:4]:
        return _terms_test(field, operator, operand)
    match operator:
        case Operator.EXISTS:
            if not isinstance(operand, bool):
                raise _wrong(field, operator, "True or False", operand)
            return Exists(field) if operand else Negation(Exists(field))
        case Operator.EQ:
            return OneOf(field, frozenset((_value(field, operator, operand),)))
        case Operator.IN:
            return OneOf(field, _values(field, operator, operand))
        case Operator.NE:
            values = frozenset((_value(field, operator, operand),))
            return And((Exists(field), Negation(OneOf(field, values))))
        case Operator.NIN:
            return And((Exists(field), Negation(OneOf(field, _values(field, operator, operand)))))
        case Operator.CONTAINS:
            if field.kind is Kind.TERMS and not isinstance(operand, str):
                raise _wrong(field, operator, "a string", operand)
            return Contains(field, _json(field, operator, operand))
        case _:
            return Compare(field, operator, _bound(field, operator, operand))


def _terms_test(field: Field, operator: Operator, operand: Any) -> Filter:
    """Whether a list has one of the terms asked for, or equals one of the lists."""
    several = operator in (Operator.IN, Operator.NIN)
    tests: list[Filter] = []
    for item in _list(operator, operand) if several else [operand]:
        if isinstance(item, str):
            tests.append(Contains(field, _json(field, operator, item)))
        else:
            tests.append(OneOf(field, frozenset((_value(field, operator, item),))))
    found = tests[0] if len(tests) == 1 else Or(tuple(tests))
    return found if operator in (Operator.EQ, Operator.IN) else Negation(found)


def _values(field: Field, operator: Operator, operand: Any) -> frozenset[Any]:
    return frozenset(_value(field, operator, item) for item in _list(operator, operand))


def _value(field: Field, operator: Operator, operand: Any) -> Any:
    """An operand for equality, in canonical form."""
    match field.kind:
        case Kind.TEXT if not isinstance(operand, str):
            raise _wrong(field, operator, 'a string (for none at all: {"$exists": False})', operand)
        case Kind.STATUS if operand not in tuple(Status):
            raise _wrong(field, operator, f"one of {', '.join(Status)}", operand)
        case Kind.TERMS if not _is_terms(operand):
            raise _wrong(field, operator, "a string, or a list of strings", operand)
        case Kind.INTEGER if isinstance(operand, bool) or not isinstance(operand, int | float):
            raise _wrong(field, operator, "a number", operand)
        case Kind.TIME:
            return _time(field, operator, operand)
        case _:
            return _json(field, operator, operand)


def _is_terms(operand: Any) -> bool:
    return isinstance(operand, list | tuple) and all(
        isinstance(item, str) for item in cast("list[Any]", operand)
    )


def _bound(field: Field, operator: Operator, operand: Any) -> int | float | str:
    if field.kind is Kind.TIME:
        return _time(field, operator, operand)
    is_nan = isinstance(operand, float) and math.isnan(operand)
    is_number = isinstance(operand, int | float) and not isinstance(operand, bool) and not is_nan
    if is_number and field.kind is not Kind.TEXT:
        return operand
    if isinstance(operand, str) and field.kind is not Kind.INTEGER:
        return str(operand)
    expected = {Kind.TEXT: "a string", Kind.INTEGER: "a number"}
    raise _wrong(field, operator, expected.get(field.kind, "a number or a string"), operand)


def _time(field: Field, operator: Operator, operand: Any) -> int:
    if isinstance(operand, str):
        try:
            operand = datetime.fromisoformat(operand)
        except ValueError as error:
            raise _wrong(field, operator, "an ISO 8601 time", operand) from error
    if not isinstance(operand, datetime):
        raise _wrong(field, operator, "a datetime or an ISO 8601 string", operand)
    try:
        return micros(as_utc(operand))
    except InvalidInputError as error:
        raise InvalidFilterError(f"{operator} on {field}: {error}") from error


def _json(field: Field, operator: Operator, operand: Any) -> Any:
    try:
        return canonical(json_value.loads(json_value.dumps(f"{operator} on {field}", operand)))
    except InvalidInputError as error:
        raise InvalidFilterError(str(error)) from error


def _wrong(field: Field, operator: Operator, expected: str, operand: Any) -> InvalidFilterError:
    return InvalidFilterError(
        f"{operator} on {field} takes {expected}; got {reprlib.repr(operand)}."
    )
