"""Filters applied: to a note in plain Python, and as conditions on stored fields.

`matches` is the reference that every engine is held to. An engine cannot ask everything that a
filter can, so `compile` puts a filter between two conditions: one that only matching notes meet,
and one that every matching note meets. Where they are the same the engine's answer is final.
"""

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any, cast

from amem_integrations.core.filters import EVERYTHING, All, Condition, Match, Not, Range
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.note import Note
from amem_integrations.stores import facts
from amem_integrations.stores.codec import micros
from amem_integrations.stores.facts import canonical
from amem_integrations.stores.filters.language import (
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
    count_tests,
    parse,
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


NOTHING: Condition = AnyOf(())

# Bounds travel as JSON floats, which engines parse quickly rather than exactly. Up to here
# (the year 2041 in microseconds) they are off by less than a half.
_EXACT_INTEGERS = 2**51
_MAX_PARTS = 16


@dataclass(frozen=True, slots=True)
class Compiled:
    """condition: met by every note that meets the filter.

    exact: it is met by no other note, so that `matches` need not be asked afterwards.
    """

    condition: Condition
    exact: bool


def compile(filter: Filter) -> Compiled:
    """The condition that narrows a query down to the notes that can meet the filter."""
    bounds = _bounds(filter)
    return Compiled(bounds.upper, exact=bounds.lower == bounds.upper)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Two conditions with the filter between them.

    Whatever meets `lower` meets the filter, and whatever meets the filter meets `upper`; so
    the negation of a filter lies between their negations.
    """

    lower: Condition
    upper: Condition


def _exactly(condition: Condition) -> _Bounds:
    return _Bounds(condition, condition)


def _at_most(condition: Condition) -> _Bounds:
    return _Bounds(NOTHING, condition)


def _bounds(filter: Filter) -> _Bounds:
    match filter:
        case And(parts):
            inner = [_bounds(part) for part in parts]
            return _Bounds(_all(b.lower for b in inner), _all(b.upper for b in inner))
        case Or(parts):
            inner = [_bounds(part) for part in parts]
            return _Bounds(_any(b.lower for b in inner), _any(b.upper for b in inner))
        case Negation(part):
            inside = _bounds(part)
            return _Bounds(_not(inside.upper), _not(inside.lower))
        case Exists(field):
            return _exists(field)
        case OneOf(field, values):
            return _one_of(field, values)
        case Contains(field, value):
            return _contains(field, value)
        case Compare(field, op, bound):
            return _compare(field, op, bound)


def _exists(field: Field) -> _Bounds:
    if field.kind is Kind.JSON and field.path != ("metadata",):
        return _listed(field.path, [facts.exists(facts.place_of(field.path))])
    if field.name in facts.OPTIONAL:
        return _exactly(Match("facts", (facts.exists(facts.place_of(field.path)),)))
    return _exactly(EVERYTHING)


def _one_of(field: Field, values: frozenset[Any]) -> _Bounds:
    match field.kind:
        case Kind.TEXT if field.name in ("content", "context"):
            return _at_most(EVERYTHING if values else NOTHING)
        case Kind.TEXT | Kind.STATUS:
            return _exactly(_match(field.name, _storable(values)))
        case Kind.INTEGER | Kind.TIME:
            fitting = [v for v in values if isinstance(v, int) and -(2**63) <= v < 2**63]
            return _exactly(_match(field.name, fitting))
        case Kind.TERMS:
            return _at_most(_any(_has_terms(field.name, terms) for _, terms in values))
        case Kind.JSON:
            return _one_json(field, values)


def _one_json(field: Field, values: frozenset[Any]) -> _Bounds:
    place = facts.place_of(field.path)
    scalars = [facts.equals(place, _plain(value)) for value in values if _is_scalar(value)]
    whole = [value for value in values if not _is_scalar(value)]
    listed = _listed(field.path, scalars)
    present = _exists(field).upper
    return _Bounds(
        listed.lower,
        _any((listed.upper, *(_all((present, *_parts(field.path, value))) for value in whole))),
    )


def _contains(field: Field, value: Any) -> _Bounds:
    if field.kind is Kind.TERMS:
        return _exactly(_match(field.name, _storable([value])))
    if _is_scalar(value):
        return _listed(
            field.path, [facts.holds(facts.place_of(field.path), _plain(value))], inside=True
        )
    return _at_most(_exists(field).upper)


def _compare(field: Field, op: Operator, bound: int | float | str) -> _Bounds:
    if isinstance(bound, str):
        return _at_most(_exists(field).upper)
    if field.kind is Kind.JSON:
        key = "numbers." + facts.number_key(facts.place_of(field.path))
        return _at_most(_any((_number_range(key, op, bound), _listed(field.path, []).upper)))
    return _integer_range(field, op, bound)


def _number_range(key: str, op: Operator, bound: int | float) -> Condition:
    match op:
        case Operator.GT:
            return Range(key, gt=facts.floor(bound))
        case Operator.GTE:
            return Range(key, gte=facts.floor(bound))
        case Operator.LT:
            return Range(key, lt=facts.ceiling(bound))
        case _:
            return Range(key, lte=facts.ceiling(bound))


def _integer_range(field: Field, op: Operator, bound: int | float) -> _Bounds:
    """Bounds as whole numbers, since an index of integers may cut a fraction off."""
    present = _exists(field).upper
    upward = op in (Operator.GT, Operator.GTE)
    if abs(bound) >= _EXACT_INTEGERS - 1:
        if (bound > 0) is not upward:
            return _at_most(present)
        limit = _EXACT_INTEGERS - 1
        return _at_most(Range(field.name, gte=limit) if upward else Range(field.name, lte=-limit))
    match op:
        case Operator.GT:
            return _exactly(Range(field.name, gte=math.floor(bound) + 1))
        case Operator.GTE:
            return _exactly(Range(field.name, gte=math.ceil(bound)))
        case Operator.LT:
            return _exactly(Range(field.name, lte=math.ceil(bound) - 1))
        case _:
            return _exactly(Range(field.name, lte=math.floor(bound)))


# -- conditions on facts ---------------------------------------------------------------------


def _listed(path: facts.Path, terms: Sequence[str], *, inside: bool = False) -> _Bounds:
    """Some of the terms are facts of the note, or may be where it was not taken apart.

    inside: the terms are about elements of the array at `path`, not about `path` itself.
    """
    around = facts.places_of(path if inside else path[:-1])
    cut = [facts.unlisted(place) for place in around]
    return _Bounds(_match("facts", terms), _match("facts", [*terms, *cut]))


def _parts(path: facts.Path, value: Any) -> list[Condition]:
    """What must be listed for the object or array at `path` to be `value`: some of it."""
    return list(islice(_each_part(path, value), _MAX_PARTS))


def _each_part(path: facts.Path, value: Any) -> Iterable[Condition]:
    kind, content = value
    if kind == "array":
        place = facts.place_of(path)
        for item in content:
            if _is_scalar(item):
                yield _listed(path, [facts.holds(place, _plain(item))], inside=True).upper
        return
    for key, item in sorted(content, key=itemgetter(0)):
        below = (*path, key)
        place = facts.place_of(below)
        if _is_scalar(item):
            yield _listed(below, [facts.equals(place, _plain(item))]).upper
        else:
            yield _listed(below, [facts.exists(place)]).upper
            yield from _each_part(below, item)


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, tuple) or cast("Any", value[0]) == "boolean"


def _plain(value: Any) -> Any:
    return cast("Any", value[1]) if isinstance(value, tuple) else value


# -- building conditions ---------------------------------------------------------------------


def _storable(values: Iterable[str]) -> list[str]:
    """The strings that can be stored at all: no note holds a lone surrogate."""
    return [value for value in values if value.isascii() or _is_unicode(value)]


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _has_terms(name: str, terms: Sequence[str]) -> Condition:
    if len(_storable(terms)) < len(terms):
        return NOTHING
    return _all(Match(name, (term,)) for term in dict.fromkeys(terms))


def _match(field: str, values: Sequence[str] | Sequence[int]) -> Condition:
    return Match(field, tuple(sorted(values))) if values else NOTHING


def _all(parts: Iterable[Condition]) -> Condition:
    flat: dict[Condition, None] = {}
    for part in parts:
        flat.update(dict.fromkeys(part.parts if isinstance(part, All) else (part,)))
    if NOTHING in flat:
        return NOTHING
    return next(iter(flat)) if len(flat) == 1 else All(tuple(flat))


def _any(parts: Iterable[Condition]) -> Condition:
    flat: dict[Condition, None] = {}
    for part in parts:
        flat.update(dict.fromkeys(part.parts if isinstance(part, AnyOf) else (part,)))
    if EVERYTHING in flat:
        return EVERYTHING
    return next(iter(flat)) if len(flat) == 1 else AnyOf(tuple(flat))


def _not(part: Condition) -> Condition:
    if part == EVERYTHING:
        return NOTHING
    if part == NOTHING:
        return EVERYTHING
    return part.part if isinstance(part, Not) else Not(part)
