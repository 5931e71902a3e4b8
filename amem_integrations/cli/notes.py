"""Commands for notes: add, search, show, list, revert and forget them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from amem_integrations.cli import display, terminal
from amem_integrations.cli.display import hit_json, note_json
from amem_integrations.cli.options import (
    FORMING,
    NAMESPACE,
    NoteName,
    Target,
    Yes,
    command,
    describe_empty,
    find_id,
    find_note,
    parse_time,
)
from amem_integrations.cli.text_input import FIELDS, checked, edit_text, read_items, read_text
from amem_integrations.core.json_value import parse_object
from amem_integrations.core.note import Note, Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.wiring import Progress
from amem_integrations.revisions.forget import Forgotten

commands = typer.Typer()

_NAMES = "Ids, how they begin (8 characters or more), or keys."
_WHEN = "a date, a time, or how long ago: 24h, 7d, 2w."


@command(
    commands,
    FORMING,
    'amem add "Calvin is allergic to nuts" -l ./memory --at 2026-03-01',
    "amem add --lines -l ./memory -n team < minutes.txt",
    "amem add --chat --json-lines -l ./memory -n team < turns.jsonl",
)
def add(
    target: Target,
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help='Nothing, or "-", reads standard input.'),
    ] = None,
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
    chat: Annotated[
        bool,
        typer.Option(
            "--chat", help="They are turns of a conversation: only what is new in them is formed."
        ),
    ] = False,
    speaker: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    session: Annotated[str | None, typer.Option(help="In which conversation.")] = None,
    sequence: Annotated[int | None, typer.Option(help="At which place in it.")] = None,
    key: Annotated[
        str | None, typer.Option(help="Your name for the note; the same key is the same note.")
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="WHEN", help=f"When it happened: {_WHEN}")
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="user, assistant, tool, import or web: where it came from.")
    ] = None,
    metadata: Annotated[
        str | None, typer.Option(metavar="JSON", help="Whatever is to be kept with it.")
    ] = None,
    supersedes: Annotated[
        list[str] | None,
        typer.Option(metavar="NOTE", help="A note that this one outdates; can be repeated."),
    ] = None,
) -> None:
    """Remember a text, or one a line: it becomes a note.

    The note is linked to others, and may change how they are understood. The same text again
    is the same note.
    """
    about: dict[str, Any] = {
        "speaker": speaker,
        "session": session,
        "occurred_at": parse_time(at, "--at"),
        "source": source,
        "metadata": parse_object(metadata, "--metadata"),
    }
    own = {"key": key, "sequence": sequence, "supersedes": supersedes or None}
    many = lines or json_lines
    if many and (
        text not in (None, "-")
        or (lines and json_lines)
        or any(value is not None for value in own.values())
    ):
        raise InvalidInputError(
            "--lines and --json-lines read many notes from standard input, so they go without each "
            "other, without a text, and without --key, --sequence and --supersedes."
        )
    read = read_text(text)
    if many:
        items = read_items(read, about, as_json=json_lines)
    else:
        items = [checked({"content": read, **about, **own})]
    if chat and any(item.get("supersedes") for item in items):
        raise InvalidInputError("--chat finds out what a turn corrects: leave supersedes out.")
    with target.open(create=True) as memory:
        if supersedes:
            names = (find_id(memory, name, target.namespace) for name in supersedes)
            items = [{**items[0], "supersedes": list(names)}]
        with terminal.resumable("turns" if chat else "notes") as stage:
            progress = stage("Remembering")
            if chat:
                notes = _add_turns(memory, items, target.namespace, progress)
            else:
                notes = memory.add_many(items, namespace=target.namespace, progress=progress)
        counts = terminal.many(len(notes), "note")
        links = terminal.many(sum(len(note.outgoing) for note in notes), "link")
        terminal.print_result(
            {"notes": [note_json(note) for note in notes]},
            *([f"{counts} remembered, with {links}."] if many else _details(memory, notes[0])),
        )
    if raw := sum(note.status is Status.RAW for note in notes):
        what = "The note is stored and can be found, but is"
        if len(notes) > 1:
            what = f"{raw:,} of {counts} are stored and can be found, but"
        terminal.console(remarks=True).print(f"{what} not formed yet.", soft_wrap=True)


@command(
    commands,
    NAMESPACE,
    'amem search "who is allergic?" -l ./memory -n team -k 3',
    'amem search budget -l ./memory --filter \'{"speaker": "Marta"}\' --json',
)
def search(
    target: Target,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    k: Annotated[int, typer.Option("-k", help="How many notes at most.")] = 5,
    hops: Annotated[int, typer.Option(help="How many links to follow.")] = 1,
    filter: Annotated[
        str | None,
        typer.Option(metavar="JSON", help='A filter, such as \'{"speaker": "Marta"}\'.'),
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="WHEN", help=f"As things stood then: {_WHEN}")
    ] = None,
    min_relevance: Annotated[
        float | None, typer.Option(help="Leave out notes less relevant, 0 to 1.")
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Show what each score is made of.")] = False,
) -> None:
    """Find notes.

    By meaning, by words and by links.
    """
    options: dict[str, Any] = {"k": k, "hops": hops, "min_relevance": min_relevance}
    options |= {"filter": parse_object(filter, "--filter"), "at": parse_time(at, "--at")}
    namespace = target.namespace
    with target.read() as memory:
        with terminal.working("Searching"):
            hits = memory.search(query, namespace=namespace, **options)
        sources = {hit.via.other(hit.note.id) for hit in hits if hit.via is not None}
        others = _load_notes(memory, sources - {hit.note.id for hit in hits}, namespace)
        notes = [*(hit.note for hit in hits), *others.values()]
        shown: RenderableType = display.hits(hits, display.names(notes), why=why)
        if not hits:
            count = terminal.many(memory.count(namespace), "note")
            shown = describe_empty(memory, namespace)
            if memory.count(namespace):
                shown = f"Nothing found among {count} of namespace {target.home}."
    terminal.print_result(
        {"namespace": list(namespace), "query": query, "hits": list(map(hit_json, hits))}, shown
    )


@command(commands, NAMESPACE, "amem show t24 t47 -l ./memory -n demo")
def show(
    target: Target,
    notes: Annotated[
        list[str],
        typer.Argument(metavar="NOTE...", help=_NAMES),
    ],
) -> None:
    """Show notes: what was understood, links, history.

    Links are those in both directions; the history is every change, with its cause.
    """
    with target.read() as memory:
        found = [find_note(memory, name, target.namespace) for name in notes]
        terminal.print_result(
            {"notes": [note_json(note, memory.history(note)) for note in found]},
            *(part for note in found for part in _details(memory, note, history=True)),
        )


@command(commands, NAMESPACE, "amem recent -l ./memory -n team --limit 50")
def recent(
    target: Target,
    limit: Annotated[int, typer.Option(min=1, help="How many notes at most.")] = 20,
) -> None:
    """List the notes stored last, newest first."""
    namespace = target.namespace
    with target.read() as memory:
        notes = memory.recent(namespace=namespace, limit=limit)
        shown: list[RenderableType] = [] if notes else [describe_empty(memory, namespace)]
    for note in notes:
        shown.append(display.line(note, f"{note.occurred_at or note.created_at:%Y-%m-%d %H:%M}"))
    terminal.print_result(
        {"namespace": list(namespace), "notes": list(map(note_json, notes))}, *shown
    )


@command(
    commands,
    FORMING,
    'amem edit t24 "Calvin is allergic to nuts and eggs" -l ./memory -n team',
    "amem edit 3f0c82d1 -l ./memory -n team",
)
def edit(
    target: Target,
    note: NoteName,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT", help='Nothing opens $EDITOR with the old one; "-" reads a pipe.'
        ),
    ] = None,
) -> None:
    """Give a note another text, and form it again.

    What the old text had caused in other notes is undone, and what is open about it settled, such
    as an audit. `amem revert` undoes the edit.
    """
    with target.open() as memory:
        found = find_note(memory, note, target.namespace)
        content = edit_text(found.content, text)
        if content == found.content:
            terminal.print_remark("The text is as it was.")
        with terminal.working("Forming"):
            changed = memory.update(found, content)
    print_note(changed)


@command(
    commands,
    FORMING,
    "amem revert t24 -l ./memory -n team",
    "amem revert t24 -l ./memory -n team --to-version 2",
)
def revert(
    target: Target,
    note: NoteName,
    to_version: Annotated[
        int | None, typer.Option(metavar="N", help="Undo all after this version.")
    ] = None,
    only: Annotated[
        int | None, typer.Option(metavar="N", help="Undo only what made it this version.")
    ] = None,
) -> None:
    """Undo what was done last to a note, or other changes of it.

    An update is undone with the formation that followed it. `amem show` lists the changes by
    version. The undoing is a change itself, so `amem revert` again undoes that.
    """
    with target.open() as memory:
        id, namespace = find_id(memory, note, target.namespace), target.namespace
        with terminal.working("Reverting"):
            changed = memory.revert(id, to_version=to_version, only=only, namespace=namespace)
    print_note(changed)


@command(
    commands,
    FORMING,
    "amem forget t24 -l ./memory -n team",
    'amem forget --where \'{"speaker": "Marta"}\' -l ./memory -n team --yes',
)
def forget(
    target: Target,
    notes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NOTE]...", help=_NAMES),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Every note that meets this filter."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every note of the namespace.")] = False,
    duplicates: Annotated[
        bool, typer.Option("--duplicates", help="Also the notes merged with them.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Remove notes, and what they caused in others, for good."""
    if duplicates and not notes:
        raise InvalidInputError("--duplicates goes with notes by name, not with --where or --all.")
    if sum((bool(notes), where is not None, everything)) != 1:
        raise InvalidInputError("Name the notes to forget, or use --where or --all: one of these.")
    namespace, filter = target.namespace, parse_object(where, "--where")
    with target.open() as memory:
        # Not what a merged note went into, but the note itself.
        ids = [find_id(memory, name, namespace) for name in notes or ()]
        if everything:
            count = terminal.many(memory.count(namespace), "note")
            what = f"all {count} of namespace {target.home}"
        elif filter is not None:
            what = f"every note of namespace {target.home} that meets {terminal.plain(where or '')}"
        else:
            what = ", ".join(map(terminal.plain, notes or ()))
        if not yes:
            typer.confirm(f"Forget {what}?", abort=True, err=True)
        with terminal.working("Forgetting"):
            if everything:
                forgotten = memory.admin.forget_namespace(namespace)
            elif filter is not None:
                forgotten = memory.admin.forget_where(filter, namespace=namespace)
            else:
                removed = (
                    memory.forget(id, namespace=namespace, duplicates=duplicates) for id in ids
                )
                forgotten = sum(removed, Forgotten(0)).without(ids)
    counts = terminal.counts(
        (forgotten.waiting, "of them not formed"),
        (forgotten.evolutions, "changes of other notes undone"),
        (forgotten.links, "links of other notes removed"),
        (len(forgotten.unformed), "other notes to be formed anew"),
    )
    removed_notes = terminal.many(forgotten.notes, "note")
    lines = [f"{removed_notes} removed{counts}."]
    if forgotten.duplicates:
        lines += ["Still stored, with the same words (forget them too):", *forgotten.duplicates]
    terminal.print_result(asdict(forgotten), *lines)


def _add_turns(
    memory: AgenticMemory,
    items: Sequence[Mapping[str, Any]],
    namespace: tuple[str, ...],
    progress: Progress,
) -> list[Note]:
    """Add each item as a turn; returns the notes of all."""
    notes: list[Note] = []
    for done, item in enumerate(items, start=1):
        turn = {name: value for name, value in item.items() if name != "supersedes"}
        notes += memory.add_turn(**turn, namespace=namespace).notes
        progress(done, len(items))
    return notes


def print_note(note: Note) -> None:
    """Print a note that a command has changed."""
    terminal.print_result({"notes": [note_json(note)]}, display.details(note))


def _details(
    memory: AgenticMemory, note: Note, *, history: bool = False
) -> Iterator[RenderableType]:
    revisions = memory.history(note) if history else []
    ids = {link.other(note.id) for link in note.links} | {change.cause for change in revisions}
    others = _load_notes(memory, ids - {note.id}, note.namespace)
    yield display.details(note)
    yield Text("links", "bold")
    yield display.links(note, others)
    if history:
        yield Text("history", "bold")
        yield display.history(revisions, display.names(others.values()))
    yield ""


def _load_notes(
    memory: AgenticMemory, ids: set[str], namespace: tuple[str, ...]
) -> dict[str, Note]:
    notes = ((id, memory.get(id, namespace=namespace)) for id in ids)
    return {id: note for id, note in notes if note is not None}
