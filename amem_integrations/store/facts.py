"""A caller's nested JSON as flat, filterable fields.

Engines compare payloads by their own rules (1 equals true, 1.0 cannot be asked for), and a
key can be any text. So equality goes by digests of canonical (path, value) pairs, and number
ranges by one float field a path, named by the path's digest.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from amem_integrations.note import Note

MAX_FACTS = 512

Path = tuple[str, ...]


def equalities(note: Note) -> list[str]:
    """Digests of every (path, value) in the note's metadata and value, at most MAX_FACTS.

    Containers count as values too, as do the elements of arrays under `contains`.
    """
    found: dict[str, None] = {}
    for path, value in _walk(note):
        found.setdefault(equality(path, value))
        found.setdefault(existence(path))
        if isinstance(value, list):
            for item in value:  # pyright: ignore[reportUnknownVariableType]
                found.setdefault(membership(path, item))
        if len(found) >= MAX_FACTS:
            break
    return list(found)[:MAX_FACTS]


def numbers(note: Note) -> dict[str, float]:
    """The numbers in the note's metadata and value by path digest, for ranges."""
    return {
        path_digest(path): float(value)
        for path, value in _walk(note)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    }


def equality(path: Path, value: Any) -> str:
    return _digest("=", path, _canonical(value))


def membership(path: Path, value: Any) -> str:
    return _digest("[]", path, _canonical(value))


def existence(path: Path) -> str:
    return _digest("?", path, None)


def path_digest(path: Path) -> str:
    return "n" + _digest("#", path, None)


def _walk(note: Note) -> Iterator[tuple[Path, Any]]:
    yield from _pairs(("metadata",), note.metadata)
    if note.value_json is not None:
        yield from _pairs(("value",), note.value)


def _pairs(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _pairs((*path, key), item)  # pyright: ignore[reportUnknownArgumentType]


def _canonical(value: Any) -> Any:
    """JSON's own equality: 1 and 1.0 are one number; true, "1" and [1] are not it."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_canonical(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


def _digest(kind: str, path: Path, value: Any) -> str:
    text = json.dumps([kind, path, value], sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
