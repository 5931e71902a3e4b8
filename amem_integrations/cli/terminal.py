"""What a command prints: notes, links, revisions and hits, JSON, progress and remarks.

Stored text is untrusted: it is shown as plain text, never as markup, and without the
characters that move a cursor, change colours or turn text around.
"""

import json
import logging
import re
import unicodedata
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from amem_integrations.core.note import Hit, Link, Note, Revision, Status
from amem_integrations.stores.codec import moment

_SEQUENCE = re.compile(
    # CSI and, where they are closed, OSC and its kin; whatever is left of one is only text.
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f]).*?(?:\x07|\x1b\\\\|\x9c)",
    re.DOTALL,
)
_JOINERS = "\u200c\u200d"
_MAX_HANDLE = 40
_MAX_SHOWN = 400
_TIME = "%Y-%m-%d %H:%M UTC"

Named = Mapping[str, str]
Advance = Callable[[int, int], None]

JSON_ASKED: ContextVar[bool] = ContextVar("JSON_ASKED", default=False)


class _WarningHandler(logging.Handler):
    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.print(f"note: {plain(record.getMessage())}", style="dim")


def show_warnings(console: Console) -> None:
    """Let `console` show the package's warnings; a console with a progress bar must do both."""
    log = logging.getLogger("amem_integrations")
    log.handlers = [_WarningHandler(console)]
    log.propagate = False


def console(*, stderr: bool = False, remarks: bool = False) -> Console:
    """Where to print: no markup in text, no colour unless it is a terminal that wants it.

    remarks: for what is no error, on standard error; it is left out if JSON was asked for.
    """
    made = Console(stderr=stderr or remarks, markup=False, emoji=False, highlight=False)
    made.quiet = remarks and JSON_ASKED.get()
    return made


def print_remark(text: str) -> None:
    """Print, on standard error, what is no error; nothing if JSON was asked for."""
    console(remarks=True).print(text, style="dim", soft_wrap=True)


def print_json(data: Any) -> None:
    """Print `data` on standard output."""
    typer.echo(to_json(data))


def to_json(data: Any, *, indent: int | None = 2) -> str:
    """`data` in ASCII, so that no text in it can steer a terminal or break a pipe."""
    return json.dumps(data, indent=indent, default=datetime.isoformat)


def print_result(data: Any, *shown: RenderableType) -> None:
    """Print `data` if JSON was asked for, otherwise what a reader is shown."""
    if JSON_ASKED.get():
        print_json(data)
        return
    out = console()
    for part in shown:
        # Lines of text are not cut off in a pipe.
        whole = isinstance(part, str) or (isinstance(part, Text) and not out.is_terminal)
        out.print(part, soft_wrap=whole)


@contextmanager
def working(doing: str) -> Generator[None]:
    """Show a line that moves while something works that does not report how far it is."""
    shown = _progress_console()
    if not shown.is_terminal:
        yield
        return
    with shown.status(doing, spinner="dots"):
        yield


@contextmanager
def stages() -> Generator[Callable[[str], Advance]]:
    """Show a bar for each stage: called with its name, gives what is called with (done, total)."""
    with progress_bars() as bars:

        def stage(name: str) -> Advance:
            task = bars.add_task(name, total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield stage


def progress_bars() -> Progress:
    """Bars on a terminal's standard error; nothing elsewhere."""
    shown = _progress_console()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(
        *columns,
        TimeRemainingColumn(),
        console=shown,
        transient=True,
        disable=not shown.is_terminal,
    )


def _progress_console() -> Console:
    """Warnings go where the bar is, or they would be written across it."""
    shown = console(stderr=True)
    if shown.is_terminal:
        show_warnings(shown)
    return shown


def block(text: str) -> str:
    """`text` with its lines, safe to show."""
    return "".join(_shown(_SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\t", "    ")))


def plain(text: str) -> str:
    """`text` on one line, safe to show."""
    return " ".join(block(text).split())


def _shown(text: str) -> Iterator[str]:
    for character in text:
        category = unicodedata.category(character)
        if character == "\n" or character in _JOINERS:
            yield character
        elif category in ("Zl", "Zp"):
            yield "\n"
        elif category not in ("Cc", "Cf", "Cs"):
            yield character


def shortened(text: str, limit: int = _MAX_SHOWN) -> str:
    """The beginning of `text` on one line, safe to show."""
    # Cutting first keeps a note of megabytes from being cleaned for one line.
    line = plain(text[: 4 * limit])
    return line if len(line) <= limit and len(text) <= 4 * limit else line[: limit - 1] + "…"


def handle(note: Note) -> str:
    """What to call a note by: the key it was given, or its id. `amem show` takes either."""
    given = not note.key.startswith("auto:") and plain(note.key) == note.key
    return note.key if given and len(note.key) <= _MAX_HANDLE else note.id


def many(count: int, thing: str) -> str:
    """So many of a thing, in words."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def counts(*named: tuple[int, str]) -> str:
    """What else was counted, to append to a sentence; zeros are left out."""
    return "".join(f"; {name}: {count:,}" for count, name in named if count)


def line(note: Note, *before: str) -> Text:
    """A note on one line, as far as the terminal is wide: its name, and how it begins."""
    start = Text("  ".join((*before, "")), "dim")
    shown = Text.assemble(start, (handle(note), "bold"), "  ", _quoted(note))
    shown.no_wrap, shown.overflow = True, "ellipsis"
    return shown


def details(note: Note) -> RenderableType:
    """A note: who said it and when, its text, and what was understood of it."""
    rows = [("note", handle(note)), ("said", _said(note)), ("content", block(note.content))]
    if handle(note) != note.id:
        rows.insert(1, ("id", note.id))
    rows += [(name, value) for name, value in _understood(note) if value]
    if note.status is not Status.FORMED:
        error = f": {plain(note.last_error)}" if note.last_error else ""
        rows.append(("status", f"{note.status}{error}"))
    return _fields(rows)


def _said(note: Note) -> str:
    when = (note.occurred_at or note.created_at).strftime(_TIME)
    session = f"in “{note.session}”" if note.session else ""
    return ", ".join(plain(part) for part in (note.speaker or "", session, when) if part)


def _understood(note: Note) -> Iterator[tuple[str, str]]:
    yield "keywords", plain(", ".join(note.keywords))
    yield "tags", plain(", ".join(note.tags))
    yield "context", plain(note.context)


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


def history(revisions: Sequence[Revision], names: Named) -> RenderableType:
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


def changes(revision: Revision, names: Named) -> RenderableType:
    """Each field that a revision changed, before (if there was something) and after."""
    grid = _grid(3)
    for field, change in revision.changes.items():
        before, after = (_value(field, side, names) for side in (change.before, change.after))
        if before:
            grid.add_row(Text(field, "bold"), Text("before", "dim"), Text(before, "dim"))
        name = Text("" if before else field, "bold")
        grid.add_row(name, Text("after", "dim"), Text(after or "nothing"))
    return grid


def _value(field: str, value: Any, names: Named) -> str:
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
        case "keywords" | "tags":
            return plain(", ".join(value))
        case "trust":
            return f"{value:.2f}"
        case _:
            return shortened(str(value))


def hits(
    found: Sequence[Hit], names: Named, *, expected: Collection[str] | None = None
) -> RenderableType:
    """What a search found and why: each signal's share, and the link that led to it.

    expected: ids of the notes to mark; with them, each note takes two lines.
    """
    brief = expected is not None
    grid = _grid(3)
    for place, hit in enumerate(found, start=1):
        mark = "✓" if expected and hit.note.id in expected else ""
        content = Text.assemble((handle(hit.note), "bold"), "  ", _quoted(hit.note))
        why = Text(_why(hit, names), "dim")
        for text in (content, why):
            text.no_wrap, text.overflow = brief, "ellipsis" if brief else "fold"
        grid.add_row(Text(mark, "green"), Text(f"{place}.", "dim"), content)
        grid.add_row("", "", why)
    return grid


def _why(hit: Hit, names: Named) -> str:
    shares = (f"{name} {share:.2f}" for name, share in hit.why.items())
    text = f"{hit.score:.2f} = {' + '.join(shares)}"
    if hit.via is not None:
        other = hit.via.other(hit.note.id)
        text += f", from {names.get(other, other)}: {plain(hit.via.reason) or plain(hit.via.kind)}"
    return text


def sections(console: Console) -> Callable[[str], None]:
    """A function that prints numbered headings."""
    number = iter(range(1, 100))

    def heading(title: str) -> None:
        console.print()
        console.print(Text(f"{next(number)}. {title}", "bold cyan"))
        console.print()

    return heading


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
