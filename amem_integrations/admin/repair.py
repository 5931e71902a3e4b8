"""Repair: mending what `check` finds, without losing any content.

Whatever is not certain is left alone and reported: a note whose payload cannot be read, whose
id is not its own, whose history has a gap.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from amem_integrations.admin.check import (
    DERIVED,
    ORPHANED,
    UNINDEXED,
    Finding,
    StoredNote,
    check,
    examine,
    read,
    readable_note,
    reindex,
)
from amem_integrations.core.filters import both, ids, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status
from amem_integrations.revisions.entry import entry_of
from amem_integrations.revisions.replay import without
from amem_integrations.revisions.retract import Retraction, retract, rewrite
from amem_integrations.stores.codec import (
    as_read,
    link_json,
    note_point,
    revision_from,
    revision_point,
)
from amem_integrations.stores.expiry import including_expired
from amem_integrations.stores.write import embedded_points

_ROUNDS = 16
_UNMENDABLE = frozenset({"unreadable", "id", "revision-gap"})
_MISPLACED = frozenset({"dangling-link", "foreign-link", "stale-influence"})
_IMPOSSIBLE = frozenset({"self-link", "duplicate-link"})
_REWRITTEN = frozenset({"empty", "version"})


@dataclass(frozen=True, slots=True)
class Repaired:
    """findings: what was found, each with whether it is mended now.

    unformed: ids of notes that are to be formed again, by namespace.
    """

    findings: list[Finding]
    unformed: Mapping[Namespace, list[str]] = field(default_factory=dict[Namespace, list[str]])


async def repair(io: IO, analyst: str, findings: Iterable[Finding] | None = None) -> Repaired:
    """Mend what `check` finds, or found; each note is looked at again before it is touched.

    Links to nothing, to another namespace, to the note itself or a second time are removed,
    and what a revision drew on that is not there is taken back as if it was forgotten now;
    each is a revision of kind "repaired" or "retracted". Left-over records are deleted, derived
    fields and vectors made anew, indexes filled again. A formed note that says nothing becomes raw.
    """
    io = including_expired(io)
    suspects = list(await check(io) if findings is None else findings)
    if unindexed := [finding for finding in suspects if finding.what == UNINDEXED]:
        for finding in unindexed:
            await reindex(io, finding.note_id, finding.detail)
        left = await check(io)
        more = await repair(io, analyst, [finding for finding in left if finding.what != UNINDEXED])
        again = [replace(finding, mended=finding not in left) for finding in unindexed]
        return replace(more, findings=[*again, *more.findings])
    done = [
        replace(finding, mended=True)
        for finding in suspects
        if finding.what == ORPHANED["proposal"]
    ]
    if done:
        await io.engine.delete(ids([finding.detail for finding in done]))
        suspects = [finding for finding in suspects if finding.what != ORPHANED["proposal"]]
    unformed: dict[Namespace, list[str]] = {}
    for note_id in dict.fromkeys(finding.note_id for finding in suspects):
        done += await _mend(io, note_id, analyst, unformed)
    return Repaired(done, unformed)


async def _mend(
    io: IO, note_id: str, analyst: str, unformed: dict[Namespace, list[str]]
) -> list[Finding]:
    seen: dict[Finding, None] = {}
    left: list[Finding] = []
    for _ in range(_ROUNDS):
        stored = await read(io, [note_id])
        left = examine(stored[0]) if stored else await _orphans(io, note_id)
        seen |= dict.fromkeys(left)
        mendable = [finding for finding in left if finding.what not in _UNMENDABLE]
        if not mendable or any(finding.what == "unreadable" for finding in left):
            break
        if not stored:
            await io.engine.delete(ids([finding.detail for finding in mendable]))
            continue
        home = readable_note(stored[0].point)[0].namespace
        for id in await _mend_once(io, stored[0], mendable, analyst):
            unformed.setdefault(home, []).append(id)
    return [replace(finding, mended=finding not in left) for finding in seen]


async def _orphans(io: IO, note_id: str) -> list[Finding]:
    where = both(match("kind", "revision"), match("of", note_id))
    points = await io.engine.scroll(where, limit=256, fields=("of",))
    return [Finding(note_id, "orphaned-revision", point.id) for point in points]


async def _mend_once(
    io: IO, stored: StoredNote, findings: list[Finding], analyst: str
) -> tuple[str, ...]:
    """Mend some of what was found; returns the ids of notes that are to be formed again."""
    note = readable_note(stored.point)[0]
    what = {finding.what for finding in findings}
    orphans = [finding.detail for finding in findings if finding.what == "orphaned-revision"]
    misplaced = [finding.detail for finding in findings if finding.what in _MISPLACED]
    if orphans:
        await io.engine.delete(ids(orphans))
    elif "derived" in what:
        await _derive(io, stored, note)
    elif what & _IMPOSSIBLE:
        # Until they are gone, the note cannot be read by anybody else.
        links = [link_json(link) for link in note.outgoing]
        await io.engine.patch(note.id, {"links": links}, expect={"version": note.version})
        await _rewritten(io, stored, note, findings, analyst)
    elif misplaced:
        return await _without(io, stored, note, misplaced, analyst)
    elif what & _REWRITTEN:
        return await _rewritten(io, stored, note, findings, analyst)
    elif "vectors" in what:
        points = await embedded_points(io, [replace(note, version=note.version + 1)])
        await io.engine.commit(points, expect={note.id: as_read(note)})
    return ()


async def _derive(io: IO, stored: StoredNote, note: Note) -> None:
    made = note_point(note, (), None).payload
    payload = stored.point.payload
    fields = {
        name: made.get(name, missing)
        for name, missing in DERIVED.items()
        if name in made or name in payload
    }
    await io.engine.patch(note.id, fields, expect={"version": note.version})
    for record in stored.records:
        version = record.payload["version"]
        made = revision_point(note, revision_from(record.payload["revision"])).payload
        await io.engine.patch(record.id, made, expect={"version": version})


async def _without(
    io: IO, stored: StoredNote, note: Note, misplaced: list[str], analyst: str
) -> tuple[str, ...]:
    """Take back what came of notes that are gone, or that are of another namespace."""
    total = Retraction()
    for gone in misplaced:
        if gone not in stored.namespaces:
            # An erasure that was broken off is completed, in other notes as well.
            with suppress(LookupError, TypeError, ValueError):
                # They may be too damaged for that.
                total += await retract(io, gone, note.namespace, analyst)
    if total != Retraction():
        return total.unformed
    chain = list(entry_of(note, stored.records).revisions)
    rest, clean = note, chain
    for gone in misplaced:
        rest, clean = without(rest, clean, gone)
    reason = "what it drew on is not in its namespace"
    await rewrite(io, note, rest, chain, clean, analyst, kind="repaired", reason=reason)
    return (note.id,) if rest.status is not note.status else ()


async def _rewritten(
    io: IO, stored: StoredNote, note: Note, findings: list[Finding], analyst: str
) -> tuple[str, ...]:
    rest = note
    if any(finding.what == "empty" for finding in findings):
        rest = note.evolve(status=Status.RAW, attempts=0, last_error=None)
    chain = entry_of(note, stored.records).revisions
    reason = ", ".join(sorted({finding.what for finding in findings}))
    await rewrite(io, note, rest, chain, chain, analyst, kind="repaired", reason=reason)
    return (note.id,) if rest.status is not note.status else ()
