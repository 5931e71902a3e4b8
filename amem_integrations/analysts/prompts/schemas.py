"""The JSON schemas of answers, as plain dicts.

Every property is required and none is added, as strict modes want it. Lists are bounded, or a
small model under a grammar repeats itself until its output limit.
"""

from collections.abc import Sequence
from typing import Any

TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "number"}


def texts(most: int) -> dict[str, Any]:
    return {"type": "array", "items": TEXT, "maxItems": most}


def one_of(choices: Sequence[str]) -> dict[str, Any]:
    """One of the given strings: a model under a grammar cannot name a note not offered."""
    return {"type": "string", "enum": list(choices)}


def objects(most: int, properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _closed(properties), "maxItems": most}


def answer(title: str, properties: dict[str, Any]) -> dict[str, object]:
    """The schema of a whole answer; `title` becomes the name of the tool where one is called."""
    return {"title": title, "description": "The judgement of what is new.", **_closed(properties)}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
