"""Consolidating a namespace: merging what says the same, distilling, setting aside.

First a plan, which changes nothing and can be read; then what it says, note by note, each as
it was planned or not at all. Nothing is deleted: what is set aside can be restored, every
change is a revision. Ours, not the paper's.
"""

import math
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from amem_integrations.core.io import IO, Vector
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import DISTILS, Link, Note, Status
from amem_integrations.core.status import Tier
from amem_integrations.errors import AnalysisError, InvalidInputError
from amem_integrations.formation.state import Settings
from amem_integrations.lifecycle import distil as distilling
from amem_integrations.lifecycle.merge import linked, merge
from amem_integrations.lifecycle.plan import (
    Archival,
    Consolidation,
    Distillation,
    Merge,
    beginnings,
)
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.same import differ, gist
from amem_integrations.lifecycle.value import days, idle, worth
from amem_integrations.revisions.archive import archive
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import every_note

SIMILARITY = 0.9
_ANALYST = "lifecycle"
_CHANGED = "changed since the plan was made"
_AT_HAND = (Status.RAW, Status.PLAIN, Status.FORMED, Status.PARKED)


async def plan(
    io: IO,
    settings: Settings,
    namespace: Namespace,
    policy: Policy,
    *,
    max_notes: int | None = None,
    max_age: timedelta | None = None,
    similarity: float = SIMILARITY,
) -> Consolidation:
    """What there is to consolidate; see `Archiving.consolidate`. Nothing is changed."""
    _check_limits(max_notes, max_age, similarity)
    notes = _both_ways(await every_note(io, within(namespace)))
    now = io.now()
    merges = await _merges(io, notes, similarity)
    gone = {id for each in merges for id in each.merged}
    rest = [note for note in notes if note.id not in gone]
    distillations = await _distillations(io, settings, namespace, rest)
    most = policy.most_notes if max_notes is None else max_notes
    room = None if most is None else max(0, most - len(distillations))
    archived = _archivals(rest, now, policy, room, max_age)
    named = [
        *(id for each in merges for id in (each.into, *each.merged)),
        *(id for each in distillations for id in each.members),
        *(each.note for each in archived),
    ]
    held = {note.id: note for note in notes}
    return Consolidation(
        namespace,
        tuple(merges),
        tuple(distillations),
        tuple(archived),
        versions={id: held[id].version for id in named},
        texts=beginnings({note.id: note.content for note in notes}, named),
    )


def _check_limits(max_notes: object, max_age: object, similarity: object) -> None:
    # A truth value is a whole number to Python, and 1 note is all that would be left.
    if max_notes is not None and (type(max_notes) is not int or max_notes < 0):
        raise InvalidInputError(f"max_notes is a whole number, 0 or more; got {max_notes!r}.")
    if max_age is not None and (not isinstance(max_age, timedelta) or max_age < timedelta(0)):
        raise InvalidInputError(f"max_age is a timedelta that is not negative; got {max_age!r}.")
    if not isinstance(similarity, float | int) or not 0 <= similarity <= 1:
        raise InvalidInputError(f"similarity lies in [0, 1]; got {similarity!r}.")


async def apply(
    io: IO, settings: Settings, planned: Consolidation, policy: Policy
) -> Consolidation:
    """Do what a plan says; returns what was done, and what was left alone for which reason.

    A note that was changed since the plan was made is left alone. Safe to repeat.
    """
    versions, left = dict(planned.versions), list[tuple[str, str]]()
    merges = [each async for each in _merged(io, planned, policy, versions, left)]
    distilled = [each async for each in _distilled(io, settings, planned, versions, left)]
    archived: list[Archival] = []
    for each in planned.archived:
        held = await _as_planned(io, planned, [each.note], versions)
        if held and await archive(io, list(held.values()), each.why):
            archived.append(each)
        else:
            left.append((each.note, _CHANGED))
    return replace(
        planned,
        merges=tuple(merges),
        distillations=tuple(distilled),
        archived=tuple(archived),
        left=tuple(left),
        applied=True,
    )


async def _as_planned(
    io: IO, planned: Consolidation, ids: Iterable[str], versions: Mapping[str, int]
) -> dict[str, Note]:
    """Those of the notes that are as the plan knows them, with the links of both directions."""
    held = await linked(io, ids, planned.namespace)
    return {id: note for id, note in held.items() if note.version == versions.get(id)}


# -- merging ---------------------------------------------------------------------------------


async def _merges(io: IO, notes: Sequence[Note], similarity: float) -> list[Merge]:
    """Notes of one gist and near each other, understanding included, under the oldest of them."""
    groups: dict[tuple[str, ...], list[Note]] = {}
    for note in sorted(notes, key=lambda each: (each.created_at, each.id)):
        if (said := gist(note)) is not None:
            groups.setdefault(said, []).append(note)
    found: list[Merge] = []
    for group in groups.values():
        if len(group) < 2:
            continue
        points = await io.engine.get([note.id for note in group], vectors=True)
        vectors = {point.id: point.dense for point in points}
        heads: dict[str, list[str]] = {}
        held = {note.id: note for note in group}
        for note in group:
            head = next(
                (
                    each
                    for each in heads
                    if not differ(held[each], note)
                    and _near(vectors.get(each, ()), vectors.get(note.id, ())) >= similarity
                ),
                None,
            )
            if head is None:
                heads[note.id] = []
            else:
                heads[head].append(note.id)
        why = "every word of them is the same, and they are understood alike"
        found += [Merge(head, tuple(merged), why) for head, merged in heads.items() if merged]
    return found


async def _merged(
    io: IO,
    planned: Consolidation,
    policy: Policy,
    versions: dict[str, int],
    left: list[tuple[str, str]],
) -> AsyncIterator[Merge]:
    for each in planned.merges:
        done: list[str] = []
        for newer in each.merged:
            pair = await _as_planned(io, planned, (each.into, newer), versions)
            after = None
            if len(pair) == 2:
                after = await merge(io, pair[each.into], pair[newer], each.why, _ANALYST, policy)
            if after is None:
                left.append((newer, _CHANGED))
            else:
                done.append(newer)
                versions[each.into] = after.version
        if done:
            yield replace(each, merged=tuple(done))


def _near(one: Sequence[Vector], other: Sequence[Vector]) -> float:
    """The cosine of two notes' vectors, passage by passage, the worst of them."""
    if len(one) != len(other):
        return -1.0
    return min((_cosine(a, b) for a, b in zip(one, other, strict=True)), default=-1.0)


def _cosine(a: Vector, b: Vector) -> float:
    norm = math.hypot(*a) * math.hypot(*b)
    return sum(x * y for x, y in zip(a, b, strict=True)) / norm if norm else 0.0


# -- distilling ------------------------------------------------------------------------------


async def _distillations(
    io: IO, settings: Settings, namespace: Namespace, notes: Sequence[Note]
) -> list[Distillation]:
    # One that does not write from what it reads has nothing to distil with.
    if not settings.analyst.reads_candidates:
        return []
    members = [
        note
        for note in notes
        if note.status is Status.FORMED
        and note.parts is None
        and not note.contested_by
        and note.valid_until is None
        and not any(link.kind == DISTILS for link in note.links)
    ]
    known = {note.id for note in notes}
    return [
        Distillation(
            tuple(note.id for note in group),
            f"{len(group)} notes of one matter (cosine of {distilling.NEAR} or more)",
        )
        for group in await distilling.clusters(io, namespace, members)
        if distilling.id_of(group) not in known
    ]


async def _distilled(
    io: IO,
    settings: Settings,
    planned: Consolidation,
    versions: Mapping[str, int],
    left: list[tuple[str, str]],
) -> AsyncIterator[Distillation]:
    for each in planned.distillations:
        held = await _as_planned(io, planned, each.members, versions)
        if len(held) < len(each.members):
            left.append((each.members[0], _CHANGED))
            continue
        members = [held[id] for id in each.members]
        try:
            note, problem = await distilling.distil(io, settings, members, each.why)
        except AnalysisError as error:
            note, problem = None, f"the model failed ({error.reason})"
        if note is None:
            left.append((each.members[0], f"not distilled: {problem}"))
        else:
            yield replace(each, note=note.id)


# -- setting aside ---------------------------------------------------------------------------


def _archivals(
    notes: Sequence[Note],
    now: datetime,
    policy: Policy,
    max_notes: int | None,
    max_age: timedelta | None,
) -> list[Archival]:
    """What is past its age, then what is worth least, until there is room for the rest.

    Left alone is what waits to be formed, and what a caller keeps as a value. What is
    established for years has no age.
    """
    at_hand = {note.id: note for note in notes if note.status in _AT_HAND}
    found: dict[str, str] = {}
    movable = [
        note
        for note in at_hand.values()
        if note.status is not Status.RAW and note.value_json is None and note.parts is None
    ]
    if max_age is not None:
        for note in movable:
            if note.tier is not Tier.LONG and (since := idle(note, now)) > max_age:
                limit = f"{days(max_age)} days may pass"
                found[note.id] = f"neither said, confirmed nor used for {days(since)} days; {limit}"
    excess = 0 if max_notes is None else len(at_hand) - len(found) - max_notes
    if excess > 0:
        rest = {note.id: note for note in movable if note.id not in found}
        worths = {id: worth(note, _links(note, at_hand), now, policy) for id, note in rest.items()}
        lowest = sorted(
            rest.values(), key=lambda each: (worths[each.id].value, each.created_at, each.id)
        )
        for note in lowest[:excess]:
            found[note.id] = f"{len(at_hand)} notes where {max_notes} have room; {worths[note.id]}"
    return [Archival(id, why) for id, why in found.items()]


def _links(note: Note, at_hand: Mapping[str, Note]) -> int:
    return len({link.other(note.id) for link in note.links} & at_hand.keys())


def _both_ways(notes: Sequence[Note]) -> list[Note]:
    """All notes of a namespace, with the links of both directions."""
    incoming: dict[str, list[Link]] = {}
    for link in _made(notes):
        incoming.setdefault(link.to, []).append(link)
    return [replace(note, links=(*note.links, *incoming.get(note.id, ()))) for note in notes]


def _made(notes: Iterable[Note]) -> Iterator[Link]:
    return (link for note in notes for link in note.outgoing)
