"""Taking back what a note caused in others.

Needed when it is forgotten, when its content changes, and when it vanished half-way through
a commit. Every revision in which it had a part is undone, the revisions after it are
re-applied without it, and links to it go. A note that was understood in its light becomes
raw again, to be formed anew; one whose text was distilled from it goes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from amem_integrations.core.analysis import BY_STATISTICS
from amem_integrations.core.filters import HasId, both, ids, match
from amem_integrations.core.io import IO, Point
from amem_integrations.core.namespace import Namespace, encode
from amem_integrations.core.note import DISTILS, Note, Revision, Status
from amem_integrations.errors import StoreError
from amem_integrations.revisions.contradiction import contradictions, holds_from
from amem_integrations.revisions.proposals import concerning
from amem_integrations.revisions.replay import took_part, without
from amem_integrations.revisions.traces import carried, passed_on
from amem_integrations.stores.codec import as_read, micros, revision_point, within
from amem_integrations.stores.read import influenced_by, linking_to, load, revisions
from amem_integrations.stores.write import embedded_points, known_vectors

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


async def retract(
    io: IO, note_id: str, namespace: Namespace, analyst: str, *, stays: bool = False
) -> Retraction:
    """Take back everything that `note_id` caused in other notes of its namespace.

    Where a note loses words by that, notes that were judged in its light and have those words
    are judged anew as well, and so on. stays: the note keeps its text, so that it is not
    among these. Safe to repeat. Raises StoreError if a note keeps
    changing under it.
    """
    await io.engine.delete(concerning(namespace, note_id))
    origin = (await load(io, [note_id], namespace)).get(note_id)
    owners = dict.fromkeys(await influenced_by(io, namespace, note_id))
    owners |= dict.fromkeys(await linking_to(io, namespace, note_id))
    total = Retraction()
    touched: list[tuple[str, frozenset[str]]] = []
    for owner in owners:
        if await _is_distilled(io, owner, note_id, namespace):
            total += await retract(io, owner, namespace, analyst)
            await _remove(io, owner, note_id, namespace)
            continue
        taken_back, lost = await _retract_from(io, owner, note_id, origin, namespace, analyst)
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
            if not own and carried(reader, lost):
                taken_back, further = await _retract_from(
                    io, reader.id, carrier, origin, namespace, analyst, there=True
                )
                total += taken_back
                touched.append((reader.id, further | lost))
    return total


async def retract_late(io: IO, note: Note, analyst: str) -> Retraction:
    """Take back what the text before `note` caused between a `retract` and the write of `note`.

    A formation that was under way may have been committed then. Nothing if `note` was formed
    since, for what there is may be its own.
    """
    held = (await load(io, [note.id], note.namespace)).get(note.id)
    if held is None or held.version != note.version:
        return Retraction()
    return await retract(io, note.id, note.namespace, analyst)


async def _is_distilled(io: IO, owner: str, note_id: str, namespace: Namespace) -> bool:
    """Whether the text of `owner` was written from that of `note_id`."""
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
    origin: Note | None,
    namespace: Namespace,
    analyst: str,
    *,
    there: bool = False,
) -> tuple[Retraction, frozenset[str]]:
    """What was taken back of one note, and the words it lost that came from `origin`.

    there: see `without`.
    """
    for _ in range(_ROUNDS):
        note = (await load(io, [owner], namespace)).get(owner)
        if note is None:
            # Only records of it were left behind; another namespace's are none of our business.
            await io.engine.delete(
                both(
                    match("kind", "revision"),
                    match("of", owner),
                    match("owner", encode(namespace)),
                )
            )
            return Retraction(), frozenset()
        chain = await revisions(io, note)
        if there and all(_is_own(each) for each in chain if took_part(each, gone)):
            # What they had of it is as true as before.
            return Retraction(), frozenset()
        since = await contradicted_since(io, note, chain)
        rest, clean = without(note, chain, gone, since, there=there)
        if rest == note and clean == chain:
            return Retraction(), frozenset()
        if await rewrite(io, note, rest, chain, clean, analyst):
            raw = rest.status is Status.RAW is not note.status
            unformed = (owner,) if raw else ()
            evolutions = sum(each.kind == "evolved" and took_part(each, gone) for each in chain)
            links = len(note.outgoing) - len(rest.outgoing)
            return Retraction(evolutions, links, unformed), passed_on(note, rest, origin)
    raise StoreError(f"Note {owner} kept changing while a note it drew on was taken back.")


def _is_own(revision: Revision) -> bool:
    """Whether it was written from the note's own words."""
    return revision.analyst.split("/")[0] == BY_STATISTICS


async def contradicted_since(
    io: IO, note: Note, chain: Sequence[Revision]
) -> dict[str, int] | None:
    """From when on what other notes say holds that contradict a note; see `without`."""
    if note.valid_until is None:
        return None
    held = await load(io, contradictions(chain), note.namespace)
    return {id: micros(holds_from(each)) for id, each in held.items()}


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

    A revision of its own, without changes, says so. False if the note was changed meanwhile.
    """
    newest = max([note.version, *(each.version for each in chain)])
    revision = Revision(newest + 1, kind, note.id, io.now(), analyst, reason=reason)
    rest = replace(rest, version=revision.version, revision=revision)
    points = await embedded_points(io, [rest], known=await known_vectors(io, [note]))
    expect = {note.id: as_read(note)}
    before = {each.version: each for each in chain}
    records = {each.version: revision_point(note, each) for each in clean}
    current = note.revision.version if note.revision else None
    new: list[Point] = []
    for version, record in records.items():
        # The current revision's record can be left over from a commit that did not happen.
        if version == current and not await io.engine.get([record.id]):
            new.append(record)
        elif version == current or before[version] != _of(clean, version):
            points.append(record)
            expect[record.id] = {"version": version}
    if await io.engine.commit(points, expect=expect, new=new):
        return False
    undone = [revision_point(note, each).id for each in chain if each.version not in records]
    if undone:
        await io.engine.delete(ids(undone))
    return True


def _of(revisions: Sequence[Revision], version: int) -> Revision:
    return next(each for each in revisions if each.version == version)
