"""A caller's nested JSON as flat, filterable terms and numbers.

Engines compare payloads by their own rules (1 equals true, 1.0 cannot be asked for, a float
comes back changed), and a key can be any text. So what a note's metadata and value hold is
kept as digests in the payload field `facts`, and its numbers under the digest of their path
in `numbers`. `codec` writes them and `filters.match` asks for them; nothing reads them back.

A container with more in it than fits is not taken apart: `unlisted(place)` says so, and
whoever asks for something inside must take that term for a yes.
"""

import hashlib
import json
from collections import deque
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias, cast

from amem_integrations.core.note import Note

MAX_TERMS = 512
OPTIONAL = ("speaker", "session", "source_id", "sequence", "occurred_at")

Path: TypeAlias = tuple[str, ...]
Number: TypeAlias = int | float

# Written as "x.0", as some engines are told a bound, larger ones take too many digits.
_EXACT_INTEGERS = 2**53 // 10
_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class Facts:
    """terms: digests for equality, membership and existence, at most about 2 * MAX_TERMS.

    numbers: by `number_key` of their path; two bounds around those an engine would change.
    """

    terms: tuple[str, ...]
    numbers: dict[str, Number | list[Number]]


def derive(note: Note) -> Facts:
    """The facts of a note's metadata and value, and which optional fields it has.

    Shallow keys come first; the time is bounded by MAX_TERMS, whatever the caller nests.
    """
    terms: dict[str, None] = {}
    numbers: dict[str, Number | list[Number]] = {}
    containers: deque[tuple[str, Any]] = deque()

    def add(place: str, value: Any) -> None:
        terms[exists(place)] = None
        if isinstance(value, dict | list):
            containers.append((place, cast("Any", value)))
            return
        terms[equals(place, value)] = None
        if isinstance(value, int | float) and not isinstance(value, bool):
            numbers[number_key(place)] = _spread(value)

    for name in OPTIONAL:
        if getattr(note, name) is not None:
            terms[exists(_ROOTS[name])] = None
    add(_ROOTS["metadata"], note.metadata)
    if note.value_json is not None:
        add(_ROOTS["value"], note.value)
    while containers:
        place, container = containers.popleft()
        if len(terms) + 2 * len(container) > MAX_TERMS:
            terms[unlisted(place)] = None
        elif isinstance(container, dict):
            for key, item in cast("dict[str, Any]", container).items():
                add(_under(place, key), item)
        else:
            for item in container:
                if not isinstance(item, dict | list):
                    terms[holds(place, item)] = None
    return Facts(tuple(terms), numbers)


# -- terms -----------------------------------------------------------------------------------


def place_of(path: Path) -> str:
    """The digest that stands for a path: ("metadata", key, key of the object there, …)."""
    return places_of(path)[-1]


def places_of(path: Path) -> list[str]:
    """The digests of every prefix of a path, shortest first, its own last."""
    return list(accumulate(path, _under, initial=""))[1:]


def _under(place: str, key: str) -> str:
    return _digest("place", place, key)


def exists(place: str) -> str:
    """There is something at `place`, if only null."""
    return _ROOTS_EXIST.get(place) or _digest("exists", place)


def equals(place: str, scalar: Any) -> str:
    """The value at `place` is this null, boolean, number or string."""
    return _digest("equals", place, scalar)


def holds(place: str, scalar: Any) -> str:
    """The array at `place` has this scalar among its elements."""
    return _digest("holds", place, scalar)


def unlisted(place: str) -> str:
    """The object or array at `place` has more in it than is listed."""
    return _digest("unlisted", place)


def number_key(place: str) -> str:
    """The key in `numbers` for the number at `place`: hexadecimal, whatever the keys hold."""
    return "n" + _digest("number", place)


def _digest(kind: str, place: str, *scalars: Any) -> str:
    text = json.dumps([kind, place, *map(integral, scalars)], separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


# -- values ----------------------------------------------------------------------------------


def integral(value: Any) -> Any:
    """`value`, as an int when it is a float without a fraction."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def canonical(value: Any) -> Any:
    """A hashable form that is equal exactly when two JSON values are equal.

    1 and 1.0 are one number; true, "1" and [1] are not it. A tuple counts as an array.
    """
    match value:
        case bool():
            return ("boolean", value)
        case float():
            return integral(value)
        case list() | tuple():
            return ("array", tuple(map(canonical, cast("list[Any]", value))))
        case dict():
            items = cast("dict[str, Any]", value).items()
            return ("object", frozenset((key, canonical(item)) for key, item in items))
        case _:
            return value


# -- numbers ---------------------------------------------------------------------------------


def survives(number: Number) -> bool:
    """Whether an engine keeps and compares this number exactly as it is.

    Engines parse decimals quickly rather than exactly: past 15 digits the last one may change.
    """
    number = integral(number)
    if isinstance(number, int):
        return abs(number) < _EXACT_INTEGERS
    return 1e-7 <= abs(number) < 1e15 and float(f"{number:.15g}") == number


def floor(number: Number) -> Number:
    """The number itself if it survives, else one that is surely below it."""
    return integral(number) if survives(number) else max(-_LARGEST, _near(number, -1.0))


def ceiling(number: Number) -> Number:
    """The number itself if it survives, else one that is surely above it."""
    return integral(number) if survives(number) else min(_LARGEST, _near(number, 1.0))


def _near(number: Number, sign: float) -> float:
    try:
        near = min(max(float(number), -_LARGEST), _LARGEST)
    except OverflowError:
        near = _LARGEST if number > 0 else -_LARGEST
    return near + sign * (abs(near) * 2.0**-49 + 1e-300)


def _spread(number: Number) -> Number | list[Number]:
    # A range matches an array by any of its elements, so the two bounds around a number
    # are found by every range in which the number itself lies.
    return integral(number) if survives(number) else [floor(number), ceiling(number)]


# Every note has some of these, so they are not made for each.
_ROOTS = {name: _digest("place", "", name) for name in (*OPTIONAL, "metadata", "value")}
_ROOTS_EXIST = {place: _digest("exists", place) for place in _ROOTS.values()}
