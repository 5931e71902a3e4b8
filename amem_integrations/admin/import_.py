"""Importing: lines of an export become notes of a namespace, here or in another memory.

Notes are found again by their keys, so an import can be repeated, and taken up where it broke
off. At no time does a note refer to one that is not there: what a line says of notes that
come later is put in once they have come.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeAlias

from amem_integrations.admin.lines import read_entry, read_header, read_json
from amem_integrations.core.engine import Point
from amem_integrations.core.filters import Range, both, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status
from amem_integrations.core.status import NEW
from amem_integrations.errors import InvalidInputError, InvalidLineError, StoreError
from amem_integrations.revisions.entry import Entry, entry_of, keys_of, records_of
from amem_integrations.revisions.retract import retract
from amem_integrations.stores.codec import as_read, revision_point
from amem_integrations.stores.read import load
from amem_integrations.stores.write import embedded_points, vectors_by_text

_CHUNK = 128
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
        waiting: how many of those added or put in place are raw, and so in the queue.
        links: how many links were dropped because the note they lead to is neither among the lines
            nor in the namespace.
        mentions: how many other mentions of such notes were left out of revisions.
        histories: how many histories were cut short because they did not lead to the note as it is.
        unformed: ids of other notes that are to be formed anew, as they drew on what was replaced.

    Examples:
        >>> _ = memory.add("Tea at four", namespace="house")
        >>> lines = memory.admin.export("house")
        >>> imported = memory.admin.import_(lines, namespace=("archive", "house"))
        >>> imported.namespace, imported.notes, imported.links
        (('archive', 'house'), 1, 0)
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


async def import_(
    io: IO,
    lines: Lines,
    analyst: str,
    *,
    namespace: Namespace | None = None,
    replace_held: bool = False,
) -> Imported:
    """Import what `export` wrote, into `namespace` or the one that the lines name.

    A note whose key is taken is kept as it is; with `replace_held` the imported one takes its
    place, and what the old text had caused in others is taken back. Raises InvalidLineError
    for a line that cannot be used, once the ones before it are imported.
    """
    if isinstance(lines, str | bytes):
        raise InvalidInputError(
            "Expected the lines of an export, such as an open file; got them as one text. "
            'Use text.split("\\n").'
        )
    work: _Import | None = None
    broken: InvalidLineError | None = None
    number = 0
    each = _each(lines)
    try:
        async for line in each:
            number += 1
            if not line.strip():
                continue
            data = read_json(line)
            if work is None:
                work = _Import(io, namespace or read_header(data), analyst, replace_held)
            else:
                await work.take(read_entry(data, work.namespace), len(line))
    except UnicodeDecodeError as error:
        # A file that was opened as text decodes its lines itself.
        broken = _broken(number + 1, f"it is not UTF-8 ({error.reason})", work)
    except InvalidInputError as error:
        broken = _broken(number, str(error), work)
    finally:
        await each.aclose()
    if work is None:
        raise broken or _broken(1, "there is no line, not even a header", work)
    await work.finish()
    if broken is not None:
        raise broken
    return work.imported


def beginning(lines: Iterable[Line], namespace: Namespace | None = None) -> Iterator[Line]:
    """All of `lines`, once the header and the first note have been found to be usable.

    For who makes a memory for them. Raises InvalidLineError at once, not when iterated.
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
                read_entry(data, namespace or ("x",))
                break
            namespace, header = namespace or read_header(data), True
        except InvalidInputError as error:
            raise _broken(len(read), str(error), None) from error
    if not header:
        raise _broken(1, "there is no line, not even a header", None)
    return chain(read, rest)


def _broken(number: int, what: str, work: "_Import | None") -> InvalidLineError:
    so_far = (
        "Nothing was imported."
        if work is None
        else "What stands before it was imported; mend or remove the line and import again."
    )
    return InvalidLineError(f"Line {number}: {what.rstrip('.')}. {so_far}", line=number)


async def _each(lines: Lines) -> AsyncGenerator[Line, None]:
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            yield line
    else:
        for line in lines:
            yield line


class _Import:
    """One import under way: the lines at hand, and those that wait for later ones."""

    def __init__(self, io: IO, namespace: Namespace, analyst: str, replace_held: bool) -> None:
        self._io = io
        self.namespace = namespace
        self._analyst = analyst
        self._replace_held = replace_held
        self._chunk: dict[str, Entry] = {}
        self._size = 0
        self._unresolved: dict[str, Entry] = {}
        self._done: set[str] = set()
        self.imported = Imported(namespace)

    async def take(self, entry: Entry, size: int) -> None:
        if entry.note.id in self._chunk:
            await self._write()
        self._chunk[entry.note.id] = self._coherent(entry)
        self._size += size
        if len(self._chunk) >= _CHUNK or self._size >= _CHUNK_CHARS:
            await self._write()

    async def finish(self) -> None:
        """Write what is left, and put in what had to wait; the rest leads nowhere."""
        await self._write()
        waiting = list(self._unresolved.values())
        self._unresolved = {}
        for start in range(0, len(waiting), _CHUNK):
            chunk = waiting[start : start + _CHUNK]
            held = await self._held([entry.note.id for entry in chunk])
            present = await self._present(chunk)
            for entry in chunk:
                here = held.get(entry.note.id)
                if here is None:
                    continue
                if _is_same(here, entry):
                    await self._complete(here, entry, present)
                elif self._replace_held:
                    await self._replace(here, entry, present)
                self._count_dropped(entry, present)

    def _coherent(self, entry: Entry) -> Entry:
        joined = entry.coherent
        if len(joined) == len(entry.revisions):
            return entry
        self._count(histories=1)
        newest = joined[-1] if joined else None
        return Entry(replace(entry.note, revision=newest), joined[:-1])

    async def _write(self) -> None:
        chunk, self._chunk, self._size = self._chunk, {}, 0
        if not chunk:
            return
        held = await self._held(list(chunk))
        new = {id: entry for id, entry in chunk.items() if id not in held}
        present = new.keys() | await self._present(list(chunk.values()))
        taken = await self._insert([entry.only(present) for entry in new.values()])
        held |= await self._held(sorted(taken))
        for id, entry in chunk.items():
            here = held.get(id)
            if here is None:
                self._count(notes=1, waiting=int(entry.note.status is Status.RAW))
            elif _is_same(here, entry):
                self._count(kept=1)
                await self._complete(here, entry, present)
            elif self._replace_held:
                self._count(replaced=1, waiting=int(entry.note.status is Status.RAW))
                await self._replace(here, entry, present)
            else:
                self._count(kept=1)
                continue
            # Where another note is replaced later, what it had caused in this one is taken back.
            settled = present & self._done if self._replace_held else present
            if entry.references - settled:
                self._unresolved[id] = entry
        self._done |= chunk.keys()

    async def _held(self, note_ids: list[str]) -> dict[str, Entry]:
        """Those of the notes that are there, with their histories."""
        notes = await load(self._io, note_ids, self.namespace)
        records = await records_of(self._io, list(notes)) if notes else {}
        return {id: entry_of(note, records[id]) for id, note in notes.items()}

    async def _present(self, entries: Collection[Entry]) -> set[str]:
        """Of the notes that the entries refer to, those that are there."""
        named = {id for entry in entries for id in entry.references}
        return set(await keys_of(self._io, named, self.namespace))

    async def _insert(self, entries: list[Entry]) -> frozenset[str]:
        if not entries:
            return frozenset()
        points = await embedded_points(self._io, [entry.note for entry in entries])
        records = [revision_point(entry.note, each) for entry in entries for each in entry.older]
        ids = {entry.note.id for entry in entries}
        return frozenset(ids & await self._io.engine.insert([*points, *records]))

    async def _complete(self, held: Entry, given: Entry, present: Collection[str]) -> None:
        """Put in what `held`, imported earlier, could not say while other notes were missing."""
        for _ in range(_ROUNDS):
            wanted = given.only(present)
            moved = {link.to: link for link in held.note.outgoing}
            links = tuple(moved.get(link.to, link) for link in wanted.note.outgoing)
            note = replace(held.note, links=links, revision=wanted.note.revision)
            wanted = Entry(note, wanted.older)
            if wanted == held or await self._commit(held, wanted):
                return
            again = await self._held([note.id])
            if note.id not in again or not _is_same(again[note.id], given):
                return
            held, present = again[note.id], await self._present([given])
        raise _busy(held)

    async def _replace(self, held: Entry, given: Entry, present: Collection[str]) -> None:
        """Let `given` take the place of another state of the note."""
        for _ in range(_ROUNDS):
            before, after = held.note, given.note
            if (before.content, before.parts) != (after.content, after.parts):
                back = await retract(self._io, before.id, self.namespace, self._analyst)
                self._count(unformed=back.unformed)
            # Above both, so that whoever read the old state cannot take this one for it.
            version = max(after.version, before.version + 1)
            wanted = Entry(replace(after, version=version), given.older)
            if await self._commit(held, wanted.only(present)):
                return
            again = await self._held([before.id])
            if before.id not in again:
                # Forgotten meanwhile, which is the last word.
                return
            held, present = again[before.id], await self._present([given])
        raise _busy(held)

    async def _commit(self, held: Entry, wanted: Entry) -> bool:
        """Write a note and its history in place of another; False if it was changed meanwhile."""
        engine, note = self._io.engine, wanted.note
        known = vectors_by_text(await engine.get([note.id], vectors=True))
        points = await embedded_points(self._io, [note], known=known)
        records = both(match("kind", "revision"), match("of", note.id))
        newest = held.note.revision.version if held.note.revision else 0
        # Left over from commits that did not happen, or of a text that was overwritten.
        await engine.delete(both(records, Range("version", gte=newest)))
        old = {each.version: each for each in held.older}
        expect = {note.id: as_read(held.note)}
        new: list[Point] = []
        for each in wanted.older:
            record = revision_point(note, each)
            if each.version not in old:
                new.append(record)
            elif old[each.version] != each:
                points.append(record)
                expect[record.id] = {"version": each.version}
        present = [link.to for link in note.outgoing]
        if await engine.commit(points, expect=expect, present=present, new=new):
            return False
        for version in old.keys() - {each.version for each in wanted.older}:
            await engine.delete(both(records, match("version", version)))
        return True

    def _count_dropped(self, entry: Entry, present: Collection[str]) -> None:
        links = sum(link.to not in present for link in entry.note.outgoing)
        gone = entry.references - set(present) - {link.to for link in entry.note.outgoing}
        self._count(links=links, mentions=len(gone))

    def _count(self, *, unformed: tuple[str, ...] = (), **counts: int) -> None:
        now = self.imported
        sums = {name: getattr(now, name) + count for name, count in counts.items()}
        self.imported = replace(now, unformed=(*now.unformed, *unformed), **sums)


def _busy(entry: Entry) -> StoreError:
    return StoreError(f"Note {entry.note.id} kept changing while it was being imported.")


def _is_same(held: Entry, given: Entry) -> bool:
    """Whether a note is as given, but for other notes that were missing when it was imported."""
    wanted = given.only(held.references)
    return _unmoved(held.note) == _unmoved(wanted.note) and held.older == wanted.older


def _unmoved(note: Note) -> Note:
    """The note without what changes while its text stays, and the version it was given here."""
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
