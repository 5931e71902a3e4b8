"""The text of a JSON value, as people and models read it: without braces, quotes and schema names.

A store's item is embedded, analysed and shown as this. Its labels are for reading: statistics of
words see the texts alone.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

Path: TypeAlias = tuple[str, ...]

# Keys that only say that a text follows.
_TEXT_KEYS = frozenset(("content", "data", "memory", "message", "page_content", "text", "value"))


def value_text(value: Any) -> str:
    """Return a value as lines "label: text"; "" if there is nothing to read.

    The only text of a value stands alone, and so does every text whose key says no more than that
    it is one.

    Examples:
        >>> value_text({"kind": "Memory", "content": {"content": "Bea takes no sugar"}})
        'Bea takes no sugar'
        >>> value_text({"text": "Bea takes no sugar", "year": 2026}).splitlines()
        ['Bea takes no sugar', 'year: 2026']
    """
    match _leaves_of(value):
        case [(_, str(only))]:
            return only
        case leaves:
            lines = ((_label(path), _text(leaf)) for path, leaf in leaves)
            return "\n".join(f"{label}: {text}" if label else text for label, text in lines)


def text_without_labels(text: str, value: Any) -> str:
    """Return the `value_text` of `value`, or of something in it, without its labels."""
    labels = [f".{_label(path)}" for path, _ in _leaves_of(value)]
    return "\n".join(_without_label(line, labels) for line in text.split("\n"))


def _without_label(line: str, labels: list[str]) -> str:
    label, found, text = line.partition(": ")
    return text if found and any(known.endswith(f".{label}") for known in labels) else line


def _leaves_of(value: Any) -> list[tuple[Path, Any]]:
    """Return what can be read in a value, with the keys that lead there."""
    match value:
        case {"kind": str(), "content": {**content}, **rest} if not rest:
            # LangMem's, where the kind is the name of a schema.
            value = content
        case _:
            pass
    return [(path, leaf) for path, leaf in _leaves((), value) if _text(leaf).strip()]


def _leaves(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    items: list[Any]
    match value:
        case {**fields}:
            for key, field in cast("Mapping[str, Any]", fields).items():
                yield from _leaves((*path, key), field)
        case [*items] if any(isinstance(item, dict | list) for item in items):
            for item in items:
                yield from _leaves(path, item)
        case _:
            # A list of plain items is read in one.
            yield path, value


def _label(path: Path) -> str:
    return "" if path and path[-1] in _TEXT_KEYS else ".".join(path)


def _text(leaf: Any) -> str:
    match leaf:
        case None:
            return ""
        case str():
            return leaf
        case [*items]:
            return ", ".join(map(_text, items))
        case _:
            return json.dumps(leaf)
