"""Contradictions that a caller states or `add_turn` finds, written down.

The note that says otherwise, with its link, and those it speaks against change in one operation.
What an analyst finds is written with the note that is formed (`formation.neighbours`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias, cast

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import CONTRADICTS, Link, Note, check_text, note_id
from amem_integrations.core.usage import Ledger
from amem_integrations.errors import InvalidInputError, NoteNotFoundError, StoreError
from amem_integrations.revisions.change import change
from amem_integrations.revisions.contradiction import (
    CONTRADICTING,
    SUPERSEDED,
    contradicted,
    holds_from,
)
from amem_integrations.revisions.proposals import Believe, Proposal, must_wait, proposal_point
from amem_integrations.revisions.revise import revised
from amem_integrations.revisions.undo import undo
from amem_integrations.stores.read import load, resolved, revisions

_ROUNDS = 8
_REASON = "takes its place"

Superseded: TypeAlias = Note | str | Sequence[Note | str]
"""Notes that a new one takes the place of: themselves, their ids or their keys."""


async def superseded_by(
    io: IO, given: Sequence[tuple[Note, object]], namespace: Namespace
) -> dict[str, tuple[str, ...]]:
    """The ids of the notes that each note supersedes, as callers name them; by its own id.

    given: new notes in order, each with what it supersedes; also notes that come before it.
    Raises InvalidInputError and NoteNotFoundError.
    """
    named = [(note, _named(each, namespace)) for note, each in given if each is not None]
    if not named:
        return {}
    asked = {ref for _, refs in named for ref in refs}
    asked |= {note_id(namespace, ref) for ref in asked}
    known = {id: note.id for id, note in (await resolved(io, asked, namespace)).items()}
    order = {note.id: place for place, (note, _) in enumerate(given)}
    found: dict[str, tuple[str, ...]] = {}
    for note, refs in named:
        ids: dict[str, None] = {}
        for ref in refs:
            ways = (ref, note_id(namespace, ref))
            earlier = next(
                (id for id in ways if order.get(id, order[note.id]) < order[note.id]), None
            )
            id = next((known[way] for way in ways if way in known), earlier)
            if note.id in ways:
                raise InvalidInputError(f"A note cannot supersede itself; {ref!r} is its own name.")
            if id is None:
                raise NoteNotFoundError(
                    f"There is no note {ref!r} in namespace {'/'.join(namespace)} that could be "
                    "superseded; give a note of it, its id or its key."
                )
            ids[id] = None
        found[note.id] = tuple(ids)
    return found


def _named(given: object, namespace: Namespace) -> list[str]:
    each: Iterable[object]
    if isinstance(given, str | Note) or not isinstance(given, Iterable):
        each = (given,)
    else:
        each = cast("Iterable[object]", given)
    named: list[str] = []
    for one in each:
        if isinstance(one, Note):
            if one.namespace != namespace:
                raise NoteNotFoundError(
                    f"Note {one.id} is of namespace {'/'.join(one.namespace)}; a note supersedes "
                    f"notes of its own, {'/'.join(namespace)}."
                )
            named.append(one.id)
        elif isinstance(one, str):
            check_text("supersedes", one)
            named.append(one)
        else:
            raise InvalidInputError(
                "supersedes is a note, its id or key, or a list of these; got "
                f"{type(one).__name__}."
            )
    return named


async def supersede(io: IO, note: Note, targets: Sequence[str]) -> Note:
    """Let `note` take the place of the notes `targets` from when it holds; once said, it stays.

    Those that were forgotten meanwhile are passed over. Raises StoreError if one of them keeps
    changing.
    """
    for _ in range(_ROUNDS):
        held = await load(io, [note.id, *targets], note.namespace)
        if note.id not in held:
            raise NoteNotFoundError(f"Note {note.id} was forgotten while it was being added.")
        note = held.pop(note.id)
        linked = {link.to for link in note.outgoing if link.kind == CONTRADICTS}
        old = [each for each in held.values() if not (each.id in linked and _ended(each, note))]
        if not old:
            return note
        now = io.now()
        kept = [link for link in note.outgoing if link.to not in {each.id for each in old}]
        links = (Link(note.id, each.id, _REASON, now, CONTRADICTS) for each in old)
        after = revised(
            note, replace(note, links=(*kept, *links)), "linked", note.id, now, "caller"
        )
        pairs = [
            (each, contradicted(each, note, now, "caller", settled=True, reason=_REASON))
            for each in old
        ]
        if await change(io, [(note, after), *pairs]):
            return after
    raise StoreError(f"Note {note.id} or a note that it supersedes kept changing.")


async def contest(
    io: IO,
    note: Note,
    *,
    believe: Believe | None,
    trust_gap: float,
    analyst: str,
    ledger: Ledger,
) -> None:
    """Let what a stored note's links contradict be contested by it; once said, it stays.

    What is believed much more than the note waits for somebody to accept that. Where nobody
    looks after what is believed, nothing happens. Raises StoreError if one of them keeps changing.
    """
    reasons = {link.to: link.reason for link in note.outgoing if link.kind in CONTRADICTING}
    if believe is None or not reasons:
        return
    for _ in range(_ROUNDS):
        held = await load(io, [note.id, *reasons], note.namespace)
        if held.pop(note.id, None) is None:
            return
        now = io.now()
        pairs: list[tuple[Note, Note]] = []
        for old in held.values():
            if _ended(old, note) or note.id in old.contested_by:
                continue
            reason = reasons[old.id]
            if must_wait(believe, trust_gap, note, old):
                ledger.count("evolution.waits")
                waits = Proposal(
                    note.namespace,
                    note.id,
                    old.id,
                    None,
                    True,
                    old.version,
                    now,
                    analyst,
                    reason=reason,
                )
                await io.engine.insert([proposal_point(waits)])
                continue
            pairs.append((old, contradicted(old, note, now, analyst, settled=False, reason=reason)))
        if not pairs or await change(io, pairs):
            return
    raise StoreError(f"A note that note {note.id} contradicts kept changing.")


async def follow(io: IO, before: Note, after: Note) -> None:
    """Let what a note superseded follow its links, where going back to a version changed these.

    Raises StoreError if one of the others keeps changing.
    """
    lost = _superseded(before).keys() - _superseded(after).keys()
    for old in (await load(io, sorted(lost), after.namespace)).values():
        for revision in await revisions(io, old):
            if revision.kind == SUPERSEDED and revision.cause == after.id and revision.changes:
                await undo(io, old, revision.version)
    wanted = _superseded(after)
    for _ in range(_ROUNDS if wanted else 0):
        now = io.now()
        held = await load(io, wanted, after.namespace)
        pairs = [
            (each, contradicted(each, after, now, "caller", settled=True, reason=_REASON))
            for each in held.values()
            if not _ended(each, after)
        ]
        if not pairs or await change(io, pairs):
            return
    if wanted:
        raise StoreError(f"A note that note {after.id} supersedes kept changing.")


def _superseded(note: Note) -> dict[str, Link]:
    """What a caller let the note take the place of; an analyst gives reasons of its own."""
    links = (link for link in note.outgoing if link.kind == CONTRADICTS)
    return {link.to: link for link in links if link.reason == _REASON}


def _ended(old: Note, by: Note) -> bool:
    return old.valid_until is not None and old.valid_until <= holds_from(by)
