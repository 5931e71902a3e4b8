"""Undoing changes of a note: the newest ones, or one from the middle while later ones stay.

Undoing is a revision itself, so it can be undone too.
"""

from collections.abc import Sequence
from typing import Any

from amem_integrations.core.io import IO
from amem_integrations.core.note import CONTRADICTS, Change, Note, Revision, Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.revisions.change import change_note, drop_missing, revised
from amem_integrations.revisions.contradiction import (
    CONTRADICTED,
    SUPERSEDED,
    TAKES_ITS_PLACE,
    contradicting_notes,
    contradicts,
    supersede_linked,
    valid_from,
)
from amem_integrations.revisions.retract import Retraction, retract
from amem_integrations.stores.codec import fields_from, micros, state_of
from amem_integrations.stores.read import load, revisions

_SET_ASIDE = {str(Status.ARCHIVED), str(Status.QUARANTINED)}


async def revert(
    io: IO, note: Note, analyst: str, *, to_version: int | None = None
) -> tuple[Note, Retraction]:
    """Undo revisions, newest first: the last one, or all after `to_version`.

    What the undone text or forming had caused in other notes is taken back. Raises
    InvalidInputError if there is nothing to undo, NoteNotFoundError and StoreError as
    `change_note` does.
    """
    taken_back = Retraction()

    async def step(note: Note) -> Note:
        nonlocal taken_back
        chain = [revision for revision in await revisions(io, note) if revision.changes]
        if to_version is None:
            undone = chain[-1:]
        else:
            undone = [revision for revision in chain if revision.version > to_version]
        if not undone:
            wanted = "its first version" if to_version is None else f"version {to_version}"
            raise InvalidInputError(f"Note {note.id} has no revision after {wanted} to undo.")
        before: dict[str, Any] = {}
        for revision in reversed(undone):
            before |= {name: change.before for name, change in revision.changes.items()}
        if before.get("status") == Status.RAW:
            # Raw would be formed again at once, which is not what undoing it meant.
            before["status"] = Status.PARKED
        if any("content" in revision.changes or not _is_apart(revision) for revision in undone):
            taken_back += await retract(io, note.id, note.namespace, analyst)
        first, last = undone[0].version, undone[-1].version
        reason = f"undoes version {first}" + ("" if first == last else f"–{last}")
        return await _go_back(io, note.evolve(updated_at=io.now()), before, reason)

    reverted = await change_note(io, note, step, "reverted")
    await _follow_links(io, note, reverted)
    return reverted, taken_back


async def undo(io: IO, note: Note, version: int) -> Note:
    """Undo the change that made `version` of the note; what came later stays.

    Keywords, tags, links and contradictions that the change added go, and those that it removed
    come back; any other field is as before if nothing has changed it since. Raises
    InvalidInputError for a change that cannot be undone alone, NoteNotFoundError and StoreError
    as `change_note` does.
    """
    undone = await _undo(io, note, version)
    await _follow_links(io, note, undone)
    return undone


async def _undo(io: IO, note: Note, version: int) -> Note:
    async def step(note: Note) -> Note:
        chain = await revisions(io, note)
        undone = next((revision for revision in chain if revision.version == version), None)
        if undone is None or not (undone.changes or undone.kind in CONTRADICTED):
            raise InvalidInputError(f"Note {note.id} has no change that made it version {version}.")
        if "content" in undone.changes or not _is_apart(undone):
            raise InvalidInputError(
                f"Version {version} of note {note.id} was {undone.kind}, on which what came later "
                f"rests. Undo that with it: revert(note, to_version={version - 1})."
            )
        before = _state_without(note, undone)
        if undone.kind in CONTRADICTED:
            rest = [revision for revision in chain if revision is not undone]
            others = await load(io, contradicting_notes(rest), note.namespace)
            # One that was taken back does not say so any more, though history tells that it did.
            still = (valid_from(other) for other in others.values() if contradicts(other, note))
            before["valid_until"] = min(map(micros, still), default=None)
        return await _go_back(io, note, before, f"undoes version {version} alone")

    return await change_note(io, note, step, "reverted")


async def _go_back(io: IO, note: Note, before: dict[str, Any], reason: str) -> Note:
    now = io.now()
    fields = fields_from(note.id, await drop_missing(io, note, before))
    back = note.evolve(**fields)
    return revised(note, back, "reverted", note.id, now, "caller", reason=reason)


def _is_apart(revision: Revision) -> bool:
    """Return whether later changes do not rest on it: setting a note aside is no forming."""
    status = revision.changes.get("status")
    return status is None or bool(_SET_ASIDE & {status.before, status.after})


def _state_without(note: Note, undone: Revision) -> dict[str, Any]:
    now = state_of(note)
    before: dict[str, Any] = {}
    for name, change in undone.changes.items():
        if name in ("keywords", "tags", "contested_by"):
            before[name] = _list_without(now[name], change)
        elif name == "links":
            before[name] = _links_without(now[name], change)
        elif now.get(name) == change.after:
            before[name] = change.before
    return before


def _list_without(now: Sequence[str], undone: Change) -> list[str]:
    kept = [item for item in now if item in undone.before or item not in undone.after]
    lost = [item for item in undone.before if item not in undone.after and item not in kept]
    return [*kept, *lost]


def _links_without(now: Sequence[Any], undone: Change) -> list[Any]:
    """By where they lead: what else a link has may have changed since."""
    targets = [link["to"] for link in now]
    before, after = ({link["to"]: link for link in side} for side in (undone.before, undone.after))
    links = {**before, **dict(zip(targets, now, strict=True))}
    wanted = _list_without(targets, Change(list(before), list(after)))
    return [links[to] for to in wanted]


async def _follow_links(io: IO, before: Note, after: Note) -> None:
    """Let what a note superseded follow its links, where undoing changed these."""
    old, new = _superseded(before), _superseded(after)
    for other in (await load(io, sorted(old - new), after.namespace)).values():
        for revision in await revisions(io, other):
            if revision.kind == SUPERSEDED and revision.cause == after.id and revision.changes:
                await _undo(io, other, revision.version)
    await supersede_linked(io, after, sorted(new))


def _superseded(note: Note) -> set[str]:
    """The notes that a caller let it supersede; an analyst gives reasons of its own."""
    return {
        link.to
        for link in note.outgoing
        if link.kind == CONTRADICTS and link.reason == TAKES_ITS_PLACE
    }
