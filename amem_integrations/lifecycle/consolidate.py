"""Consolidation of a namespace: merging notes that say the same, distilling, archiving.

First a plan, which changes nothing and can be read; then what it says, note by note, each as it was
planned or not at all. Nothing is deleted, and every change is a revision. Ours, not the paper's.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import DISTILS, Link, Note, Status
from amem_integrations.core.status import Tier
from amem_integrations.errors import AnalysisError, InvalidInputError
from amem_integrations.formation.state import Settings
from amem_integrations.lifecycle.confidence import idle_time, value
from amem_integrations.lifecycle.distillation import NEAR, clusters, distil, id_of
from amem_integrations.lifecycle.merge import find_same, load_linked
from amem_integrations.lifecycle.merge import merge as merge_notes
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.revisions.archive import archive
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import every_note

SIMILARITY = 0.9
_SHOWN = 60
_ANALYST = "lifecycle"
_CHANGED = "changed since the plan was made"
_AT_HAND = (Status.RAW, Status.PLAIN, Status.FORMED, Status.PARKED)


@dataclass(frozen=True, slots=True)
class Merge:
    """Notes that say the same as an older one and are merged into it.

    Attributes:
        into: id of the older note.
        merged: ids of the others.
        why: in words.

    Examples:
        >>> from amem_integrations.lifecycle.consolidate import Merge
        >>> Merge("6f0e…", ("9a3e…", "1d22…"), "every word agrees").into
        '6f0e…'
    """

    into: str
    merged: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Distillation:
    """A new note that says in short what its members say.

    Attributes:
        members: ids of the notes.
        why: in words.
        note: id of the new note, once it is there.

    Examples:
        >>> from amem_integrations.lifecycle.consolidate import Distillation
        >>> Distillation(("6f0e…", "9a3e…"), "a cluster of like notes").note is None
        True
    """

    members: tuple[str, ...]
    why: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Archival:
    """A note to be archived.

    Attributes:
        note: its id.
        why: in words.

    Examples:
        >>> _ = memory.add_many(["The oldest note", "A newer one", "The newest"])
        >>> [archival.why for archival in memory.lifecycle.consolidate(max_notes=2).archived]
        ['...']
    """

    note: str
    why: str


@dataclass(frozen=True, slots=True)
class Consolidation:
    """A plan of what to do in a namespace, or a report of what was done; as text a list.

    It is true if there is anything to do.

    Attributes:
        namespace: the namespace.
        merges: notes to merge.
        distillations: notes to write.
        archived: notes to archive.
        left: ids of notes that were left alone, each with the reason.
        applied: whether this is a report.
        versions: the version of each note when the plan was made; a note that was changed since is
            left alone.
        texts: how each note begins.

    Examples:
        >>> _ = memory.add("The parcel desk closes at 6 pm", session="monday")
        >>> _ = memory.add("the parcel desk closes at 6 pm.", session="friday")
        >>> plan = memory.lifecycle.consolidate()
        >>> print(plan)
        default: nothing was changed yet
        merge into ... The parcel desk closes at 6 pm
        ...
        >>> bool(plan), len(plan.as_dict()["merges"])
        (True, 1)
    """

    namespace: Namespace
    merges: tuple[Merge, ...] = ()
    distillations: tuple[Distillation, ...] = ()
    archived: tuple[Archival, ...] = ()
    left: tuple[tuple[str, str], ...] = ()
    applied: bool = False
    versions: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)
    texts: Mapping[str, str] = field(default_factory=dict[str, str], hash=False, repr=False)

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.merges or self.distillations or self.archived)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self) | {"namespace": list(self.namespace), "versions": dict(self.versions)}

    def __str__(self) -> str:
        done = self.applied
        lines = [f"{'/'.join(self.namespace)}: " + ("done" if done else "nothing was changed yet")]
        for merge in self.merges:
            lines.append(f"{'merged' if done else 'merge'} into {self._label(merge.into)}")
            lines += [f"    {self._label(each)}" for each in merge.merged]
            lines.append(f"    because {merge.why}")
        for distillation in self.distillations:
            members = distillation.members
            lines.append(f"{'distilled' if done else 'distil'} {len(members)} notes")
            lines += [f"    {self._label(id)}" for id in members]
            lines.append(f"    because {distillation.why}")
        for archival in self.archived:
            lines.append(f"{'archived' if done else 'archive'} {self._label(archival.note)}")
            lines.append(f"    because {archival.why}")
        lines += [f"left alone: {self._label(note)}: {why}" for note, why in self.left]
        if len(lines) == 1:
            lines[0] = f"{'/'.join(self.namespace)}: nothing to do"
        return "\n".join(lines)

    def _label(self, note_id: str) -> str:
        text = " ".join(self.texts.get(note_id, "").split())
        if len(text) > _SHOWN:
            text = text[: _SHOWN - 1] + "…"
        return f"{note_id[:8]} {text}".rstrip()


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
    """Return what there is to consolidate; see `memory.lifecycle.consolidate`."""
    _check_limits(max_notes, max_age, similarity)
    notes = _with_backlinks(await every_note(io, within(namespace)))
    why = "every word of them is the same, and they are understood alike"
    groups = await find_same(io, notes, similarity)
    merges = [Merge(older, tuple(newer), why) for older, newer in groups.items()]
    gone = {id for merge in merges for id in merge.merged}
    rest = [note for note in notes if note.id not in gone]
    distillations = await _distillations(io, settings, namespace, rest)
    most = policy.most_notes if max_notes is None else max_notes
    room = None if most is None else max(0, most - len(distillations))
    archived = _archivals(rest, io.now(), policy, room, max_age)
    named = {
        *(id for merge in merges for id in (merge.into, *merge.merged)),
        *(id for distillation in distillations for id in distillation.members),
        *(archival.note for archival in archived),
    }
    return Consolidation(
        namespace,
        tuple(merges),
        tuple(distillations),
        tuple(archived),
        versions={note.id: note.version for note in notes if note.id in named},
        texts={note.id: note.content[: 4 * _SHOWN] for note in notes if note.id in named},
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
    """Do what a plan says; returns what was done, and what was left alone and why. Safe to repeat.

    A note that was changed since the plan was made is left alone.
    """
    versions, left = dict(planned.versions), list[tuple[str, str]]()
    merges = [merge async for merge in _merge_all(io, planned, policy, versions, left)]
    distilled = [done async for done in _distil_all(io, settings, planned, versions, left)]
    archived: list[Archival] = []
    for archival in planned.archived:
        notes = await _as_planned(io, planned, [archival.note], versions)
        if notes and await archive(io, list(notes.values()), archival.why):
            archived.append(archival)
        else:
            left.append((archival.note, _CHANGED))
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
    """The notes that are as the plan knows them, with the links of both directions."""
    notes = await load_linked(io, ids, planned.namespace)
    return {id: note for id, note in notes.items() if note.version == versions.get(id)}


async def _merge_all(
    io: IO,
    planned: Consolidation,
    policy: Policy,
    versions: dict[str, int],
    left: list[tuple[str, str]],
) -> AsyncIterator[Merge]:
    for group in planned.merges:
        done: list[str] = []
        for newer in group.merged:
            pair = await _as_planned(io, planned, (group.into, newer), versions)
            after = None
            if len(pair) == 2:
                after = await merge_notes(
                    io, pair[group.into], pair[newer], group.why, _ANALYST, policy
                )
            if after is None:
                left.append((newer, _CHANGED))
            else:
                done.append(newer)
                versions[group.into] = after.version
        if done:
            yield replace(group, merged=tuple(done))


async def _distillations(
    io: IO, settings: Settings, namespace: Namespace, notes: Sequence[Note]
) -> list[Distillation]:
    # An analyst that does not write from what it reads has nothing to distil with.
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
            f"{len(group)} notes of one matter (cosine of {NEAR} or more)",
        )
        for group in await clusters(io, namespace, members)
        if id_of(group) not in known
    ]


async def _distil_all(
    io: IO,
    settings: Settings,
    planned: Consolidation,
    versions: Mapping[str, int],
    left: list[tuple[str, str]],
) -> AsyncIterator[Distillation]:
    for group in planned.distillations:
        notes = await _as_planned(io, planned, group.members, versions)
        if len(notes) < len(group.members):
            left.append((group.members[0], _CHANGED))
            continue
        members = [notes[id] for id in group.members]
        try:
            note, problem = await distil(io, settings, members, group.why)
        except AnalysisError as error:
            note, problem = None, f"the model failed ({error.reason})"
        if note is None:
            left.append((group.members[0], f"not distilled: {problem}"))
        else:
            yield replace(group, note=note.id)


def _archivals(
    notes: Sequence[Note],
    now: datetime,
    policy: Policy,
    max_notes: int | None,
    max_age: timedelta | None,
) -> list[Archival]:
    """Notes past their age, then notes of the least value, until there is room for the rest.

    Raw notes and values are left alone, and notes of the long tier have no age.
    """
    at_hand = {note.id: note for note in notes if note.status in _AT_HAND}
    movable = [
        note
        for note in at_hand.values()
        if note.status is not Status.RAW and note.value_json is None and note.parts is None
    ]
    found: dict[str, str] = {}
    for note in movable:
        idle = idle_time(note, now)
        if max_age is not None and idle > max_age and note.tier is not Tier.LONG:
            why = f"neither said, confirmed nor used for {idle.days} days"
            found[note.id] = f"{why}; {max_age.days} days may pass"
    excess = 0 if max_notes is None else len(at_hand) - len(found) - max_notes
    if excess > 0:
        rest = [note for note in movable if note.id not in found]
        linked = {
            note.id: {link.other(note.id) for link in note.links} & at_hand.keys() for note in rest
        }
        values = {note.id: value(note, len(linked[note.id]), now, policy) for note in rest}
        rest.sort(key=lambda note: (values[note.id].value, note.created_at, note.id))
        for note in rest[:excess]:
            found[note.id] = f"{len(at_hand)} notes where {max_notes} have room; {values[note.id]}"
    return [Archival(id, why) for id, why in found.items()]


def _with_backlinks(notes: Sequence[Note]) -> list[Note]:
    """All notes of a namespace, with the links of both directions."""
    incoming: dict[str, list[Link]] = {}
    for note in notes:
        for link in note.outgoing:
            incoming.setdefault(link.to, []).append(link)
    return [replace(note, links=(*note.links, *incoming.get(note.id, ()))) for note in notes]
