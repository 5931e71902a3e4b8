"""A caller changing its own note: new content, or back to how it was.

Both take back what the replaced text had caused in other notes.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from amem_integrations.core.io import IO
from amem_integrations.core.note import Note, Revision, Status, check_content
from amem_integrations.core.status import FIELDS, standing_from
from amem_integrations.errors import InvalidInputError
from amem_integrations.revisions.change import (
    ROUNDS,
    again,
    change,
    changed,
    kept_changing,
    only_present,
)
from amem_integrations.revisions.overwrite import overwrite
from amem_integrations.revisions.retract import Retraction, retract, retract_late
from amem_integrations.revisions.revise import revised
from amem_integrations.stores.codec import link_from
from amem_integrations.stores.read import revisions

_REVERTED = ("content", "keywords", "tags", "context", "links", "status", *FIELDS)
_SET_ASIDE = {str(Status.ARCHIVED), str(Status.QUARANTINED)}


async def update(
    io: IO,
    note: Note,
    analyst: str,
    *,
    content: str,
    metadata_json: str | None = None,
    kind: str = "updated",
    reason: str = "",
) -> tuple[Note, Retraction]:
    """Give a note new content (and metadata): a new raw version, to be formed again.

    Unchanged content leaves the understanding alone and is no revision. New content takes the
    place of a value that was put there, and of its history. Raises InvalidInputError for content
    that cannot be stored, NoteNotFoundError if the note was forgotten meanwhile, StoreError if
    it keeps changing.
    """
    check_content(content)
    taken_back = Retraction()
    for _ in range(ROUNDS):
        now = io.now()
        metadata = note.metadata_json if metadata_json is None else metadata_json
        if content == note.content:
            if metadata == note.metadata_json:
                return note, taken_back
            after = note.evolve(metadata_json=metadata, updated_at=now, version=note.version + 1)
        else:
            raw = note.evolve(
                metadata_json=metadata,
                updated_at=now,
                content=content,
                parts=None,
                value_json=None,
                keywords=(),
                tags=(),
                context="",
                links=(),
                status=Status.RAW,
                attempts=0,
                last_error=None,
                # Others had their say about the text that was.
                valid_until=None,
                contested_by=(),
                merged_into=None,
                trust=1.0,
                life=replace(note.life, conflicts=()),
            )
            if note.value_json is not None:
                return await overwrite(io, replace(raw, revision=None), note, analyst)
            taken_back += await retract(io, note.id, note.namespace, analyst)
            after = revised(note, raw, kind, note.id, now, "caller", reason=reason)
        if await change(io, [(note, after)]):
            if content != note.content:
                taken_back += await retract_late(io, after, analyst)
            return after, taken_back
        note = await again(io, note, "updated")
    raise kept_changing(note, "updated")


async def revert(
    io: IO, note: Note, analyst: str, *, to_version: int | None = None
) -> tuple[Note, Retraction]:
    """Undo revisions, newest first: the last one, or all after `to_version`.

    The undoing is itself a revision, so it can be undone too. Raises InvalidInputError when
    there is nothing to undo, NoteNotFoundError and StoreError as `change.changed` does.
    """
    taken_back = Retraction()

    async def step(note: Note) -> Note:
        nonlocal taken_back
        chain = await revisions(io, note)
        undone = _to_undo(chain, to_version)
        if not undone:
            wanted = "its first version" if to_version is None else f"version {to_version}"
            raise InvalidInputError(f"Note {note.id} has no revision after {wanted} to undo.")
        fields = _fields_before(note, undone)
        if any(map(_changed_meaning, undone)):
            taken_back += await retract(io, note.id, note.namespace, analyst)
        await only_present(io, note, fields)
        versions = (
            f"{undone[-1].version}"
            if len(undone) == 1
            else (f"{undone[-1].version}–{undone[0].version}")
        )
        now = io.now()
        back = note.evolve(**fields, updated_at=now)
        reason = f"undoes version {versions}"
        return revised(note, back, "reverted", note.id, now, "caller", reason=reason)

    return await changed(io, note, step, "reverted"), taken_back


def _to_undo(chain: Sequence[Revision], to_version: int | None) -> list[Revision]:
    """Newest first."""
    newest_first = [revision for revision in reversed(chain) if revision.changes]
    if to_version is None:
        return newest_first[:1]
    return [revision for revision in newest_first if revision.version > to_version]


def _changed_meaning(revision: Revision) -> bool:
    """Whether what the note had caused rests on it: its text, or its having been formed.

    To be set aside, or to be back, is neither.
    """
    status = revision.changes.get("status")
    formed = status is not None and not _SET_ASIDE & {status.before, status.after}
    return formed or "content" in revision.changes


def _fields_before(note: Note, undone: Sequence[Revision]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for revision in undone:
        for name, each in revision.changes.items():
            if name in _REVERTED:
                fields[name] = each.before
    fields |= standing_from(fields)
    if "links" in fields:
        fields["links"] = tuple(link_from(note.id, link) for link in fields["links"])
    for name in ("keywords", "tags"):
        if name in fields:
            fields[name] = tuple(fields[name])
    if "status" in fields:
        before = Status(fields["status"])
        # Raw would be formed again at once, which is not what undoing it meant.
        fields["status"] = Status.PARKED if before is Status.RAW else before
    return fields
