"""One note's trajectory: its versions in order, what changed and why, as data and as a drawing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Change, Note, Revision
from amem_integrations.core.status import UNDERSTOOD_LISTS
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.operations import require
from amem_integrations.memory.wiring import NamespaceLike, NoteLike, address_of
from amem_integrations.plots import text
from amem_integrations.plots.picture import FAINT, GRID, PAPER, Picture, new_figure
from amem_integrations.plots.records import check_limit
from amem_integrations.revisions.entry import Entry
from amem_integrations.stores.codec import moment
from amem_integrations.stores.read import notes_by_id, revisions

_EMPTY: Mapping[str, Any] = {
    **{name: [] for name in (*UNDERSTOOD_LISTS, "links")},
    "context": "",
}
_LINE, _PAD, _TOP, _HEADER, _BOTTOM = 19, 12, 100, 28, 40
_WIDTH = 118


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field before and after; added and removed: of a list of terms or links."""

    name: str
    before: str
    after: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A version. kind: "created", or that of its revision; cause: the id of the note behind it.

    cause_text: that note's content, "" if it is the note itself or is gone.
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
    """The versions of a note, oldest first.

    Attributes:
        id: the note's id.
        content: its text now.
        steps: a version each, with what changed and because of which note.
        total: how many versions there were.
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
    note: Note, history: Sequence[Revision], others: Mapping[str, str], *, limit: int = 40
) -> TrajectoryData:
    """Return the versions of `note`; of more than `limit`, the newest.

    Args:
        note: the note as it is now.
        history: all revisions of the note, oldest first.
        others: the content of the notes that these name, by id.
        limit: how many versions, at most.

    Examples:
        >>> from amem_integrations.plots import trajectory_data
        >>> note = memory.add("Tea is served at four")
        >>> data = trajectory_data(note, memory.history(note), {}, limit=1)
        >>> [step.kind for step in data.steps]
        ['formed']
    """
    first = {"content": note.content, **_EMPTY}
    for revision in reversed(history):
        first |= {name: change.before for name, change in revision.changes.items() if name in first}
    text_given = FieldChange("content", "", str(first["content"]))
    steps = [Step(1, "created", note.created_at, note.id, "", "", "", (text_given,))]
    steps += [
        Step(
            version=revision.version,
            kind=revision.kind,
            at=revision.at,
            cause=revision.cause,
            cause_text="" if revision.cause == note.id else others.get(revision.cause, ""),
            analyst=revision.analyst,
            reason=revision.reason,
            changes=tuple(
                _field(name, change, others) for name, change in revision.changes.items()
            ),
        )
        for revision in history
    ]
    return TrajectoryData(note.id, note.content, tuple(steps[-limit:]), len(steps))


def _field(name: str, change: Change, others: Mapping[str, str]) -> FieldChange:
    before, after = (_readable(name, side, others) for side in (change.before, change.after))
    if isinstance(before, str) or isinstance(after, str):
        return FieldChange(name, str(before), str(after))
    return FieldChange(
        name,
        ", ".join(before),
        ", ".join(after),
        added=tuple(term for term in after if term not in before),
        removed=tuple(term for term in before if term not in after),
    )


def _readable(name: str, value: Any, others: Mapping[str, str]) -> str | list[str]:
    """Return a field for people: other notes by their content, times as such."""
    match name:
        case "links":
            return [others.get(link["to"], link["to"]) for link in value]
        case "contested_by":
            return [others.get(id, id) for id in value]
        case _ if name in UNDERSTOOD_LISTS:
            return list(value)
        case "merged_into" if value is not None:
            return others.get(value, value)
        case "valid_until" if value is not None:
            return moment(value).isoformat(timespec="seconds")
        case _:
            return "" if value is None else str(value)


def draw_trajectory(data: TrajectoryData, title: str, subtitle: str) -> Any:
    """Return a Plotly table: versions from top to bottom, each beside what it changed."""
    blocks = [_lines(step) for step in data.steps]
    left = [
        f"<b>version {step.version}</b><br><span style='color:{FAINT}'>"
        f"{step.at:%Y-%m-%d}<br>{step.at:%H:%M:%S}</span>"
        for step in data.steps
    ]
    height = sum(_LINE * len(block) + _PAD for block in blocks)
    figure = new_figure(title, subtitle, _TOP + _HEADER + height + _BOTTOM)
    return figure.add_table(
        columnwidth=[12, 88],
        header={"values": ["version", "what changed"], "align": "left", "height": _HEADER},
        cells={
            "values": [left, ["<br>".join(block) for block in blocks]],
            "align": "left",
            "height": _LINE + _PAD,
            "fill": {"color": PAPER},
            "line": {"color": GRID},
        },
    )


def _lines(step: Step) -> list[str]:
    """Return what stands beside a version: why it came, then its fields; at least three lines."""
    cause = f" because of “{text.label(step.cause_text, 70)}”" if step.cause_text else ""
    by = f" <span style='color:{FAINT}'>by {text.label(step.analyst, 30)}</span>"
    lines = [f"<b>{text.escaped(step.kind)}</b>{cause}{by if step.analyst else ''}"]
    if step.reason:
        lines.append(f"<i>{text.label(step.reason, _WIDTH)}</i>")
    lines += [line for change in step.changes for line in _change_lines(change)]
    return lines + [""] * (3 - len(lines))


def _change_lines(change: FieldChange) -> Iterator[str]:
    name = f"<span style='color:{FAINT}'>{text.escaped(change.name)}</span> "
    if change.added or change.removed:
        for sign, terms in (("+", change.added), ("−", change.removed)):
            if terms:
                shown = " · ".join(text.line(term, 48) for term in terms)
                yield f"{name}<b>{sign}</b> {text.label(shown, _WIDTH - 12)}"
    elif change.name == "status":
        yield f"{name}{text.label(change.before)} → {text.label(change.after)}"
    elif change.before != change.after:
        if change.before:
            yield f"{name}<b>−</b> {text.label(change.before, _WIDTH - 12)}"
        yield f"{name}<b>+</b> {text.label(change.after, _WIDTH - 12) or '(empty)'}"


def trajectory(
    memory: AgenticMemory,
    note: NoteLike,
    *,
    namespace: NamespaceLike | None = None,
    limit: int = 40,
) -> Picture:
    """Draw one note's versions in order: what changed, when, and because of which note.

    Args:
        memory: the memory.
        note: the note, or its id.
        namespace: where an id is looked up.
        limit: how many versions at most, the newest.

    Raises:
        NoteNotFoundError: there is no such note in the namespace.
        InvalidInputError: a value is not allowed.
        StoreError: the store cannot be read.
        ModuleNotFoundError: the extra `plots` is not installed.

    Examples:
        >>> from amem_integrations.plots import trajectory
        >>> note = memory.add("Bea runs the bakery on Mill Road")
        >>> _ = memory.add("The bakery on Mill Road sells rye bread")
        >>> [step.kind for step in trajectory(memory, note).data.steps]
        ['created', 'formed', 'evolved']
    """
    note_id, home = address_of(note, namespace)
    check_limit(limit)
    stored, history, others = memory.perform(lambda _, io: _read_history(io, note_id, home))
    data = trajectory_data(stored, history, others, limit=limit)
    title = f"How a note came about: “{text.line(stored.content, 60)}”"
    remarks: tuple[str, ...] = ()
    if len(data.steps) < data.total:
        remarks = (f"The newest {len(data.steps)} of {data.total} versions are shown.",)
    subtitle = f"{text.many(data.total, 'version')}, in the order in which they came about (UTC)"
    figure = draw_trajectory(data, title, subtitle)
    return Picture(figure, title, data, data.rows, remarks)


async def _read_history(
    io: IO, note_id: str, home: Namespace
) -> tuple[Note, list[Revision], dict[str, str]]:
    note = await require(io, note_id, home)
    history = await revisions(io, note)
    others = await notes_by_id(io, sorted(Entry(note, tuple(history)).references))
    contents = {id: other.content for id, other in others.items() if other.namespace == home}
    return note, history, contents
