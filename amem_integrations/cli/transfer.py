"""`amem export` and `amem import`: the notes of a namespace as lines of JSON."""

import json
import os
import stat
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

import typer

from amem_integrations.admin.transfer import check_beginning
from amem_integrations.cli import terminal
from amem_integrations.cli.foreign import Foreign
from amem_integrations.cli.options import (
    FOUND,
    MEMORY,
    NAMESPACE,
    Target,
    command,
    labels_option,
    namespace_of,
)
from amem_integrations.core.namespace import DEFAULT, Namespace
from amem_integrations.errors import InvalidInputError, InvalidLineError, StoreWriteError
from amem_integrations.importers.kinds import KINDS, detect_kind
from amem_integrations.memory.turns import Remember

commands = typer.Typer()


@command(commands, NAMESPACE, "amem export -l ./memory -n team -o team.jsonl")
def export_(
    target: Target,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help='"-" is standard output.')
    ] = Path("-"),
) -> None:
    """Write the notes of a namespace as lines of JSON.

    With all that is kept of them; `amem import` reads it. Where the lines go to standard output,
    the report about them goes to standard error, with --json in JSON.
    """
    to_stdout = str(output) == "-"
    with target.read() as memory, _open(output, "wb") as file, terminal.stages() as stage:
        # Lines on a terminal are progress enough.
        advance = None if to_stdout else stage("Exporting")
        on_terminal = to_stdout and terminal.console().is_terminal
        # The header and the end are none of the notes.
        total, count = memory.count(target.namespace), -2
        for line in memory.admin.export(target.namespace):
            # The same line, but none that could steer the terminal.
            safe = terminal.to_json(json.loads(line), indent=None) if on_terminal else line
            file.write(safe.encode() + b"\n")
            count += 1
            if advance is not None:
                advance(max(count, 0), total)
        file.flush()
    if terminal.JSON_ASKED.get():
        report = {"namespace": list(target.namespace), "notes": count, "file": str(output)}
        typer.echo(terminal.to_json(report), err=to_stdout)
        return
    notes = terminal.many(count, "note")
    terminal.console(stderr=True).print(f"{notes} of namespace {target.home} exported.")


@command(
    commands,
    ("model", *MEMORY),
    "amem import team.jsonl -l ./memory",
    "amem import chatgpt.zip -l ./memory -n calvin --trust",
)
def import_(
    target: Target,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help='An export, a zip or a folder; "-" reads what `amem export` wrote.',
        ),
    ],
    labels: Annotated[
        list[str] | None,
        labels_option("Where to; repeat it for several labels. Otherwise what the file says."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="What it is, if that is not found out: amem, chatgpt, claude, telegram, slack, "
            "whatsapp, store, mem0, messages, diary or vault."
        ),
    ] = None,
    remember: Annotated[
        Remember,
        typer.Option(help="Of chats: what users say, also what replies add, or every turn."),
    ] = "both",
    replace: Annotated[
        bool, typer.Option("--replace", help="Let the file win over notes that are there.")
    ] = False,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            help="It is your own: believe what it says of sources, tiers and uses. Otherwise all "
            "of it counts as imported, which is trusted little with a lifecycle.",
        ),
    ] = False,
) -> None:
    """Read an export or a chat into a memory, which may be new.

    Of ChatGPT, Claude, WhatsApp, Telegram, Slack, Obsidian, mem0 and others, or what `amem export`
    wrote. Importing again changes nothing, and goes on where it was interrupted. The exit code is
    3 if an entry is broken, or an export not whole; what there is of it is imported.
    """
    namespace = namespace_of(labels)
    # Pipes, and what is not there, can only be opened.
    if kind is None and (file.is_dir() or file.is_file()) and not _is_own(file):
        kind = detect_kind(file)
    if kind in (None, "amem"):
        _import_export(target, file, namespace, replace=replace, trust=trust)
        return
    if kind not in KINDS:
        raise InvalidInputError(f"--kind is amem, {', '.join(KINDS)}; got {kind!r}.")
    if not file.exists():
        raise InvalidInputError(f"{file} cannot be opened: there is no such file or folder.")
    namespace = namespace or namespace_of(os.environ.get("AMEM_NAMESPACE", "").split()) or DEFAULT
    foreign = Foreign(file, kind, namespace, trust=trust, replace=replace, remember=remember)
    with terminal.working("Reading"):
        foreign.survey()
    with target.open(create=True) as memory, terminal.resumable(foreign.things) as stage:
        foreign.store(memory, stage)
    terminal.print_result(foreign.report, *map(terminal.plain, foreign.lines))
    if foreign.broken:
        raise typer.Exit(FOUND)


def _is_own(file: Path) -> bool:
    """Whether a file begins as what `amem export` writes, or has nothing that could be else."""
    if file.is_dir():
        return False
    with _open(file, "rb") as source:
        head = source.read(4096).lstrip()
    return not head or b'"amem-notes"' in head.partition(b"\n")[0]


def _import_export(
    target: Target, file: Path, namespace: Namespace | None, *, replace: bool, trust: bool
) -> None:
    with _open(file, "rb") as source:
        try:
            # No memory is made for lines that do not begin as an export does.
            lines = check_beginning(source, namespace)
            with target.open(create=True) as memory, terminal.working("Importing"):
                imported = memory.admin.import_(
                    lines, namespace=namespace, replace=replace, trust=trust
                )
        except InvalidLineError as error:
            raise InvalidLineError(f"{file}: {error}", line=error.line) from error
    counts = terminal.counts(
        (imported.replaced, "replaced"),
        (imported.kept, "kept as they were"),
        (imported.links, "links dropped, to notes that are nowhere"),
        (imported.mentions, "mentions of such notes left out"),
        (imported.histories, "histories cut short, as they did not lead to their notes"),
    )
    home = terminal.plain("/".join(imported.namespace))
    shown = [f"Namespace {home}: {terminal.many(imported.notes, 'note')} added{counts}."]
    if imported.waiting:
        waiting = terminal.many(imported.waiting, "note")
        shown.append(f"To be formed: {waiting}; `amem admin retry` does it now.")
    if imported.missing is None:
        shown.append("The end of the export is missing, and perhaps notes before it.")
    elif imported.missing:
        more = "fewer" if imported.missing > 0 else "more"
        notes = terminal.many(abs(imported.missing), "note")
        shown.append(f"The file has {notes} {more} than its end says.")
    terminal.print_result(asdict(imported), *shown)
    if not imported.complete:
        raise typer.Exit(FOUND)


@contextmanager
def _open(path: Path, mode: Literal["rb", "wb"]) -> Generator[BinaryIO]:
    """Open a file, or for "-" what the command was piped to or from.

    What is written replaces an older file, whose mode it keeps, once it is complete; a new one is
    readable by this user only.
    """
    if str(path) == "-":
        yield (sys.stdin if mode == "rb" else sys.stdout).buffer
        return
    final = Path(os.path.realpath(path))
    # A pipe, for instance, has no older content to keep.
    replacing = mode == "wb" and (final.is_file() or not final.exists())
    written = final
    try:
        if replacing:
            # A name that nobody can foresee, and so not lead elsewhere by a link.
            descriptor, name = tempfile.mkstemp(prefix=".amem-", suffix=".part", dir=final.parent)
            file, written = os.fdopen(descriptor, mode), Path(name)
            if final.exists():
                written.chmod(stat.S_IMODE(final.stat().st_mode))
        else:
            file = final.open(mode)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be opened: {error.strerror}.") from error
    try:
        with file:
            yield file
            if replacing:
                file.flush()
                os.fsync(file.fileno())
        if replacing:
            written.replace(final)
    except OSError as error:
        if mode == "rb":
            raise
        raise StoreWriteError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        if replacing:
            written.unlink(missing_ok=True)
