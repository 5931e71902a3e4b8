"""A note with its whole history, and the other notes that these refer to.

Pure, but for reading the history. `check` asks whether it holds together; `export` and
`import_` carry it from one memory to another.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amem_integrations.core.filters import both, ids, match
from amem_integrations.core.io import IO, Point
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Change, Note, Revision
from amem_integrations.stores.codec import link_json, named_in, revision_from, within
from amem_integrations.stores.read import every_point

_AT_ONCE = 512


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
        """Without what refers to any note that is not `present`.

        A revision that such a note had caused is then put down to the note itself.
        """
        if not self.references - set(present):
            return self
        note, newest = self.note, self.note.revision
        return Entry(
            replace(
                note,
                links=tuple(link for link in note.outgoing if link.to in present),
                contested_by=tuple(id for id in note.contested_by if id in present),
                merged_into=note.merged_into if note.merged_into in present else None,
                revision=None if newest is None else _only(note.id, newest, present),
            ),
            tuple(_only(note.id, each, present) for each in self.older),
        )

    @property
    def coherent(self) -> tuple[Revision, ...]:
        """The newest revisions that lead to the note as it is, without a gap."""
        note = self.note
        now: dict[str, Any] = {
            "content": note.content,
            "keywords": list(note.keywords),
            "tags": list(note.tags),
            "context": note.context,
            "links": _targets([link_json(link) for link in note.outgoing]),
            **note.standing,
        }
        joined: list[Revision] = []
        for revision in reversed(self.revisions):
            # A status also changes unrecorded, as when a note is parked.
            changes = {name: each for name, each in revision.changes.items() if name in now}
            if any(_value(name, each.after) != now[name] for name, each in changes.items()):
                break
            now |= {name: _value(name, each.before) for name, each in changes.items()}
            joined.append(revision)
        return tuple(reversed(joined))


def _only(note_id: str, revision: Revision, present: Collection[str]) -> Revision:
    changes = {
        name: Change(*(_present(name, side, present) for side in (each.before, each.after)))
        for name, each in revision.changes.items()
    }
    return replace(
        revision,
        cause=revision.cause if revision.cause in present else note_id,
        sources=tuple(source for source in revision.sources if source in present),
        changes=changes,
    )


def _present(name: str, side: Any, present: Collection[str]) -> Any:
    match name:
        case "links":
            return [link for link in side if link["to"] in present]
        case "contested_by":
            return [id for id in side if id in present]
        case "merged_into":
            return side if side in present else None
        case _:
            return side


def _value(name: str, value: Any) -> Any:
    return _targets(value) if name == "links" else value


def _targets(links: Sequence[Any]) -> list[str]:
    return [link["to"] for link in links]


async def records_of(io: IO, note_ids: Sequence[str]) -> dict[str, list[Point]]:
    """The points that keep older revisions, by the note they are of, oldest first."""
    found: dict[str, list[Point]] = {note_id: [] for note_id in note_ids}
    where = both(match("kind", "revision"), match("of", *note_ids))
    for point in await every_point(io, where):
        found[point.payload["of"]].append(point)
    for points in found.values():
        points.sort(key=lambda point: point.payload["version"])
    return found


def entry_of(note: Note, records: Sequence[Point]) -> Entry:
    """The note with those of the records that came before the revision it carries."""
    if note.revision is None:
        return Entry(note)
    newest = note.revision.version
    older = (revision_from(record.payload["revision"]) for record in records)
    return Entry(note, tuple(each for each in older if each.version < newest))


async def keys_of(io: IO, note_ids: Collection[str], namespace: Namespace) -> dict[str, str]:
    """The keys of those among the ids that are notes of this namespace."""
    wanted = sorted(note_ids)
    found: dict[str, str] = {}
    for start in range(0, len(wanted), _AT_ONCE):
        page = wanted[start : start + _AT_ONCE]
        where = within(namespace, ids(page))
        points = await io.engine.scroll(where, limit=len(page), fields=("key",))
        found.update((point.id, point.payload["key"]) for point in points)
    return found
