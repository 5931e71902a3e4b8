"""What is shown while a command works: on a terminal only, on standard error only."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from amem_integrations.cli import render

Advance = Callable[[int, int], None]


@contextmanager
def working(doing: str) -> Generator[None]:
    """A line that moves, for what does not say how far it is."""
    console = _console()
    if not console.is_terminal:
        yield
        return
    with console.status(doing, spinner="dots"):
        yield


@contextmanager
def stages() -> Generator[Callable[[str], Advance]]:
    """A bar for each stage: called with its name, gives what is called with (done, total)."""
    console = _console()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:

        def stage(name: str) -> Advance:
            task = progress.add_task(name, total=None)
            return lambda done, total: progress.update(task, completed=done, total=total)

        yield stage


def _console() -> Console:
    """Warnings go where the bar is, or they would be written across it."""
    console = render.terminal(stderr=True)
    if console.is_terminal:
        render.show_warnings(console)
    return console
