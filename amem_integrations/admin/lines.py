"""Reading lines of an export: a note with its history from JSON that anyone may have written.

Everything is checked here, field by field; what `import_` gets can be stored. `export` says
what the lines look like.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

from amem_integrations.admin.export import FORMAT, FORMAT_VERSION
from amem_integrations.core import json_value
from amem_integrations.core.namespace import Namespace, as_namespace
from amem_integrations.core.note import (
    SOURCES,
    Change,
    Link,
    Note,
    Revision,
    Status,
    as_utc,
    check_content,
    metadata_text,
    note_id,
)
from amem_integrations.core.status import FIELDS, NEW, Life, Tier, standing_from
from amem_integrations.errors import InvalidInputError
from amem_integrations.revisions.entry import Entry
from amem_integrations.stores.codec import link_json, micros

T = TypeVar("T")

_SHORT = 4096
_LONG = 64 * 1024
_LARGEST = 2**53
_HEADER = ("format", "format_version", "namespace", "package")
_LINK = ("to", "reason", "kind", "weight", "created_at")
_REVISION = ("version", "kind", "cause", "at", "analyst", "changes", "sources", "reason")
_CHANGED = ("content", "keywords", "tags", "context", "links", "status", *FIELDS)
_COUNTED = ("clean", "conflicting", "confirmations", "supports")
_TIMES = ("used_at", "confirmed_at", "tiered_at")
_LIFE = (*_COUNTED, *_TIMES, "conflicts", "occasions")
_REQUIRED = (
    *("key", "content", "keywords", "tags", "context", "links", "created_at", "updated_at"),
    *("metadata", "status", "attempts", "confidence", "version", "revisions"),
)
_OPTIONAL = (
    *("speaker", "session", "sequence", "occurred_at", "value", "parts", "ttl_seconds"),
    *("source_id", "position", "expires_at", "last_error", "source", "life", *FIELDS),
)


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
    if not isinstance(data, dict) or cast("dict[str, Any]", data).get("format") != FORMAT:
        raise InvalidInputError(
            f'the first line is no header of an export, {{"format": "{FORMAT}", …}}'
        )
    header = cast("dict[str, Any]", data)
    if header.get("format_version") != FORMAT_VERSION:
        raise InvalidInputError(
            f"it has version {str(header.get('format_version'))[:40]} of the format, and this "
            f"package reads version {FORMAT_VERSION}; use the version that wrote it"
        )
    labels = _object("header", header, _HEADER)["namespace"]
    return as_namespace(_strings("namespace", labels))


def read_entry(data: Any, namespace: Namespace) -> Entry:
    """The note of a line, as one of `namespace`. Raises InvalidInputError for what cannot be."""
    fields = _object("note", data, _REQUIRED, _OPTIONAL)
    key = _text("key", fields["key"])
    id = note_id(namespace, key)
    revisions = _revisions(fields["revisions"], id, namespace)
    note = Note(
        id=id,
        namespace=namespace,
        key=key,
        content=_string("content", fields["content"]),
        created_at=_time("created_at", fields["created_at"]),
        updated_at=_time("updated_at", fields["updated_at"]),
        keywords=_terms("keywords", fields["keywords"]),
        tags=_terms("tags", fields["tags"]),
        context=_text("context", fields["context"], _LONG),
        links=_links("links", fields["links"], id, namespace),
        speaker=_optional(_text, "speaker", fields),
        session=_optional(_text, "session", fields),
        sequence=_optional(_sequence, "sequence", fields),
        source_id=_optional(_text, "source_id", fields),
        position=_optional(_count, "position", fields),
        occurred_at=_optional(_time, "occurred_at", fields),
        metadata_json=metadata_text(_object("metadata", fields["metadata"])),
        value_json=json_value.dumps("value", fields["value"]) if "value" in fields else None,
        parts=_optional(_parts, "parts", fields),
        ttl=_optional(_span, "ttl_seconds", fields),
        expires_at=_optional(_time, "expires_at", fields),
        status=_status("status", fields["status"]),
        attempts=_count("attempts", fields["attempts"]),
        last_error=_optional(_text, "last_error", fields),
        revision=revisions[-1] if revisions else None,
        confidence=_number("confidence", fields["confidence"], 0.0, 1.0),
        version=_integer("version", fields["version"], 1),
        source=_optional(_source, "source", fields),
        life=_life(fields["life"]) if "life" in fields else NEW,
        **_standing(fields, id, namespace),
    )
    _check_whole(note)
    if note.status is Status.FORMED and note.content and not (note.keywords or note.context):
        # Formed by nobody: to be formed here.
        note = replace(note, status=Status.RAW, attempts=0)
    return Entry(note, revisions[:-1])


def _standing(fields: Mapping[str, Any], id: str, namespace: Namespace) -> dict[str, Any]:
    given = {name: fields[name] for name in FIELDS if name in fields}
    return standing_from(
        {name: _changed(name, name, value, id, namespace) for name, value in given.items()}
    )


def _check_whole(note: Note) -> None:
    """Raise unless the fields of a note agree with each other."""
    if note.parts is not None:
        length = sum(note.parts) + max(0, len(note.parts) - 1)
        if length != len(note.content):
            raise InvalidInputError(
                f"parts add up to {length} characters, and content has {len(note.content)}"
            )
        if not note.parts and note.status is Status.RAW:
            raise InvalidInputError("parts is empty, so there is nothing to form, yet it is raw")
    if note.revision is not None and note.revision.version > note.version:
        raise InvalidInputError(
            f"its version is {note.version}, behind its revision {note.revision.version}"
        )


def _revisions(data: Any, id: str, namespace: Namespace) -> tuple[Revision, ...]:
    found: list[Revision] = []
    for number, each in enumerate(_list("revisions", data)):
        where = f"revisions[{number}]"
        fields = _object(where, each, _REVISION)
        sources = _strings(f"{where}.sources", fields["sources"])
        revision = Revision(
            version=_integer(f"{where}.version", fields["version"], 1),
            kind=_text(f"{where}.kind", fields["kind"]),
            cause=note_id(namespace, _text(f"{where}.cause", fields["cause"])),
            at=_time(f"{where}.at", fields["at"]),
            analyst=_text(f"{where}.analyst", fields["analyst"]),
            changes=_changes(f"{where}.changes", fields["changes"], id, namespace),
            sources=tuple(note_id(namespace, source) for source in sources),
            reason=_text(f"{where}.reason", fields["reason"], _LONG),
        )
        if found and revision.version <= found[-1].version:
            raise InvalidInputError(f"{where} is not newer than the one before it")
        found.append(revision)
    return tuple(found)


def _changes(where: str, data: Any, id: str, namespace: Namespace) -> dict[str, Change]:
    changes: dict[str, Change] = {}
    for name, pair in _object(where, data, (), _CHANGED).items():
        place = f"{where}.{name}"
        sides = _list(place, pair)
        if len(sides) != 2:
            raise InvalidInputError(f"{place} is not a pair, before and after")
        changes[name] = Change(*(_changed(place, name, side, id, namespace) for side in sides))
    return changes


def _changed(where: str, name: str, value: Any, id: str, namespace: Namespace) -> Any:
    match name:
        case "links":
            return [link_json(link) for link in _links(where, value, id, namespace)]
        case "status":
            return str(_status(where, value))
        case "content":
            check_content(value)
            return value
        case "tier":
            return str(_tier(where, value))
        case "valid_until":
            return None if value is None else micros(_time(where, value))
        case "contested_by":
            return [note_id(namespace, key) for key in _strings(where, value)]
        case "merged_into":
            return None if value is None else note_id(namespace, _text(where, value))
        case "trust":
            return _number(where, value, 0.0, 1.0)
        case "context":
            return _text(where, value, _LONG)
        case _:
            return list(_terms(where, value))


def _links(where: str, data: Any, id: str, namespace: Namespace) -> tuple[Link, ...]:
    links: dict[str, Link] = {}
    for number, each in enumerate(_list(where, data)):
        place = f"{where}[{number}]"
        fields = _object(place, each, _LINK, ("used_at",))
        to = note_id(namespace, _text(f"{place}.to", fields["to"]))
        if to in links:
            raise InvalidInputError(f"{place} leads where another link leads")
        links[to] = Link(
            source=id,
            to=to,
            reason=_text(f"{place}.reason", fields["reason"], _LONG),
            created_at=_time(f"{place}.created_at", fields["created_at"]),
            kind=_text(f"{place}.kind", fields["kind"]),
            weight=_number(f"{place}.weight", fields["weight"], 0.0, 1.0),
            used_at=_optional(_time, "used_at", fields),
        )
    return tuple(links.values())


# -- values ----------------------------------------------------------------------------------


def _optional(read: Callable[[str, Any], T], name: str, fields: Mapping[str, Any]) -> T | None:
    return read(name, fields[name]) if fields.get(name) is not None else None


def _object(
    where: str, value: Any, required: Collection[str] | None = None, optional: Collection[str] = ()
) -> dict[str, Any]:
    """A JSON object; with the fields it must and may have, if they are given."""
    if not isinstance(value, dict):
        raise InvalidInputError(f"{where} is not an object")
    fields = cast("dict[str, Any]", value)
    if required is not None:
        if missing := [name for name in required if name not in fields]:
            raise InvalidInputError(f"{where} has no {missing[0]!r}")
        if unknown := [name for name in fields if name not in required and name not in optional]:
            raise InvalidInputError(f"{where} has an unknown field {unknown[0][:80]!r}")
    return fields


def _list(where: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInputError(f"{where} is not a list")
    return cast("list[Any]", value)


def _string(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{where} is not text")
    return value


def _text(where: str, value: Any, limit: int = _SHORT) -> str:
    """Text that can be stored, of at most `limit` bytes; it may be empty."""
    text = _string(where, value)
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{where} is not valid Unicode") from error
    if size > limit:
        raise InvalidInputError(f"{where} has {size} bytes; at most {limit} can be stored")
    return text


def _strings(where: str, value: Any) -> list[str]:
    return [_text(where, each) for each in _list(where, value)]


def _terms(where: str, value: Any) -> tuple[str, ...]:
    return tuple(_strings(where, value))


def _integer(where: str, value: Any, low: int, high: int = _LARGEST) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value < high:
        raise InvalidInputError(f"{where} is not a whole number from {low} to below {high}")
    return value


def _sequence(where: str, value: Any) -> int:
    return _integer(where, value, -(2**63), 2**63)


def _count(where: str, value: Any) -> int:
    return _integer(where, value, 0)


def _number(where: str, value: Any, low: float, high: float) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidInputError(f"{where} is not a number from {low:g} to {high:g}")
    return float(value)


def _parts(where: str, value: Any) -> tuple[int, ...]:
    return tuple(_integer(where, each, 1) for each in _list(where, value))


def _span(where: str, value: Any) -> timedelta:
    span = timedelta(seconds=_number(where, value, 0.0, timedelta(days=365_000).total_seconds()))
    if not span:
        raise InvalidInputError(f"{where} is no time at all")
    return span


def _time(where: str, value: Any) -> datetime:
    try:
        return as_utc(datetime.fromisoformat(_string(where, value)))
    except ValueError as error:
        raise InvalidInputError(f"{where} is not a time as in 2026-03-01T09:30:00+00:00") from error


def _life(data: Any) -> Life:
    """What happened to a note, as `export` writes it."""
    fields = _object("life", data, (), _LIFE)
    known: dict[str, Any] = {
        name: _count(f"life.{name}", fields[name]) for name in _COUNTED if name in fields
    }
    for name in _TIMES:
        known[name] = _optional(_time, name, fields)
    conflicts = _list("life.conflicts", fields.get("conflicts", []))
    known["conflicts"] = tuple(_time("life.conflicts", each) for each in conflicts)
    known["occasions"] = tuple(_strings("life.occasions", fields.get("occasions", [])))
    return Life(**known)


def _tier(where: str, value: Any) -> Tier:
    try:
        return Tier(value)
    except ValueError as error:
        raise InvalidInputError(f"{where} is none of {', '.join(Tier)}") from error


def _source(where: str, value: Any) -> str:
    if value not in SOURCES:
        raise InvalidInputError(f"{where} is none of {', '.join(SOURCES)}")
    return value


def _status(where: str, value: Any) -> Status:
    try:
        return Status(value)
    except ValueError as error:
        raise InvalidInputError(f"{where} is none of {', '.join(Status)}") from error
