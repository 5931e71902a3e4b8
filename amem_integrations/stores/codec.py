"""The one codec of notes: as JSON, and as points of a collection.

Names and annotations of the fields stand in `core.note`. `Codec` writes payloads, `TEXT` what the
command line prints; `admin.lines` derives the lines of an export from it.
"""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from amem_integrations.core.engine import Fields, Point, SparseVector, Vector
from amem_integrations.core.filters import Condition, both, match
from amem_integrations.core.namespace import Namespace, decode, encode, prefixes
from amem_integrations.core.note import Link, Note, Revision
from amem_integrations.core.status import NEW, RECORDED, Life, Mark
from amem_integrations.stores import facts

SCHEMA_VERSION = 1
META_ID = str(uuid.UUID("00000000-0000-5000-8000-616d656d0001"))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """Microseconds since 1970-01-01 UTC."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    return _EPOCH + value * _MICROSECOND


def duration(span: timedelta) -> int:
    """In microseconds."""
    return span // _MICROSECOND


# -- values as JSON --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Type:
    """An annotation, taken apart: a class, what a tuple or mapping of it holds, and its mark."""

    base: Any
    item: Any = None
    optional: bool = False
    mark: Any = None
    is_record: bool = False
    is_plain: bool = False
    """Whether a payload has the value as it is."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a dataclass: its name in Python, its key in JSON, and what it holds.

    implied: the mark of what the note at hand says already: its id, its namespace.
    """

    name: str
    key: str
    type: Type
    default: Any
    required: bool
    implied: Mark | None


def _type(hint: Any) -> Type:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        plain = args[0] in (str, int, float)
        return replace(_type(args[0]), mark=args[1], is_plain=plain)
    if origin in (Union, UnionType):
        return replace(_type(next(arg for arg in args if arg is not NoneType)), optional=True)
    if origin is None:
        plain = hint in (str, int, float, bool, Any)
        return Type(hint, is_record=is_dataclass(hint), is_plain=plain)
    return Type(tuple if origin is tuple else dict, _type(args[0 if origin is tuple else 1]))


@cache
def fields_of(record: type) -> tuple[Field, ...]:
    found: list[Field] = []
    hints = get_type_hints(record, include_extras=True)
    for field in fields(record):
        kind = _type(hints[field.name])
        implied = kind.mark if kind.mark in (Mark.OWN_ID, Mark.NAMESPACE) else None
        key = field.name.removesuffix("_json")
        required = field.default is MISSING and field.default_factory is MISSING
        found.append(Field(field.name, key, kind, field.default, required, implied))
    return tuple(found)


@cache
def _by_reading(record: type) -> tuple[list[tuple[str, str]], list[Field]]:
    """The name and key of each field that is read as it is, and the other fields."""
    plain = {f.name: f.key for f in fields_of(record) if f.type.is_plain and f.implied is None}
    return [*plain.items()], [f for f in fields_of(record) if f.name not in plain]


class Codec:
    """Dataclasses as JSON and back, by their annotations. This is the form of payloads.

    Times are microseconds, a record within a record is JSON text, and what is read is trusted.

    complete: also write what is not set, and what is implied.
    """

    def __init__(self, *, complete: bool = False) -> None:
        self._complete = complete

    def write_fields(self, record: Any) -> dict[str, Any]:
        """The fields of a record, by their keys."""
        written: dict[str, Any] = {}
        for field in fields_of(record.__class__):
            value, kind = getattr(record, field.name), field.type
            unset = value == field.default if kind.is_record else value is None and kind.optional
            if self._complete or not (unset or field.implied):
                written[field.key] = self.write(kind, value)
        return written

    def write(self, kind: Type, value: Any) -> Any:
        if value is None:
            return None
        if kind.base is tuple:
            item = kind.item
            write = self.write_fields if item.is_record else partial(self.write_leaf, item)
            return [write(each) for each in value]
        if kind.base is dict:
            return self.write_mapping(value)
        return self.write_record(value) if kind.is_record else self.write_leaf(kind, value)

    def write_mapping(self, records: Mapping[str, Any]) -> Any:
        return {name: self.write_fields(record) for name, record in records.items()}

    def write_record(self, record: Any) -> Any:
        return json.dumps(self.write_fields(record), ensure_ascii=False)

    def write_leaf(self, kind: Type, value: Any) -> Any:
        if kind.is_plain:
            return value
        if kind.base is datetime:
            return micros(value)
        return duration(value) if kind.base is timedelta else str(value)

    def read_fields(self, record: type, data: Any, known: Mapping[Any, Any], where: str) -> Any:
        """The record in a JSON object; known: the values that are implied, by mark."""
        plain, others = _by_reading(record)
        found = {name: data[key] for name, key in plain if key in data}
        for field in others:
            if field.implied is not None:
                found[field.name] = known[field.implied]
            elif field.key in data:
                found[field.name] = self.read(field.type, data[field.key], known, where)
        return record(**found)

    def read(self, kind: Type, data: Any, known: Mapping[Any, Any], where: str = "") -> Any:
        if data is None and kind.optional:
            return None
        if kind.base is tuple:
            return self.read_items(kind.item, data, known, where)
        if kind.base is dict:
            return self.read_mapping(kind.item, data, known, where)
        if kind.is_record:
            return self.read_record(kind.base, data, known, where)
        return self.read_leaf(kind, data, where)

    def read_items(self, item: Type, data: Any, known: Mapping[Any, Any], where: str) -> Any:
        if item.is_record:
            return tuple([self.read_fields(item.base, each, known, where) for each in data])
        return tuple(data if item.is_plain else [self.read_leaf(item, each, "") for each in data])

    def read_mapping(self, item: Type, data: Any, known: Mapping[Any, Any], where: str) -> Any:
        return {
            name: self.read_fields(item.base, each, known, where) for name, each in data.items()
        }

    def read_record(self, record: type, data: Any, known: Mapping[Any, Any], where: str) -> Any:
        return self.read_fields(record, json.loads(data), known, where)

    def read_leaf(self, kind: Type, data: Any, where: str) -> Any:
        if kind.is_plain:
            return data
        if kind.base is datetime:
            return moment(data)
        return data * _MICROSECOND if kind.base is timedelta else kind.base(data)


class TextCodec(Codec):
    """Notes for people and programs: times as ISO 8601, spans in seconds, JSON as it is."""

    def write_record(self, record: Any) -> Any:
        return self.write_fields(record)

    def write_leaf(self, kind: Type, value: Any) -> Any:
        if kind.mark is Mark.JSON:
            return json.loads(value)
        if kind.base is datetime:
            return value.isoformat()
        return value.total_seconds() if kind.base is timedelta else super().write_leaf(kind, value)


PAYLOAD, TEXT = Codec(), TextCodec(complete=True)
NOTE: Mapping[str, Type] = {field.name: field.type for field in fields_of(Note)}
"""What each field of a note holds."""


def state_of(note: Note, names: Sequence[str] = RECORDED) -> dict[str, Any]:
    """The fields whose changes revisions record, as JSON; of the links those it made itself."""
    values = {"links": note.outgoing}
    return {
        name: PAYLOAD.write(NOTE[name], values.get(name, getattr(note, name))) for name in names
    }


def fields_from(note_id: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a note, from some of the values of `state_of`."""
    known = {Mark.OWN_ID: note_id}
    return {name: PAYLOAD.read(NOTE[name], value, known) for name, value in state.items()}


def link_json(link: Link) -> dict[str, Any]:
    """A link as its source's payload and revisions keep it."""
    return PAYLOAD.write_fields(link)


def link_from(source: str, data: Mapping[str, Any]) -> Link:
    return PAYLOAD.read_fields(Link, data, {Mark.OWN_ID: source}, "")


def revision_from(text: str) -> Revision:
    return PAYLOAD.read_record(Revision, text, {}, "")


# -- points ----------------------------------------------------------------------------------


class Index(StrEnum):
    """How a field is indexed."""

    TENANT = "tenant"
    KEYWORD = "keyword"
    INTEGER = "integer"


INDEXES: Mapping[str, Index] = {
    "ns": Index.TENANT,
    "kind": Index.KEYWORD,
    "prefixes": Index.KEYWORD,
    "status": Index.KEYWORD,
    "keywords": Index.KEYWORD,
    "tags": Index.KEYWORD,
    "speaker": Index.KEYWORD,
    "session": Index.KEYWORD,
    "source_id": Index.KEYWORD,
    "facts": Index.KEYWORD,
    "link_ids": Index.KEYWORD,
    "influences": Index.KEYWORD,
    "of": Index.KEYWORD,
    "owner": Index.KEYWORD,
    "sequence": Index.INTEGER,
    "place": Index.INTEGER,
    "occurred_at": Index.INTEGER,
    "utc_offset": Index.INTEGER,
    "created_at": Index.INTEGER,
    "updated_at": Index.INTEGER,
    "expires_at": Index.INTEGER,
    "version": Index.INTEGER,
    "tier": Index.KEYWORD,
    "used_at": Index.INTEGER,
    "counted": Index.INTEGER,
    "leased_by": Index.KEYWORD,
    "lease_until": Index.INTEGER,
    "retry_at": Index.INTEGER,
}


def within(namespace: Namespace, *parts: Condition) -> Condition:
    """The notes of exactly this namespace that also meet `parts`."""
    return both(match("ns", encode(namespace)), *parts)


def under(prefix: tuple[str, ...]) -> Condition:
    """The notes of every namespace that begins with these labels; of all without any."""
    return match("prefixes", encode(prefix)) if prefix else match("kind", "note")


def place_of(namespace: Namespace, session: str | None, sequence: int | None) -> int | None:
    """Where in which session, as one number: what comes n turns later stands n higher.

    None where there is no such place. Notes without a session are one session of their namespace.
    Sessions begin anywhere in 62 bits, so that they meet as good as never; those of other
    namespaces as well, so that an index leads to the notes at once.
    """
    if sequence is None or abs(sequence) >= 2**62:
        return None
    name = encode(namespace) if session is None else f"{encode(namespace)} {session}"
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") // 4 + sequence


def note_point(
    note: Note,
    dense: Sequence[Vector],
    sparse: SparseVector | None,
    questions: Sequence[Vector] = (),
) -> Point:
    """The point that stores `note`: one dense vector a passage and a question, its BM25 terms.

    A note alone has `ns`, so whatever is scoped to a namespace sees notes only.
    """
    derived = facts.derive(note)
    place = place_of(note.namespace, note.session, note.sequence)
    payload: dict[str, Any] = {
        **PAYLOAD.write_fields(note),
        "kind": "note",
        "ns": encode(note.namespace),
        "prefixes": prefixes(note.namespace),
        "links": [link_json(link) for link in note.outgoing],
        "link_ids": [link.to for link in note.outgoing],
        "facts": list(derived.terms),
        "numbers": derived.numbers,
        **({} if place is None else {"place": place}),
        **life_fields(note.life),
    }
    if note.revision is not None:
        payload["influences"] = influences(note.id, note.revision)
    return Point(note.id, payload, dense, sparse, questions)


def life_fields(life: Life) -> dict[str, Any]:
    """The payload fields that keep what happened to a note; for `Engine.patch`."""
    if life == NEW:
        return {}
    used = {} if life.used_at is None else {"used_at": micros(life.used_at)}
    return {"life": PAYLOAD.write_record(life), "counted": life.counted, **used}


def as_read(note: Note) -> Fields:
    """What tells that a stored note is still the one that was read.

    The version, and what is set without raising it and must not be set back by a write.
    """
    return {
        "version": note.version,
        "expires_at": None if note.expires_at is None else micros(note.expires_at),
        "counted": None if note.life == NEW else note.life.counted,
    }


def note_from(point: Point) -> Note:
    """The note in a point, with the links it made itself."""
    known = {Mark.OWN_ID: point.id, Mark.NAMESPACE: decode(point.payload["ns"])}
    return PAYLOAD.read_fields(Note, point.payload, known, "")


def revision_point(note: Note, revision: Revision) -> Point:
    """The point that keeps an older revision of `note`; the same each time it is made."""
    return Point(
        str(uuid.uuid5(uuid.UUID(note.id), f"revision {revision.version}")),
        {
            "kind": "revision",
            "of": note.id,
            "owner": encode(note.namespace),
            "version": revision.version,
            "influences": influences(note.id, revision),
            "revision": PAYLOAD.write_record(revision),
        },
    )


def influences(note_id: str, revision: Revision) -> list[str]:
    """The other notes that had a part in a revision or are named in it."""
    return sorted({revision.cause, *revision.sources, *named_in(revision)} - {note_id})


def named_in(revision: Revision) -> set[str]:
    """The ids of the notes that a revision's changes name."""
    named: set[str] = set()
    for name, change in revision.changes.items():
        for side in (change.before, change.after):
            if name == "links":
                named.update(link["to"] for link in side)
            elif side and NOTE[name].mark is Mark.NOTE_ID:
                named.add(side)
            elif (item := NOTE[name].item) and item.mark is Mark.NOTE_ID:
                named.update(side)
    return named
