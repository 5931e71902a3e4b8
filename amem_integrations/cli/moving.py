"""Commands that move what is stored: out, in, to another embedder or place, or into new files."""

import json
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

import typer

from amem_integrations.admin.import_ import beginning
from amem_integrations.cli import render
from amem_integrations.cli.options import (
    ApiKey,
    Collection,
    Embedder,
    Json,
    Labels,
    Location,
    check_there,
    example,
    existing,
    labels_of,
    opened,
)
from amem_integrations.cli.progress import stages, working
from amem_integrations.cli.shapes import dumped, print_json
from amem_integrations.core.namespace import Namespace
from amem_integrations.errors import InvalidInputError, InvalidLineError, StoreWriteError

commands = typer.Typer()


@commands.command("export", epilog=example("amem export -l ./memory -n team -o team.jsonl"))
def export_(
    location: Location,
    namespace: Labels = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help='"-" is standard output.')
    ] = Path("-"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Say in JSON how many notes there were.")
    ] = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Write the notes of a namespace as lines of JSON.

    With all that is kept of them; `amem import` reads it. What is said about it goes to
    standard error, as the lines go to standard output.
    """
    labels = labels_of(namespace)
    with (
        existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory,
        _file(output, "wb") as file,
        stages() as stage,
    ):
        # Lines on a terminal are progress enough.
        shown = stage("Exporting") if str(output) != "-" else None
        total, count = memory.count(labels), -1
        on_terminal = str(output) == "-" and render.terminal().is_terminal
        for line in memory.admin.export(labels):
            # The same line, but none that could steer the terminal.
            safe = dumped(json.loads(line), indent=None) if on_terminal else line
            file.write(safe.encode() + b"\n")
            count += 1
            if shown is not None:
                shown(count, total)
        file.flush()
    if as_json:
        report = {"namespace": list(labels), "notes": count, "file": str(output)}
        typer.echo(dumped(report, indent=None), err=str(output) == "-")
        return
    home = render.plain("/".join(labels))
    counted = render.many(count, "note")
    render.terminal(stderr=True).print(f"{counted} of namespace {home} exported.")


@commands.command("import", epilog=example("amem import team.jsonl -l ./memory"))
def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help='An export; "-" reads standard input.')
    ],
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
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Read an export into a memory, which may be new.

    Importing again changes nothing, and goes on where it was interrupted.
    """
    home = labels_of(namespace) if namespace else None
    with (
        _file(file, "rb") as given,
        _read_from(file, given, home) as lines,
        opened(location, collection=collection, embedder=embedder, api_key=api_key) as memory,
        working("Importing"),
    ):
        done = memory.admin.import_(lines, namespace=home, replace=replace)
    if as_json:
        print_json(asdict(done))
        return
    parts = [f"{render.many(done.notes, 'note')} added"]
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
        waiting = render.many(done.waiting, "note")
        console.print(f"To be formed: {waiting}; `amem retry` does it now.")


@commands.command(
    epilog=example("amem reembed -l ./memory --to ./memory-multilingual --embedder multilingual")
)
def reembed(
    location: Location,
    to: Annotated[
        str, typer.Option("--to", metavar="DIR|URL", help="Where the copy goes; it may be new.")
    ],
    as_json: Json = False,
    embedder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help='Of the copy: a fastembed model, or "multilingual", or the default.',
        ),
    ] = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Copy a whole memory for another embedder or place.

    All namespaces, with all that is kept of them. The old one stays as it is. The same command
    again goes on where it was interrupted.
    """
    if _place(location) == _place(to):
        raise InvalidInputError("--to is another place than --location; the old memory stays.")
    with (
        existing(location, collection=collection, embedder=None, api_key=api_key) as memory,
        opened(to, collection=collection, embedder=embedder, api_key=api_key) as other,
        stages() as stage,
    ):
        copied = memory.admin.copy_to(other, progress=stage("Copying"))
        total = other.count()
    if as_json:
        print_json({"notes": copied, "total": total, "to": to})
        return
    rest = "" if total == copied else f", {total:,} there now"
    shown = f"{render.many(copied, 'note')} copied to {render.plain(to)}{rest}."
    render.terminal().print(shown, soft_wrap=True)


@commands.command(epilog=example("amem compact -l ./memory"))
def compact(
    location: Location,
    as_json: Json = False,
    collection: Collection = "amem",
) -> None:
    """Write the files of a directory anew, without what was deleted.

    They shrink, and nothing is left in them of what was forgotten. Nobody may have the memory
    open, and there must be room for a second copy. Broken off, it changes nothing.
    """
    if "://" in location:
        raise InvalidInputError("A Qdrant server tidies up its files by itself.")
    check_there(location, collection)
    from amem_integrations.stores.edge.compaction import compact as written_anew

    with stages() as stage:
        place = Path(location).expanduser().resolve() / collection
        done = written_anew(place, stage("Copying"))
    if as_json:
        print_json(asdict(done))
        return
    before, after = (f"{size / 1e6:,.1f} MB" for size in (done.before, done.after))
    render.terminal().print(
        f"{render.plain(str(place))}: {before} before, {after} now.", soft_wrap=True
    )


@contextmanager
def _read_from(
    file: Path, given: BinaryIO, home: Namespace | None
) -> Generator[Iterator[str | bytes]]:
    """The lines of an import, with what is wrong with one told of its file.

    For lines that begin as no export does no memory is made.
    """
    try:
        yield beginning(given, home)
    except InvalidLineError as error:
        raise InvalidLineError(f"{file}: {error}", line=error.line) from error


def _place(location: str) -> str:
    return location if "://" in location else str(Path(location).expanduser().resolve())


@contextmanager
def _file(path: Path, mode: Literal["rb", "wb"]) -> Generator[BinaryIO]:
    """A file, or for "-" what the command was piped to or from.

    What is written takes the place of an older file once it is whole, and not before.
    """
    if str(path) == "-":
        yield (sys.stdin if mode == "rb" else sys.stdout).buffer
        return
    whole = Path(os.path.realpath(path))
    # What is no plain file, such as a pipe, has nothing to be kept.
    beside = mode == "wb" and (whole.is_file() or not whole.exists())
    target = whole.with_name(f"{whole.name}.part") if beside else whole
    try:
        file = target.open(mode)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be opened: {error.strerror}.") from error
    try:
        with file:
            yield file
            if beside:
                file.flush()
                os.fsync(file.fileno())
        if beside:
            target.replace(whole)
    except OSError as error:
        if mode == "rb":
            raise
        raise StoreWriteError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        if beside:
            target.unlink(missing_ok=True)
