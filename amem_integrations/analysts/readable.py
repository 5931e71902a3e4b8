"""What there is to read in a note that holds a value: the texts in it, not the names of its keys.

A value that is indexed whole has its JSON for content. To term statistics its keys would be
words that all such notes share. `analyst_free` reads notes this way.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from amem_integrations.core.analysis import Subject
from amem_integrations.core.note import Note


def legible(subject: Subject) -> Subject:
    """The subject, with every note in it as it is to be read."""
    return Subject(
        _read(subject.note),
        tuple(replace(each, note=_read(each.note)) for each in subject.candidates),
        tuple(map(_read, subject.background)),
    )


def _read(note: Note) -> Note:
    if note.value_json is None or not note.content.startswith(("{", "[")):
        return note
    try:
        value = json.loads(note.content)
    except (ValueError, RecursionError):
        return note
    text = "\n".join(_texts(value))
    return replace(note, content=text, parts=None) if text.strip() else note


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in cast("dict[str, Any]", value).values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _texts(item)
