"""Audits: a note that keeps being contradicted in use leaves recall until somebody settles it.

Nothing is deleted, and where the note came from and what it changed is shown with it. Maintenance
calls `audit`; `settling` gives `audits` and `resolve` their two forms. Ours, not the paper's.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

from amem_integrations.core.filters import match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Revision, Status
from amem_integrations.core.status import Life
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.revisions.change import change_note, revised
from amem_integrations.revisions.contradiction import SUPERSEDED, valid_from
from amem_integrations.revisions.entry import entry_of, records_of
from amem_integrations.revisions.replay import took_part
from amem_integrations.revisions.retract import Retraction
from amem_integrations.revisions.update import update
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import every_note, influenced_by, load, revisions

Decision: TypeAlias = Literal["keep", "correct", "retire"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)


@dataclass(frozen=True, slots=True)
class Trace:
    """A change of the note `note` in which another had a part.

    Attributes:
        note: id of the note that was changed.
        other: id of the note that had a part in it.
        kind: of the revision.
        version: that the note has by it.
        at: when.
        analyst: who judged so.
        reason: why, in words.

    Examples:
        >>> note = memory.add("Bea runs the bakery on Mill Road")
        >>> other = memory.add("The bakery on Mill Road sells rye bread")
        >>> reports = [memory.lifecycle.feedback(note, "conflict", session=each) for each in "abc"]
        >>> _ = memory.lifecycle.maintain()
        >>> [trace] = memory.lifecycle.audits()[0].lineage.came_from
        >>> trace.other == other.id, trace.kind
        (True, 'evolved')
    """

    note: str
    other: str
    kind: str
    version: int
    at: datetime
    analyst: str
    reason: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a note came from and what came of it.

    Attributes:
        source: what kind of source it is from, None if nobody said.
        speaker: who said it.
        session: in which conversation.
        occurred_at: when it happened.
        created_at: when it was stored.
        came_from: its own changes in which other notes had a part.
        changed: those of other notes in which it had one.
        conflicts: when it was reported to contradict, since it last helped.
        contested_by: ids of the notes that contradict it.

    Examples:
        >>> note = memory.add("The board meets on Monday", speaker="Ada")
        >>> reports = [memory.lifecycle.feedback(note, "conflict", session=each) for each in "abc"]
        >>> _ = memory.lifecycle.maintain()
        >>> lineage = memory.lifecycle.audits()[0].lineage
        >>> lineage.speaker, len(lineage.conflicts), lineage.changed
        ('Ada', 3, ())
    """

    source: str | None
    speaker: str | None
    session: str | None
    occurred_at: datetime | None
    created_at: datetime
    came_from: tuple[Trace, ...]
    changed: tuple[Trace, ...]
    conflicts: tuple[datetime, ...]
    contested_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """A note under audit, why and since when, and its lineage.

    Attributes:
        note: the note.
        reason: why it is under audit.
        since: since when.
        lineage: where it came from and what came of it.

    Examples:
        >>> note = memory.add("The board meets on Monday")
        >>> reports = [memory.lifecycle.feedback(note, "conflict", session=each) for each in "abc"]
        >>> _ = memory.lifecycle.maintain()
        >>> [audit] = memory.lifecycle.audits()
        >>> audit.note.content, str(audit.note.status)
        ('The board meets on Monday', 'quarantined')
        >>> print(audit.as_json())
        {
          "id": "...",
          ...
    """

    note: Note
    reason: str
    since: datetime
    lineage: Lineage

    def as_json(self) -> str:
        """All of it as one JSON object; times in ISO 8601."""
        note = self.note
        data: dict[str, Any] = {
            "id": note.id,
            "namespace": list(note.namespace),
            "key": note.key,
            "content": note.content,
            "reason": self.reason,
            "since": self.since,
            "lineage": asdict(self.lineage),
        }
        return json.dumps(data, ensure_ascii=False, indent=2, default=datetime.isoformat)


def audit_due(life: Life, now: datetime, policy: Policy) -> str | None:
    """Why a note that this happened to is to be audited; None if it is not."""
    in_a_row = len(life.conflicts)
    if in_a_row >= policy.in_a_row:
        return f"{in_a_row} conflicting uses in a row"
    recent = sum(now - each <= policy.within for each in life.conflicts)
    if recent >= policy.repeated:
        return f"{recent} conflicting uses within {policy.within.days} days, no clean one between"
    return None


async def audit(io: IO, note: Note, reason: str, analyst: str = "lifecycle") -> Note:
    """Take a note out of recall until it is resolved; one that is set aside stays as it is.

    Raises NoteNotFoundError if it is gone, StoreError if it keeps changing.
    """

    async def step(note: Note) -> Note:
        if note.status in (Status.QUARANTINED, Status.ARCHIVED):
            return note
        aside = note.evolve(status=Status.QUARANTINED)
        return revised(note, aside, "audited", note.id, io.now(), analyst, reason=reason)

    return await change_note(io, note, step, "audited")


async def audits(io: IO, namespace: Namespace) -> list[Audit]:
    """Every note of a namespace that is under audit, the longest first."""
    where = within(namespace, match("status", Status.QUARANTINED))
    found = [await _audit_of(io, note) for note in await every_note(io, where)]
    return sorted(found, key=lambda each: (each.since, each.note.id))


async def _audit_of(io: IO, note: Note) -> Audit:
    chain = await revisions(io, note)
    began = _began(chain)
    reason, since = ("", note.updated_at) if began is None else (began.reason, began.at)
    return Audit(note, reason, since, await lineage(io, note, chain))


def _began(chain: Sequence[Revision]) -> Revision | None:
    """The revision that put the note under audit, if its history goes back so far."""
    newest = (each for each in reversed(chain) if each.kind == "audited")
    return next(newest, None)


async def lineage(io: IO, note: Note, chain: Sequence[Revision]) -> Lineage:
    """Where a note came from and what came of it; chain: its revisions."""
    owners = await load(io, await influenced_by(io, note.namespace, note.id), note.namespace)
    records = await records_of(io, list(owners))
    changed = [
        _trace(owner.id, note.id, each)
        for owner in owners.values()
        for each in entry_of(owner, records[owner.id]).revisions
        if took_part(each, note.id)
    ]
    return Lineage(
        source=note.source,
        speaker=note.speaker,
        session=note.session,
        occurred_at=note.occurred_at,
        created_at=note.created_at,
        came_from=tuple(
            _trace(note.id, other, each)
            for each in chain
            for other in dict.fromkeys((each.cause, *each.sources))
            if other != note.id
        ),
        changed=tuple(sorted(changed, key=lambda each: (each.at, each.note))),
        conflicts=note.life.conflicts,
        contested_by=note.contested_by,
    )


def _trace(note_id: str, other: str, revision: Revision) -> Trace:
    return Trace(
        note_id,
        other,
        revision.kind,
        revision.version,
        revision.at,
        revision.analyst,
        revision.reason,
    )


async def resolve(
    io: IO, note: Note, decision: Decision, analyst: str, content: str | None = None
) -> tuple[Note, Retraction]:
    """Settle what is open about a note that is under audit, or that another contradicts.

    "keep": it holds; it is back, and who contested it is not heard. What a caller let take its
    place stands. "correct": it gets new content and is formed again. "retire": it is archived.
    Raises InvalidInputError if nothing is open, NoteNotFoundError and StoreError as
    `change.changed` does.
    """
    if (decision == "correct") != (content is not None):
        raise InvalidInputError('content goes with the decision "correct", and with no other.')

    async def step(note: Note) -> Note:
        _check_open(note)
        settled = await _settled(io, note, decision)
        return revised(note, settled, "resolved", note.id, io.now(), "caller", reason=decision)

    if content is None:
        return await change_note(io, note, step, "resolved"), Retraction()
    _check_open(note)
    if content == note.content:
        raise InvalidInputError(
            f'That is the content of note {note.id} already; to leave it, decide "keep".'
        )
    return await update(io, note, analyst, content=content, kind="resolved", reason="corrected")


def _check_open(note: Note) -> None:
    if note.status is not Status.QUARANTINED and not note.contested_by:
        raise InvalidInputError(f"Note {note.id} is not under audit, and nothing contests it.")


async def _settled(io: IO, note: Note, decision: Decision) -> Note:
    fresh = replace(note, contested_by=(), life=replace(note.life, conflicts=()))
    if decision == "retire":
        return fresh.evolve(status=Status.ARCHIVED)
    chain = await revisions(io, note)
    fresh = replace(fresh, valid_until=await _superseded_at(io, note, chain))
    if note.status is not Status.QUARANTINED:
        return fresh
    began = _began(chain)
    change = None if began is None else began.changes.get("status")
    if change is not None:
        return fresh.evolve(status=Status(change.before))
    understood = note.keywords or note.context or not note.content
    return fresh.evolve(status=Status.FORMED if understood else Status.RAW)


async def _superseded_at(io: IO, note: Note, chain: Sequence[Revision]) -> datetime | None:
    """When the first note holds from that a caller let take the place of this one."""
    if note.valid_until is None:
        return None
    said = [each.cause for each in chain if each.kind == SUPERSEDED]
    held = await load(io, said, note.namespace)
    return min(map(valid_from, held.values()), default=None)
