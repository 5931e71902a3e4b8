"""Check: a full scan for what must never be there; a healthy memory has no findings.

What looks wrong is read a second time, as it may have been a change under way.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from amem_integrations.core.engine import Point
from amem_integrations.core.filters import EVERYTHING, Condition, Range, both, ids, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, decode
from amem_integrations.core.note import Note, Status, note_id
from amem_integrations.errors import AMemError
from amem_integrations.revisions.entry import Entry, entry_of, records_of
from amem_integrations.stores.checks import is_id
from amem_integrations.stores.codec import (
    INDEXES,
    Index,
    note_from,
    note_point,
    revision_from,
    revision_point,
)
from amem_integrations.stores.expiry import including_expired
from amem_integrations.stores.write import FIRST_PASSAGES, passages

_PAGE = 256
FIELDS = tuple(INDEXES)
_ANY = -(2.0**63)
_NOTE = match("kind", "note")
DAMAGED = (
    *(AMemError, ArithmeticError, AttributeError, LookupError),
    *(RecursionError, TypeError, ValueError),
)
"""What reading a damaged note may raise."""

ORPHANED = {"revision": "orphaned-revision", "proposal": "orphaned-proposal"}
"""What is found of a record of each kind whose note is gone."""

UNINDEXED = "unindexed"
"""What is found of whatever is stored and not found by a field that it has."""

DERIVED: Mapping[str, Any] = {
    "ns": "",
    "prefixes": [],
    "link_ids": [],
    "facts": [],
    "numbers": {},
    "influences": [],
    "place": None,
}
"""The payload fields of a note that follow from others, and what stands for a missing one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a note.

    Attributes:
        note_id: the note.
        what: a short stable word.
        detail: which link, note, field or revision.
        mended: whether `repair` mended it.

    Examples:
        >>> from amem_integrations.admin.check import Finding
        >>> found = [Finding("6f0e…", "dangling link", "to 9a3e…")]  # as memory.admin.check() might
        >>> [(each.what, each.mended) for each in found]
        [('dangling link', False)]
    """

    note_id: str
    what: str
    detail: str = ""
    mended: bool = False


@dataclass(frozen=True, slots=True)
class StoredNote:
    """All that is stored of a note.

    namespaces: the namespaces of the notes that it refers to and that exist.
    """

    point: Point
    records: Sequence[Point]
    namespaces: Mapping[str, Namespace]


async def check(io: IO) -> list[Finding]:
    """Everything that is wrong with any note, of whatever namespace, in the order of ids.

    "unreadable", "id": the payload is none of a note's, or stands in a wrong place.
    "self-link", "duplicate-link", "dangling-link", "foreign-link": to nothing, to another
    namespace. "stale-influence": a revision draws on a note that is not there. "empty":
    formed, yet nothing was understood. "version", "revision-gap", "orphaned-revision": a
    history that does not fit. "orphaned-proposal": of a change by or of a note that is gone.
    "derived": a field that does not follow from the others. "vectors": too few or too many.
    "unindexed": whatever is stored under that id is not found by that field. While there is
    such a thing nothing else is reported, as it would rest on what was not found.
    """
    io = including_expired(io)
    findings: list[Finding] = []
    unindexed: list[Finding] = []
    after: str | None = None
    # Not by a field, as the index of that may be what is damaged.
    while page := await io.engine.scroll(EVERYTHING, limit=_PAGE, after=after, fields=FIELDS):
        unindexed += [Finding(id, UNINDEXED, field) for id, field in await _unindexed(io, page)]
        notes = [point.id for point in page if point.payload.get("kind") == "note"]
        for stored in await read(io, notes):
            if examine(stored):
                findings += [
                    found for again in await read(io, [stored.point.id]) for found in examine(again)
                ]
        after = page[-1].id
    return unindexed or findings + await _orphans(io)


async def read(io: IO, note_ids: Sequence[str]) -> list[StoredNote]:
    """What is stored of those of the notes that are there."""
    points = [
        point for point in await io.engine.get(note_ids, vectors=True) if "ns" in point.payload
    ]
    if not points:
        return []
    records = await records_of(io, [point.id for point in points])
    named = {id for point in points for id in _references(point, records[point.id])}
    namespaces = await _namespaces_of(io, named)
    return [StoredNote(point, records[point.id], namespaces) for point in points]


def _references(point: Point, records: Sequence[Point]) -> set[str]:
    try:
        return entry_of(readable_note(point)[0], records).references
    except DAMAGED:
        return set()


async def _namespaces_of(io: IO, note_ids: Collection[str]) -> dict[str, Namespace]:
    wanted = sorted(id for id in note_ids if is_id(id))
    namespaces: dict[str, Namespace] = {}
    for start in range(0, len(wanted), _PAGE):
        page = wanted[start : start + _PAGE]
        points = await io.engine.scroll(both(_NOTE, ids(page)), limit=len(page), fields=("ns",))
        for point in points:
            # One that cannot be read is there all the same.
            with suppress(ValueError, TypeError):
                namespaces[point.id] = ()
                namespaces[point.id] = decode(point.payload["ns"])
    return namespaces


async def _orphans(io: IO) -> list[Finding]:
    """Records of notes that are gone, and proposals in which one that is gone has a part."""
    findings: list[Finding] = []
    after: str | None = None
    where = match("kind", *ORPHANED)
    fields = ("kind", "of", "influences")
    while page := await io.engine.scroll(where, limit=_PAGE, after=after, fields=fields):
        if orphans := await _without_note(io, page):
            again = await io.engine.get([point.id for point in orphans])
            findings += [
                Finding(str(point.payload.get("of")), ORPHANED[point.payload["kind"]], point.id)
                for point in await _without_note(io, again)
            ]
        after = page[-1].id
    return findings


async def _without_note(io: IO, records: Sequence[Point]) -> list[Point]:
    needed = {point.id: _needed(point) for point in records}
    namespaces = await _namespaces_of(io, {id for each in needed.values() for id in each})
    return [point for point in records if not needed[point.id] <= namespaces.keys()]


def _needed(record: Point) -> set[str]:
    """The notes without which a record is of no use; a revision is mended with its note."""
    needed = {str(record.payload.get("of"))}
    if record.payload["kind"] == "proposal":
        needed.update(map(str, record.payload.get("influences", ())))
    return needed


# -- indexes --------------------------------------------------------------------------------


async def _unindexed(io: IO, points: Sequence[Point]) -> list[tuple[str, str]]:
    """Return ids and fields of points that a query by that field does not find.

    The engine's index may be damaged. points: with all of FIELDS that they have.
    """
    missing: list[tuple[str, str]] = []
    for field in FIELDS:
        stored = {point.id: point for point in points if _values(point, field)}
        if not stored or await io.engine.count(_found_by(field, stored.values())) == len(stored):
            continue
        found = await io.engine.scroll(
            _found_by(field, stored.values()), limit=len(stored), fields=("kind",)
        )
        for id in stored.keys() - {point.id for point in found}:
            # It may have been written just now.
            again = [point for point in await io.engine.get([id]) if _values(point, field)]
            if again and not await io.engine.count(_found_by(field, again)):
                missing.append((id, field))
    return missing


async def reindex(io: IO, id: str, field: str) -> None:
    """Write a field of a point again, which makes its index anew, unless it was changed."""
    for point in await io.engine.get([id]):
        stored = {field: point.payload.get(field)}
        await io.engine.patch(id, stored, expect=stored)


def _found_by(field: str, points: Iterable[Point]) -> Condition:
    points = list(points)
    some = ids([point.id for point in points])
    if INDEXES[field] is Index.INTEGER:
        return both(some, Range(field, gte=_ANY))
    values = {value for point in points for value in _values(point, field)}
    return both(some, match(field, *sorted(values)))


def _values(point: Point, field: str) -> list[Any]:
    """The values of a field that an index can hold."""
    kind = int if INDEXES[field] is Index.INTEGER else str
    stored = point.payload.get(field)
    values = cast("list[Any]", stored if isinstance(stored, list) else [stored])
    return [value for value in values if type(value) is kind]


# -- one note --------------------------------------------------------------------------------


def readable_note(point: Point) -> tuple[Note, list[Finding]]:
    """The note in a point, without links that no note can have, and these as findings.

    Raises whatever reading it raises.
    """
    links: dict[str, Any] = {}
    findings: list[Finding] = []
    for link in point.payload["links"]:
        if link["to"] == point.id:
            findings.append(Finding(point.id, "self-link"))
        elif link["to"] in links:
            findings.append(Finding(point.id, "duplicate-link", link["to"]))
        else:
            links[link["to"]] = link
    payload = {**point.payload, "links": list(links.values())}
    return note_from(replace(point, payload=payload)), findings


def examine(stored: StoredNote) -> list[Finding]:
    """What is wrong with one note; pure."""
    try:
        return _examine(stored)
    except DAMAGED as error:
        return [Finding(stored.point.id, "unreadable", type(error).__name__)]


def _examine(stored: StoredNote) -> list[Finding]:
    point = stored.point
    note, findings = readable_note(point)

    def found(what: str, detail: str = "") -> None:
        findings.append(Finding(note.id, what, detail))

    if note.id != note_id(note.namespace, note.key):
        found("id", "does not follow from namespace and key")
    if note.status is Status.FORMED and note.content and not (note.keywords or note.context):
        found("empty", "formed, yet nothing was understood")
    linked = {link.to for link in note.outgoing}
    for link in note.outgoing:
        if link.to not in stored.namespaces:
            found("dangling-link", link.to)
        elif stored.namespaces[link.to] != note.namespace:
            found("foreign-link", link.to)
    entry = entry_of(note, stored.records)
    for id in sorted(entry.references - linked):
        if stored.namespaces.get(id) != note.namespace:
            found("stale-influence", id)
    findings += _history(entry, stored.records)
    expected = note_point(note, (), None).payload
    for name, missing in DERIVED.items():
        if not _is_equal(point.payload.get(name, missing), expected.get(name, missing)):
            found("derived", name)
    if not _fits(note, len(point.dense)):
        found("vectors", f"{len(point.dense)} for {len(passages(note))} passages")
    if len(point.questions) != len(note.questions):
        found("vectors", f"{len(point.questions)} for {len(note.questions)} questions")
    return findings


def _is_equal(stored: Any, expected: Any) -> bool:
    """Whether they are equal; an engine does not keep every digit of a number."""
    match expected:
        case float():
            return isinstance(stored, int | float) and math.isclose(stored, expected, rel_tol=1e-9)
        case list():
            pairs = cast("list[Any]", expected)
            return len(stored) == len(pairs) and all(map(_is_equal, stored, pairs))
        case dict():
            wanted = cast("dict[str, Any]", expected)
            return stored.keys() == wanted.keys() and all(
                _is_equal(stored[name], value) for name, value in wanted.items()
            )
        case _:
            return stored == expected


def _history(entry: Entry, records: Sequence[Point]) -> list[Finding]:
    note = entry.note
    newest = note.revision.version if note.revision else 0
    findings: list[Finding] = []
    if newest > note.version:
        findings.append(Finding(note.id, "version", "behind its own revision"))
    if missing := len(entry.revisions) - len(entry.coherent):
        before = entry.revisions[missing].version if entry.coherent else note.version
        findings.append(Finding(note.id, "revision-gap", f"before version {before}"))
    for record in records:
        # The current revision may have a record, from a commit that did not happen.
        if record.payload["version"] > newest:
            findings.append(Finding(note.id, "orphaned-revision", record.id))
            continue
        made = revision_point(note, revision_from(record.payload["revision"]))
        if (made.id, made.payload) != (record.id, record.payload):
            findings.append(Finding(note.id, "derived", record.id))
    return findings


def _fits(note: Note, vectors: int) -> bool:
    wanted = len(passages(note))
    # What waits to be formed may have its first passages only.
    least = wanted if note.status is Status.FORMED else min(wanted, FIRST_PASSAGES)
    return least <= vectors <= wanted
