"""Namespaces: who a memory belongs to.

A namespace is a tuple of labels. Its encoded form is the tenant key under which the store
keeps it; the encodings of its prefixes serve listings only. Labels are data: no character
in them has a meaning, so one namespace can never be made to look like another.
"""

import json
import re
from collections.abc import Sequence
from typing import TypeAlias

from amem_integrations.core.values import is_blank
from amem_integrations.errors import InvalidInputError

Namespace: TypeAlias = tuple[str, ...]

DEFAULT: Namespace = ("default",)
MAX_LABELS = 32
MAX_ENCODED_BYTES = 4096

_FIELD = re.compile(r"\{[^\W\d]\w*\}")


def as_namespace(value: str | Sequence[str]) -> Namespace:
    """Return `value` as a tuple of labels; a lone string is one label.

    Raises InvalidInputError for anything else, no labels, a label that is not a string, has nothing
    to see in it, or holds NUL or a lone surrogate, or labels too long for a key (4096 bytes
    encoded).
    """
    if not isinstance(value, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(
            f"A namespace is a label or a sequence of labels; got {type(value).__name__}."
        )
    labels = tuple(map(_exact, (value,) if isinstance(value, str) else value))
    if not labels:
        raise InvalidInputError('A namespace needs at least one label, such as "calvin".')
    if len(labels) > MAX_LABELS:
        raise InvalidInputError(f"A namespace has at most {MAX_LABELS} labels; got {len(labels)}.")
    for label in labels:
        _check_label(label)
    if len(encode(labels).encode()) > MAX_ENCODED_BYTES:
        raise InvalidInputError(
            f"Namespace too long: its labels take more than {MAX_ENCODED_BYTES} bytes."
        )
    return labels


def fixed_namespace(value: str | Sequence[str]) -> Namespace:
    """`as_namespace`, for an adapter that is made for one user.

    Also raises InvalidInputError for a field such as "{user_id}", which only what runs in an agent
    fills in: here it would be a label like any other, and all users would share it.
    """
    labels = as_namespace(value)
    for label in labels:
        if field := _FIELD.search(label):
            raise InvalidInputError(
                f"Nothing fills in {field[0]} here, so that all users would share one memory; give "
                'the label itself, as in namespace=("users", user_id), and make one for each user.'
            )
    return labels


def _exact(label: str) -> str:
    # A member of an Enum of strings is its value, not its name.
    return str.__str__(label) if isinstance(label, str) else label  # pyright: ignore[reportUnnecessaryIsInstance]


def _check_label(label: object) -> None:
    if not isinstance(label, str):
        raise InvalidInputError(
            f"Namespace labels are strings; got {type(label).__name__}. Use str(user_id)."
        )
    if "\x00" not in label and is_blank(label):
        raise InvalidInputError("A namespace label is empty or blank.")
    if "\x00" in label:
        raise InvalidInputError(f"A namespace label holds a NUL character: {label!r}.")
    try:
        label.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"A namespace label is not valid Unicode: {label!r}.") from error


def encode(namespace: Namespace) -> str:
    """The tenant key: the labels as a JSON array, which no label can imitate."""
    return json.dumps(namespace, ensure_ascii=False, separators=(",", ":"))


def decode(encoded: str) -> Namespace:
    return tuple(json.loads(encoded))


def prefixes(namespace: Namespace) -> list[str]:
    """The encodings of every prefix, shortest first, the whole namespace last."""
    return [encode(namespace[:end]) for end in range(1, len(namespace) + 1)]
