"""Addresses of pages, and what is read from them.

A namespace is one parameter, its labels as JSON: a label may hold any character, and neither a
path nor a form would keep them all.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from amem_integrations.core.namespace import Namespace, as_namespace, encode
from amem_integrations.core.note import Note
from amem_integrations.errors import InvalidInputError

T = TypeVar("T", bound=str)
_LARGEST = 2**63 - 1


def page(path: str, namespace: Namespace | None = None, **parameters: object) -> str:
    """The address of a page; parameters that are None or empty are left out."""
    values = {name: value for name, value in parameters.items() if value not in (None, "")}
    if namespace is not None:
        values = {"ns": encode(namespace), **values}
    return f"{path}?{urlencode(values)}" if values else path


def note_page(note: Note | str, namespace: Namespace, **parameters: object) -> str:
    """The address of a note, or of the note with this id."""
    id = note.id if isinstance(note, Note) else note
    return page(f"/note/{quote(id, safe='')}", namespace, **parameters)


def read_namespace(parameters: Mapping[str, str]) -> Namespace:
    """The namespace that an address names. Raises InvalidInputError."""
    try:
        labels: Any = json.loads(parameters.get("ns", ""))
    except (ValueError, RecursionError):
        labels = None
    if not isinstance(labels, list):
        raise InvalidInputError(
            'The address names no namespace: ns is its labels as a JSON list, such as ["default"].'
        )
    return as_namespace(labels)  # pyright: ignore[reportUnknownArgumentType]


def read_number(
    parameters: Mapping[str, str], name: str, default: int, least: int, most: int
) -> int:
    """A whole number from `least` to `most`. Raises InvalidInputError."""
    text = parameters.get(name, "").strip()
    if not text:
        return default
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise InvalidInputError(f"{name} is a whole number from {least} to {most}; got {text!r}.")
    return value


def read_cursor(parameters: Mapping[str, str], name: str) -> int | None:
    """A place in a list that is ordered by time; None if none is named."""
    return read_number(parameters, name, 0, 0, _LARGEST) if parameters.get(name) else None


def read_choice(parameters: Mapping[str, str], name: str, choices: Sequence[T]) -> T:
    """One of `choices`, the first of them by default. Raises InvalidInputError."""
    text = parameters.get(name) or choices[0]
    for choice in choices:
        if choice == text:
            return choice
    raise InvalidInputError(f"{name} is one of {', '.join(choices)}; got {text!r}.")
