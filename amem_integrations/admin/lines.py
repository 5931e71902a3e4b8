"""The lines of an export: a note with its history as JSON, written and read.

A line names notes by their keys, never by ids, so it means the same in any namespace and cannot
name a note of another one. It has no vectors, and nothing else that follows from the texts.
Reading checks everything, since anyone may have written a line; what it returns can be stored,
and what comes of that can be exported and read again.
"""

import json
from collections.abc import Mapping, Sized
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Any, cast

from amem_integrations.core import json_value
from amem_integrations.core.namespace import Namespace, as_namespace
from amem_integrations.core.note import (
    Change,
    Note,
    Revision,
    Status,
    as_utc,
    check_content,
    check_text,
    note_id,
)
from amem_integrations.core.status import (
    MOST_LINKS,
    MOST_REVISIONS,
    NEW,
    RECORDED,
    SOURCES,
    Bounds,
    Length,
    Mark,
    Tier,
)
from amem_integrations.errors import InvalidInputError
from amem_integrations.revisions.entry import Entry
from amem_integrations.stores.codec import NOTE, PAYLOAD, TextCodec, Type, fields_of

FORMAT, FORMAT_VERSION = "amem-notes", 1
_SHORT = Bounds(0, 4096)
_SPAN = Bounds(0, 365_000 * 24 * 60 * 60)
_REVISIONS = Type(tuple, Type(Revision, is_record=True), mark=Length(MOST_REVISIONS))
# Versions and counts go on from what is read; so there must be room below what can be stored.
_HIGHEST = 2**32
_COUNT = Bounds(0, 2**53)
_BROUGHT, _MOST_NAME = "import/", 1000


def header_line(namespace: Namespace, package: str) -> str:
    labels = list(namespace)
    versions = {"format": FORMAT, "format_version": FORMAT_VERSION}
    return _dumps({**versions, "namespace": labels, "package": package})


def note_line(entry: Entry, keys: Mapping[str, str]) -> str:
    """keys: those of all notes that the entry refers to, by id."""
    # Which uses were counted is known to this store only.
    life = replace(entry.note.life, counted=0)
    strongest = sorted(entry.note.outgoing, key=lambda link: -link.weight)[:MOST_LINKS]
    kept = {link.to for link in strongest}
    links = tuple(link for link in entry.note.outgoing if link.to in kept)
    note = replace(entry.note, links=links, revision=None, life=life)
    codec = _LineCodec(keys={**keys, note.id: note.key})
    revisions = [codec.write_fields(each) for each in entry.revisions[-MOST_REVISIONS:]]
    return _dumps({**codec.write_fields(note), "revisions": revisions})


def end_line(count: int) -> str:
    """The last line; count: how many notes stand before it."""
    return _dumps({"end": FORMAT, "notes": count})


def _dumps(data: Any) -> str:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # A caller's JSON may hold lone surrogates, which survive as escapes only.
        return json.dumps(data, allow_nan=False)
    return text


def read_json(line: str | bytes) -> Any:
    """What a line holds. Raises InvalidInputError for what is not JSON, or not sane JSON."""
    try:
        text = line if isinstance(line, str) else line.decode()
        return json.loads(text.removeprefix("\ufeff"), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"it is not UTF-8 (byte {error.start})") from error
    except RecursionError as error:
        raise InvalidInputError("it is nested too deeply") from error
    except ValueError as error:
        raise InvalidInputError(f"it is not JSON ({error})") from error


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def read_header(data: Any) -> Namespace:
    """The namespace that the lines after this one were exported from."""
    header = cast("dict[str, Any]", data if isinstance(data, dict) else {})
    if header.get("format") != FORMAT:
        raise InvalidInputError(
            f'the first line is no header of an export, {{"format": "{FORMAT}", …}}'
        )
    if header.get("format_version") != FORMAT_VERSION:
        raise InvalidInputError(
            f"it has version {str(header.get('format_version'))[:40]} of the format, and this "
            f"package reads version {FORMAT_VERSION}; use the version that wrote it"
        )
    if "namespace" not in header:
        raise InvalidInputError("header has no 'namespace'")
    labels = _list("namespace", header["namespace"])
    return as_namespace([_text("namespace", label) for label in labels])


def read_end(data: Any) -> int | None:
    """How many notes an end line says there are; None for any other line."""
    line = cast("dict[str, Any]", data if isinstance(data, dict) else {})
    if line.get("end") != FORMAT:
        return None
    return int(_number("notes", line.get("notes"), int, _COUNT))


def read_entry(data: Any, namespace: Namespace) -> Entry:
    """The note of a line, as one of `namespace`. Raises InvalidInputError if it is invalid."""
    codec = _LineCodec(namespace=namespace)
    fields = dict(_object("note", data))
    given = fields.pop("revisions", [])
    known = {
        Mark.NAMESPACE: namespace,
        Mark.OWN_ID: note_id(namespace, _text("key", fields.get("key", ""))),
    }
    revisions = cast("tuple[Revision, ...]", codec.read(_REVISIONS, given, known, "revisions"))
    for number, (one, next_) in enumerate(pairwise(revisions), 1):
        if next_.version <= one.version:
            raise InvalidInputError(f"revisions[{number}] is not newer than the one before it")
    if "revision" in fields:
        raise InvalidInputError("note has an unknown field 'revision'")
    read = cast("Note", codec.read_fields(Note, fields, known, "note"))
    note = replace(
        read, revision=revisions[-1] if revisions else None, life=replace(read.life, counted=0)
    )
    _check_whole(note)
    if note.version > _HIGHEST:
        revisions = tuple(replace(each, version=n) for n, each in enumerate(revisions, 1))
        newest = revisions[-1] if revisions else None
        note = replace(note, version=len(revisions) + 1, revision=newest)
    if note.status is Status.FORMED and note.content and not (note.keywords or note.context):
        # Nobody formed it, so it is formed here.
        note = replace(note, status=Status.RAW, attempts=0)
    return Entry(note, revisions[:-1])


def as_import(entry: Entry) -> Entry:
    """The note as anybody may have written it: an import without merits, at the start of its life.

    Its history stays, under the analysts' names as names that an import brought.
    """
    revisions = [_as_imported(revision) for revision in entry.revisions]
    kept = tuple(revision for revision in revisions if revision is not None)
    note = replace(
        entry.note,
        source="import",
        tier=Tier.SHORT,
        confidence=1.0,
        life=NEW,
        attempts=0,
        last_error=None,
        links=tuple(replace(link, used_at=None) for link in entry.note.links),
        revision=kept[-1] if kept else None,
    )
    return Entry(note, kept[:-1])


def _as_imported(revision: Revision) -> Revision | None:
    """The revision without changes of tier or source; None if it made no other."""
    changes = {
        name: change for name, change in revision.changes.items() if name not in ("tier", "source")
    }
    if revision.changes and not changes:
        return None
    name = revision.analyst.removeprefix(_BROUGHT)[:_MOST_NAME]
    return replace(revision, changes=changes, analyst=f"{_BROUGHT}{name}")


def _check_whole(note: Note) -> None:
    """Raise unless the fields of a note agree with each other, and are what `add` takes."""
    for name, text in (("speaker", note.speaker), ("session", note.session)):
        if text is not None:
            check_text(name, text)
    if note.parts is not None:
        length = sum(note.parts) + max(0, len(note.parts) - 1)
        if length != len(note.content):
            raise InvalidInputError(
                f"parts add up to {length} characters, and content has {len(note.content)}"
            )
        if not note.parts and note.status is Status.RAW:
            raise InvalidInputError("parts is empty, so there is nothing to form, yet it is raw")
    targets = [link.to for link in note.links]
    if len(set(targets)) < len(targets):
        raise InvalidInputError("two of its links lead to the same note")
    if note.revision is not None and note.revision.version > note.version:
        raise InvalidInputError(
            f"its version is {note.version}, behind its revision {note.revision.version}"
        )


class _LineCodec(TextCodec):
    """The codec of lines: keys for ids, and every value checked.

    keys: those of all notes that are named, by id. namespace: where the notes are read into.
    """

    def __init__(self, *, keys: Mapping[str, str] | None = None, namespace: Namespace = ()) -> None:
        super().__init__()
        self._keys = keys or {}
        self._namespace = namespace

    def write_leaf(self, kind: Type, value: Any) -> Any:
        return self._keys[value] if kind.mark is Mark.NOTE_ID else super().write_leaf(kind, value)

    def write_mapping(self, records: Mapping[str, Change]) -> Any:
        """Changes keep their sides as a payload has them."""
        written: dict[str, Any] = {}
        for name, change in records.items():
            kind, known = NOTE[name], {Mark.OWN_ID: ""}
            sides = (PAYLOAD.read(kind, side, known) for side in (change.before, change.after))
            written[name] = [self.write(kind, side) for side in sides]
        return written

    def read_fields(self, record: type, data: Any, known: Mapping[Any, Any], where: str) -> Any:
        given = _object(where, data)
        found: dict[str, Any] = {}
        keys = {field.key: field for field in fields_of(record) if field.implied is None}
        if unknown := [key for key in given if key not in keys]:
            raise InvalidInputError(f"{where} has an unknown field {unknown[0][:80]!r}")
        for field in fields_of(record):
            if field.implied is not None:
                found[field.name] = known[field.implied]
            elif field.key in given:
                place = field.key if record is Note else f"{where}.{field.key}"
                found[field.name] = self.read(field.type, given[field.key], known, place)
            elif field.required:
                raise InvalidInputError(f"{where} has no {field.key!r}")
        return record(**found)

    def read(self, kind: Type, data: Any, known: Mapping[Any, Any], where: str = "") -> Any:
        if kind.mark is Mark.JSON:
            if where == "metadata":
                _object(where, data)
            return json_value.dumps(where, data)
        if kind.base is tuple and isinstance(kind.mark, Length):
            _check_length(where, _list(where, data), kind.mark, "entries")
        return super().read(kind, data, known, where)

    def read_items(self, item: Type, data: Any, known: Mapping[Any, Any], where: str) -> Any:
        places = ((f"{where}[{n}]", each) for n, each in enumerate(_list(where, data)))
        if item.is_record:
            return tuple(self.read_fields(item.base, each, known, place) for place, each in places)
        return tuple(self.read_leaf(item, each, place) for place, each in places)

    def read_record(self, record: type, data: Any, known: Mapping[Any, Any], where: str) -> Any:
        return self.read_fields(record, data, known, where)

    def read_mapping(self, item: Type, data: Any, known: Mapping[Any, Any], where: str) -> Any:
        changes: dict[str, Change] = {}
        for name, given in _object(where, data).items():
            place = f"{where}.{name[:80]}"
            if name not in RECORDED:
                raise InvalidInputError(f"{where} has an unknown field {name[:80]!r}")
            sides = _list(place, given)
            if len(sides) != 2:
                raise InvalidInputError(f"{place} is not a pair, before and after")
            if name == "content":
                for side in sides:
                    check_content(side)
            read = (self.read(NOTE[name], side, known, place) for side in sides)
            changes[name] = Change(*(PAYLOAD.write(NOTE[name], side) for side in read))
        return changes

    def read_leaf(self, kind: Type, data: Any, where: str) -> Any:
        if kind.base is datetime:
            return _time(where, data)
        if kind.base is timedelta:
            span = timedelta(seconds=_number(where, data, float, _SPAN))
            if not span:
                raise InvalidInputError(f"{where} is no time at all")
            return span
        if kind.base in (int, float):
            number = _number(where, data, kind.base, kind.mark)
            return min(number, _HIGHEST) if kind.mark == _COUNT else number
        if kind.base is bool:
            if not isinstance(data, bool):
                raise InvalidInputError(f"{where} is neither true nor false")
            return data
        is_enum = issubclass(kind.base, StrEnum)
        choices: Any = list(kind.base) if is_enum else kind.mark
        if is_enum or choices is SOURCES:
            if data not in choices:
                raise InvalidInputError(f"{where} is none of {', '.join(choices)}")
            return kind.base(data)
        bounds = Bounds(0, 4 * kind.mark.most) if isinstance(kind.mark, Length) else kind.mark
        text = _text(where, data, bounds if isinstance(bounds, Bounds) else _SHORT)
        if isinstance(kind.mark, Length):
            _check_length(where, text, kind.mark, "characters")
        return note_id(self._namespace, text) if kind.mark is Mark.NOTE_ID else text


# -- values ----------------------------------------------------------------------------------


def _object(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInputError(f"{where} is not an object")
    return cast("dict[str, Any]", value)


def _list(where: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInputError(f"{where} is not a list")
    return cast("list[Any]", value)


def _check_length(where: str, value: Sized, length: Length, what: str) -> None:
    if len(value) > length.most:
        raise InvalidInputError(f"{where} has {len(value)} {what}; at most {length.most} are kept")


def _text(where: str, value: Any, bounds: Bounds = _SHORT) -> str:
    """Text that can be stored; it may be empty."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{where} is not text")
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{where} is not valid Unicode") from error
    if size > bounds.high:
        raise InvalidInputError(f"{where} has {size} bytes; at most {bounds.high} can be stored")
    return value


def _number(where: str, value: Any, kind: type, bounds: Bounds) -> int | float:
    low, high = bounds.low, bounds.high
    wanted = int if kind is int else (int, float)
    if isinstance(value, wanted) and not isinstance(value, bool):
        if kind is int and low <= value < high:
            return value
        if kind is float and low <= value <= high:
            return float(value)
    limits = f"from {low} to below {high}" if kind is int else f"from {low} to {high}"
    raise InvalidInputError(f"{where} is not a {'whole ' if kind is int else ''}number {limits}")


def _time(where: str, value: Any) -> datetime:
    try:
        return as_utc(datetime.fromisoformat(_text(where, value)))
    except ValueError as error:
        raise InvalidInputError(f"{where} is not a time as in 2026-03-01T09:30:00+00:00") from error
