"""One note's trajectory: its versions in order, what changed and why, as data and as a drawing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from amem_integrations.core.note import Change, Note, Revision
from amem_integrations.plots import text
from amem_integrations.plots.groups import COLOURS, REST_COLOUR, SYMBOLS
from amem_integrations.plots.picture import FAINT, PAPER, new_figure
from amem_integrations.stores.codec import moment

_EMPTY: Mapping[str, Any] = {"keywords": [], "tags": [], "context": "", "links": []}
_LINE, _PAD, _TOP, _BOTTOM = 17, 22, 110, 30
_WIDTH = 118
_KINDS = ("created", "formed", "evolved", "updated", "retracted", "reverted")
_LOOK: Mapping[str, tuple[str, str]] = {
    kind: (COLOURS[place], SYMBOLS[place]) for place, kind in enumerate(_KINDS)
}


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
    """Return the versions of `note`; of more than `limit`, the newest.

    Args:
        note: the note as it is now.
        revisions: all revisions of the note, oldest first.
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
    for revision in reversed(revisions):
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
        for revision in revisions
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
        case "keywords" | "tags":
            return list(value)
        case "merged_into" if value is not None:
            return others.get(value, value)
        case "valid_until" if value is not None:
            return moment(value).isoformat(timespec="seconds")
        case _:
            return "" if value is None else str(value)


def draw_trajectory(data: TrajectoryData, title: str, subtitle: str) -> Any:
    """Return a Plotly figure: versions from top to bottom, each beside what it changed."""
    blocks = [_lines(step) for step in data.steps]
    tops: list[float] = []
    y = 0.0
    for block in blocks:
        tops.append(y + _LINE / 2)
        y += _LINE * len(block) + _PAD
    figure = new_figure(
        title,
        subtitle,
        int(_TOP + _BOTTOM + y),
        margin={"l": 20, "r": 20, "t": _TOP, "b": _BOTTOM},
        xaxis={"visible": False, "range": [0, 100], "fixedrange": True},
        yaxis={"visible": False, "range": [y, 0], "fixedrange": True},
        hovermode="closest",
        legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"},
    )
    figure.add_scatter(
        x=[9.0] * len(tops),
        y=tops,
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        line={"color": "#C5CCD3", "width": 2},
    )
    placed = list(zip(data.steps, blocks, tops, strict=True))
    for kind in dict.fromkeys(step.kind for step in data.steps):
        colour, symbol = _LOOK.get(kind, (REST_COLOUR, "x"))
        chosen = [(step, top) for step, _, top in placed if step.kind == kind]
        figure.add_scatter(
            x=[9.0] * len(chosen),
            y=[top for _, top in chosen],
            mode="markers",
            marker={
                "size": 15,
                "color": colour,
                "symbol": symbol,
                "line": {"width": 1.5, "color": PAPER},
            },
            hoverinfo="text",
            hovertext=[_box(step) for step, _ in chosen],
            name=text.escaped(kind),
        )
    for step, block, top in placed:
        version = (
            f"<b>version {step.version}</b><br><span style='color:{FAINT}'>"
            f"{step.at:%Y-%m-%d}<br>{step.at:%H:%M:%S}</span>"
        )
        for x, side, size, shown in ((7.8, "right", 12, version), (10.5, "left", 13, None)):
            figure.add_annotation(
                x=x,
                y=top - _LINE / 2,
                xanchor=side,
                yanchor="top",
                align=side,
                showarrow=False,
                text=shown or "<br>".join(block),
                font={"size": size},
            )
    return figure


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


def _box(step: Step) -> str:
    rows = [("because of", step.cause_text), ("reason", step.reason)]
    rows += [(change.name, change.after) for change in step.changes]
    return text.hover(f"version {step.version}: {step.kind}", rows)
