"""What a page was asked for: the parameters of an address, checked. The rest is `addresses`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from amem_integrations.errors import InvalidFilterError, InvalidInputError

T = TypeVar("T", bound=str)
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Query:
    """A search as its form has it; conditions: a filter as `search` takes it."""

    text: str
    k: int
    hops: int
    conditions: Mapping[str, Any] | None


def number(asked: Mapping[str, str], name: str, usual: int, least: int, most: int) -> int:
    """A whole number from `least` to `most`. Raises InvalidInputError."""
    text = asked.get(name, "").strip()
    if not text:
        return usual
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise InvalidInputError(f"{name} is a whole number from {least} to {most}; got {text!r}.")
    return value


def moment(asked: Mapping[str, str], name: str) -> int | None:
    """A place in a list that is ordered by time; None if none is named."""
    return number(asked, name, -1, 0, _LARGEST) if asked.get(name) else None


def choice(asked: Mapping[str, str], name: str, choices: Sequence[T]) -> T:
    """One of `choices`, the first of them by default. Raises InvalidInputError."""
    text = asked.get(name) or choices[0]
    for each in choices:
        if each == text:
            return each
    raise InvalidInputError(f"{name} is one of {', '.join(choices)}; got {text!r}.")


def conditions(text: str) -> Mapping[str, Any] | None:
    """A filter as `search` takes it. Raises InvalidFilterError for what is no JSON object."""
    if not text.strip():
        return None
    try:
        asked = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidFilterError(f"The conditions are not JSON: {error}.") from error
    if not isinstance(asked, dict):
        raise InvalidFilterError(
            'Conditions are a JSON object, such as {"speaker": "Marta"}; got something else.'
        )
    return asked  # pyright: ignore[reportUnknownVariableType]
