"""Exporting: the notes of one namespace, each with its whole history, as lines of JSON.

The first line is a header; then one line a note, oldest first. Notes are named by their keys,
never by ids: an id follows from namespace and key, so a line means the same in any namespace,
and cannot name a note of another one. Vectors are left out; they follow from the texts, and
so does everything else that is derived. `lines` and `import_` are the way back.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from amem_integrations.core.io import IO, Point
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Link, Revision
from amem_integrations.core.status import Life
from amem_integrations.revisions.entry import Entry, entry_of, keys_of, records_of
from amem_integrations.stores.codec import USUAL, link_from, link_json, moment, note_from, within

FORMAT, FORMAT_VERSION = "amem-notes", 1
_PAGE = 128
_ROUNDS = 8


async def export(io: IO, namespace: Namespace, package: str) -> AsyncGenerator[str, None]:
    """The lines, without line ends. Notes added meanwhile come at the end or not at all.

    package: the version of the package that writes them, for the header.
    """
    yield header_line(namespace, package)
    start: int | None = None
    seen: set[str] = set()
    limit = _PAGE
    while True:
        page = await io.engine.scroll(
            within(namespace),
            limit=limit,
            order_by="created_at",
            start_from=start,
            fields=("created_at",),
        )
        new = [point.id for point in page if point.id not in seen]
        for line in await _lines(io, new, namespace):
            yield line
        if len(page) < limit:
            return
        last = page[-1].payload["created_at"]
        # The next page starts with the notes of the same instant, however many these are.
        limit = _PAGE if new and last != start else 2 * limit
        at_last = {point.id for point in page if point.payload["created_at"] == last}
        seen = at_last | seen if last == start else at_last
        start = last


async def _lines(io: IO, note_ids: list[str], namespace: Namespace) -> list[str]:
    entries = await _settled(io, note_ids)
    named = {id for entry in entries for id in entry.references}
    keys = await keys_of(io, named, namespace) if named else {}
    return [note_line(entry.only(keys), keys) for entry in entries]


async def _settled(io: IO, note_ids: list[str]) -> list[Entry]:
    """The notes with their histories, read again while one of them changes meanwhile."""
    if not note_ids:
        return []
    points = await io.engine.get(note_ids)
    records = await records_of(io, note_ids)
    for _ in range(_ROUNDS):
        again = await io.engine.get(note_ids)
        if _versions(again) == _versions(points):
            break
        points, records = again, await records_of(io, note_ids)
    notes = [note_from(point) for point in points]
    return [entry_of(note, records[note.id]) for note in notes]


def _versions(points: list[Point]) -> dict[str, Any]:
    return {point.id: point.payload["version"] for point in points}


def header_line(namespace: Namespace, package: str) -> str:
    return _dumps(
        {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "namespace": list(namespace),
            "package": package,
        }
    )


def note_line(entry: Entry, keys: Mapping[str, str]) -> str:
    """keys: those of all notes that the entry refers to, by id."""
    note = entry.note
    keys = {**keys, note.id: note.key}
    data: dict[str, Any] = {
        "key": note.key,
        "content": note.content,
        "keywords": note.keywords,
        "tags": note.tags,
        "context": note.context,
        "links": [_written_link(link, keys) for link in note.outgoing],
        "created_at": _written(note.created_at),
        "updated_at": _written(note.updated_at),
        "metadata": note.metadata,
        "status": note.status,
        "attempts": note.attempts,
        "confidence": note.confidence,
        "version": note.version,
        "revisions": [_written_revision(note.id, each, keys) for each in entry.revisions],
    }
    optional = {
        "speaker": note.speaker,
        "session": note.session,
        "sequence": note.sequence,
        "source_id": note.source_id,
        "position": note.position,
        "occurred_at": _written(note.occurred_at),
        "parts": note.parts,
        "ttl_seconds": None if note.ttl is None else note.ttl.total_seconds(),
        "expires_at": _written(note.expires_at),
        "last_error": note.last_error,
        "source": note.source,
        "life": _written_life(note.life),
        **{
            name: _written_field(name, each, note.id, keys)
            for name, each in note.standing.items()
            if each != USUAL[name]
        },
    }
    data.update({name: value for name, value in optional.items() if value is not None})
    if note.value_json is not None:
        data["value"] = note.value
    return _dumps(data)


def _dumps(data: Any) -> str:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # A caller's JSON may hold lone surrogates, which survive as escapes only.
        return json.dumps(data, allow_nan=False)
    return text


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _written_link(link: Link, keys: Mapping[str, str]) -> dict[str, Any]:
    times = {"created_at": link.created_at, "used_at": link.used_at}
    written = {name: _written(each) for name, each in times.items() if each is not None}
    return {**link_json(link), "to": keys[link.to], **written}


def _written_revision(note_id: str, revision: Revision, keys: Mapping[str, str]) -> dict[str, Any]:
    changes = {
        name: [_written_field(name, side, note_id, keys) for side in (each.before, each.after)]
        for name, each in revision.changes.items()
    }
    return {
        "version": revision.version,
        "kind": revision.kind,
        "cause": keys[revision.cause],
        "at": _written(revision.at),
        "analyst": revision.analyst,
        "changes": changes,
        "sources": [keys[source] for source in revision.sources],
        "reason": revision.reason,
    }


def _written_field(name: str, value: Any, note_id: str, keys: Mapping[str, str]) -> Any:
    """A changed field with keys for ids and times that can be read."""
    match name:
        case "links":
            return [_written_link(link_from(note_id, link), keys) for link in value]
        case "contested_by":
            return [keys[id] for id in value]
        case "merged_into":
            return None if value is None else keys[value]
        case "valid_until":
            return None if value is None else _written(moment(value))
        case _:
            return value


def _written_life(life: Life) -> dict[str, Any] | None:
    """None where nothing happened. What was counted here is not what is counted elsewhere."""
    written = {
        name: [_written(each) for each in value]
        if name == "conflicts"
        else _written(value)
        if isinstance(value, datetime)
        else value
        for name, value in asdict(life).items()
        if value and name != "counted"
    }
    return written or None
