"""Notes as points: which payload field holds what, which fields are indexed, and back again.

Several kinds of points share a collection. A *note* alone carries `ns`, so whatever is scoped
to a namespace sees notes only. A *revision* is an older revision of a note, kept apart so
that a note stays small. A *usage* point says what model calls took (`usage.py`). The *meta*
point says what the collection was written with.
"""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from amem_integrations.core.filters import Condition, both, match
from amem_integrations.core.io import Fields, Point, SparseVector, Vector
from amem_integrations.core.namespace import Namespace, decode, encode, prefixes
from amem_integrations.core.note import Change, Link, Note, Revision, Status
from amem_integrations.core.status import (
    NEW,
    Life,
    Tier,
    life_from,
    life_json,
    standing_from,
    standing_json,
)
from amem_integrations.stores import facts

SCHEMA_VERSION = 1
META_ID = str(uuid.UUID("00000000-0000-5000-8000-616d656d0001"))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
USUAL = standing_json(Tier.SHORT, None, (), None, 1.0)
"""How a note stands of which nothing is known; a payload keeps what differs."""


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


def micros(moment: datetime) -> int:
    """Microseconds since 1970-01-01 UTC."""
    return (moment - _EPOCH) // _MICROSECOND


def duration(span: timedelta) -> int:
    """In microseconds."""
    return span // _MICROSECOND


def moment(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)


def place_of(namespace: Namespace, session: str | None, sequence: int | None) -> int | None:
    """Where in which session, as one number: what comes n turns later stands n higher.

    None where there is no such place. Sessions begin anywhere in 62 bits, so that they meet as
    good as never; those of other namespaces as well, so that an index leads to the notes at once.
    """
    if session is None or sequence is None or abs(sequence) >= 2**62:
        return None
    name = f"{encode(namespace)} {session}"
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") // 4 + sequence


def note_point(note: Note, dense: Sequence[Vector], sparse: SparseVector | None) -> Point:
    """The point that stores `note`: one dense vector a passage, and its BM25 terms."""
    derived = facts.derive(note)
    payload: dict[str, Any] = {
        "kind": "note",
        "ns": encode(note.namespace),
        "prefixes": prefixes(note.namespace),
        "key": note.key,
        "content": note.content,
        "keywords": list(note.keywords),
        "tags": list(note.tags),
        "context": note.context,
        "links": [link_json(link) for link in note.outgoing],
        "link_ids": [link.to for link in note.outgoing],
        "created_at": micros(note.created_at),
        "updated_at": micros(note.updated_at),
        "metadata": note.metadata_json,
        "facts": list(derived.terms),
        "numbers": derived.numbers,
        "status": str(note.status),
        "attempts": note.attempts,
        "confidence": note.confidence,
        "version": note.version,
    }
    optional = {
        "speaker": note.speaker,
        "session": note.session,
        "sequence": note.sequence,
        "place": place_of(note.namespace, note.session, note.sequence),
        "source_id": note.source_id,
        "position": note.position,
        "occurred_at": None if note.occurred_at is None else micros(note.occurred_at),
        "value": note.value_json,
        "parts": None if note.parts is None else list(note.parts),
        "ttl": None if note.ttl is None else duration(note.ttl),
        "expires_at": None if note.expires_at is None else micros(note.expires_at),
        "last_error": note.last_error,
        "source": note.source,
    }
    payload.update({name: value for name, value in optional.items() if value is not None})
    payload.update({name: each for name, each in note.standing.items() if each != USUAL[name]})
    payload.update(life_fields(note.life))
    if note.revision is not None:
        payload["revision"] = revision_json(note.revision)
        payload["influences"] = influences(note.id, note.revision)
    return Point(note.id, payload, dense, sparse)


def life_fields(life: Life) -> dict[str, Any]:
    """The payload fields that keep what happened to a note; for `Engine.patch`."""
    if life == NEW:
        return {}
    fields: dict[str, Any] = {"life": life_json(life), "counted": life.counted}
    if life.used_at is not None:
        fields["used_at"] = micros(life.used_at)
    return fields


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
    payload = point.payload
    revision = payload.get("revision")
    parts, ttl = payload.get("parts"), payload.get("ttl")
    life = payload.get("life")
    return Note(
        id=point.id,
        namespace=decode(payload["ns"]),
        key=payload["key"],
        content=payload["content"],
        keywords=tuple(payload["keywords"]),
        tags=tuple(payload["tags"]),
        context=payload["context"],
        links=tuple(link_from(point.id, link) for link in payload["links"]),
        speaker=payload.get("speaker"),
        session=payload.get("session"),
        sequence=payload.get("sequence"),
        source_id=payload.get("source_id"),
        position=payload.get("position"),
        occurred_at=_moment(payload, "occurred_at"),
        created_at=moment(payload["created_at"]),
        updated_at=moment(payload["updated_at"]),
        metadata_json=payload["metadata"],
        value_json=payload.get("value"),
        parts=None if parts is None else tuple(parts),
        ttl=None if ttl is None else ttl * _MICROSECOND,
        expires_at=_moment(payload, "expires_at"),
        status=Status(payload["status"]),
        attempts=payload["attempts"],
        last_error=payload.get("last_error"),
        revision=None if revision is None else revision_from(revision),
        confidence=payload["confidence"],
        version=payload["version"],
        source=payload.get("source"),
        life=NEW if life is None else life_from(life),
        **standing_from(payload),
    )


def _moment(payload: Mapping[str, Any], name: str) -> datetime | None:
    return moment(payload[name]) if name in payload else None


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
            "revision": revision_json(revision),
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
            match name:
                case "links":
                    named.update(link["to"] for link in side)
                case "contested_by":
                    named.update(side)
                case "merged_into" if side is not None:
                    named.add(side)
                case _:
                    pass
    return named


def revision_json(revision: Revision) -> str:
    return json.dumps(
        {
            "version": revision.version,
            "kind": revision.kind,
            "cause": revision.cause,
            "at": micros(revision.at),
            "analyst": revision.analyst,
            "changes": {
                name: [change.before, change.after] for name, change in revision.changes.items()
            },
            "sources": list(revision.sources),
            "reason": revision.reason,
        },
        ensure_ascii=False,
    )


def revision_from(text: str) -> Revision:
    data = json.loads(text)
    return Revision(
        version=data["version"],
        kind=data["kind"],
        cause=data["cause"],
        at=moment(data["at"]),
        analyst=data["analyst"],
        changes={name: Change(*pair) for name, pair in data["changes"].items()},
        sources=tuple(data["sources"]),
        reason=data["reason"],
    )


def link_json(link: Link) -> dict[str, Any]:
    """A link as its source's payload and revisions keep it."""
    fields: dict[str, Any] = {
        "to": link.to,
        "reason": link.reason,
        "kind": link.kind,
        "weight": link.weight,
        "created_at": micros(link.created_at),
    }
    return fields if link.used_at is None else {**fields, "used_at": micros(link.used_at)}


def link_from(source: str, data: Mapping[str, Any]) -> Link:
    return Link(
        source=source,
        to=data["to"],
        reason=data["reason"],
        kind=data["kind"],
        weight=data["weight"],
        created_at=moment(data["created_at"]),
        used_at=_moment(data, "used_at"),
    )
