"""Commands that look after a memory: check and mend, move, forget, retry."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

import typer
from rich.text import Text

from amem_integrations.cli import render
from amem_integrations.cli.options import (
    ApiKey,
    Embedder,
    Labels,
    Location,
    Model,
    conditions,
    existing,
    labels_of,
    named,
    opened,
)
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle.check import Finding
from amem_integrations.lifecycle.forget import Forgotten
from amem_integrations.note import Status

commands = typer.Typer()


@commands.command()
def check(
    location: Location,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    model: Model = None,
    embedder: Embedder = None,
    api_key: ApiKey = None,
) -> None:
    """Scan a whole memory for damage; exit code 1 when some is left."""
    console = render.terminal()
    with existing(location, model=model, embedder=embedder, api_key=api_key) as memory:
        notes = memory.count()
        findings = memory.repair() if repair else memory.check()
        left = memory.check() if repair and findings else findings
    for finding in findings:
        console.print(Text(_finding(finding)), soft_wrap=True)
    mended = sum(finding.mended for finding in findings)
    console.print(f"{_many(notes, 'note')}: " + _verdict(len(findings), mended, len(left)))
    if left:
        raise typer.Exit(1)


def _finding(finding: Finding) -> str:
    about = ": ".join(render.plain(part) for part in (finding.what, finding.detail) if part)
    return f"{render.plain(finding.note_id)}  {about}{', mended' if finding.mended else ''}"


def _verdict(found: int, mended: int, left: int) -> str:
    if not found:
        return "all is well."
    if not mended:
        return f"{_many(found, 'finding')}."
    return f"{_many(found, 'finding')}, {mended} mended, {left} left."


@commands.command("export")
def export_(
    location: Location,
    namespace: Labels = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help='"-" is standard output.')
    ] = Path("-"),
    embedder: Embedder = None,
    api_key: ApiKey = None,
) -> None:
    """Write the notes of a namespace, with all that is kept of them, as lines of JSON."""
    labels = labels_of(namespace)
    with (
        existing(location, embedder=embedder, api_key=api_key) as memory,
        _file(output, "wb") as file,
    ):
        count = -1
        for line in memory.export(labels):
            file.write(line.encode() + b"\n")
            count += 1
        file.flush()
    home = render.plain("/".join(labels))
    render.terminal(stderr=True).print(f"{_many(count, 'note')} of namespace {home} exported.")


@commands.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help='An export; "-" reads standard input.')],
    location: Location,
    namespace: Annotated[
        list[str] | None,
        typer.Option(
            "--namespace",
            "-n",
            metavar="LABEL",
            help="Where to; repeat it for several labels. Otherwise what the file says.",
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let the file win over notes that are there.")
    ] = False,
    embedder: Embedder = None,
    api_key: ApiKey = None,
) -> None:
    """Read an export into a memory, which may be a new one; importing again changes nothing."""
    home = labels_of(namespace) if namespace else None
    with (
        _file(file, "rb") as lines,
        opened(location, embedder=embedder, api_key=api_key) as memory,
    ):
        done = memory.import_(lines, namespace=home, replace=replace)
    parts = [f"{_many(done.notes, 'note')} added"]
    for count, what in (
        (done.replaced, "replaced"),
        (done.kept, "kept as they were"),
        (done.links, "links dropped, to notes that are nowhere"),
        (done.mentions, "mentions of such notes left out"),
        (done.histories, "histories cut short, as they did not lead to their notes"),
    ):
        if count:
            parts.append(f"{what}: {count:,}")
    console = render.terminal()
    console.print(f"Namespace {render.plain('/'.join(done.namespace))}: {'; '.join(parts)}.")
    if done.waiting:
        console.print(f"To be formed: {_many(done.waiting, 'note')}; `amem retry` does it now.")


@commands.command()
def forget(
    location: Location,
    notes: Annotated[
        list[str] | None, typer.Argument(metavar="[NOTE]...", help="Ids or keys.")
    ] = None,
    namespace: Labels = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Every note that meets these conditions."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every note of the namespace.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    model: Model = None,
    embedder: Embedder = None,
    api_key: ApiKey = None,
) -> None:
    """Remove notes, and what they caused in others, for good."""
    if sum((bool(notes), where is not None, everything)) != 1:
        raise InvalidInputError("Name the notes to forget, or use --where or --all: one of these.")
    labels = labels_of(namespace)
    filter = conditions(where, "--where")
    home = render.plain("/".join(labels))
    with existing(location, model=model, embedder=embedder, api_key=api_key) as memory:
        chosen = [named(memory, name, labels) for name in notes or ()]
        if everything:
            what = f"all {_many(memory.count(labels), 'note')} of namespace {home}"
        elif filter is not None:
            what = f"every note of namespace {home} that meets {render.plain(where or '')}"
        else:
            what = ", ".join(render.handle(note) for note in chosen)
        if not yes:
            typer.confirm(f"Forget {what}?", abort=True, err=True)
        if everything:
            forgotten = memory.forget_namespace(labels)
        elif filter is not None:
            forgotten = memory.forget_where(filter, namespace=labels)
        else:
            forgotten = sum(map(memory.forget, chosen), Forgotten(0))
    render.terminal().print(_removed(forgotten))


def _removed(forgotten: Forgotten) -> str:
    parts = [f"{_many(forgotten.notes, 'note')} removed"]
    for count, what in (
        (forgotten.waiting, "of them not formed"),
        (forgotten.evolutions, "changes of other notes undone"),
        (forgotten.links, "links of other notes removed"),
        (len(forgotten.unformed), "other notes to be formed anew"),
    ):
        if count:
            parts.append(f"{what}: {count:,}")
    return f"{'; '.join(parts)}."


@commands.command()
def retry(
    location: Location,
    model: Model = None,
    embedder: Embedder = None,
    api_key: ApiKey = None,
) -> None:
    """Form every note that waits or was given up; exit code 1 when some still cannot be."""
    with existing(location, model=model, embedder=embedder, api_key=api_key) as memory:
        formed = memory.retry()
        counts = memory.health()
    left = sum(counts.get(status, 0) for status in (Status.RAW, Status.PARKED))
    said = f"{_many(formed, 'note')} formed"
    render.terminal().print(f"{said}, {left} still waiting." if left else f"{said}.")
    if left:
        raise typer.Exit(1)


@contextmanager
def _file(path: Path, mode: Literal["rb", "wb"]) -> Generator[BinaryIO]:
    """A file, or for "-" what the command was piped to or from."""
    if str(path) == "-":
        yield (sys.stdin if mode == "rb" else sys.stdout).buffer
        return
    try:
        file = path.open(mode)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be opened: {error.strerror}.") from error
    with file:
        yield file


def _many(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
