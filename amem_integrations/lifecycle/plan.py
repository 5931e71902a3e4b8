"""What consolidating a namespace would do, or did, as a list to be read before it is done.

Plain values; `consolidate` makes such a plan, and carries one out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from amem_integrations.core.namespace import Namespace

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Merge:
    """Notes `merged` say what the older note `into` says, and are to be found as that one.

    Attributes:
        into: id of the older note.
        merged: ids of the others.
        why: in words.

    Examples:
        >>> from amem_integrations.lifecycle.plan import Merge
        >>> Merge("6f0e…", ("9a3e…", "1d22…"), "every word agrees").into
        '6f0e…'
    """

    into: str
    merged: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Distillation:
    """A new note is to say in short what its `members` say.

    Attributes:
        members: ids of the notes.
        why: in words.
        note: id of the new note, once it is there.

    Examples:
        >>> from amem_integrations.lifecycle.plan import Distillation
        >>> Distillation(("6f0e…", "9a3e…"), "a cluster of like notes").note is None
        True
    """

    members: tuple[str, ...]
    why: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Archival:
    """A note that is to be set aside.

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
    """What to do with a namespace; true if there is anything, and as text a list.

    Attributes:
        namespace: whose notes they are.
        merges: what is to be found as one.
        distillations: what is to be said in short.
        archived: what is to be set aside.
        left: what was not done, each with the reason.
        applied: whether it tells of what was done.
        versions: of each note named, as it was when the plan was made. One that was changed since
            is left alone, and named in `left`.
        texts: how each note begins, to read the list by.

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
            lines.append(f"{'merged' if done else 'merge'} into {self._named(merge.into)}")
            lines += [f"    {self._named(each)}" for each in merge.merged]
            lines.append(f"    because {merge.why}")
        for each in self.distillations:
            lines.append(f"{'distilled' if done else 'distil'} {len(each.members)} notes")
            lines += [f"    {self._named(member)}" for member in each.members]
            lines.append(f"    because {each.why}")
        for each in self.archived:
            lines.append(f"{'archived' if done else 'archive'} {self._named(each.note)}")
            lines.append(f"    because {each.why}")
        lines += [f"left alone: {self._named(note)}: {why}" for note, why in self.left]
        if len(lines) == 1:
            lines[0] = f"{'/'.join(self.namespace)}: nothing to do"
        return "\n".join(lines)

    def _named(self, note_id: str) -> str:
        text = " ".join(self.texts.get(note_id, "").split())
        if len(text) > _SHOWN:
            text = text[: _SHOWN - 1] + "…"
        return f"{note_id[:8]} {text}".rstrip()


def beginnings(texts: Mapping[str, str], named: Sequence[str]) -> dict[str, str]:
    """The texts of the notes named, as far as they are shown."""
    return {id: texts[id][: 4 * _SHOWN] for id in named if id in texts}
