"""Undoing changes of a note: the last act, or one from the middle while later ones stay.

Undoing is a revision itself, so it can be undone too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from amem_integrations.core.io import IO
from amem_integrations.core.note import CONTRADICTS, Change, Link, Note, Revision, Status
from amem_integrations.core.status import UNDER_AUDIT, UNDERSTOOD_LISTS
from amem_integrations.errors import InvalidInputError
from amem_integrations.revisions.change import change_note, drop_missing, revised
from amem_integrations.revisions.contradiction import (
    CONTESTED,
    CONTRADICTED,
    SUPERSEDED,
    TAKES_ITS_PLACE,
    contradicting_notes,
    contradicts,
    supersede_linked,
    valid_from,
)
from amem_integrations.revisions.retract import Retraction, retract
from amem_integrations.stores.codec import fields_from, link_from, micros, state_of
from amem_integrations.stores.read import load, revisions

MERGED, REVERTED = "merged", "reverted"
_SET_ASIDE = {str(status) for status in (Status.ARCHIVED, *UNDER_AUDIT)}


async def revert(
    io: IO, note: Note, analyst: str, *, to_version: int | None = None
) -> tuple[Note, Retraction]:
    """Undo what the caller did last to a note, or all revisions after `to_version`.

    What the undone text or formation had caused in other notes is taken back. A note whose own
    effects are to be caused anew becomes raw and keeps its restored understanding; one that loses
    only its formation becomes plain. Raises InvalidInputError if there is nothing to undo,
    NoteNotFoundError and StoreError as `change_note` does.
    """
    taken_back = Retraction()
    undone: Sequence[Revision] = ()

    async def step(note: Note) -> Note:
        nonlocal taken_back, undone
        chain = [revision for revision in await revisions(io, note) if _can_be_undone(revision)]
        if to_version is None:
            undone = last_act(chain, await _last_told(io, note, chain))
        else:
            undone = [revision for revision in chain if revision.version > to_version]
        if not undone:
            wanted = "its first version" if to_version is None else f"version {to_version}"
            raise InvalidInputError(f"Note {note.id} has no revision after {wanted} to undo.")
        before: dict[str, Any] = {}
        for revision in reversed(undone):
            before |= {name: change.before for name, change in revision.changes.items()}
        if any("content" in revision.changes or not _is_apart(revision) for revision in undone):
            taken_back += await retract(io, note.id, note.namespace, analyst, stays=True)
            whole = to_version is None
            before["status"] = _status_after(note, before, undone, whole=whole)
        first, last = undone[0].version, undone[-1].version
        reason = f"undoes version {first}" + ("" if first == last else f"–{last}")
        fresh = replace(note, updated_at=io.now(), attempts=0, last_error=None)
        return await _go_back(io, fresh, before, reason, _partners(note, undone))

    reverted = await change_note(io, note, step, "reverted")
    await _follow_links(io, note, reverted)
    await _follow_partners(io, reverted, undone)
    if any("content" in revision.changes for revision in undone):
        await _follow_validity(io, note, reverted)
    return reverted, taken_back


def last_act(chain: Sequence[Revision], told: Mapping[str, datetime]) -> Sequence[Revision]:
    """Return the newest revisions of a note that one act made, oldest first.

    An act is a change that the caller made, with the formation that followed and with what notes
    that were there before did in turn. Any other change, such as an evolution by a newer note or a
    formation of a new note, stands alone. Revisions that were written together stay together.

    told: when each of the other notes was last changed by its caller.
    """
    if not chain:
        return ()
    start = len(chain) - 1
    while start and _follows(chain[start]):
        start -= 1
    act, rest = chain[start], chain[start + 1 :]
    by_itself = _status_at(chain[: start + 1]) == Status.RAW
    if not _is_act(act) or not all(
        by_itself if each.kind == "formed" else told.get(each.cause, each.at) <= act.at
        for each in rest
    ):
        start, act = len(chain) - 1, chain[-1]
    while start and _is_together(chain[start - 1], act):
        start -= 1
    return chain[start:]


def _follows(revision: Revision) -> bool:
    return revision.kind in ("formed", "evolved", CONTESTED)


def _is_act(revision: Revision) -> bool:
    return revision.analyst == "caller" or revision.kind == MERGED


def _is_together(before: Revision, act: Revision) -> bool:
    """Return whether a revision and the one before it come from one call."""
    if (before.kind, act.kind) == ("updated", "linked"):
        return True
    same = before.kind == act.kind == MERGED or (
        before.cause == act.cause and before.kind == "evolved" and act.kind in CONTRADICTED
    )
    return same and before.at == act.at


def _status_at(chain: Sequence[Revision]) -> str:
    """The status after the last of these revisions; a note begins as raw."""
    changes = (revision.changes.get("status") for revision in reversed(chain))
    return next((change.after for change in changes if change), str(Status.RAW))


async def _last_told(io: IO, note: Note, chain: Sequence[Revision]) -> dict[str, datetime]:
    causes = {revision.cause for revision in chain if _follows(revision)} - {note.id}
    return {id: other.updated_at for id, other in (await load(io, causes, note.namespace)).items()}


def _status_after(
    note: Note, before: Mapping[str, Any], undone: Sequence[Revision], *, whole: bool
) -> str:
    """Return the status of a note whose effects on others were just taken back.

    whole: an act of the caller is undone, rather than what came after a version.
    """
    status = str(before.get("status", note.status))
    if status in (Status.FORMED, Status.PARKED):
        # Its effects are to be caused again.
        return str(Status.RAW)
    if status != Status.RAW or "content" in before or (whole and any(map(_is_act, undone))):
        return status
    # Raw would be formed again at once, which is what was undone.
    return str(Status.PLAIN)


async def undo(io: IO, note: Note, version: int) -> Note:
    """Undo the change that made `version` of the note; what came later stays.

    Keywords, tags, links and contradictions that the change added go, and those that it removed
    come back; any other field is as before if nothing has changed it since. Raises
    InvalidInputError for a change that cannot be undone alone, NoteNotFoundError and StoreError
    as `change_note` does.
    """
    after = await _undo(io, note, version)
    await _follow_links(io, note, after)
    chain = await revisions(io, after)
    await _follow_partners(io, after, [each for each in chain if each.version == version])
    return after


async def _undo(io: IO, note: Note, version: int) -> Note:
    async def step(note: Note) -> Note:
        chain = await revisions(io, note)
        undone = next((revision for revision in chain if revision.version == version), None)
        if undone is None or not (_can_be_undone(undone) or undone.kind in CONTRADICTED):
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
        reason = f"undoes version {version} alone"
        return await _go_back(io, note, before, reason, _partners(note, [undone]))

    return await change_note(io, note, step, "reverted")


async def _go_back(
    io: IO, note: Note, before: dict[str, Any], reason: str, sources: tuple[str, ...]
) -> Note:
    fields = fields_from(note.id, await drop_missing(io, note, before))
    # Not `evolve`: a note goes back to any status that it had.
    back = replace(note, **fields)
    return revised(note, back, REVERTED, note.id, io.now(), "caller", sources, reason)


def _can_be_undone(revision: Revision) -> bool:
    """Return whether a revision changed the note, or what another one is to it."""
    return bool(revision.changes or revision.kind in (MERGED, SUPERSEDED) or _is_shared(revision))


def _is_shared(revision: Revision) -> bool:
    return revision.kind == REVERTED and bool(revision.sources)


def _is_apart(revision: Revision) -> bool:
    """Return whether later changes do not rest on it: setting a note aside is no forming."""
    status = revision.changes.get("status")
    return status is None or bool(_SET_ASIDE & {status.before, status.after})


def _state_without(note: Note, undone: Revision) -> dict[str, Any]:
    now = state_of(note)
    before: dict[str, Any] = {}
    for name, change in undone.changes.items():
        if name in (*UNDERSTOOD_LISTS, "contested_by"):
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
    """By where they lead: what else a link has may have changed since, unless this changed it."""
    targets = [link["to"] for link in now]
    before, after = ({link["to"]: link for link in side} for side in (undone.before, undone.after))
    links = {**before, **dict(zip(targets, now, strict=True))}
    replaced = (
        to for to in before.keys() & after.keys() if before[to]["kind"] != after[to]["kind"]
    )
    links |= {to: before[to] for to in replaced if links[to]["kind"] == after[to]["kind"]}
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


async def _follow_validity(io: IO, before: Note, after: Note) -> None:
    """Let the links of notes that superseded this one follow whether its text is outdated."""
    if (before.valid_until is None) == (after.valid_until is None):
        return
    standing: set[str] = set()
    for revision in await revisions(io, after):
        if revision.kind == SUPERSEDED:
            standing.add(revision.cause)
        elif _is_shared(revision):
            standing.symmetric_difference_update(revision.sources)
    follow = _drop_link if after.valid_until is None else _restore_link
    for other in (await load(io, sorted(standing - {after.id}), after.namespace)).values():
        await follow(io, other, after)


def _superseded(note: Note) -> set[str]:
    """The notes that a caller let it supersede; an analyst gives reasons of its own."""
    return {
        link.to
        for link in note.outgoing
        if link.kind == CONTRADICTS and link.reason == TAKES_ITS_PLACE
    }


# -- what was done to two notes at once ---------------------------------------------------------


def _partners(note: Note, undone: Sequence[Revision]) -> tuple[str, ...]:
    """The other notes that the undone revisions were about as well, by merging or superseding."""
    shared = (each for each in undone if each.kind in (MERGED, SUPERSEDED) or _is_shared(each))
    named = (id for each in shared for id in (each.cause, *each.sources))
    return tuple(id for id in dict.fromkeys(named) if id != note.id)


async def _follow_partners(io: IO, note: Note, undone: Sequence[Revision]) -> None:
    """Undo the other half of what was undone of `note`, in the notes that have it."""
    partners = await load(io, _partners(note, undone), note.namespace)
    for partner in partners.values():
        chain = await revisions(io, partner)
        half = next(
            (
                each
                for each in reversed(chain)
                if (each.kind == MERGED or _is_shared(each))
                and note.id in (each.cause, *each.sources)
            ),
            None,
        )
        if half is not None:
            await _undo(io, partner, half.version)
        elif note.id in _superseded(partner):
            await _drop_link(io, partner, note)


async def _restore_link(io: IO, note: Note, target: Note) -> None:
    """Let `note` take the place of the target again, as far as its own links go."""

    async def step(note: Note) -> Note:
        if target.id in _superseded(note):
            return note
        now = io.now()
        kept = (link for link in note.outgoing if link.to != target.id)
        back = replace(
            note, links=(*kept, Link(note.id, target.id, TAKES_ITS_PLACE, now, CONTRADICTS))
        )
        return revised(note, back, REVERTED, note.id, now, "caller", (target.id,), TAKES_ITS_PLACE)

    await change_note(io, note, step, "reverted")


async def _drop_link(io: IO, note: Note, target: Note) -> None:
    """Undo that a caller let `note` supersede the target, as far as its own links go."""

    async def step(note: Note) -> Note:
        links: list[Link] = [link for link in note.outgoing if link.to != target.id]
        if len(links) == len(note.outgoing):
            return note
        # An import may bring the link without the revision that made it.
        linked: Sequence[Any] = next(
            (
                each.changes["links"].before
                for each in reversed(await revisions(io, note))
                if "links" in each.changes and target.id in _added_links(each)
            ),
            (),
        )
        links += [link_from(note.id, data) for data in linked if data["to"] == target.id]
        back, now = replace(note, links=tuple(links)), io.now()
        reason = "that it takes the place of another note was undone"
        return revised(note, back, REVERTED, note.id, now, "caller", (target.id,), reason)

    await change_note(io, note, step, "reverted")


def _added_links(revision: Revision) -> set[str]:
    """The notes that a revision made the note take the place of."""
    before, after = revision.changes["links"].before, revision.changes["links"].after
    new = (link for link in after if link not in before and link["reason"] == TAKES_ITS_PLACE)
    return {link["to"] for link in new}
