"""Taking back what a note caused in others: when it is forgotten, or its content changes.

Every revision in which it had a part is undone, the revisions after it are applied again, and links
to it go. A note that was understood in its light becomes raw, to be formed anew; a note whose text
was distilled from it goes.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from amem_integrations.core.analysis import BY_STATISTICS
from amem_integrations.core.engine import Point
from amem_integrations.core.filters import HasId, both, ids, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, encode
from amem_integrations.core.note import DISTILS, Note, Revision, Status
from amem_integrations.revisions.change import ROUNDS, back_off, change_note, kept_changing, revised
from amem_integrations.revisions.contradiction import contradicting_notes, valid_from
from amem_integrations.revisions.proposals import concerning
from amem_integrations.revisions.replay import took_part, without
from amem_integrations.stores.codec import as_read, micros, revision_point, within
from amem_integrations.stores.expiry import including_expired
from amem_integrations.stores.read import influenced_by, linking_to, load, revisions
from amem_integrations.stores.write import embedded_points, known_vectors

_ACTIVE = (Status.RAW, Status.FORMED, Status.PARKED)
_NOTHING = frozenset[str]()
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af]")
_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class Retraction:
    """How many changes and links were taken back, and the ids of notes to be formed again."""

    evolutions: int = 0
    links: int = 0
    unformed: tuple[str, ...] = ()

    def __add__(self, other: "Retraction") -> "Retraction":
        return Retraction(
            self.evolutions + other.evolutions,
            self.links + other.links,
            (*self.unformed, *other.unformed),
        )


async def traces_of(io: IO, note_id: str, namespace: Namespace) -> list[str]:
    """Return the ids of the notes in which a note had a part, or that link to it."""
    influenced = await influenced_by(io, namespace, note_id)
    return list(dict.fromkeys((*influenced, *await linking_to(io, namespace, note_id))))


async def retract(
    io: IO, note_id: str, namespace: Namespace, analyst: str, *, stays: bool = False
) -> Retraction:
    """Take back everything that `note_id` caused in other notes of its namespace. Safe to repeat.

    Where a note loses words by that, notes that were judged in its light and have those words are
    judged anew as well, and so on. stays: the note itself, which keeps its text, is not.
    Raises StoreError if a note keeps changing.
    """
    # One that has expired may be prolonged before it is removed.
    io = including_expired(io)
    await io.engine.delete(concerning(namespace, note_id))
    source = (await load(io, [note_id], namespace)).get(note_id)
    total = Retraction()
    touched: list[tuple[str, frozenset[str]]] = []
    for owner in await traces_of(io, note_id, namespace):
        if await _is_distilled(io, owner, note_id, namespace):
            total += await retract(io, owner, namespace, analyst)
            await _remove(io, owner, note_id, namespace)
            continue
        taken_back, lost = await _retract_from(io, owner, note_id, source, namespace, analyst)
        total += taken_back
        touched.append((owner, lost))
    followed = {note_id}
    while touched:
        carrier, lost = touched.pop()
        if not lost or carrier in followed:
            continue
        followed.add(carrier)
        readers = await load(io, await influenced_by(io, namespace, carrier), namespace)
        for reader in readers.values():
            # What it says itself is its own, even where it has read it again elsewhere.
            own = stays and reader.id == note_id
            if not own and _has_words(reader, lost):
                taken_back, further = await _retract_from(
                    io, reader.id, carrier, source, namespace, analyst, there=True
                )
                total += taken_back
                touched.append((reader.id, further | lost))
    return total


async def retract_late(io: IO, note: Note, analyst: str) -> Retraction:
    """Take back what the text before `note` caused between a `retract` and the write of `note`.

    A formation that was under way may have been committed then. Does nothing if `note` was formed
    since, for what there is may be its own.
    """
    stored = (await load(io, [note.id], note.namespace)).get(note.id)
    if stored is None or stored.version != note.version:
        return Retraction()
    return await retract(io, note.id, note.namespace, analyst)


async def _is_distilled(io: IO, owner: str, note_id: str, namespace: Namespace) -> bool:
    """Return whether the text of `owner` was written from that of `note_id`."""
    note = (await load(io, [owner], namespace)).get(owner)
    return note is not None and any(
        link.to == note_id and link.kind == DISTILS for link in note.outgoing
    )


async def _remove(io: IO, distilled: str, member: str, namespace: Namespace) -> None:
    """Remove a note with its records, unless it has got a text of its own meanwhile."""
    where = within(namespace, HasId((distilled,)))
    await io.engine.delete(both(where, match("link_ids", member)))
    if not await io.engine.count(where):
        await io.engine.delete(both(match("of", distilled), match("owner", encode(namespace))))


async def _retract_from(
    io: IO,
    owner: str,
    gone: str,
    source: Note | None,
    namespace: Namespace,
    analyst: str,
    *,
    there: bool = False,
) -> tuple[Retraction, frozenset[str]]:
    """Return what was taken back of one note, and the words it lost that came from `source`."""
    for tried in range(ROUNDS):
        await back_off(io, tried)
        note = (await load(io, [owner], namespace)).get(owner)
        if note is None:
            # Only records of it were left behind; those of other namespaces stay.
            records = both(match("kind", "revision"), match("of", owner))
            await io.engine.delete(both(records, match("owner", encode(namespace))))
            return Retraction(), _NOTHING
        chain = await revisions(io, note)
        took = [revision for revision in chain if took_part(revision, gone)]
        if there and all(revision.analyst.split("/")[0] == BY_STATISTICS for revision in took):
            # Statistics write from the note's own words, which are as true as before.
            return Retraction(), _NOTHING
        since: dict[str, int] | None = None
        if note.valid_until is not None:
            others = await load(io, contradicting_notes(chain), namespace)
            since = {id: micros(valid_from(other)) for id, other in others.items()}
        rest, clean = without(note, chain, gone, since, there=there)
        if rest == note and clean == chain:
            return Retraction(), _NOTHING
        if await rewrite(io, note, rest, chain, clean, analyst):
            unformed = (owner,) if rest.status is Status.RAW is not note.status else ()
            evolutions = sum(revision.kind == "evolved" for revision in took)
            links = len(note.outgoing) - len(rest.outgoing)
            return Retraction(evolutions, links, unformed), _lost_words(note, rest, source)
    raise kept_changing(f"Note {owner} kept changing while a note it drew on was taken back")


async def rewrite(
    io: IO,
    note: Note,
    rest: Note,
    chain: Sequence[Revision],
    clean: Sequence[Revision],
    analyst: str,
    *,
    kind: str = "retracted",
    reason: str = "a note it drew on was forgotten or changed",
) -> bool:
    """Replace `note` with `rest`, and its revisions `chain` with `clean`, in one operation.

    A revision of its own, without changes, says so. Returns False if the note was changed.
    """
    newest = max([note.version, *(revision.version for revision in chain)])
    revision = Revision(newest + 1, kind, note.id, io.now(), analyst, reason=reason)
    rest = replace(rest, version=revision.version, revision=revision)
    points = await embedded_points(io, [rest], known=await known_vectors(io, [note], [rest]))
    expect = {note.id: as_read(note)}
    before = {revision.version: revision for revision in chain}
    after = {revision.version: revision for revision in clean}
    current = note.revision.version if note.revision else None
    new: list[Point] = []
    for version, revision in after.items():
        record = revision_point(note, revision)
        # The current revision's record can be left over from a commit that did not happen.
        if version == current and not await io.engine.get([record.id]):
            new.append(record)
        elif version == current or before[version] != revision:
            points.append(record)
            expect[record.id] = {"version": version}
    if await io.engine.commit(points, expect=expect, new=new):
        return False
    undone = [before[version] for version in before.keys() - after.keys()]
    if undone:
        await io.engine.delete(ids([revision_point(note, revision).id for revision in undone]))
    return True


# -- words that a note passed on -------------------------------------------------------------


def _lost_words(before: Note, after: Note, source: Note | None) -> frozenset[str]:
    """Return the words that `after` lost with what was taken back of the note `source`.

    An analysis names the notes it read, but what it read on them may have come from others.
    """
    lost = _words(_understood(before)) - _words((after.content, *_understood(after)))
    return lost if source is None else lost & _words((source.content, *_understood(source)))


def _has_words(note: Note, lost: frozenset[str]) -> bool:
    """Return whether what was understood of the note has one of the words, and its text has not."""
    return bool(lost & _words(_understood(note)) - _words((note.content,)))


def _understood(note: Note) -> tuple[str, ...]:
    reasons = (link.reason for link in note.outgoing)
    return (note.context, *note.keywords, *note.tags, *note.questions, *reasons)


def _words(texts: Iterable[str]) -> frozenset[str]:
    """What tells texts apart: longer words, numbers, and pairs of unspaced characters."""
    found: set[str] = set()
    for run in _WORD.findall(" ".join(texts).casefold()):
        if _UNSPACED.search(run):
            found.update(run[at : at + 2] for at in range(len(run) - 1))
        elif len(run) >= _SHORTEST or any(char.isdigit() for char in run):
            found.add(run)
    return frozenset(found)


# -- without forgetting the note -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Undone:
    """What was undone of the effects of one note.

    Attributes:
        note: the note as it is now.
        notes: ids of the notes that it had changed, or that linked to it.
        evolutions: how many changes of them were undone.
        links: how many links were removed.
        unformed: ids of those that were understood in its light and are to be formed anew.
    """

    note: Note
    notes: tuple[str, ...] = ()
    evolutions: int = 0
    links: int = 0
    unformed: tuple[str, ...] = ()


async def revert_cause(io: IO, note: Note, analyst: str) -> Undone:
    """Undo all that a note did to others, whatever came later, without deleting it.

    It loses its links and becomes plain: no other note is linked to it or understood in its light,
    until it is formed again. What others did to it stays. Safe to repeat. Raises StoreError if
    notes keep taking it up.
    """
    links = 0
    io = including_expired(io)

    async def withdraw(note: Note) -> Note:
        nonlocal links
        status = Status.PLAIN if note.status in _ACTIVE else note.status
        links = len(note.outgoing)
        if status is note.status and not links:
            return note
        rest = replace(note.evolve(status=status), links=())
        reason = "what it did to other notes was undone"
        return revised(note, rest, "withdrawn", note.id, io.now(), "caller", reason=reason)

    note = await change_note(io, note, withdraw, "withdrawn")
    total = Retraction()
    touched: dict[str, None] = {}
    for tried in range(ROUNDS):
        await back_off(io, tried)
        traces = await traces_of(io, note.id, note.namespace)
        if not traces:
            unformed = tuple(dict.fromkeys(total.unformed))
            return Undone(note, tuple(touched), total.evolutions, links + total.links, unformed)
        touched |= dict.fromkeys(traces)
        total += await retract(io, note.id, note.namespace, analyst, stays=True)
    raise kept_changing(f"Traces of note {note.id} keep coming back")
