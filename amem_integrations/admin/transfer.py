"""Import: the notes of an export, into the namespace they are from or another.

Importing finds notes again by their keys, so it can be repeated, and continued after an error. At
no time does a note refer to one that is not stored: what a line says of later notes is added once
they came. What lines say of the trust in a note counts only if the caller vouches for them.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeAlias

from amem_integrations.admin.lines import (
    as_import,
    read_end,
    read_entry,
    read_header,
    read_json,
)
from amem_integrations.core.engine import Point
from amem_integrations.core.filters import Range, both, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status
from amem_integrations.core.status import NEW
from amem_integrations.errors import InvalidInputError, InvalidLineError, StoreError
from amem_integrations.revisions.entry import Entry, entry_of, keys_of, records_of
from amem_integrations.revisions.forget import make_way
from amem_integrations.revisions.retract import retract
from amem_integrations.stores.codec import as_read, revision_point
from amem_integrations.stores.read import load
from amem_integrations.stores.write import embedded_points, vectors_by_text

_PAGE = 128
_CHUNK_CHARS = 4 * 1024 * 1024
_ROUNDS = 8

Line: TypeAlias = str | bytes
Lines: TypeAlias = Iterable[Line] | AsyncIterable[Line]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did.

    Attributes:
        namespace: where to.
        notes: how many were added.
        replaced: how many took the place of another state of the same note.
        kept: how many were there already and were left as they are.
        waiting: how many of those added or replaced are raw, and so in the queue.
        links: how many links were dropped because the note they lead to is neither among the lines
            nor in the namespace.
        mentions: how many other mentions of such notes were left out of revisions.
        histories: how many histories were cut short because they did not lead to the note as it is.
        unformed: ids of other notes that must be formed again, as they drew on what was replaced.
        missing: how many notes fewer the lines held than their end says, below 0 if more; None if
            they have no end, so that any number may be missing.

    Examples:
        >>> _ = memory.add("Tea at four", namespace="house")
        >>> lines = memory.admin.export("house")
        >>> imported = memory.admin.import_(lines, namespace=("archive", "house"))
        >>> imported.namespace, imported.notes, imported.complete
        (('archive', 'house'), 1, True)
    """

    namespace: Namespace
    notes: int = 0
    replaced: int = 0
    kept: int = 0
    waiting: int = 0
    links: int = 0
    mentions: int = 0
    histories: int = 0
    unformed: tuple[str, ...] = ()
    missing: int | None = 0

    @property
    def complete(self) -> bool:
        """Whether the lines were those of a whole export."""
        return self.missing == 0


async def import_(
    io: IO,
    lines: Lines,
    analyst: str,
    *,
    namespace: Namespace | None = None,
    overwrite: bool = False,
    trust: bool = False,
) -> Imported:
    """Import what `export` wrote, into `namespace` or the one that the lines name.

    overwrite: let an imported note replace a stored one with its key, and take back what the old
        text had caused in others; otherwise the stored one is kept.
    trust: take the notes as what they say they are; otherwise they are imports with a new life.

    Raises InvalidLineError for a line that cannot be used, once the ones before it are imported.
    """
    if isinstance(lines, str | bytes):
        raise InvalidInputError(
            "Expected the lines of an export, such as an open file; got them as one text. "
            'Use text.split("\\n").'
        )
    work: _Import | None = None
    failure: InvalidLineError | None = None
    number = read = 0
    expected: int | None = None
    source = _read_lines(lines)
    try:
        async for line in source:
            number += 1
            if not line.strip():
                continue
            data = read_json(line)
            if work is None:
                work = _Import(io, namespace or read_header(data), analyst, overwrite)
            elif expected is not None:
                raise InvalidInputError("it comes after the end of the export")
            elif (expected := read_end(data)) is None:
                entry = read_entry(data, work.namespace)
                await work.take(entry if trust else as_import(entry), len(line))
                read += 1
    except UnicodeDecodeError as error:
        # A file that was opened as text decodes its lines itself.
        failure = _invalid(number + 1, f"it is not UTF-8 ({error.reason})", work is not None)
    except InvalidInputError as error:
        failure = _invalid(number, str(error), work is not None)
    finally:
        await source.aclose()
    if work is None:
        raise failure or _invalid(1, "there is no line, not even a header")
    await work.finish()
    if failure is not None:
        raise failure
    return replace(work.imported, missing=None if expected is None else expected - read)


def check_beginning(lines: Iterable[Line], namespace: Namespace | None = None) -> Iterator[Line]:
    """All of `lines`, once their header and first note were checked.

    This is for callers that create a memory for them. Raises InvalidLineError at once.
    """
    read: list[Line] = []
    header = False
    rest = iter(lines)
    for line in rest:
        read.append(line)
        if not line.strip():
            continue
        try:
            data = read_json(line)
            if header:
                if read_end(data) is None:
                    read_entry(data, namespace or ("x",))
                break
            namespace, header = namespace or read_header(data), True
        except InvalidInputError as error:
            raise _invalid(len(read), str(error)) from error
    if not header:
        raise _invalid(1, "there is no line, not even a header")
    return chain(read, rest)


def _invalid(number: int, what: str, started: bool = False) -> InvalidLineError:
    so_far = (
        "What stands before it was imported; mend or remove the line and import again."
        if started
        else "Nothing was imported."
    )
    return InvalidLineError(f"Line {number}: {what.rstrip('.')}. {so_far}", line=number)


async def _read_lines(lines: Lines) -> AsyncGenerator[Line, None]:
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            yield line
    else:
        for line in lines:
            yield line


class _Import:
    """One import under way: the current chunk of notes, and those that wait for later ones."""

    def __init__(self, io: IO, namespace: Namespace, analyst: str, overwrite: bool) -> None:
        self._io = io
        self.namespace = namespace
        self._analyst = analyst
        self._overwrite = overwrite
        self._chunk: dict[str, Entry] = {}
        self._size = 0
        self._unresolved: dict[str, Entry] = {}
        self._done: set[str] = set()
        self.imported = Imported(namespace)

    async def take(self, entry: Entry, size: int) -> None:
        if entry.note.id in self._chunk:
            await self._write()
        coherent = entry.coherent
        if len(coherent) < len(entry.revisions):
            self._count(histories=1)
            newest = coherent[-1] if coherent else None
            entry = Entry(replace(entry.note, revision=newest), coherent[:-1])
        self._chunk[entry.note.id] = entry
        self._size += size
        if len(self._chunk) >= _PAGE or self._size >= _CHUNK_CHARS:
            await self._write()

    async def finish(self) -> None:
        """Write what is left, and add what had to wait; any other reference leads nowhere."""
        await self._write()
        waiting = list(self._unresolved.values())
        for start in range(0, len(waiting), _PAGE):
            chunk = waiting[start : start + _PAGE]
            stored = await self._load([entry.note.id for entry in chunk])
            present = await self._present(chunk)
            for entry in chunk:
                if (current := stored.get(entry.note.id)) is None:
                    continue
                if self._overwrite or _is_same(current, entry):
                    await self._put(current, entry, present)
                targets = {link.to for link in entry.note.outgoing}
                gone = entry.references - present
                self._count(links=len(gone & targets), mentions=len(gone - targets))

    async def _write(self) -> None:
        chunk, self._chunk, self._size = self._chunk, {}, 0
        if not chunk:
            return
        stored = await self._load(list(chunk))
        new = {id: entry for id, entry in chunk.items() if id not in stored}
        present = new.keys() | await self._present(chunk.values())
        stored |= await self._insert([entry.only(present) for entry in new.values()])
        for id, entry in chunk.items():
            current, raw = stored.get(id), int(entry.note.status is Status.RAW)
            if current is None:
                self._count(notes=1, waiting=raw)
            elif _is_same(current, entry):
                self._count(kept=1)
                await self._put(current, entry, present)
            elif self._overwrite:
                self._count(replaced=1, waiting=raw)
                await self._put(current, entry, present)
            else:
                self._count(kept=1)
                continue
            # Replacing another note later would take back what that had caused in this one.
            settled = present & self._done if self._overwrite else present
            if entry.references - settled:
                self._unresolved[id] = entry
        self._done |= chunk.keys()

    async def _load(self, note_ids: list[str]) -> dict[str, Entry]:
        """The stored ones of the notes, with their histories."""
        notes = await load(self._io, note_ids, self.namespace)
        records = await records_of(self._io, list(notes)) if notes else {}
        return {id: entry_of(note, records[id]) for id, note in notes.items()}

    async def _present(self, entries: Iterable[Entry]) -> set[str]:
        """The stored ones of the notes that the entries refer to."""
        named = {id for entry in entries for id in entry.references}
        return set(await keys_of(self._io, named, self.namespace))

    async def _insert(self, entries: Sequence[Entry]) -> dict[str, Entry]:
        """Store notes; returns those that somebody else stored meanwhile."""
        if not entries:
            return {}
        points = await embedded_points(self._io, [entry.note for entry in entries])
        records = [revision_point(entry.note, each) for entry in entries for each in entry.older]
        points += records
        refused = await self._io.engine.insert(points)
        self._io.caches.sequences.drop(self.namespace)
        refused, unformed = await make_way(self._io, points, refused, self._analyst)
        self._count(unformed=tuple(unformed.get(self.namespace, ())))
        return await self._load(sorted(refused & {entry.note.id for entry in entries}))

    async def _put(self, stored: Entry, given: Entry, present: Collection[str]) -> None:
        """Replace the stored state of a note, or add what it could not say of missing notes."""
        complete = _is_same(stored, given)
        for _ in range(_ROUNDS):
            wanted = given.only(present)
            if complete:
                links = {link.to: link for link in stored.note.outgoing}
                note = replace(
                    stored.note,
                    links=tuple(links.get(link.to, link) for link in wanted.note.outgoing),
                    revision=wanted.note.revision,
                )
            else:
                before, after = stored.note, given.note
                if (before.content, before.parts) != (after.content, after.parts):
                    taken = await retract(self._io, before.id, self.namespace, self._analyst)
                    self._count(unformed=taken.unformed)
                # Above both, so that whoever read the old state notices the change.
                note = replace(wanted.note, version=max(after.version, before.version + 1))
            wanted = Entry(note, wanted.older)
            if wanted == stored or await self._commit(stored, wanted):
                return
            again = (await self._load([note.id])).get(note.id)
            if again is None or (complete and not _is_same(again, given)):
                # It was forgotten or changed meanwhile, which is the last word.
                return
            stored, present = again, await self._present([given])
        raise StoreError(f"Note {given.note.id} kept changing while it was being imported.")

    async def _commit(self, stored: Entry, wanted: Entry) -> bool:
        """Write a note and its history over another state; False if it was changed meanwhile."""
        engine, note = self._io.engine, wanted.note
        known = vectors_by_text(await engine.get([note.id], vectors=True))
        points = await embedded_points(self._io, [note], known=known)
        records = both(match("kind", "revision"), match("of", note.id))
        newest = stored.note.revision.version if stored.note.revision else 0
        # Left over from commits that did not happen, or of a text that was overwritten.
        await engine.delete(both(records, Range("version", gte=newest)))
        old = {revision.version: revision for revision in stored.older}
        expect = {note.id: as_read(stored.note)}
        new: list[Point] = []
        for revision in wanted.older:
            record = revision_point(note, revision)
            if revision.version not in old:
                new.append(record)
            elif old[revision.version] != revision:
                points.append(record)
                expect[record.id] = {"version": revision.version}
        present = [link.to for link in note.outgoing]
        if await engine.commit(points, expect=expect, present=present, new=new):
            return False
        for version in old.keys() - {revision.version for revision in wanted.older}:
            await engine.delete(both(records, match("version", version)))
        return True

    def _count(self, *, unformed: tuple[str, ...] = (), **counts: int) -> None:
        now = self.imported
        sums = {name: getattr(now, name) + count for name, count in counts.items()}
        self.imported = replace(now, unformed=(*now.unformed, *unformed), **sums)


def _is_same(stored: Entry, given: Entry) -> bool:
    """Whether a note is as given, apart from notes that were missing when it was imported."""
    wanted = given.only(stored.references)
    return _fixed(stored.note) == _fixed(wanted.note) and stored.older == wanted.older


def _fixed(note: Note) -> Note:
    """The note without what changes while its text stays, and without its version here."""
    return replace(
        note,
        links=tuple(replace(link, weight=1.0, used_at=None) for link in note.outgoing),
        status=Status.RAW,
        attempts=0,
        last_error=None,
        expires_at=None,
        confidence=1.0,
        life=NEW,
        version=1,
    )
