"""Reading notes out of the store: by id, by namespace, with the links of both directions.

Queries by meaning and words live in `recall`; writing lives in `write`.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from amem_integrations.core.engine import Point
from amem_integrations.core.filters import EVERYTHING, Condition, both, ids, match
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, decode, encode
from amem_integrations.core.note import Link, Note, Revision
from amem_integrations.stores.codec import link_from, note_from, revision_from, within

_PAGE = 256
_MERGES = 16


async def load(io: IO, note_ids: Iterable[str], namespace: Namespace) -> dict[str, Note]:
    """The notes among `note_ids` that exist in exactly this namespace, in the order given.

    Their links are the ones they made themselves. Ids of another namespace are absent, as
    if they did not exist.
    """
    wanted = [note_id for note_id in dict.fromkeys(note_ids) if _is_id(note_id)]
    if not wanted:
        return {}
    notes = (note_from(point) for point in await io.engine.get(wanted) if "ns" in point.payload)
    return {note.id: note for note in notes if note.namespace == namespace}


async def load_merged(io: IO, note_ids: Iterable[str], namespace: Namespace) -> dict[str, Note]:
    """Return the notes by the ids asked for; a merged note gives the one it was merged into."""
    found = await load(io, note_ids, namespace)
    known = dict(found)
    for _ in range(_MERGES):
        targets = {id: note.merged_into for id, note in found.items() if note.merged_into}
        if not targets:
            break
        known |= await load(io, set(targets.values()) - known.keys(), namespace)
        found |= {id: known[target] for id, target in targets.items() if target in known}
    return found


async def notes_by_id(io: IO, note_ids: Iterable[str]) -> dict[str, Note]:
    """Return the existing notes among `note_ids`, of any namespace."""
    wanted = list(note_ids)
    found: dict[str, Note] = {}
    for start in range(0, len(wanted), _PAGE):
        points = await io.engine.get(wanted[start : start + _PAGE])
        found.update((point.id, note_from(point)) for point in points if "ns" in point.payload)
    return found


def _is_id(text: str) -> bool:
    """Return whether a caller's text can be a note's id; engines refuse anything but UUIDs."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


async def with_links(io: IO, notes: Sequence[Note]) -> list[Note]:
    """Return the notes with links of both directions, without links to notes that are gone.

    All notes must be of one namespace.
    """
    if not notes:
        return []
    owners = [note.id for note in notes]
    namespace = notes[0].namespace
    incoming = await backlinks(io, namespace, owners)
    linked = {link.source for links in incoming.values() for link in links}
    # Of the others it matters only that they are there; a payload takes long to read.
    targets = {link.to for note in notes for link in note.outgoing}.difference(owners, linked)
    known = {*owners, *linked, *await existing(io, sorted(targets), namespace)}
    return [
        replace(
            note,
            links=(
                *(link for link in note.outgoing if link.to in known),
                *incoming.get(note.id, ()),
            ),
        )
        for note in notes
    ]


async def reload_notes(io: IO, notes: Sequence[Note]) -> list[Note]:
    """Read the notes again, with links of both directions; a note that is gone stays as given.

    All notes must be of one namespace.
    """
    fresh: dict[str, Note] = {}
    for start in range(0, len(notes), _PAGE):
        page = await load(
            io, (note.id for note in notes[start : start + _PAGE]), notes[0].namespace
        )
        fresh |= {note.id: note for note in await with_links(io, list(page.values()))}
    return [fresh.get(note.id, note) for note in notes]


async def backlinks(
    io: IO, namespace: Namespace, note_ids: Sequence[str]
) -> Mapping[str, list[Link]]:
    """Return the links that other notes of the namespace made to each of `note_ids`."""
    where = within(namespace, match("link_ids", *note_ids))
    return _links_to(set(note_ids), await load_points(io, where, fields=("links",)))


def _links_to(targets: Collection[str], points: Iterable[Point]) -> dict[str, list[Link]]:
    found: dict[str, list[Link]] = {}
    for point in points:
        for data in point.payload["links"]:
            if data["to"] in targets:
                found.setdefault(data["to"], []).append(link_from(point.id, data))
    return found


async def existing(io: IO, note_ids: Sequence[str], namespace: Namespace) -> set[str]:
    """Return the ids that are notes of this namespace."""
    if not note_ids:
        return set()
    where = within(namespace, ids(note_ids))
    points = await io.engine.scroll(where, limit=len(note_ids), fields=())
    return {point.id for point in points}


async def load_all_notes(io: IO, where: Condition = EVERYTHING) -> list[Note]:
    """Return all notes that meet `where`, in the order of their ids."""
    return [note_from(point) for point in await load_points(io, both(match("kind", "note"), where))]


async def load_points(
    io: IO, where: Condition = EVERYTHING, *, fields: tuple[str, ...] | None = None
) -> list[Point]:
    """Return all points that meet `where`, in the order of their ids."""
    found: list[Point] = []
    after: str | None = None
    while True:
        page = await io.engine.scroll(where, limit=_PAGE, after=after, fields=fields)
        found.extend(page)
        if len(page) < _PAGE:
            return found
        after = page[-1].id


async def recent(
    io: IO, namespace: Namespace, *, limit: int, where: Condition = EVERYTHING
) -> list[Note]:
    """Return the newest notes of a namespace, newest first."""
    points = await io.engine.scroll(
        within(namespace, where), limit=limit, order_by="created_at", descending=True
    )
    return [note_from(point) for point in points]


async def namespaces(io: IO, where: Condition = EVERYTHING) -> list[Namespace]:
    """Return the namespaces with a note that meets `where`, in the order of labels."""
    where = both(match("kind", "note"), where)
    found = await io.engine.facet("ns", where, limit=await io.engine.count(where))
    return sorted(map(decode, found))


async def revisions(io: IO, note: Note) -> list[Revision]:
    """Return the revisions of a note, oldest first; the newest is the one on the note itself."""
    kept = await load_points(io, both(match("kind", "revision"), match("of", note.id)))
    by_version = {
        revision.version: revision
        for revision in (revision_from(point.payload["revision"]) for point in kept)
    }
    if note.revision is not None:
        by_version[note.revision.version] = note.revision
    return [by_version[version] for version in sorted(by_version)]


async def influenced_by(io: IO, namespace: Namespace, note_id: str) -> list[str]:
    """Return the ids of notes with a revision that `note_id` took part in."""
    home = AnyOf((within(namespace), match("owner", encode(namespace))))
    where = both(match("influences", note_id), home)
    points = await load_points(io, where, fields=("of",))
    owners = (point.payload.get("of", point.id) for point in points)
    return list(dict.fromkeys(owner for owner in owners if owner != note_id))


async def linking_to(io: IO, namespace: Namespace, note_id: str) -> list[str]:
    """Return the ids of the notes of the namespace that link to `note_id`."""
    return [
        point.id for point in await load_points(io, within(namespace, match("link_ids", note_id)))
    ]
