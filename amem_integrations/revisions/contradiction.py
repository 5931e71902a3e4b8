"""Contradictions: which notes contradict another, and what follows. Both notes are kept.

A caller says so with `supersedes`: the older note is outdated (`valid_until`). An analyst or a turn
says so with a link of a kind in OPPOSING: the older note is contested as well (`contested_by`)
until somebody resolves it (`lifecycle.audits`), or a proposal waits (`proposals.contest`). What
supports a note is in `lifecycle.support`. Ours; the paper knows no contradictions.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias, cast

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import (
    CONTRADICTS,
    OPPOSING,
    Link,
    Note,
    Revision,
    check_text,
    note_id,
)
from amem_integrations.errors import InvalidInputError, NoteNotFoundError
from amem_integrations.revisions.change import Pair, change_until_done, revised
from amem_integrations.stores.read import load, load_merged

SUPERSEDED, CONTESTED = "superseded", "contested"
"""The kinds of revision of a contradicted note: a caller said so, or anybody else."""
CONTRADICTED = (SUPERSEDED, CONTESTED)

RESOLVED = "resolved"
"""The kind of revision by which somebody decided on a contradicted note."""

TAKES_ITS_PLACE = "takes its place"
"""The reason of the link from a note to one that a caller let it supersede."""

Superseded: TypeAlias = Note | str | Sequence[Note | str]
"""Notes that a new one takes the place of: themselves, their ids or their keys."""


def valid_from(note: Note) -> datetime:
    """Return from when on what a note says is taken to be valid."""
    return note.occurred_at or note.created_at


def contradicted(
    old: Note,
    by: Note,
    now: datetime,
    analyst: str,
    *,
    settled: bool,
    sources: Collection[str] = (),
    reason: str = "",
) -> Note:
    """Return `old` as valid until `by` is, or until earlier if it was outdated before.

    settled: the caller said so; else `by` contests it from now on.
    sources: ids of the notes that were read for it.
    """
    until = valid_from(by)
    after = replace(
        old,
        valid_until=until if old.valid_until is None else min(until, old.valid_until),
        contested_by=old.contested_by
        if settled or by.id in old.contested_by
        else (*old.contested_by, by.id),
    )
    kind = SUPERSEDED if settled else CONTESTED
    read = tuple(id for id in sources if id != old.id)
    return revised(old, after, kind, by.id, now, analyst, read, reason)


def contradicting_notes(chain: Sequence[Revision]) -> list[str]:
    """Return the ids of the notes that contradict a note, as its revisions say."""
    causes = (revision.cause for revision in chain if revision.kind in CONTRADICTED)
    return list(dict.fromkeys(causes))


def contradicts(note: Note, other: Note) -> bool:
    """Return whether `note` contradicts `other` now, as its links and the other's state say."""
    return note.id in other.contested_by or any(
        link.to == other.id and link.kind in OPPOSING for link in note.outgoing
    )


def is_outdated(old: Note, by: Note) -> bool:
    return old.valid_until is not None and old.valid_until <= valid_from(by)


async def find_superseded(
    io: IO, given: Sequence[tuple[Note, object]], namespace: Namespace
) -> dict[str, tuple[str, ...]]:
    """Return the ids of the notes that each new note supersedes, by its own id.

    given: the new notes in order, each with what it supersedes as its caller names it; that may
    also be a new note before it. Raises InvalidInputError and NoteNotFoundError.
    """
    named = [(note, _references(value, namespace)) for note, value in given if value is not None]
    if not named:
        return {}
    asked = {reference for _, references in named for reference in references}
    asked |= {note_id(namespace, reference) for reference in asked}
    known = {id: note.id for id, note in (await load_merged(io, asked, namespace)).items()}
    order = {note.id: place for place, (note, _) in enumerate(given)}
    found: dict[str, tuple[str, ...]] = {}
    for note, references in named:
        ids: dict[str, None] = {}
        for reference in references:
            candidates = (reference, note_id(namespace, reference))
            if note.id in candidates:
                raise InvalidInputError(
                    f"A note cannot supersede itself; {reference!r} is its own name."
                )
            new = (id for id in candidates if order.get(id, order[note.id]) < order[note.id])
            stored = (known[id] for id in candidates if id in known)
            id = next(stored, next(new, None))
            if id is None:
                raise NoteNotFoundError(
                    f"There is no note {reference!r} in namespace {'/'.join(namespace)} that could "
                    "be superseded; give a note of it, its id or its key."
                )
            ids[id] = None
        found[note.id] = tuple(ids)
    return found


def _references(given: object, namespace: Namespace) -> list[str]:
    """Return ids or keys for what a caller gave as `supersedes`."""
    values: Iterable[object] = (given,)
    if isinstance(given, Iterable) and not isinstance(given, str):
        values = cast("Iterable[object]", given)
    references: list[str] = []
    for value in values:
        if isinstance(value, Note):
            if value.namespace != namespace:
                raise NoteNotFoundError(
                    f"Note {value.id} is of namespace {'/'.join(value.namespace)}; a note "
                    f"supersedes notes of its own, {'/'.join(namespace)}."
                )
            references.append(value.id)
        elif isinstance(value, str):
            check_text("supersedes", value)
            references.append(value)
        else:
            raise InvalidInputError(
                "supersedes is a note, its id or key, or a list of these; got "
                f"{type(value).__name__}."
            )
    return references


async def supersede(io: IO, note: Note, targets: Sequence[str]) -> Note:
    """Let `note` take the place of the notes `targets` from when it is valid.

    Skips targets that were forgotten meanwhile. Safe to repeat. Raises StoreError if one of the
    notes keeps changing.
    """

    async def next_pairs() -> list[Pair]:
        nonlocal note
        notes = await load(io, [note.id, *targets], note.namespace)
        if note.id not in notes:
            raise NoteNotFoundError(f"Note {note.id} was forgotten while it was being added.")
        note = notes.pop(note.id)
        linked = {link.to for link in note.outgoing if link.kind == CONTRADICTS}
        olds = {
            old.id: old
            for old in notes.values()
            if not (old.id in linked and is_outdated(old, note))
        }
        if not olds:
            return []
        now = io.now()
        kept = [link for link in note.outgoing if link.to not in olds]
        links = (Link(note.id, id, TAKES_ITS_PLACE, now, CONTRADICTS) for id in olds)
        before, after = note, replace(note, links=(*kept, *links))
        note = revised(before, after, "linked", before.id, now, "caller")
        return [(before, note), *(_superseded_pair(old, note, now) for old in olds.values())]

    what = f"Note {note.id} or a note that it supersedes kept changing"
    await change_until_done(io, next_pairs, what)
    return note


async def supersede_linked(io: IO, note: Note, targets: Collection[str]) -> None:
    """`supersede` of notes to which `note` has the links already."""

    async def next_pairs() -> list[Pair]:
        notes = (await load(io, targets, note.namespace)).values()
        now = io.now()
        return [_superseded_pair(old, note, now) for old in notes if not is_outdated(old, note)]

    if targets:
        what = f"A note that note {note.id} supersedes kept changing"
        await change_until_done(io, next_pairs, what)


def _superseded_pair(old: Note, by: Note, now: datetime) -> Pair:
    return old, contradicted(old, by, now, "caller", settled=True, reason=TAKES_ITS_PLACE)
