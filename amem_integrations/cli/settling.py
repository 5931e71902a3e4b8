"""Commands with which somebody decides: what is merged or set aside, believed, taken back."""

from datetime import timedelta
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.padding import Padding
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
    example,
    existing,
    labels_of,
    own_id,
)
from amem_integrations.cli.progress import working
from amem_integrations.cli.shapes import audit_shape, note_shape, print_json, proposal_shape
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle.consolidate import SIMILARITY
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.revisions.proposals import Proposal

commands = typer.Typer()

_NoteName = Annotated[str, typer.Argument(metavar="NOTE", help="Its id or key.")]
_Proposal = Annotated[
    str, typer.Argument(metavar="PROPOSAL", help="Its id, or how that begins: `amem proposals`.")
]


@commands.command(
    epilog=example(
        "amem consolidate -l ./memory -n team",
        "amem consolidate -l ./memory -n team --max-age 365 --yes",
    )
)
def consolidate(
    location: Location,
    namespace: Labels = None,
    max_notes: Annotated[
        int | None, typer.Option(min=0, help="Set aside what is worth least, down to so many.")
    ] = None,
    max_age: Annotated[
        float | None,
        typer.Option(
            min=0, max=1e6, metavar="DAYS", help="Set aside what was not used for longer."
        ),
    ] = None,
    similarity: Annotated[
        float, typer.Option(min=0, max=1, help="From which likeness on notes are merged.")
    ] = SIMILARITY,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it.")] = False,
    model: Model = None,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """List what can be merged or set aside; --yes does it.

    Nothing is deleted: `amem restore` brings a note back, `amem revert` undoes a change. With
    --model, what notes have in common is put into new ones.
    """
    with existing(
        location, collection=collection, model=model, embedder=embedder, api_key=api_key
    ) as memory:
        with working("Looking for what to consolidate"):
            plan = memory.lifecycle.consolidate(
                labels_of(namespace),
                max_notes=max_notes,
                max_age=None if max_age is None else timedelta(days=max_age),
                similarity=similarity,
            )
        if yes and plan:
            with working("Consolidating"):
                plan = memory.lifecycle.apply(plan)
    if as_json:
        print_json(plan.as_dict())
        return
    render.terminal().print(render.block(str(plan)), soft_wrap=True)
    if plan and not plan.applied:
        render.remarks().print("--yes does it.")


@commands.command(epilog=example("amem restore t24 -l ./memory -n team"))
def restore(
    note: _NoteName,
    location: Location,
    namespace: Labels = None,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Bring back a note that was set aside or merged."""
    labels = labels_of(namespace)
    with existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory:
        _print(memory.lifecycle.restore(own_id(memory, note, labels), namespace=labels), as_json)


@commands.command(
    epilog=example(
        "amem revert t24 -l ./memory -n team",
        "amem revert t24 -l ./memory -n team --to-version 2",
    )
)
def revert(
    note: _NoteName,
    location: Location,
    namespace: Labels = None,
    to_version: Annotated[
        int | None, typer.Option(metavar="N", help="Undo all after this version.")
    ] = None,
    only: Annotated[
        int | None, typer.Option(metavar="N", help="Undo only what made it this version.")
    ] = None,
    model: Model = None,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Undo a note's last change, or others of it.

    `amem show` lists the changes by version. The undoing is a change itself.
    """
    labels = labels_of(namespace)
    with existing(
        location, collection=collection, model=model, embedder=embedder, api_key=api_key
    ) as memory:
        id = own_id(memory, note, labels)
        with working("Reverting"):
            done = memory.revert(id, to_version=to_version, only=only, namespace=labels)
        _print(done, as_json)


@commands.command(epilog=example("amem audits -l ./memory -n team"))
def audits(
    location: Location,
    namespace: Labels = None,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """List the notes under audit, with why and since when."""
    with existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory:
        found = memory.lifecycle.audits(labels_of(namespace))
    if as_json:
        print_json({"audits": [audit_shape(audit) for audit in found]})
        return
    console = render.terminal()
    if not found:
        console.print("Nothing is under audit.")
    for audit in found:
        console.print(render.line(audit.note), soft_wrap=not console.is_terminal)
        why = f"since {audit.since:%Y-%m-%d %H:%M UTC}: {render.plain(audit.reason)}"
        console.print(Padding(Text(why, "dim"), (0, 0, 0, 4)))


@commands.command(
    epilog=example(
        "amem resolve t24 keep -l ./memory -n team",
        'amem resolve t24 correct --content "120 sensors" -l ./memory -n team',
    )
)
def resolve(
    note: _NoteName,
    decision: Annotated[
        Literal["keep", "correct", "retire"],
        typer.Argument(help="It holds; it gets the text of --content; it is set aside."),
    ],
    location: Location,
    namespace: Labels = None,
    content: Annotated[str | None, typer.Option(help="What is right instead.")] = None,
    model: Model = None,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Settle a note that is under audit or contradicted."""
    labels = labels_of(namespace)
    with existing(
        location, collection=collection, model=model, embedder=embedder, api_key=api_key
    ) as memory:
        id = own_id(memory, note, labels)
        with working("Settling"):
            done = memory.lifecycle.resolve(id, decision, content, namespace=labels)
        _print(done, as_json)


@commands.command(epilog=example("amem proposals -l ./memory -n team"))
def proposals(
    location: Location,
    namespace: Labels = None,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """List the changes that wait, as they are believed less."""
    labels = labels_of(namespace)
    with existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory:
        found = memory.lifecycle.proposals(labels)
        if as_json:
            print_json({"proposals": [proposal_shape(each) for each in found]})
            return
        console = render.terminal()
        if not found:
            console.print("Nothing waits.")
        for each in found:
            _show_proposal(console, memory, each)


def _show_proposal(console: Console, memory: AgenticMemory, proposal: Proposal) -> None:
    console.print(Text(proposal.id, "bold"))
    for what, id in (("of", proposal.target), ("by", proposal.cause)):
        note = memory.get(id, namespace=proposal.namespace)
        shown = Text(id) if note is None else render.line(note)
        console.print(Text(f"  {what} "), shown, soft_wrap=not console.is_terminal)
    evolution = proposal.evolution
    rows: list[tuple[str, str]] = [("because", proposal.reason)]
    if evolution is not None:
        rows += [
            ("keywords", ", ".join(evolution.keywords or ())),
            ("tags", ", ".join(evolution.tags or ())),
            ("context", evolution.context or ""),
        ]
    if proposal.contradicts:
        rows.append(("says", "it holds no longer"))
    for name, value in rows:
        if value:
            console.print(Padding(Text(f"{name}: {render.plain(value)}", "dim"), (0, 0, 0, 4)))


@commands.command(epilog=example("amem accept 3f0c -l ./memory -n team"))
def accept(
    proposal: _Proposal,
    location: Location,
    namespace: Labels = None,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Apply a change that waits; shows the note it changes."""
    with existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory:
        _print(memory.lifecycle.accept(_waiting(memory, proposal, labels_of(namespace))), as_json)


@commands.command(epilog=example("amem reject 3f0c -l ./memory -n team"))
def reject(
    proposal: _Proposal,
    location: Location,
    namespace: Labels = None,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Drop a change that waits."""
    with existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory:
        found = _waiting(memory, proposal, labels_of(namespace))
        rejected = memory.lifecycle.reject(found)
    if as_json:
        print_json({"id": found.id, "rejected": rejected})
    else:
        render.terminal().print("Dropped." if rejected else "It did not wait any more.")


def _waiting(memory: AgenticMemory, beginning: str, namespace: Namespace) -> Proposal:
    found = [
        each for each in memory.lifecycle.proposals(namespace) if each.id.startswith(beginning)
    ]
    if len(found) != 1:
        which = f"{len(found)} proposals begin" if found else "No proposal begins"
        raise InvalidInputError(
            f"{which} with {beginning!r} in namespace {'/'.join(namespace)}; `amem proposals` "
            "lists them."
        )
    return found[0]


def _print(note: Note, as_json: bool) -> None:
    if as_json:
        print_json({"notes": [note_shape(note)]})
    else:
        render.terminal().print(render.details(note))
