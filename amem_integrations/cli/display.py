"""How notes, links, revisions and hits are shown: to people, and with --json.

The guide to the command line describes the JSON. Everything stored goes through
`terminal.plain` or a function that uses it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from amem_integrations.cli.terminal import block, plain, shortened
from amem_integrations.core.hit import Hit
from amem_integrations.core.note import Link, Note, Revision, Status
from amem_integrations.core.status import UNDERSTOOD_LISTS
from amem_integrations.stores.codec import TEXT, moment

_MAX_HANDLE = 40
_TIME = "%Y-%m-%d %H:%M UTC"

Names = Mapping[str, str]
"""What to call notes by, by their ids."""


def note_json(note: Note, revisions: Sequence[Revision] | None = None) -> dict[str, Any]:
    """A note with its links in both directions, and its revisions if they are given."""
    fields = TEXT.write_fields(note)
    del fields["life"], fields["revision"]
    if revisions is not None:
        fields["revisions"] = [TEXT.write_fields(revision) for revision in revisions]
    return fields


def hit_json(hit: Hit) -> dict[str, Any]:
    return {
        "score": hit.score,
        "relevance": hit.relevance,
        "why": dict(hit.why),
        "via": None if hit.via is None else TEXT.write_fields(hit.via),
        "note": note_json(hit.note),
    }


def handle(note: Note) -> str:
    """What to call a note by: the key it was given, or its id. `amem show` takes either."""
    given = not note.key.startswith("auto:") and plain(note.key) == note.key
    return note.key if given and len(note.key) <= _MAX_HANDLE else note.id


def names(notes: Iterable[Note]) -> Names:
    return {note.id: handle(note) for note in notes}


def line(note: Note, *before: str) -> Text:
    """A note on one line, as far as the terminal is wide: its name, and how it begins."""
    start = Text("  ".join((*before, "")), "dim")
    shown = Text.assemble(start, (handle(note), "bold"), "  ", _quoted(note))
    shown.no_wrap, shown.overflow = True, "ellipsis"
    return shown


def details(note: Note) -> RenderableType:
    """A note: who said it and when, its text, and what was understood of it."""
    rows = [("note", handle(note)), ("said", _origin(note)), ("content", block(note.content))]
    if handle(note) != note.id:
        rows.insert(1, ("id", note.id))
    rows += [(name, value) for name, value in _analysis(note) if value]
    if note.status is not Status.FORMED:
        error = f": {plain(note.last_error)}" if note.last_error else ""
        rows.append(("status", f"{note.status}{error}"))
    return _fields(rows)


def _origin(note: Note) -> str:
    when = (note.occurred_at or note.created_at).strftime(_TIME)
    session = f"in “{note.session}”" if note.session else ""
    return ", ".join(plain(part) for part in (note.speaker or "", session, when) if part)


def _analysis(note: Note) -> Iterator[tuple[str, str]]:
    yield "keywords", plain(", ".join(note.keywords))
    yield "tags", plain(", ".join(note.tags))
    yield "context", plain(note.context)
    yield "questions", plain(" ".join(note.questions))


def links(note: Note, others: Mapping[str, Note]) -> RenderableType:
    """The links of `note` in both directions, each with its reason and the other note."""
    grid = _grid(2)
    for link in (*note.outgoing, *note.incoming):
        other = others.get(link.other(note.id))
        arrow = "→" if link.source == note.id else "←"
        name = handle(other) if other else link.other(note.id)
        grid.add_row(arrow, Text(f"{name}  {_reason(link)}"))
        if other is not None:
            grid.add_row("", Text(_quoted(other), "dim", no_wrap=True, overflow="ellipsis"))
    return Padding(grid, (0, 0, 0, 2)) if note.links else Text("  none", "dim")


def _reason(link: Link) -> str:
    return f"{plain(link.kind)} {link.weight:.2f}: {plain(link.reason) or 'no reason given'}"


def _quoted(note: Note) -> str:
    return (
        f"{plain(note.speaker)}: {shortened(note.content)}"
        if note.speaker
        else shortened(note.content)
    )


def history(revisions: Sequence[Revision], names: Names) -> RenderableType:
    """Revisions, oldest first, each with what it changed."""
    parts: list[RenderableType] = []
    for revision in revisions:
        cause = names.get(revision.cause)
        because = f", because of {cause}" if cause else ""
        at = revision.at.strftime(_TIME)
        by = plain(revision.analyst)
        kind = plain(revision.kind)
        parts.append(Text(f"  version {revision.version}: {kind} {at} by {by}{because}"))
        if revision.reason:
            parts.append(Padding(Text(plain(revision.reason), "dim"), (0, 0, 0, 4), expand=False))
        parts.append(Padding(changes(revision, names), (0, 0, 0, 4)))
    return Group(*parts) if parts else Text("  none", "dim")


def changes(revision: Revision, names: Names) -> RenderableType:
    """Each field that a revision changed, before (if there was something) and after."""
    grid = _grid(3)
    for field, change in revision.changes.items():
        before, after = (_value(field, side, names) for side in (change.before, change.after))
        if before:
            grid.add_row(Text(field, "bold"), Text("before", "dim"), Text(before, "dim"))
        name = Text("" if before else field, "bold")
        grid.add_row(name, Text("after", "dim"), Text(after or "nothing"))
    return grid


def _value(field: str, value: Any, names: Names) -> str:
    """A field for people: other notes by their names, times as such; "" for nothing."""
    match field:
        case _ if value is None:
            return ""
        case "links":
            return ", ".join(f"→ {names.get(link['to'], link['to'])}" for link in value)
        case "contested_by":
            return ", ".join(names.get(id, id) for id in value)
        case "merged_into":
            return names.get(value, value)
        case "valid_until":
            return moment(value).strftime(_TIME)
        case _ if field in UNDERSTOOD_LISTS:
            return plain(", ".join(value))
        case "trust":
            return f"{value:.2f}"
        case _:
            return shortened(str(value))


def hits(
    found: Sequence[Hit], names: Names, *, expected: Collection[str] = (), why: bool = False
) -> RenderableType:
    """What a search found, each with the link that led to it, if one did.

    expected: ids of the notes to mark. why: show each signal's share of the score.
    """
    grid = _grid(3)
    for place, hit in enumerate(found, start=1):
        mark = "✓" if hit.note.id in expected else ""
        note = hit.note
        until = f" until {note.valid_until:%Y-%m-%d}" if note.valid_until else ""
        said = f"  {note.local_time:%Y-%m-%d}{until}  "
        content = Text.assemble((handle(note), "bold"), (said, "dim"), _quoted(note))
        grid.add_row(Text(mark, "green"), Text(f"{place}.", "dim"), content)
        if why:
            grid.add_row("", "", Text(_why(hit, names), "dim"))
        elif hit.via is not None:
            grid.add_row("", "", Text(_path(hit, names), "dim"))
    return grid


def _why(hit: Hit, names: Names) -> str:
    shares = (f"{name} {share:.2f}" for name, share in hit.why.items())
    text = f"{hit.score:.2f} = {' + '.join(shares)}"
    return text if hit.via is None else f"{text}, {_path(hit, names)}"


def _path(hit: Hit, names: Names) -> str:
    assert hit.via is not None
    other = hit.via.other(hit.note.id)
    return f"from {names.get(other, other)}: {plain(hit.via.reason) or plain(hit.via.kind)}"


def _fields(rows: Iterable[tuple[str, str]]) -> Table:
    grid = _grid(2)
    for name, value in rows:
        grid.add_row(Text(name, "bold"), Text(value))
    return grid


def _grid(columns: int) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(columns):
        grid.add_column(overflow="fold")
    return grid
