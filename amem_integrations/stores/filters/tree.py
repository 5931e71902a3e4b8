"""The tree that a filter over notes becomes, and the fields and operators it is made of.

Plain immutable values: `filter_language` makes them from what a caller wrote, `filters`
evaluates them and pushes them down to an engine.
"""

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, TypeAlias


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
