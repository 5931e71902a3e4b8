"""What a memory does, each as one operation over io; `client` gives them their two forms."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from amem_integrations.core.filters import EVERYTHING, Condition, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, as_namespace, encode
from amem_integrations.core.note import (
    Link,
    Note,
    Revision,
    Status,
    make_note,
    metadata_text,
)
from amem_integrations.errors import InvalidInputError, NoteNotFoundError
from amem_integrations.formation import pipeline, queue
from amem_integrations.formation.pipeline import FORMATIONS, Formation, have_formed
from amem_integrations.formation.state import RunContext
from amem_integrations.memory.options import check_choice
from amem_integrations.memory.wiring import NamespaceLike, Progress, Wiring
from amem_integrations.recall.search import check_counts
from amem_integrations.revisions import forget as forgetting
from amem_integrations.revisions import undo as undoing
from amem_integrations.revisions import update as updating
from amem_integrations.revisions.archive import restore
from amem_integrations.revisions.contradiction import find_superseded, supersede
from amem_integrations.revisions.proposals import contest
from amem_integrations.revisions.retract import Retraction
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import (
    load,
    load_merged,
    recent,
    reload_notes,
    revisions,
    with_links,
)

_CHUNK = 32
_ITEM_FIELDS = {"supersedes", *inspect.signature(make_note).parameters} - {
    "namespace",
    "now",
    "repetition",
    "value",
}


async def add(
    wiring: Wiring,
    io: IO,
    items: Iterable[str | Mapping[str, Any]],
    namespace: NamespaceLike,
    formation: Formation | None = None,
    progress: Progress | None = None,
) -> list[Note]:
    """Store notes, then form them as `formation` says; returns them in the order given.

    All items are checked before the first is written, those they supersede included. One whose
    key exists with other content updates that note.
    """
    formation = formation or wiring.formation
    check_choice("formation", formation, FORMATIONS)
    inline = formation == "inline"
    given = _distinct(io, items, as_namespace(namespace))
    ids = [note.id for note, _ in given]
    given = _in_time(given)
    notes = [note for note, _ in given]
    superseded: Mapping[str, Sequence[str]] = {}
    if any(targets not in (None, ()) for _, targets in given):
        superseded = await find_superseded(io, given, as_namespace(namespace))
    done: list[Note] = []
    stored: list[Note] = []
    # The notes that this call made, as they are now, unless something else may have changed them.
    written: dict[str, Note] = {}
    read = RunContext()
    try:
        for start in range(0, len(notes), _CHUNK):
            chunk = notes[start : start + _CHUNK]
            new = RunContext()
            leased = queue.lease(io) if inline else {}
            stored = await pipeline.accept(wiring, io, chunk, new, leased)
            written |= new.notes
            if inline:
                read.add(new)
            pairs = list(zip(chunk, stored, strict=True))
            for at in range(0, len(pairs), wiring.at_once):
                group: list[Note] = []
                unformed: list[str] = []
                for wanted, note in pairs[at : at + wiring.at_once]:
                    if note.id in new.notes:
                        note = written.get(note.id, note)
                    else:
                        written.clear()
                        read.clear()
                        note, taken_back = await _reconciled(wiring, io, wanted, note)
                        unformed += taken_back.unformed
                    if note.id in superseded:
                        written.clear()
                        read.clear()
                        note = await _supersede(io, note, superseded[note.id], inline)
                    group.append(note)
                if inline:
                    raw = {note.id: note for note in group if note.status is Status.RAW}
                    if raw.keys() - written.keys():
                        raw = await load(io, raw, as_namespace(namespace))
                    formed = await pipeline.form(wiring, io, list(raw.values()), read)
                    written.update((id, note) for id, note in formed.items() if id in written)
                    for id in raw.keys() - formed.keys():
                        written.pop(id, None)
                    if unformed:
                        # After the note in whose light they are understood.
                        written.clear()
                        read.clear()
                        again = {as_namespace(namespace): unformed}
                        await have_formed(wiring, io, formation, unformed=again)
                for note in group:
                    done.append(note)
                    if progress is not None:
                        progress(len(done), len(notes))
        upkeep = wiring.upkeep if inline else None
        if upkeep is not None and await upkeep(io, as_namespace(namespace), len(done)):
            written.clear()
        # Before the worker begins: the answer does not wait for what it is about to do.
        current = {note.id: note for note in await _as_written(io, done, written)}
        return [current[id] for id in ids]
    finally:
        # Also for what was stored before `progress` failed or the call was cancelled.
        if formation == "background":
            wiring.wake()
        elif len(done) < len(notes):
            await queue.release(io, stored)


def _distinct(
    io: IO, items: Iterable[str | Mapping[str, Any]], namespace: Namespace
) -> list[tuple[Note, object]]:
    """A note for each item, and what it supersedes.

    Equal ones without a key are told apart by how often they came.
    """
    # A text is iterable too, and would be one note a letter.
    if isinstance(items, str | Mapping) or not isinstance(items, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError("Expected a list of items to remember; add() takes a single one.")
    seen: dict[str, int] = {}
    notes: list[tuple[Note, object]] = []
    for given in items:
        if not isinstance(given, str | Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(
                f"An item to remember is a text or a mapping; got {type(given).__name__}."
            )
        item: dict[str, Any] = {"content": given} if isinstance(given, str) else dict(given)
        if unknown := item.keys() - _ITEM_FIELDS:
            raise InvalidInputError(
                f"An item to remember has no {', '.join(sorted(map(repr, unknown)))}; it has "
                f"{', '.join(sorted(_ITEM_FIELDS))}."
            )
        if "content" not in item:
            raise InvalidInputError(
                f'An item to remember needs "content"; got {", ".join(sorted(item)) or "nothing"}.'
            )
        supersedes = item.pop("supersedes", ())
        note = make_note(**item, namespace=namespace, now=io.now())
        repetition = seen.get(note.id, 0)
        seen[note.id] = repetition + 1
        if repetition and item.get("key") is None:
            note = make_note(
                **item, namespace=namespace, now=note.created_at, repetition=repetition
            )
        notes.append((note, supersedes))
    return notes


def _in_time(given: list[tuple[Note, object]]) -> list[tuple[Note, object]]:
    """The notes, those of a session in the order of time if each says when and none at which place.

    Exports of chats may begin with the newest. Of notes with one key the last one counts, so a
    session with such stays in the order given.
    """
    by_session: dict[str | None, list[tuple[Note, object]]] = {}
    for pair in given:
        by_session.setdefault(pair[0].session, []).append(pair)
    for pairs in by_session.values():
        told = all(note.occurred_at and note.sequence is None for note, _ in pairs)
        if told and len({note.id for note, _ in pairs}) == len(pairs):
            pairs.sort(key=lambda pair: pair[0].occurred_at or pair[0].created_at)
    following = {session: iter(pairs) for session, pairs in by_session.items()}
    ordered: list[tuple[Note, object]] = []
    for at, _ in given:
        note, supersedes = next(following[at.session])
        if note is not at:
            note = replace(note, created_at=at.created_at, updated_at=at.created_at)
        ordered.append((note, supersedes))
    return ordered


async def _reconciled(wiring: Wiring, io: IO, given: Note, stored: Note) -> tuple[Note, Retraction]:
    """The stored note, updated if it was stored earlier with something else."""
    metadata = given.metadata_json if given.metadata_json != "{}" else None
    if stored.content == given.content:
        # To say a thing again is to want it back.
        stored = await restore(io, stored)
    if stored.content == given.content and metadata in (None, stored.metadata_json):
        return stored, Retraction()
    return await updating.update(
        io,
        stored,
        wiring.analyst_name,
        content=given.content,
        metadata_json=metadata,
        source=given.source,
    )


async def _supersede(io: IO, note: Note, targets: Sequence[str], inline: bool) -> Note:
    note = await supersede(io, note, targets)
    if inline and note.status is Status.RAW:
        # The version that was leased is not there any more.
        await io.engine.patch(note.id, queue.lease(io), expect={"version": note.version})
    return note


async def _as_written(io: IO, notes: Sequence[Note], written: Mapping[str, Note]) -> list[Note]:
    """The notes with the links of both directions; those that are not in `written` are read."""
    rest = await reload_notes(io, [note for note in notes if note.id not in written])
    current = {note.id: note for note in rest} | dict(written)
    incoming: dict[str, list[Link]] = {}
    for source in sorted(current):
        for link in current[source].outgoing:
            incoming.setdefault(link.to, []).append(link)
    for id, note in written.items():
        links = (*note.outgoing, *incoming.get(id, ()))
        current[id] = replace(note, links=links)
    return [current[note.id] for note in notes]


async def read(io: IO, note_id: str, namespace: Namespace) -> Note | None:
    """A note with the links of both directions; for one that was merged, what it went into."""
    notes = list((await load_merged(io, [note_id], namespace)).values())
    return (await with_links(io, notes))[0] if notes else None


async def require(io: IO, note_id: str, namespace: Namespace) -> Note:
    """The note itself, or NoteNotFoundError."""
    notes = await load(io, [note_id], namespace)
    if note_id not in notes:
        raise NoteNotFoundError(
            f"There is no note {note_id!r} in namespace {'/'.join(namespace)}; "
            "it may have been forgotten, or live in another namespace."
        )
    return notes[note_id]


async def update(
    wiring: Wiring,
    io: IO,
    note_id: str,
    namespace: Namespace,
    content: str | None,
    metadata: Mapping[str, Any] | None,
) -> Note:
    stored = await require(io, note_id, namespace)
    updated, taken_back = await updating.update(
        io,
        stored,
        wiring.analyst_name,
        content=stored.content if content is None else content,
        metadata_json=None if metadata is None else metadata_text(metadata),
    )
    unformed = {updated.namespace: taken_back.unformed}
    await have_formed(wiring, io, wiring.formation, [updated], unformed=unformed)
    return await read(io, updated.id, updated.namespace) or updated


async def revert(
    wiring: Wiring,
    io: IO,
    note_id: str,
    namespace: Namespace,
    to_version: int | None,
    only: int | None,
) -> Note:
    for name, version in (("to_version", to_version), ("only", only)):
        if version is not None and type(version) is not int:
            raise InvalidInputError(f"{name} is the number of a version; got {version!r}.")
    stored = await require(io, note_id, namespace)
    if only is not None:
        if to_version is not None:
            raise InvalidInputError("Give to_version or only: back to one, or without one.")
        undone = await undoing.undo(io, stored, only)
        return await read(io, undone.id, undone.namespace) or undone
    reverted, taken_back = await undoing.revert(
        io, stored, wiring.analyst_name, to_version=to_version
    )
    if reverted.status is Status.RAW:
        # Its links are back before it is formed, and so is what they say of other notes.
        await contest_linked(wiring, io, reverted)
    unformed = {reverted.namespace: taken_back.unformed}
    await have_formed(wiring, io, wiring.formation, [reverted], unformed=unformed)
    return await read(io, reverted.id, reverted.namespace) or reverted


async def contest_linked(wiring: Wiring, io: IO, note: Note) -> None:
    """Let a note contest the notes that its links contradict."""
    settings = wiring.settings
    await contest(
        io,
        note,
        believe=settings.believe,
        trust_gap=settings.trust_gap,
        analyst=settings.analyst_name,
        ledger=settings.ledger,
    )


async def forget(
    wiring: Wiring, io: IO, note_id: str, namespace: Namespace, duplicates: bool = False
) -> forgetting.Forgotten:
    forgotten = await forgetting.forget(
        io, note_id, namespace, wiring.analyst_name, duplicates=duplicates
    )
    await have_formed(wiring, io, wiring.formation, unformed={namespace: forgotten.unformed})
    return forgotten


async def history(io: IO, note_id: str, namespace: Namespace) -> list[Revision]:
    return await revisions(io, await require(io, note_id, namespace))


async def listed(
    io: IO, namespace: Namespace, limit: int, where: Condition = EVERYTHING
) -> list[Note]:
    """The newest notes of a namespace, newest first, with their links."""
    check_counts(limit=limit)
    limit = min(limit, await io.engine.count(within(namespace, where)))
    if not limit:
        return []
    return await with_links(io, await recent(io, namespace, limit=limit, where=where))


async def counts(io: IO, namespace: NamespaceLike | None) -> dict[str, int]:
    """How many notes there are by status."""
    if namespace is None:
        where = match("kind", "note")
    else:
        where = match("ns", encode(as_namespace(namespace)))
    return await io.engine.facet("status", where, limit=len(Status))
