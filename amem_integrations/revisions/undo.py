"""Undoing one change of a note from the middle of its history, while later ones stay.

`revise.revert` goes back to an earlier version; `formation.history` takes out all that one note
did. A forming, or a change of content, is what everything later rests on, so it is left to these.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from amem_integrations.core.io import IO
from amem_integrations.core.note import Change, Link, Note, Revision, Status
from amem_integrations.core.status import standing_from
from amem_integrations.errors import InvalidInputError
from amem_integrations.revisions.change import changed, only_present
from amem_integrations.revisions.contradiction import (
    CONTESTED,
    CONTRADICTING,
    SUPERSEDED,
    contradictions,
    holds_from,
)
from amem_integrations.revisions.revise import revised
from amem_integrations.stores.codec import link_from
from amem_integrations.stores.read import load, revisions

_SET_ASIDE = {str(Status.ARCHIVED), str(Status.QUARANTINED)}
_SCALARS = ("tier", "merged_into", "trust", "valid_until")


async def undo(io: IO, note: Note, version: int) -> Note:
    """The note without the change that made it this `version`; what came later stays.

    Keywords, tags, links and contradictions that the change added go, and those that it removed
    come back; any other field is as before if nothing has changed it since. That is a revision
    itself. Raises InvalidInputError for a change that cannot be undone alone, NoteNotFoundError
    and StoreError as `change.changed` does.
    """

    async def step(note: Note) -> Note:
        chain = await revisions(io, note)
        found = next((each for each in chain if each.version == version), None)
        if found is None or not (found.changes or found.kind in (SUPERSEDED, CONTESTED)):
            raise InvalidInputError(f"Note {note.id} has no change that made it version {version}.")
        if "content" in found.changes or not _is_apart(found):
            raise InvalidInputError(
                f"Version {version} of note {note.id} was {found.kind}, on which what came later "
                f"rests. Undo that with it: revert(note, to_version={version - 1})."
            )
        fields = _fields(note, found)
        if found.kind in (SUPERSEDED, CONTESTED):
            rest = [each for each in chain if each is not found]
            held = await load(io, contradictions(rest), note.namespace)
            # One that was taken back does not say so any more, though history tells that it did.
            still = (each for each in held.values() if _contradicts(each, note))
            fields["valid_until"] = min(map(holds_from, still), default=None)
        await only_present(io, note, fields)
        reason = f"undoes version {version} alone"
        back = note.evolve(**fields)
        return revised(note, back, "reverted", note.id, io.now(), "caller", reason=reason)

    return await changed(io, note, step, "reverted")


def _contradicts(one: Note, other: Note) -> bool:
    ways = (link for link in one.outgoing if link.kind in CONTRADICTING)
    return one.id in other.contested_by or any(link.to == other.id for link in ways)


def _is_apart(revision: Revision) -> bool:
    status = revision.changes.get("status")
    return status is None or bool(_SET_ASIDE & {status.before, status.after})


def _fields(note: Note, undone: Revision) -> dict[str, Any]:
    changes: Mapping[str, Change] = undone.changes
    fields: dict[str, Any] = {}
    for name in ("keywords", "tags", "contested_by"):
        if name in changes:
            fields[name] = _without(getattr(note, name), changes[name])
    if "context" in changes and note.context == changes["context"].after:
        fields["context"] = changes["context"].before
    if "links" in changes:
        fields["links"] = _links(note, changes["links"])
    if "status" in changes and str(note.status) == changes["status"].after:
        fields["status"] = Status(changes["status"].before)
    unchanged = {
        name: changes[name].before
        for name in _SCALARS
        if name in changes and note.standing[name] == changes[name].after
    }
    return fields | standing_from(unchanged)


def _without(now: Sequence[str], undone: Change) -> tuple[str, ...]:
    kept = [each for each in now if each in undone.before or each not in undone.after]
    lost = [each for each in undone.before if each not in undone.after and each not in kept]
    return (*kept, *lost)


def _links(note: Note, undone: Change) -> tuple[Link, ...]:
    before = {each["to"]: each for each in undone.before}
    added = {each["to"] for each in undone.after} - before.keys()
    removed = before.keys() - {each["to"] for each in undone.after}
    kept = [link for link in note.outgoing if link.to not in added]
    there = {link.to for link in kept}
    back = [link_from(note.id, before[to]) for to in before if to in removed - there]
    return (*kept, *back)
