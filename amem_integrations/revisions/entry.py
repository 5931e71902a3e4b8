"""A note with its whole history, and the other notes that these refer to."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amem_integrations.core.engine import Point
from amem_integrations.core.filters import both, ids, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Revision
from amem_integrations.revisions.change import keep_references, map_changes
from amem_integrations.stores.codec import fields_from, named_in, revision_from, state_of, within
from amem_integrations.stores.read import load_points

_PAGE = 512


@dataclass(frozen=True, slots=True)
class Entry:
    """A note, and the revisions before the one it carries itself, oldest first."""

    note: Note
    older: tuple[Revision, ...] = ()

    @property
    def revisions(self) -> tuple[Revision, ...]:
        return self.older if self.note.revision is None else (*self.older, self.note.revision)

    @property
    def references(self) -> set[str]:
        """The ids of the other notes that its links and revisions name."""
        named = {link.to for link in self.note.outgoing}.union(self.note.contested_by)
        if self.note.merged_into is not None:
            named.add(self.note.merged_into)
        for revision in self.revisions:
            named.update((revision.cause, *revision.sources), named_in(revision))
        return named - {self.note.id}

    def only(self, present: Collection[str]) -> "Entry":
        """Return the entry without what refers to any note that is not `present`.

        A revision that such a note had caused is then put down to the note itself.
        """
        if not self.references - set(present):
            return self
        note = self.note
        state = {
            name: keep_references(name, value, present.__contains__)
            for name, value in state_of(note).items()
        }
        revisions = [_only(note.id, revision, present) for revision in self.revisions]
        newest = None if note.revision is None else revisions.pop()
        return Entry(
            replace(note, **fields_from(note.id, state), revision=newest), tuple(revisions)
        )

    @property
    def coherent(self) -> tuple[Revision, ...]:
        """The newest revisions that lead to the note as it is, without a gap."""
        now = {name: _comparable(name, value) for name, value in state_of(self.note).items()}
        # It also changes unrecorded, as when a note is parked.
        del now["status"]
        joined: list[Revision] = []
        for revision in reversed(self.revisions):
            changes = {name: change for name, change in revision.changes.items() if name in now}
            after = {name: _comparable(name, change.after) for name, change in changes.items()}
            if now | after != now:
                break
            now |= {name: _comparable(name, change.before) for name, change in changes.items()}
            joined.append(revision)
        return tuple(reversed(joined))


def _only(note_id: str, revision: Revision, present: Collection[str]) -> Revision:
    return replace(
        map_changes(
            revision, lambda name, value: keep_references(name, value, present.__contains__)
        ),
        cause=revision.cause if revision.cause in present else note_id,
        sources=tuple(source for source in revision.sources if source in present),
    )


def _comparable(name: str, value: Any) -> Any:
    """Weights of links change unrecorded: only where they lead is compared."""
    return [link["to"] for link in value] if name == "links" else value


async def records_of(io: IO, note_ids: Sequence[str]) -> dict[str, list[Point]]:
    """Return the points that keep older revisions, oldest first, by the id of their note."""
    found: dict[str, list[Point]] = {note_id: [] for note_id in note_ids}
    where = both(match("kind", "revision"), match("of", *note_ids))
    for point in await load_points(io, where):
        found[point.payload["of"]].append(point)
    for points in found.values():
        points.sort(key=lambda point: point.payload["version"])
    return found


def entry_of(note: Note, records: Sequence[Point]) -> Entry:
    """Return the note with those of the records that came before the revision it carries."""
    if note.revision is None:
        return Entry(note)
    newest = note.revision.version
    older = (revision_from(record.payload["revision"]) for record in records)
    return Entry(note, tuple(revision for revision in older if revision.version < newest))


async def keys_of(io: IO, note_ids: Collection[str], namespace: Namespace) -> dict[str, str]:
    """Return the keys of those among the ids that are notes of this namespace."""
    wanted = sorted(note_ids)
    found: dict[str, str] = {}
    for start in range(0, len(wanted), _PAGE):
        page = wanted[start : start + _PAGE]
        where = within(namespace, ids(page))
        points = await io.engine.scroll(where, limit=len(page), fields=("key",))
        found.update((point.id, point.payload["key"]) for point in points)
    return found
