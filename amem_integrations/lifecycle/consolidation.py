"""Consolidation of a namespace: merging notes that say the same, distilling, archiving.

First a plan, which changes nothing and can be read; then what it says, note by note, each as it was
planned or not at all. Nothing is deleted, and every change is a revision. Ours, not the paper's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Link, Note
from amem_integrations.errors import AnalysisError, InvalidInputError
from amem_integrations.formation.state import Settings
from amem_integrations.lifecycle.distillation import NEAR, distil, find_clusters
from amem_integrations.lifecycle.limits import choose_excess
from amem_integrations.lifecycle.merge import find_same, merge
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.revisions.archive import archive
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import load, load_all_notes, with_links

SIMILARITY = 0.9
_SHOWN = 60
_ANALYST = "lifecycle"
_CHANGED = "changed since the plan was made"


@dataclass(frozen=True, slots=True)
class Merge:
    """Notes that say the same as an older one and are merged into it.

    Attributes:
        into: id of the older note.
        merged: ids of the others.
        why: in words.

    Examples:
        >>> from amem_integrations.lifecycle.consolidation import Merge
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
        >>> from amem_integrations.lifecycle.consolidation import Distillation
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
        done, home = self.applied, "/".join(self.namespace)
        blocks: list[tuple[str, Sequence[str], str]] = [
            *(
                (
                    f"{'merged' if done else 'merge'} into {self._label(each.into)}",
                    each.merged,
                    each.why,
                )
                for each in self.merges
            ),
            *(
                (
                    f"{'distilled' if done else 'distil'} {len(each.members)} notes",
                    each.members,
                    each.why,
                )
                for each in self.distillations
            ),
            *(
                (f"{'archived' if done else 'archive'} {self._label(each.note)}", (), each.why)
                for each in self.archived
            ),
        ]
        lines: list[str] = []
        for title, members, why in blocks:
            lines += [title, *(f"    {self._label(id)}" for id in members), f"    because {why}"]
        lines += [f"left alone: {self._label(note)}: {why}" for note, why in self.left]
        state = "done" if done else "nothing was changed yet"
        return "\n".join([f"{home}: {state if lines else 'nothing to do'}", *lines])

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
    notes = _with_backlinks(await load_all_notes(io, within(namespace)))
    why = "every word of them is the same, and they are understood alike"
    groups = await find_same(io, notes, similarity)
    merges = [Merge(older, tuple(newer), why) for older, newer in groups.items()]
    gone = {id for merge in merges for id in merge.merged}
    rest = [note for note in notes if note.id not in gone]
    distillations = [
        Distillation(
            tuple(note.id for note in group),
            f"{len(group)} notes of one matter (cosine of {NEAR} or more)",
        )
        for group in await find_clusters(io, settings, namespace, rest)
    ]
    most = policy.max_notes if max_notes is None else max_notes
    room = None if most is None else max(0, most - len(distillations))
    excess = choose_excess(rest, io.now(), policy, room, max_age)
    archived = [Archival(id, why) for id, why in excess.items()]
    named = {
        *(id for merge in merges for id in (merge.into, *merge.merged)),
        *(id for distillation in distillations for id in distillation.members),
        *excess,
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


def _with_backlinks(notes: Sequence[Note]) -> list[Note]:
    """All notes of a namespace, with the links of both directions."""
    incoming: dict[str, list[Link]] = {}
    for note in notes:
        for link in note.outgoing:
            incoming.setdefault(link.to, []).append(link)
    return [replace(note, links=(*note.links, *incoming.get(note.id, ()))) for note in notes]


async def apply(
    io: IO, settings: Settings, planned: Consolidation, policy: Policy
) -> Consolidation:
    """Do what a plan says; returns what was done, and what was left alone and why. Safe to repeat.

    A note that was changed since the plan was made is left alone.
    """
    work = _Work(io, settings, planned, policy)
    merged = [await work.merge(group) for group in planned.merges]
    distilled = [await work.distil(group) for group in planned.distillations]
    archived = [await work.archive(archival) for archival in planned.archived]
    return replace(
        planned,
        merges=tuple(group for group in merged if group.merged),
        distillations=tuple(group for group in distilled if group.note),
        archived=tuple(archival for archival in archived if archival),
        left=tuple(work.left),
        applied=True,
    )


class _Work:
    """A plan that is being applied.

    versions: of the notes, as the plan knows them or has made them. left: as in the report.
    """

    def __init__(self, io: IO, settings: Settings, planned: Consolidation, policy: Policy) -> None:
        self._io = io
        self._settings = settings
        self._namespace = planned.namespace
        self._policy = policy
        self._versions = dict(planned.versions)
        self._now = io.now()
        self.left: list[tuple[str, str]] = []

    async def _as_planned(self, ids: Iterable[str]) -> dict[str, Note]:
        """The notes that are as the plan knows them, with the links of both directions."""
        notes = (await load(self._io, ids, self._namespace)).values()
        same = [note for note in notes if note.version == self._versions.get(note.id)]
        return {note.id: note for note in await with_links(self._io, same)}

    async def merge(self, group: Merge) -> Merge:
        done: list[str] = []
        for newer in group.merged:
            pair = await self._as_planned((group.into, newer))
            after = None
            if len(pair) == 2:
                after = await merge(
                    self._io,
                    pair[group.into],
                    pair[newer],
                    group.why,
                    _ANALYST,
                    self._policy,
                    self._now,
                )
            if after is None:
                self.left.append((newer, _CHANGED))
            else:
                done.append(newer)
                self._versions[group.into] = after.version
        return replace(group, merged=tuple(done))

    async def distil(self, group: Distillation) -> Distillation:
        notes, first = await self._as_planned(group.members), group.members[0]
        if len(notes) < len(group.members):
            self.left.append((first, _CHANGED))
            return replace(group, note=None)
        members = [notes[id] for id in group.members]
        try:
            note, problem = await distil(self._io, self._settings, members, group.why)
        except AnalysisError as error:
            note, problem = None, f"the model failed ({error.reason})"
        if note is None:
            self.left.append((first, f"not distilled: {problem}"))
        return replace(group, note=None if note is None else note.id)

    async def archive(self, archival: Archival) -> Archival | None:
        notes = await self._as_planned([archival.note])
        if notes and await archive(self._io, list(notes.values()), archival.why):
            return archival
        self.left.append((archival.note, _CHANGED))
        return None
