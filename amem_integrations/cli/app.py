"""The commands of `amem`. They translate arguments and print; the memory does the work."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from amem_integrations import __version__
from amem_integrations.cli import eval as evaluating
from amem_integrations.cli import health, render, tending, work
from amem_integrations.cli import plots as drawing
from amem_integrations.cli import view as viewing
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
from amem_integrations.errors import AMemError
from amem_integrations.memory import AgenticMemory
from amem_integrations.note import Note, Status


class Commands(TyperGroup):
    """Turns the package's errors into one line and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except AMemError as error:
            render.terminal(stderr=True).print(
                Text.assemble(("amem: ", "bold red"), render.plain(str(error))), soft_wrap=True
            )
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=Commands,
    help="An agent memory that links its notes and lets them evolve.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.add_typer(tending.commands)
app.add_typer(work.commands)
app.add_typer(health.commands)
app.add_typer(drawing.commands)
app.add_typer(viewing.commands)
app.add_typer(evaluating.commands, name="eval")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"amem {__version__}")
        raise typer.Exit


@app.callback()
def amem(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """An agent memory that links its notes and lets them evolve."""
    render.show_warnings(render.terminal(stderr=True))


@app.command()
def demo(
    model: Model = None,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the memory in this directory.")
    ] = None,
    embedder: Embedder = None,
) -> None:
    """Watch a conversation being remembered, linked and recalled; offline unless --model."""
    from amem_integrations.cli.demo import run

    console = render.terminal()
    render.show_warnings(console)
    run(console, model=model, embedder=embedder, keep=keep)


@app.command()
def add(
    text: Annotated[str, typer.Argument(help='What to remember; "-" reads standard input.')],
    location: Location,
    namespace: Labels = None,
    speaker: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    session: Annotated[str | None, typer.Option(help="In which conversation.")] = None,
    key: Annotated[
        str | None, typer.Option(help="Your name for the note; the same key is the same note.")
    ] = None,
    model: Model = None,
    embedder: Embedder = None,
    api_key: ApiKey = None,
) -> None:
    """Remember a text: it becomes a note, is linked, and may change what it is linked to."""
    content = sys.stdin.read() if text == "-" else text
    with opened(location, model=model, embedder=embedder, api_key=api_key) as memory:
        note = memory.add(
            content, namespace=labels_of(namespace), speaker=speaker, session=session, key=key
        )
        _show(memory, note)
    if note.status is Status.RAW:
        render.terminal(stderr=True).print(
            "The note is stored and can be found, but is not formed yet."
        )


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    location: Location,
    namespace: Labels = None,
    k: Annotated[int, typer.Option("-k", help="How many notes at most.")] = 5,
    hops: Annotated[int, typer.Option(help="How many links to follow.")] = 1,
    filter: Annotated[
        str | None,
        typer.Option(metavar="JSON", help='Conditions, such as \'{"speaker": "Marta"}\'.'),
    ] = None,
    embedder: Embedder = None,
    api_key: ApiKey = None,
) -> None:
    """Find notes by meaning, by words and by links, and say why each was found."""
    labels = labels_of(namespace)
    console = render.terminal()
    with existing(location, embedder=embedder, api_key=api_key) as memory:
        found = memory.search(query, namespace=labels, k=k, hops=hops, filter=conditions(filter))
        sources = {hit.via.other(hit.note.id) for hit in found if hit.via is not None}
        names = {hit.note.id: render.handle(hit.note) for hit in found}
        for id in sources - names.keys():
            if (note := memory.get(id, namespace=labels)) is not None:
                names[id] = render.handle(note)
        if not found:
            count = memory.count(labels)
            home = render.plain("/".join(labels))
            console.print(f"Nothing found among {count} notes of namespace {home}.")
    if found:
        console.print(render.hits(found, names))


@app.command()
def show(
    notes: Annotated[list[str], typer.Argument(metavar="NOTE...", help="Ids or keys.")],
    location: Location,
    namespace: Labels = None,
    embedder: Embedder = None,
    api_key: ApiKey = None,
) -> None:
    """Show notes: what was understood, their links both ways, and how they came to be."""
    labels = labels_of(namespace)
    with existing(location, embedder=embedder, api_key=api_key) as memory:
        for name in notes:
            _show(memory, named(memory, name, labels), history=True)


@app.command()
def usage(
    location: Location,
    namespace: Annotated[
        list[str] | None,
        typer.Option(
            "--namespace",
            "-n",
            metavar="LABEL",
            help="Whose; repeat it for several labels. Otherwise everybody's.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="From the hour of this date or time on, or 24h, 7d, 2w."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    embedder: Embedder = None,
    api_key: ApiKey = None,
) -> None:
    """Show what model calls took: calls, tokens and seconds, by step and by mode."""
    from amem_integrations.cli import usage as shown

    start = None if since is None else shown.since(since, datetime.now(UTC))
    with existing(location, embedder=embedder, api_key=api_key) as memory:
        report = memory.usage(labels_of(namespace) if namespace else None, start)
    if as_json:
        typer.echo(shown.as_json(report))
    else:
        shown.show(render.terminal(), report)


def _show(memory: AgenticMemory, note: Note, *, history: bool = False) -> None:
    console = render.terminal()
    revisions = memory.history(note) if history else []
    ids = {link.other(note.id) for link in note.links} | {change.cause for change in revisions}
    others = {
        id: other
        for id in ids - {note.id}
        if (other := memory.get(id, namespace=note.namespace)) is not None
    }
    console.print(render.details(note))
    console.print(Text("links", "bold"))
    console.print(render.links(note, others))
    if history:
        names = {id: render.handle(other) for id, other in others.items()}
        console.print(Text("history", "bold"))
        console.print(render.history(revisions, names))
    console.print()
