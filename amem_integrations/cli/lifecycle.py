"""`amem lifecycle`: merge and archive notes, settle audits, accept or reject proposals."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Literal

import typer
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from amem_integrations.cli import display, terminal
from amem_integrations.cli.notes import print_note
from amem_integrations.cli.options import (
    FORMING,
    NAMESPACE,
    NoteName,
    Target,
    command,
    command_group,
    find_id,
)
from amem_integrations.core.namespace import Namespace
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle.consolidation import SIMILARITY
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.revisions.proposals import Proposal

group = command_group("Decide what is merged, archived and believed.")

ProposalId = Annotated[
    str,
    typer.Argument(
        metavar="PROPOSAL", help="Its id, or how that begins: `amem lifecycle proposals`."
    ),
]


@command(
    group,
    FORMING,
    "amem lifecycle consolidate -l ./memory -n team",
    "amem lifecycle consolidate -l ./memory -n team --max-age 365 --yes",
)
def consolidate(
    target: Target,
    max_notes: Annotated[
        int | None, typer.Option(min=0, help="Archive the least valuable, down to so many.")
    ] = None,
    max_age: Annotated[
        float | None,
        typer.Option(min=0, max=1e6, metavar="DAYS", help="Archive what was not used for longer."),
    ] = None,
    similarity: Annotated[
        float, typer.Option(min=0, max=1, help="From which similarity on notes are merged.")
    ] = SIMILARITY,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it.")] = False,
) -> None:
    """List what can be merged or archived; --yes does it.

    Nothing is deleted: `amem lifecycle restore` brings a note back, `amem revert` undoes a change.
    With --model, what notes have in common is put into new ones.
    """
    with (target.open if yes else target.read)() as memory:
        with terminal.working("Looking for what to consolidate"):
            plan = memory.lifecycle.consolidate(
                target.namespace,
                max_notes=max_notes,
                max_age=None if max_age is None else timedelta(days=max_age),
                similarity=similarity,
            )
        if yes and plan:
            with terminal.working("Consolidating"):
                plan = memory.lifecycle.apply(plan)
    terminal.print_result(plan.as_dict(), terminal.block(str(plan)))
    if plan and not plan.applied:
        terminal.console(remarks=True).print("--yes does it.")


@command(group, NAMESPACE, "amem lifecycle archive t24 -l ./memory --reason 'the plan changed'")
def archive(
    target: Target,
    note: NoteName,
    reason: Annotated[str, typer.Option(help="Why, for its history.")] = "",
) -> None:
    """Archive a note: no search finds it until it is restored."""
    with target.open() as memory:
        id = find_id(memory, note, target.namespace)
        print_note(memory.lifecycle.archive(id, namespace=target.namespace, reason=reason))


@command(group, NAMESPACE, "amem lifecycle restore t24 -l ./memory -n team")
def restore(target: Target, note: NoteName) -> None:
    """Bring back a note that was archived or merged."""
    with target.open() as memory:
        id = find_id(memory, note, target.namespace)
        print_note(memory.lifecycle.restore(id, namespace=target.namespace))


@command(group, NAMESPACE, "amem lifecycle audits -l ./memory -n team")
def audits(target: Target) -> None:
    """List the notes under audit, with why and since when."""
    with target.read() as memory:
        found = memory.lifecycle.audits(target.namespace)
    shown: list[RenderableType] = []
    for audit in found:
        why = f"since {audit.since:%Y-%m-%d %H:%M UTC}: {terminal.plain(audit.reason)}"
        shown += [display.line(audit.note), _detail(why)]
    terminal.print_result(
        {"audits": [json.loads(audit.as_json()) for audit in found]},
        *(shown or ["Nothing is under audit."]),
    )


@command(
    group,
    FORMING,
    "amem lifecycle resolve t24 keep -l ./memory",
    'amem lifecycle resolve t24 correct --content "120 sensors" -l ./memory',
)
def resolve(
    target: Target,
    note: NoteName,
    decision: Annotated[
        Literal["keep", "correct", "retire"],
        typer.Argument(help="It is right; it gets the text of --content; it is archived."),
    ],
    content: Annotated[str | None, typer.Option(help="What is right instead.")] = None,
) -> None:
    """Settle a note that is under audit or contradicted."""
    namespace = target.namespace
    with target.open() as memory:
        id = find_id(memory, note, namespace)
        with terminal.working("Settling"):
            resolved = memory.lifecycle.resolve(id, decision, content, namespace=namespace)
    print_note(resolved)


@command(group, NAMESPACE, "amem lifecycle proposals -l ./memory -n team")
def proposals(target: Target) -> None:
    """List proposed changes that need approval.

    Their source is less trusted than the notes that they would change.
    """
    with target.read() as memory:
        found = memory.lifecycle.proposals(target.namespace)
        shown = [part for proposal in found for part in _proposal(memory, proposal)]
    terminal.print_result(
        {"proposals": [{"id": proposal.id, **asdict(proposal)} for proposal in found]},
        *(shown or ["No proposal waits."]),
    )


@command(group, NAMESPACE, "amem lifecycle accept 3f0c -l ./memory -n team")
def accept(target: Target, proposal: ProposalId) -> None:
    """Apply a proposed change; shows the note it changes."""
    with target.open() as memory:
        found = _find_proposal(memory, proposal, target.namespace)
        print_note(memory.lifecycle.accept(found))


@command(group, NAMESPACE, "amem lifecycle reject 3f0c -l ./memory -n team")
def reject(target: Target, proposal: ProposalId) -> None:
    """Drop a proposed change."""
    with target.open() as memory:
        found = _find_proposal(memory, proposal, target.namespace)
        rejected = memory.lifecycle.reject(found)
    terminal.print_result(
        {"id": found.id, "rejected": rejected},
        "Dropped." if rejected else "It no longer waited.",
    )


def _proposal(memory: AgenticMemory, proposal: Proposal) -> Iterator[RenderableType]:
    yield Text(proposal.id, "bold")
    for what, id in (("of", proposal.target), ("by", proposal.cause)):
        note = memory.get(id, namespace=proposal.namespace)
        yield Text(f"  {what}  {id}") if note is None else display.line(note, f"  {what}")
    evolution = proposal.evolution
    details = {"because": proposal.reason}
    if evolution is not None:
        details["keywords"] = ", ".join(evolution.keywords or ())
        details["tags"] = ", ".join(evolution.tags or ())
        details["context"] = evolution.context or ""
        details["questions"] = " ".join(evolution.questions or ())
    if proposal.contradicts:
        details["says"] = "it is no longer true"
    for name, value in details.items():
        if value:
            yield _detail(f"{name}: {terminal.plain(value)}")


def _detail(text: str) -> Padding:
    return Padding(Text(text, "dim"), (0, 0, 0, 4))


def _find_proposal(memory: AgenticMemory, beginning: str, namespace: Namespace) -> Proposal:
    proposals = memory.lifecycle.proposals(namespace)
    found = [proposal for proposal in proposals if proposal.id.startswith(beginning)]
    if len(found) != 1:
        which = f"{len(found)} proposals begin" if found else "No proposal begins"
        raise InvalidInputError(
            f"{which} with {beginning!r} in namespace {'/'.join(namespace)}; "
            "`amem lifecycle proposals` lists them."
        )
    return found[0]
