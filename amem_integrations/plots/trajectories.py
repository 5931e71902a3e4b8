"""One note's trajectory as data: its versions in order, each with what changed and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from amem_integrations.core.note import Change, Note, Revision
from amem_integrations.stores.codec import moment

_FIRST: Mapping[str, Any] = {"keywords": [], "tags": [], "context": "", "links": []}


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field before and after; added and removed: of terms and links, which came and went."""

    name: str
    before: str
    after: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A version. kind: "created", or that of its revision; cause: the note behind it.

    cause_text: that note's content, "" when it is the note itself or is gone.
    """

    version: int
    kind: str
    at: datetime
    cause: str
    cause_text: str
    analyst: str
    reason: str
    changes: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class TrajectoryData:
    """The steps of a note, oldest first.

    Attributes:
        id: of the note.
        content: its text now.
        steps: a version each, with what changed and because of which note.
        total: how many versions there were.

    Examples:
        >>> from amem_integrations.plots import trajectory_data
        >>> note = memory.add("Tea is served at four")
        >>> data = trajectory_data(note, memory.history(note), {})
        >>> [row["field"] for row in data.rows][:1], data.total
        (['content'], 2)
    """

    id: str
    content: str
    steps: tuple[Step, ...]
    total: int

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A mapping for each field that a version changed; one for a version without changes."""
        return [
            {
                "version": step.version,
                "kind": step.kind,
                "at": step.at.isoformat(timespec="seconds"),
                "because of": step.cause_text or step.cause,
                "reason": step.reason,
                "by": step.analyst,
                "field": change.name,
                "before": change.before,
                "after": change.after,
            }
            for step in self.steps
            for change in (step.changes or (FieldChange("", "", ""),))
        ]


def trajectory_data(
    note: Note, revisions: Sequence[Revision], others: Mapping[str, str], *, limit: int = 40
) -> TrajectoryData:
    """The versions of `note`; of more than `limit`, the newest.

    Args:
        note: as it is now.
        revisions: all of the note's, oldest first.
        others: the content of the notes that these name, by id.
        limit: how many versions, at most.

    Examples:
        >>> from amem_integrations.plots import trajectory_data
        >>> note = memory.add("Tea is served at four")
        >>> data = trajectory_data(note, memory.history(note), {}, limit=1)
        >>> [step.kind for step in data.steps]
        ['formed']
    """
    first = {"content": note.content, **_FIRST}
    for revision in reversed(revisions):
        first |= {name: each.before for name, each in revision.changes.items() if name in first}
    created = Step(
        version=1,
        kind="created",
        at=note.created_at,
        cause=note.id,
        cause_text="",
        analyst="",
        reason="",
        changes=(FieldChange("content", "", str(first["content"])),),
    )
    steps = [created, *(_step(note, revision, others) for revision in revisions)]
    return TrajectoryData(note.id, note.content, tuple(steps[-limit:]), len(steps))


def _step(note: Note, revision: Revision, others: Mapping[str, str]) -> Step:
    return Step(
        version=revision.version,
        kind=revision.kind,
        at=revision.at,
        cause=revision.cause,
        cause_text="" if revision.cause == note.id else others.get(revision.cause, ""),
        analyst=revision.analyst,
        reason=revision.reason,
        changes=tuple(_field(name, change, others) for name, change in revision.changes.items()),
    )


def _field(name: str, change: Change, others: Mapping[str, str]) -> FieldChange:
    before, after = (_shown(name, side, others) for side in (change.before, change.after))
    if isinstance(before, str) or isinstance(after, str):
        return FieldChange(name, str(before), str(after))
    return FieldChange(
        name,
        ", ".join(before),
        ", ".join(after),
        added=tuple(each for each in after if each not in before),
        removed=tuple(each for each in before if each not in after),
    )


def _shown(name: str, value: Any, others: Mapping[str, str]) -> str | list[str]:
    """A field for people: other notes by their content, times as such."""
    match name:
        case "links":
            return [others.get(link["to"], link["to"]) for link in value]
        case "contested_by":
            return [others.get(id, id) for id in value]
        case "keywords" | "tags":
            return list(value)
        case "merged_into" if value is not None:
            return others.get(value, value)
        case "valid_until" if value is not None:
            return moment(value).isoformat(timespec="seconds")
        case _:
            return "" if value is None else str(value)
