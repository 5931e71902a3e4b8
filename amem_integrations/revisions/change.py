"""Next versions of notes: written together or not at all, each with a revision of what changed."""

import random
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

from amem_integrations.core.analysis import Evolution, Understanding
from amem_integrations.core.engine import Point
from amem_integrations.core.io import IO
from amem_integrations.core.note import (
    MAX_CONTEXT_CHARS,
    MAX_KEYWORDS,
    MAX_QUESTIONS,
    MAX_TAGS,
    Change,
    Note,
    Revision,
    Status,
    clean_terms,
    clean_text,
)
from amem_integrations.core.status import SHOWN
from amem_integrations.errors import NoteNotFoundError, StoreError
from amem_integrations.stores.codec import as_read, revision_point, state_of
from amem_integrations.stores.read import existing, load
from amem_integrations.stores.write import (
    FIRST_PASSAGES,
    embedded_points,
    understanding,
    vectors_by_text,
)

ROUNDS = 8
# Seconds; the longest pause is 128 times as long.
_PAUSE = 0.004
MAX_REASON_CHARS = 400
_MOST: Mapping[str, int] = {
    "keywords": MAX_KEYWORDS,
    "tags": MAX_TAGS,
    "questions": MAX_QUESTIONS,
}
Pair: TypeAlias = tuple[Note, Note]
"""A note as it was read, and its next version."""


def revised(
    before: Note,
    after: Note,
    kind: str,
    cause: str,
    now: datetime,
    analyst: str,
    sources: tuple[str, ...] = (),
    reason: str = "",
) -> Note:
    """Return `after` as the next version of `before`, with the revision that says what changed."""
    old, new = state_of(before), state_of(after)
    changes = {name: Change(old[name], new[name]) for name in old if old[name] != new[name]}
    version = before.version + 1
    revision = Revision(version, kind, cause, now, analyst, changes, sources, reason)
    return replace(after, version=version, revision=revision)


def understanding_fields(proposal: Understanding | Evolution) -> dict[str, Any]:
    """Return the fields of a note that an analyst proposed, as they may be stored."""
    lists = {name: clean_terms(getattr(proposal, name) or (), most) for name, most in _MOST.items()}
    return {**lists, "context": clean_text(proposal.context or "", MAX_CONTEXT_CHARS)}


def evolved(neighbour: Note, proposal: Evolution) -> Note:
    """The neighbour as the proposal has it; an empty field keeps what was there."""
    fields = understanding_fields(proposal)
    return neighbour.evolve(**{name: value for name, value in fields.items() if value})


def merged(neighbour: Note, proposal: Evolution) -> Note:
    """The neighbour with the proposed terms added, for a proposal made of an older version.

    What the others wrote meanwhile stays: no term is removed and the context is theirs.
    """
    return with_terms_of(neighbour, proposal)


def with_terms_of(note: Note, other: Note | Evolution) -> Note:
    """Return `note` with the keywords, tags and questions of `other` added to its own."""
    return note.evolve(
        **{
            name: clean_terms((*getattr(note, name), *(getattr(other, name) or ())), most)
            for name, most in _MOST.items()
        }
    )


def understood_anew(
    target: Note,
    by: Note,
    proposal: Evolution,
    now: datetime,
    analyst: str,
    sources: Collection[str],
    *,
    same: bool,
    trust: float,
) -> Note:
    """`target` evolved in the light of `by`; itself if nothing of it changes.

    same: whether its version is the one that was read; otherwise terms are only added. trust:
    how far `by` is believed, the maximum for the target's trust from now on.
    """
    after = evolved(target, proposal) if same else merged(target, proposal)
    if after == target:
        return target
    return revised(
        target,
        # Four places: the engine does not keep every digit of a float.
        replace(after, trust=min(target.trust, round(trust, 4))),
        "evolved",
        by.id,
        now,
        analyst,
        tuple(id for id in sources if id != target.id),
        clean_text(proposal.reason, MAX_REASON_CHARS),
    )


def revision_points(notes: Sequence[Note]) -> list[Point]:
    """Return the current revision of each note as a point of its own.

    They go into the commit that gives the notes newer ones. Written apart from it, a point could
    bring back what was taken out of the note in the meantime.
    """
    return [revision_point(note, note.revision) for note in notes if note.revision is not None]


async def back_off(io: IO, tried: int) -> None:
    """Wait a little before a change is tried again, longer each time, so that others end theirs."""
    if tried > 1:
        await io.sleep(random.uniform(0, _PAUSE * 2**tried))


async def change_notes(io: IO, pairs: Sequence[Pair]) -> bool:
    """Write the second note of each pair in place of the first, all in one operation.

    Vectors of unchanged texts are kept. Returns False, with nothing written, if a note was changed
    meanwhile or a note that a new version links to is gone.
    """
    before = [old for old, _ in pairs]
    known = vectors_by_text(await io.engine.get([note.id for note in before], vectors=True))
    # One that goes back to what was understood of it is to be found by all of that at once.
    raw = [new for _, new in pairs if new.status is Status.RAW and not understanding(new)]
    rest = [new for _, new in pairs if new not in raw]
    points = await embedded_points(io, raw, first=FIRST_PASSAGES, known=known)
    points += await embedded_points(io, rest, known=known)
    left_out = await io.engine.commit(
        points,
        expect={note.id: as_read(note) for note in before},
        present={link.to for _, new in pairs for link in new.outgoing} - {n.id for n in before},
        new=revision_points(before),
    )
    out_of_recall = [n.id for old, n in pairs if old.status in SHOWN and n.status not in SHOWN]
    if out_of_recall and not left_out:
        io.caches.drop(before[0].namespace, out_of_recall)
    return not left_out


async def change_note(
    io: IO, note: Note, step: Callable[[Note], Awaitable[Note]], doing: str
) -> Note:
    """Write what `step` makes of a note, from its newest state if somebody else wrote meanwhile.

    step: returns the next version, or the note itself if there is nothing to do.
    doing: what is being done, for errors, such as "reverted".
    Raises NoteNotFoundError if the note was forgotten meanwhile, StoreError if it keeps changing.
    """
    for tried in range(ROUNDS):
        await back_off(io, tried)
        after = await step(note)
        if after is note or await change_notes(io, [(note, after)]):
            return after
        note = await reload(io, note, doing)
    raise kept_changing(f"Note {note.id} kept changing while it was being {doing}")


async def change_until_done(
    io: IO, next_pairs: Callable[[], Awaitable[Sequence[Pair]]], what: str
) -> None:
    """Write what `next_pairs` reads and changes, until there is nothing left to write.

    what: a sentence for the StoreError if that does not come to an end.
    """
    for tried in range(ROUNDS):
        await back_off(io, tried)
        pairs = await next_pairs()
        if not pairs or await change_notes(io, pairs):
            return
    raise kept_changing(what)


async def reload(io: IO, note: Note, doing: str) -> Note:
    """Return the note as it is now; raises NoteNotFoundError if it was forgotten."""
    notes = await load(io, [note.id], note.namespace)
    if note.id not in notes:
        raise NoteNotFoundError(f"Note {note.id} was forgotten while it was being {doing}.")
    return notes[note.id]


def kept_changing(what: str) -> StoreError:
    return StoreError(f"{what}; try again when it is quiet.")


def keep_references(name: str, value: Any, keep: Callable[[str], bool]) -> Any:
    """Return the value of a field of `state_of` without references to notes not to `keep`."""
    match name:
        case "links":
            return [link for link in value if keep(link["to"])]
        case "contested_by":
            return [id for id in value if keep(id)]
        case "merged_into":
            return value if value is None or keep(value) else None
        case _:
            return value


def map_changes(revision: Revision, convert: Callable[[str, Any], Any]) -> Revision:
    """Return the revision with both sides of each change converted."""
    changes = {
        name: Change(convert(name, change.before), convert(name, change.after))
        for name, change in revision.changes.items()
    }
    return replace(revision, changes=changes)


async def drop_missing(io: IO, note: Note, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return an earlier state of a note without references to notes forgotten since."""
    named = {link["to"] for link in state.get("links", ())} | {*state.get("contested_by", ())}
    named |= {state["merged_into"]} if state.get("merged_into") else set()
    there = await existing(io, sorted(named), note.namespace)
    return {name: keep_references(name, value, there.__contains__) for name, value in state.items()}
