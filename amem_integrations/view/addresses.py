"""Where each page is: addresses out, and the namespace of an address back in.

A namespace is one parameter, its labels as JSON: a label may hold any character, and neither a
path nor a form would keep them all.
"""

import json
from typing import Any
from urllib.parse import quote, urlencode

from amem_integrations.core.namespace import Namespace, as_namespace, encode
from amem_integrations.core.note import Note
from amem_integrations.errors import InvalidInputError


def page(path: str, namespace: Namespace | None = None, **asked: object) -> str:
    """The address of a page; what is None or empty is left out."""
    values = {name: value for name, value in asked.items() if value not in (None, "")}
    if namespace is not None:
        values = {"ns": encode(namespace), **values}
    return f"{path}?{urlencode(values)}" if values else path


def note_page(note: Note | str, namespace: Namespace, **asked: object) -> str:
    """The address of a note, or of the note with this id."""
    id = note.id if isinstance(note, Note) else note
    return page(f"/note/{quote(id, safe='')}", namespace, **asked)


def read_namespace(text: str | None) -> Namespace:
    """The namespace that an address names. Raises InvalidInputError."""
    labels: Any = None
    if text is not None:
        try:
            labels = json.loads(text)
        except (ValueError, RecursionError):
            labels = None
    if not isinstance(labels, list):
        raise InvalidInputError(
            'The address names no namespace: ns is its labels as a JSON list, such as ["default"].'
        )
    return as_namespace(labels)  # pyright: ignore[reportUnknownArgumentType]
