"""Commands about notes: remember, find, show and list them."""

from datetime import datetime
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from amem_integrations.cli import render
from amem_integrations.cli.options import (
    ApiKey,
    Collection,
    Embedder,
    Json,
    Labels,
    Location,
    Model,
    conditions,
    empty,
    example,
    existing,
    labels_of,
    moment,
    named,
    opened,
)
from amem_integrations.cli.piped import FIELDS, checked, json_items, line_items, read_text
from amem_integrations.cli.progress import stages, working
from amem_integrations.cli.shapes import hit_shape, note_shape, print_json
from amem_integrations.core.note import Note, Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.client import AgenticMemory

commands = typer.Typer()

_DATE = "a date, a time, or how long ago: 24h, 7d, 2w."


@commands.command(
    epilog=example(
        'amem add "Calvin is allergic to nuts" -l ./memory --at 2026-03-01',
        "amem add --lines -l ./memory -n team < minutes.txt",
    )
)
def add(
    location: Location,
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help='Nothing, or "-", reads standard input.'),
    ] = None,
    namespace: Labels = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="Each line of standard input is a note.")
    ] = False,
    json_lines: Annotated[
        bool,
        typer.Option(
            "--json-lines",
            help="Each line of it is a JSON object: content and, if you like, "
            f"{', '.join(FIELDS[1:])}.",
        ),
    ] = False,
    speaker: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    session: Annotated[str | None, typer.Option(help="In which conversation.")] = None,
    sequence: Annotated[int | None, typer.Option(help="At which place in it.")] = None,
    key: Annotated[
        str | None, typer.Option(help="Your name for the note; the same key is the same note.")
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="WHEN", help=f"When it happened: {_DATE}")
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="user, tool, assistant or import: where it came from.")
    ] = None,
    metadata: Annotated[
        str | None, typer.Option(metavar="JSON", help="Whatever is to be kept with it.")
    ] = None,
    supersedes: Annotated[
        list[str] | None,
        typer.Option(metavar="NOTE", help="A note that holds no longer; can be repeated."),
    ] = None,
    model: Model = None,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Remember a text, or one a line: it becomes a note.

    The note is linked to others, and may change how they are understood. The same text again
    is the same note.
    """
    labels = labels_of(namespace)
    about: dict[str, Any] = {
        "speaker": speaker,
        "session": session,
        "occurred_at": None if at is None else moment(at, "--at"),
        "source": source,
        "metadata": conditions(metadata, "--metadata"),
    }
    if not (lines or json_lines):
        own = {"key": key, "sequence": sequence, "supersedes": supersedes or None}
        items = [checked({"content": read_text(text), **about, **own})]
    elif (
        text not in (None, "-")
        or key is not None
        or sequence is not None
        or supersedes
        or (lines and json_lines)
    ):
        raise InvalidInputError(
            "--lines and --json-lines read many notes from standard input, so they go without each "
            "other, without a text, and without --key, --sequence and --supersedes."
        )
    else:
        items = (line_items if lines else json_items)(read_text(None), about)
    with opened(
        location, collection=collection, model=model, embedder=embedder, api_key=api_key
    ) as memory:
        with stages() as stage:
            notes = memory.add_many(items, namespace=labels, progress=stage("Remembering"))
        if as_json:
            print_json({"notes": [note_shape(note) for note in notes]})
        elif lines or json_lines:
            links = sum(len(note.outgoing) for note in notes)
            counts = (render.many(len(notes), "note"), render.many(links, "link"))
            render.terminal().print("{} remembered, with {}.".format(*counts))
        else:
            _show(memory, notes[0])
    if raw := sum(note.status is Status.RAW for note in notes):
        what = "The note is stored and can be found, but is"
        if len(notes) > 1:
            what = f"{raw:,} of {render.many(len(notes), 'note')} are stored and can be found, but"
        render.remarks().print(f"{what} not formed yet.", soft_wrap=True)


@commands.command(
    epilog=example(
        'amem search "who is allergic?" -l ./memory -n team -k 3',
        'amem search budget -l ./memory --filter \'{"speaker": "Marta"}\' --json',
    )
)
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    location: Location,
    namespace: Labels = None,
    k: Annotated[int, typer.Option("-k", help="How many notes at most.")] = 5,
    hops: Annotated[int, typer.Option(help="How many links to follow.")] = 1,
    filter: Annotated[
        str | None,
        typer.Option(metavar="JSON", help='Conditions, such as \'{"speaker": "Marta"}\'.'),
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="WHEN", help=f"As things stood then: {_DATE}")
    ] = None,
    min_relevance: Annotated[
        float | None, typer.Option(help="Find nothing unless a note is so relevant.")
    ] = None,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Find notes, and say why each was found.

    By meaning, by words and by links.
    """
    labels = labels_of(namespace)
    asked: dict[str, Any] = {
        "k": k,
        "hops": hops,
        "filter": conditions(filter),
        "at": None if at is None else moment(at, "--at"),
        "min_relevance": min_relevance,
    }
    with existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory:
        with working("Searching"):
            found = memory.search(query, namespace=labels, **asked)
        if as_json:
            hits = [hit_shape(hit) for hit in found]
            print_json({"namespace": list(labels), "query": query, "hits": hits})
            return
        sources = {hit.via.other(hit.note.id) for hit in found if hit.via is not None}
        names = {hit.note.id: render.handle(hit.note) for hit in found}
        for id in sources - names.keys():
            if (note := memory.get(id, namespace=labels)) is not None:
                names[id] = render.handle(note)
        console = render.terminal()
        if found:
            console.print(render.hits(found, names))
        elif count := memory.count(labels):
            home = render.plain("/".join(labels))
            console.print(f"Nothing found among {render.many(count, 'note')} of namespace {home}.")
        else:
            console.print(render.plain(empty(memory, labels)), soft_wrap=True)


@commands.command(epilog=example("amem show t24 t47 -l ./memory -n demo"))
def show(
    notes: Annotated[list[str], typer.Argument(metavar="NOTE...", help="Ids or keys.")],
    location: Location,
    namespace: Labels = None,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Show notes: what was understood, links, history.

    Links are those in both directions; the history is every change, with its cause.
    """
    labels = labels_of(namespace)
    with existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory:
        held = [named(memory, name, labels) for name in notes]
        if as_json:
            print_json({"notes": [note_shape(note, memory.history(note)) for note in held]})
            return
        for note in held:
            _show(memory, note, history=True)


@commands.command(epilog=example("amem recent -l ./memory -n team --limit 50"))
def recent(
    location: Location,
    namespace: Labels = None,
    limit: Annotated[int, typer.Option(min=1, help="How many notes at most.")] = 20,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """List the notes stored last, newest first."""
    labels = labels_of(namespace)
    with existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory:
        notes = memory.recent(namespace=labels, limit=limit)
        if as_json:
            shapes = [note_shape(note) for note in notes]
            print_json({"namespace": list(labels), "notes": shapes})
            return
        console = render.terminal()
        if not notes:
            console.print(render.plain(empty(memory, labels)), soft_wrap=True)
        for note in notes:
            # In a pipe nothing is cut off.
            shown = render.line(note, _day(note.occurred_at or note.created_at))
            console.print(shown, soft_wrap=not console.is_terminal)


@commands.command(epilog=example("amem namespaces -l ./memory"))
def namespaces(
    location: Location,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """List the namespaces, each with how many notes it has."""
    with existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory:
        counts = {labels: memory.count(labels) for labels in memory.namespaces()}
    if as_json:
        rows = [{"namespace": list(labels), "notes": count} for labels, count in counts.items()]
        print_json({"namespaces": rows})
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    for labels, count in counts.items():
        table.add_row(Text(render.plain("/".join(labels))), render.many(count, "note"))
    render.terminal().print(table if counts else "There are no notes.")


def _day(when: datetime) -> str:
    return when.strftime("%Y-%m-%d %H:%M")


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
