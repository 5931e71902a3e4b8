"""Taking back what a note caused in others.

Needed when it is forgotten, when its content changes, and when it vanished half-way through
a commit. Every revision in which it had a part is undone, the revisions after it are
re-applied without it, and links to it go. A note that was understood in its light becomes
raw again, to be formed anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from amem_integrations.conditions import both, ids, match
from amem_integrations.errors import StoreError
from amem_integrations.formation.embedding import embedded_points, known_vectors
from amem_integrations.namespace import Namespace
from amem_integrations.note import Change, Note, Revision, Status
from amem_integrations.ports import IO
from amem_integrations.store.reading import influenced_by, linking_to, load, revisions
from amem_integrations.store.schema import revision_point

_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Retraction:
    """What was taken back, by the ids of the notes concerned.

    unformed: notes that must be formed again.
    """

    evolutions: int = 0
    links: int = 0
    unformed: tuple[str, ...] = ()

    def __add__(self, other: "Retraction") -> "Retraction":
        return Retraction(
            self.evolutions + other.evolutions,
            self.links + other.links,
            (*self.unformed, *other.unformed),
        )


async def retract(io: IO, note_id: str, namespace: Namespace, analyst: str) -> Retraction:
    """Take back everything that `note_id` caused in other notes of its namespace.

    Safe to repeat. Raises StoreError if a note keeps changing under it.
    """
    owners = dict.fromkeys(await influenced_by(io, note_id))
    owners |= dict.fromkeys(await linking_to(io, namespace, note_id))
    total = Retraction()
    for owner in owners:
        total += await _retract_from(io, owner, note_id, namespace, analyst)
    return total


async def _retract_from(
    io: IO, owner: str, gone: str, namespace: Namespace, analyst: str
) -> Retraction:
    for _ in range(_ROUNDS):
        note = (await load(io, [owner], namespace)).get(owner)
        if note is None:
            # Only records of it were left behind.
            await io.engine.delete(both(match("kind", "revision"), match("of", owner)))
            return Retraction()
        chain = await revisions(io, note)
        rest, clean = without(note, chain, gone)
        if rest == note and clean == chain:
            return Retraction()
        if await _replace(io, note, rest, chain, clean, analyst):
            unformed = (owner,) if rest.status is not note.status else ()
            return Retraction(
                evolutions=sum(each.kind == "evolved" and _took_part(each, gone) for each in chain),
                links=len(note.outgoing) - len(rest.outgoing),
                unformed=unformed,
            )
    raise StoreError(f"Note {owner} kept changing while a note it drew on was taken back.")


def without(note: Note, chain: Sequence[Revision], gone: str) -> tuple[Note, list[Revision]]:
    """The note, and its revisions, as if `gone` had never had a part in them.

    Keywords and tags that later revisions added or removed are added or removed again. A
    context that was written while the note carried something of `gone` is not kept.
    """
    standing = [each for each in chain if each.kind in ("formed", "updated")]
    if standing and standing[-1].kind == "formed" and _took_part(standing[-1], gone):
        _, kept = _replayed([each for each in chain if each.version < standing[-1].version], gone)
        raw = note.evolve(keywords=(), tags=(), context="", links=(), status=Status.RAW)
        return replace(raw, attempts=0), kept
    values, clean = _replayed(chain, gone)
    return (
        note.evolve(
            keywords=tuple(values.get("keywords", note.keywords)),
            tags=tuple(values.get("tags", note.tags)),
            context=values.get("context", note.context),
            links=tuple(link for link in note.outgoing if link.to != gone),
        ),
        clean,
    )


def _replayed(chain: Sequence[Revision], gone: str) -> tuple[dict[str, Any], list[Revision]]:
    """The values of the fields that `gone` had touched, and the revisions without it."""
    values: dict[str, Any] = {}
    clean: list[Revision] = []
    for revision in chain:
        if _took_part(revision, gone):
            for name, change in revision.changes.items():
                values.setdefault(name, change.before)
            continue
        changes: dict[str, Change] = {}
        for name, change in revision.changes.items():
            change = _without_links_to(change, gone) if name == "links" else change
            if name in values:
                before = values[name]
                values[name] = _reapplied(name, change, before, revision.kind)
                change = Change(before, values[name])
            if change.before != change.after:
                changes[name] = change
        clean.append(replace(revision, changes=changes))
    return values, clean


def _took_part(revision: Revision, gone: str) -> bool:
    return gone == revision.cause or gone in revision.sources


def _without_links_to(change: Change, gone: str) -> Change:
    return Change(
        [link for link in change.before if link["to"] != gone],
        [link for link in change.after if link["to"] != gone],
    )


def _reapplied(name: str, change: Change, before: Any, kind: str) -> Any:
    """What a later change makes of `before`, the value without what was taken back."""
    if name in ("keywords", "tags"):
        kept = [term for term in before if term in change.after or term not in change.before]
        added = [term for term in change.after if term not in change.before]
        return [*kept, *(term for term in added if term not in kept)]
    return before if kind == "evolved" else change.after


async def _replace(
    io: IO,
    note: Note,
    rest: Note,
    chain: Sequence[Revision],
    clean: Sequence[Revision],
    analyst: str,
) -> bool:
    """Write the note and its rewritten revisions in one operation; False if it was changed."""
    revision = Revision(
        version=note.version + 1,
        kind="retracted",
        cause=note.id,
        at=io.now(),
        analyst=analyst,
        reason="a note it drew on was forgotten or changed",
    )
    rest = replace(rest, version=revision.version, updated_at=revision.at, revision=revision)
    points = await embedded_points(io, [rest], known=await known_vectors(io, [note]))
    expect = {note.id: note.version}
    before = {each.version: each for each in chain}
    records = {each.version: revision_point(note, each) for each in clean}
    current = note.revision.version if note.revision else None
    taken: frozenset[str] = frozenset()
    if current in records:
        taken = await io.engine.insert([records[current]])
    for version, record in records.items():
        # The current revision's record can be left over from a commit that did not happen.
        stored = record.id in taken if version == current else True
        if stored and (version == current or before[version] != _of(clean, version)):
            points.append(record)
            expect[record.id] = version
    if await io.engine.commit(points, expect=expect):
        return False
    undone = [revision_point(note, each).id for each in chain if each.version not in records]
    if undone:
        await io.engine.delete(ids(undone))
    return True


def _of(revisions: Sequence[Revision], version: int) -> Revision:
    return next(each for each in revisions if each.version == version)
