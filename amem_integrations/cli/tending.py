"""Commands that look after a memory: check and mend, forget, retry."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from amem_integrations.admin.check import Finding
from amem_integrations.cli import render
from amem_integrations.cli.options import (
    FOUND,
    ApiKey,
    Collection,
    Embedder,
    Json,
    Labels,
    Location,
    Model,
    able_to_form,
    conditions,
    example,
    existing,
    labels_of,
    own_id,
)
from amem_integrations.cli.progress import working
from amem_integrations.cli.shapes import print_json
from amem_integrations.core.note import Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.revisions.forget import Forgotten

commands = typer.Typer()


@commands.command(
    epilog=example("amem check -l ./memory", "amem check -l ./memory --repair --json")
)
def check(
    location: Location,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    model: Model = None,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Scan a whole memory for damage.

    Exit code 3 when some is left.
    """
    with (
        existing(
            location, collection=collection, model=model, embedder=embedder, api_key=api_key
        ) as memory,
        working("Checking"),
    ):
        notes = memory.count()
        findings = memory.admin.repair() if repair else memory.admin.check()
        left = memory.admin.check() if repair and findings else findings
    if as_json:
        print_json(
            {
                "notes": notes,
                "findings": [asdict(finding) for finding in findings],
                "left": len(left),
            }
        )
    else:
        console = render.terminal()
        for finding in findings:
            console.print(Text(_finding(finding)), soft_wrap=True)
        mended = sum(finding.mended for finding in findings)
        verdict = _verdict(len(findings), mended, len(left))
        console.print(f"{render.many(notes, 'note')}: {verdict}")
    if left:
        raise typer.Exit(FOUND)


def _finding(finding: Finding) -> str:
    about = ": ".join(render.plain(part) for part in (finding.what, finding.detail) if part)
    return f"{render.plain(finding.note_id)}  {about}{', mended' if finding.mended else ''}"


def _verdict(found: int, mended: int, left: int) -> str:
    if not found:
        return "all is well."
    if not mended:
        return f"{render.many(found, 'finding')}."
    return f"{render.many(found, 'finding')}, {mended} mended, {left} left."


@commands.command(
    epilog=example(
        "amem forget t24 -l ./memory -n team",
        'amem forget --where \'{"speaker": "Marta"}\' -l ./memory -n team --yes',
    )
)
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
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Remove notes, and what they caused in others, for good."""
    if sum((bool(notes), where is not None, everything)) != 1:
        raise InvalidInputError("Name the notes to forget, or use --where or --all: one of these.")
    labels = labels_of(namespace)
    filter = conditions(where, "--where")
    home = render.plain("/".join(labels))
    with existing(
        location, collection=collection, model=model, embedder=embedder, api_key=api_key
    ) as memory:
        # The notes themselves: one that was merged must not stand for what it went into.
        chosen = [own_id(memory, name, labels) for name in notes or ()]
        if everything:
            what = f"all {render.many(memory.count(labels), 'note')} of namespace {home}"
        elif filter is not None:
            what = f"every note of namespace {home} that meets {render.plain(where or '')}"
        else:
            what = ", ".join(map(render.plain, notes or ()))
        if not yes:
            typer.confirm(f"Forget {what}?", abort=True, err=True)
        with working("Forgetting"):
            if everything:
                forgotten = memory.admin.forget_namespace(labels)
            elif filter is not None:
                forgotten = memory.admin.forget_where(filter, namespace=labels)
            else:
                removed = (memory.forget(id, namespace=labels) for id in chosen)
                forgotten = sum(removed, Forgotten(0))
    if as_json:
        print_json(asdict(forgotten))
    else:
        render.terminal().print(_removed(forgotten))


def _removed(forgotten: Forgotten) -> str:
    parts = [f"{render.many(forgotten.notes, 'note')} removed"]
    for count, what in (
        (forgotten.waiting, "of them not formed"),
        (forgotten.evolutions, "changes of other notes undone"),
        (forgotten.links, "links of other notes removed"),
        (len(forgotten.unformed), "other notes to be formed anew"),
    ):
        if count:
            parts.append(f"{what}: {count:,}")
    return f"{'; '.join(parts)}."


@commands.command(epilog=example("amem retry -l ./memory --model openai:gpt-4o-mini"))
def retry(
    location: Location,
    model: Model = None,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Form every note that waits or was given up.

    Exit code 3 when some still cannot be.
    """
    with (
        existing(
            location, collection=collection, model=model, embedder=embedder, api_key=api_key
        ) as memory,
        working("Forming what waits"),
    ):
        able_to_form(memory)
        formed = memory.admin.retry()
        counts = memory.admin.health()
    left = int(sum(counts.get(status, 0) for status in (Status.RAW, Status.PARKED)))
    if as_json:
        print_json({"formed": formed, "waiting": left})
    else:
        said = f"{render.many(formed, 'note')} formed"
        render.terminal().print(f"{said}, {left} still waiting." if left else f"{said}.")
    if left:
        raise typer.Exit(FOUND)
