"""JSON schemas of a chat model's answers.

Every property is required and none is added, as strict modes want it. Lists are bounded, or a
small model under a grammar repeats itself until its output limit.
"""

from collections.abc import Collection
from typing import Any

TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "number"}


def texts(most: int) -> dict[str, Any]:
    """Return the schema of a list of strings."""
    return {"type": "array", "items": TEXT, "maxItems": most}


def one_of(choices: Collection[str]) -> dict[str, Any]:
    """Return the schema of one of some strings: a grammar allows no note that is not offered."""
    return {"type": "string", "enum": list(choices)}


def objects(most: int, properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a list of objects."""
    return {"type": "array", "items": _closed(properties), "maxItems": most}


def answer(title: str, properties: dict[str, Any]) -> dict[str, object]:
    """Return the schema of a whole answer; `title` is the name of the tool where one is called."""
    return {"title": title, "description": "The answer.", **_closed(properties)}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
