"""Audits: a note that keeps being contradicted stands back until somebody resolves it.

Nothing is deleted. Its lineage is shown with it: where it came from and what it changed. Ours, not
the paper's.
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
from amem_integrations.core.status import UNDER_AUDIT
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.revisions.change import change_note, revised
from amem_integrations.revisions.contradiction import RESOLVED, SUPERSEDED, valid_from
from amem_integrations.revisions.entry import entry_of, records_of
from amem_integrations.revisions.replay import took_part
from amem_integrations.revisions.retract import Retraction
from amem_integrations.revisions.update import update
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import influenced_by, load, load_all_notes, revisions

Decision: TypeAlias = Literal["keep", "correct", "retire"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)


@dataclass(frozen=True, slots=True)
class Trace:
    """A change of a note in which another note had a part.

    Attributes:
        note: id of the changed note.
        other: id of the note that had a part in it.
        kind: the kind of the revision.
        version: the version that the change made.
        at: when.
        analyst: who judged so.
        reason: why, in words.
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
        source: the kind of source it is from, None if unknown.
        speaker: who said it.
        session: in which conversation.
        occurred_at: when it happened.
        created_at: when it was stored.
        came_from: its own changes in which other notes had a part.
        changed: the changes of other notes in which it had a part.
        conflicts: when it was reported to conflict, since it last helped.
        contested_by: ids of the notes that contradict it.
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


async def lineage_of(io: IO, note: Note, chain: Sequence[Revision]) -> Lineage:
    """Return where a note came from and what came of it; chain: its revisions."""
    owners = await load(io, await influenced_by(io, note.namespace, note.id), note.namespace)
    records = await records_of(io, list(owners))
    changed = [
        _trace(owner.id, note.id, revision)
        for owner in owners.values()
        for revision in entry_of(owner, records[owner.id]).revisions
        if took_part(revision, note.id)
    ]
    return Lineage(
        source=note.source,
        speaker=note.speaker,
        session=note.session,
        occurred_at=note.occurred_at,
        created_at=note.created_at,
        came_from=tuple(
            _trace(note.id, other, revision)
            for revision in chain
            for other in dict.fromkeys((revision.cause, *revision.sources))
            if other != note.id
        ),
        changed=tuple(sorted(changed, key=lambda trace: (trace.at, trace.note))),
        conflicts=note.life.conflicts,
        contested_by=note.contested_by,
    )


def _trace(note_id: str, other: str, revision: Revision) -> Trace:
    kind, version, at = revision.kind, revision.version, revision.at
    return Trace(note_id, other, kind, version, at, revision.analyst, revision.reason)


@dataclass(frozen=True, slots=True)
class Audit:
    """A note under audit.

    Attributes:
        note: the note.
        reason: why it is under audit.
        since: since when.
        lineage: where it came from and what came of it.

    Examples:
        >>> note = memory.add("The board meets on Monday")
        >>> for session in "abc":
        ...     _ = memory.lifecycle.feedback(note, "conflict", session=session)
        >>> _ = memory.lifecycle.maintain()
        >>> [audit] = memory.lifecycle.audits()
        >>> audit.note.content, str(audit.note.status)
        ('The board meets on Monday', 'audited')
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
        """Return the audit as one JSON object; times in ISO 8601."""
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


def audit_due(note: Note, now: datetime, policy: Policy) -> str | None:
    """Return why a note is to be audited; None if it is not.

    Each note that contests it counts as a conflict.
    """
    life, contested = note.life, len(note.contested_by)
    in_a_row = len(life.conflicts)
    if in_a_row + contested >= policy.audit_after_in_a_row:
        notes = f"contested by {contested} notes"
        return f"{in_a_row} conflicting uses in a row" + (f", {notes}" if contested else "")
    recent = sum(now - at <= policy.audit_window for at in life.conflicts)
    if recent >= policy.audit_after:
        days = policy.audit_window.days
        return f"{recent} conflicting uses within {days} days, no clean one between"
    return None


async def audit(
    io: IO, note: Note, reason: str, analyst: str = "lifecycle", *, quarantine: bool = False
) -> Note:
    """Put a note under audit until it is resolved, unless it is, or is archived.

    quarantine: whether it leaves recall so long.

    Raises NoteNotFoundError and StoreError as `change_note` does.
    """

    async def step(note: Note) -> Note:
        if note.status in (Status.ARCHIVED, *UNDER_AUDIT):
            return note
        status = Status.QUARANTINED if quarantine else Status.AUDITED
        aside = note.evolve(status=status)
        return revised(note, aside, "audited", note.id, io.now(), analyst, reason=reason)

    return await change_note(io, note, step, "audited")


async def audits(io: IO, namespace: Namespace) -> list[Audit]:
    """Return every note of a namespace that is under audit, the longest first."""
    found: list[Audit] = []
    for note in await load_all_notes(io, within(namespace, match("status", *UNDER_AUDIT))):
        chain = await revisions(io, note)
        start = _start_of_audit(chain)
        reason, since = ("", note.updated_at) if start is None else (start.reason, start.at)
        found.append(Audit(note, reason, since, await lineage_of(io, note, chain)))
    return sorted(found, key=lambda audit: (audit.since, audit.note.id))


def _start_of_audit(chain: Sequence[Revision]) -> Revision | None:
    """The revision that put the note under audit, if its history goes back so far."""
    return next((revision for revision in reversed(chain) if revision.kind == "audited"), None)


async def resolve(
    io: IO, note: Note, decision: Decision, analyst: str, content: str | None = None
) -> tuple[Note, Retraction]:
    """Settle what is open about a note that is under audit, or that another contradicts.

    "keep": it is valid and back where it was; who contested it is ignored. What a caller let
    supersede it stands. "correct": it gets new content and is formed again. "retire": it is
    archived. Raises InvalidInputError if nothing is open, NoteNotFoundError and StoreError as
    `change_note` does.
    """
    if (decision == "correct") != (content is not None):
        raise InvalidInputError('content goes with the decision "correct", and with no other.')

    async def step(note: Note) -> Note:
        _check_open(note)
        settled = await _settled(io, note, decision)
        return revised(note, settled, RESOLVED, note.id, io.now(), "caller", reason=decision)

    if content is None:
        return await change_note(io, note, step, "resolved"), Retraction()
    _check_open(note)
    if content == note.content:
        raise InvalidInputError(
            f'That is the content of note {note.id} already; to leave it, decide "keep".'
        )
    return await update(io, note, analyst, content=content, kind=RESOLVED, reason="corrected")


def _check_open(note: Note) -> None:
    if note.status not in UNDER_AUDIT and not note.contested_by:
        raise InvalidInputError(
            f"Note {note.id} is not under audit, and nothing contests it. To change its text, "
            "update it (`amem edit`)."
        )


async def _settled(io: IO, note: Note, decision: Decision) -> Note:
    fresh = replace(note, contested_by=(), life=replace(note.life, conflicts=()))
    if decision == "retire":
        return fresh.evolve(status=Status.ARCHIVED)
    chain = await revisions(io, note)
    if note.valid_until is not None:
        # When the first note is valid from that a caller let supersede this one.
        causes = [revision.cause for revision in chain if revision.kind == SUPERSEDED]
        others = (await load(io, causes, note.namespace)).values()
        fresh = replace(fresh, valid_until=min(map(valid_from, others), default=None))
    if note.status not in UNDER_AUDIT:
        return fresh
    start = _start_of_audit(chain)
    change = None if start is None else start.changes.get("status")
    if change is not None:
        return fresh.evolve(status=Status(change.before))
    understood = note.keywords or note.context or not note.content
    return fresh.evolve(status=Status.FORMED if understood else Status.RAW)
