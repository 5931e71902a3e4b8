"""What commands print with: text or JSON, progress, remarks and warnings.

Stored text is untrusted: it is shown as plain text, never as markup, and without the
characters that move a cursor, change colours or turn text around.
"""

import json
import logging
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from amem_integrations.core.quotation import strip_invisible

_SEQUENCE = re.compile(
    # CSI and, where they are closed, OSC and its kin; whatever is left of one is only text. None
    # reaches beyond the next escape character, so that many without an end are read once.
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9b-\x9f]*(?:\x07|\x1b\\\\|\x9c)"
)
_MAX_SHOWN = 400

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


@contextmanager
def warnings_on_stderr() -> Generator[None]:
    """Show what libraries warn of on standard error, as a line each.

    Their tracebacks may quote what is stored.
    """
    root = logging.getLogger()
    before = root.handlers
    root.handlers = [_WarningHandler(console(stderr=True))]
    try:
        yield
    finally:
        root.handlers = before


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


@contextmanager
def resumable(things: str) -> Generator[Callable[..., Advance]]:
    """Show bars as `stages` does; Ctrl-C says how far it came, and that repeating it goes on.

    A bar's second argument says what is done to the things: "stored" by default.
    """
    reached: tuple[int, int, str] = (0, 0, "")
    try:
        with stages() as stage:

            def bar(name: str, state: str = "stored") -> Advance:
                advance = stage(name)

                def show(done: int, total: int) -> None:
                    nonlocal reached
                    reached = done, total, state
                    advance(done, total)

                return show

            yield bar
    except KeyboardInterrupt:
        done, total, state = reached
        far = f"{done:,} of {total:,} {things} are {state}" if total else "what is stored stays"
        console(remarks=True).print(
            f"Interrupted: {far}. The same command goes on from there.", soft_wrap=True
        )
        raise typer.Exit(130) from None


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
    return strip_invisible(_SEQUENCE.sub("", text), keep_joiners=True).replace("\t", "    ")


def plain(text: str) -> str:
    """`text` on one line, safe to show."""
    return " ".join(block(text).split())


def shortened(text: str, limit: int = _MAX_SHOWN) -> str:
    """The beginning of `text` on one line, safe to show."""
    # Cutting first keeps a note of megabytes from being cleaned for one line.
    line = plain(text[: 4 * limit])
    return line if len(line) <= limit and len(text) <= 4 * limit else line[: limit - 1] + "…"


def many(count: int, thing: str) -> str:
    """So many of a thing, in words."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def counts(*named: tuple[int, str]) -> str:
    """What else was counted, to append to a sentence; zeros are left out."""
    return "".join(f"; {name}: {count:,}" for count, name in named if count)
