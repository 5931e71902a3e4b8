"""Conditions on stored fields, in no engine's own types.

Each engine compiles these to its filter model. The filter language that users write
(`stores.filters`) and the store's own queries both end here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

# No bool: the embedded engine takes true for 1, so nothing stored is compared with one.
Scalar: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Match:
    """The field equals one of `values`, or is an array that holds one of them."""

    field: str
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """The field is a number within the bounds; a missing field never is."""

    field: str
    gt: float | int | None = None
    gte: float | int | None = None
    lt: float | int | None = None
    lte: float | int | None = None


@dataclass(frozen=True, slots=True)
class HasId:
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; with no parts, everything matches."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Any:
    """At least one part holds; with no parts, nothing matches."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: "Condition"


Condition: TypeAlias = Match | Range | HasId | All | Any | Not

EVERYTHING = All(())


def match(field: str, *values: Scalar) -> Match:
    return Match(field, values)


def both(*parts: Condition) -> Condition:
    """All of the parts, flattened."""
    flat: list[Condition] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, All) else (part,))
    return flat[0] if len(flat) == 1 else All(tuple(flat))


def ids(values: Sequence[str]) -> HasId:
    return HasId(tuple(values))
