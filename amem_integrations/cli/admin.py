"""Commands for operators: `health` and `check`, and `amem admin` for the rest."""

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from amem_integrations.admin.check import Finding
from amem_integrations.admin.health import Health
from amem_integrations.cli import terminal
from amem_integrations.cli.options import (
    FOUND,
    MEMORY,
    NAMESPACE,
    PLACE,
    Target,
    check_embedder,
    command,
    command_group,
    describe_empty,
    labels_option,
    namespace_of,
    parse_time,
)
from amem_integrations.core.note import Status
from amem_integrations.core.usage import Usage, UsageReport
from amem_integrations.errors import InvalidInputError
from amem_integrations.stores.checks import address_of

commands = typer.Typer()
group = command_group("Look after a whole memory.")

_USAGE_COLUMNS = ("calls", "failed", "retries", "in", "out", "estimated", "seconds")
To = Annotated[
    str, typer.Option("--to", metavar="DIR|URL", help="Where the copy goes; it may be new.")
]


@command(
    commands,
    NAMESPACE,
    "amem health -l ./memory -n team",
    "amem health -l ./memory -n team --fail-under stability=0.8 --json",
)
def health(
    target: Target,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Exit with 3 if this figure is lower; repeat it for several.",
        ),
    ] = None,
    fail_over: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Likewise, if it is higher."),
    ] = None,
    all: Annotated[
        bool, typer.Option("--all", help="Show every figure, what it means and when to worry.")
    ] = False,
) -> None:
    """Report how a namespace is doing.

    What is fine, waits, is wrong and grows. Bounds make a gate of it.
    """
    under = _parse_bounds("--fail-under", fail_under)
    over = _parse_bounds("--fail-over", fail_over)
    with target.read() as memory, terminal.working("Reading every note"):
        report = memory.admin.health(target.namespace)
        stored = memory.count(target.namespace)
        shown = [] if stored else [describe_empty(memory, target.namespace)]
    failed = _failures(report, under, over)
    terminal.print_result(report.as_dict(), *(shown or [_health(target, report, all=all)]))
    for line in failed:
        terminal.console(stderr=True).print(line, soft_wrap=True)
    if failed:
        raise typer.Exit(FOUND)


@command(commands, MEMORY, "amem check -l ./memory --json")
def check(target: Target) -> None:
    """Scan a whole memory for damage.

    Exit code 3 if there is any; `amem admin repair` mends it.
    """
    with target.read() as memory, terminal.working("Checking"):
        notes, findings = memory.count(), memory.admin.check()
    _print_findings(notes, findings, len(findings))


@command(group, ("model", *MEMORY), "amem admin repair -l ./memory")
def repair(target: Target) -> None:
    """Mend what `amem check` finds.

    Exit code 3 if some damage is left.
    """
    with target.open() as memory, terminal.working("Repairing"):
        notes, findings = memory.count(), memory.admin.repair()
        left = memory.admin.check() if findings else []
    _print_findings(notes, findings, len(left))


@command(group, ("model", *MEMORY), "amem admin retry -l ./memory --model openai:gpt-4o-mini")
def retry(target: Target) -> None:
    """Form every note that waits or was given up.

    Exit code 3 if some still cannot be.
    """
    with target.open() as memory, terminal.working("Forming what waits"):
        check_embedder(memory)
        formed = memory.admin.retry()
        counts = memory.admin.health()
    left = int(sum(counts.get(status, 0) for status in (Status.RAW, Status.PARKED)))
    waiting = f", {left} still waiting" if left else ""
    terminal.print_result(
        {"formed": formed, "waiting": left},
        f"{terminal.many(formed, 'note')} formed{waiting}.",
    )
    if left:
        raise typer.Exit(FOUND)


@command(group, PLACE, "amem admin copy -l ./a --to ./b")
def copy(target: Target, to: To) -> None:
    """Copy a whole memory to another place.

    With its embedder: from a directory to a server, for instance. The old one stays as it is. The
    same command again goes on where it was interrupted.
    """
    _copy(target, to, None, same_embedder=True)


@command(
    group,
    PLACE,
    "amem admin reembed -l ./memory --to ./other --embedder multilingual",
)
def reembed(
    target: Target,
    to: To,
    embedder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help='Of the copy: a fastembed model, or "multilingual", or the default.',
        ),
    ] = None,
) -> None:
    """Copy a whole memory for another embedder.

    All namespaces, with all that is kept of them. The old one stays as it is. The same command
    again goes on where it was interrupted.
    """
    _copy(target, to, embedder, same_embedder=False)


@command(group, ("location", "as_json", "collection"), "amem admin compact -l ./memory")
def compact(target: Target) -> None:
    """Write a directory's files anew, without deleted data.

    Nothing is left in them of what was forgotten. They shrink if much was; a collection takes about
    1 MB even when it is empty. Nobody may have the memory open, and there must be room for a second
    copy. If interrupted, it changes nothing.
    """
    if "://" in target.location:
        raise InvalidInputError("A Qdrant server tidies up its files by itself.")
    target.check_exists()
    from amem_integrations.stores.edge.compaction import compact as compact_files

    with terminal.stages() as stage:
        directory = Path(target.location).expanduser().resolve() / target.collection
        done = compact_files(directory, stage("Copying"))
    before, after = (f"{size / 1e6:,.1f} MB" for size in (done.before, done.after))
    shown = f"{terminal.plain(str(directory))}: {before} before, {after} now."
    if done.after >= done.before:
        shown += " Nothing deleted is left; there was too little of it for the files to shrink."
    terminal.print_result(asdict(done), shown)


@command(group, MEMORY, "amem admin namespaces -l ./memory")
def namespaces(target: Target) -> None:
    """List the namespaces, each with how many notes it has."""
    with target.read() as memory:
        counts = {namespace: memory.count(namespace) for namespace in memory.namespaces()}
    table = Table(box=None, show_header=False, pad_edge=False)
    for namespace, count in counts.items():
        table.add_row(Text(terminal.plain("/".join(namespace))), terminal.many(count, "note"))
    rows = [{"namespace": list(namespace), "notes": count} for namespace, count in counts.items()]
    terminal.print_result({"namespaces": rows}, table if counts else "There are no notes.")


@command(group, MEMORY, "amem admin usage -l ./memory --since 7d")
def usage(
    target: Target,
    labels: Annotated[
        list[str] | None,
        labels_option("Whose; repeat it for several labels. Otherwise everybody's."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="From the hour of this date or time on, or 24h, 7d, 2w."),
    ] = None,
) -> None:
    """Show what model calls took: calls, tokens and seconds."""
    start = parse_time(since, "--since")
    with target.read() as memory:
        report = memory.usage(namespace_of(labels), start)
    terminal.print_result(asdict(report), _usage(report))


def _print_findings(notes: int, findings: list[Finding], left: int) -> None:
    lines: list[RenderableType] = []
    for finding in findings:
        about = f"{finding.what}: {finding.detail}" if finding.detail else finding.what
        mended = ", mended" if finding.mended else ""
        lines.append(Text(f"{terminal.plain(finding.note_id)}  {terminal.plain(about)}{mended}"))
    verdict = terminal.many(len(findings), "finding") if findings else "all is well"
    if mended_count := sum(finding.mended for finding in findings):
        verdict += f", {mended_count} mended, {left} left"
    terminal.print_result(
        {"notes": notes, "findings": [asdict(finding) for finding in findings], "left": left},
        *lines,
        f"{terminal.many(notes, 'note')}: {verdict}.",
    )
    if left:
        raise typer.Exit(FOUND)


def _copy(target: Target, to: str, embedder: str | None, *, same_embedder: bool) -> None:
    if _absolute(target.location) == _absolute(to):
        raise InvalidInputError("--to is another place than --location; the old memory stays.")
    with target.read() as memory, terminal.stages() as stage:
        own = memory.options.embedder if same_embedder else embedder
        other = Target(to, embedder=own, collection=target.collection, api_key=target.api_key)
        with other.open(create=True) as copied_to:
            copied = memory.admin.copy_to(copied_to, progress=stage("Copying"))
            total = copied_to.count()
    rest = "" if total == copied else f", {total:,} there now"
    terminal.print_result(
        {"notes": copied, "total": total, "to": to},
        f"{terminal.many(copied, 'note')} copied to {terminal.plain(address_of(to))}{rest}.",
    )


def _absolute(location: str) -> str:
    return location if "://" in location else str(Path(location).expanduser().resolve())


def _parse_bounds(option: str, texts: list[str] | None) -> dict[str, float]:
    """The bound of each figure that NAME=VALUE options name. Raises InvalidInputError."""
    bounds: dict[str, float] = {}
    for text in texts or ():
        name, mark, value = text.partition("=")
        try:
            bounds[name.strip()] = bound = float(value)
        except ValueError:
            bound = math.nan
        if not mark or math.isnan(bound):
            raise InvalidInputError(
                f"{option} is a figure and a number, such as stability=0.8; got {text!r}."
            )
    return bounds


def _failures(report: Health, under: dict[str, float], over: dict[str, float]) -> list[str]:
    """A line for each figure that is out of its bound; one without a value never is.

    Raises InvalidInputError for names that no figure has.
    """
    figures = {figure.name: replace(figure, under=None, over=None) for figure in report.figures}
    if unknown := sorted((under.keys() | over.keys()) - figures.keys()):
        raise InvalidInputError(
            f"No figure is called {', '.join(map(repr, unknown))}; there are {', '.join(figures)}."
        )
    gates = [replace(figures[name], under=bound) for name, bound in under.items()]
    gates += [replace(figures[name], over=bound) for name, bound in over.items()]
    return [f"{gate.name} is {gate.value:g}, {gate.when}." for gate in gates if gate.worry]


# What a person types for what the meanings name.
_COMMANDS = {
    "check()": "amem check",
    "repair()": "amem admin repair",
    "retry()": "amem admin retry",
    "resume()": "amem work --once",
    "maintain()": "amem work",
    "restore()": "amem lifecycle restore",
    "resolve()": "amem lifecycle resolve",
    "audits()": "amem lifecycle audits",
    "proposals()": "amem lifecycle proposals",
    "consolidate()": "amem lifecycle consolidate",
}


def _typed(meaning: str) -> str:
    for call, typed in _COMMANDS.items():
        meaning = meaning.replace(call, typed)
    return meaning


def _health(target: Target, report: Health, *, all: bool) -> RenderableType:
    heading = Text.assemble("Health of namespace ", (target.home, "bold"))
    if not all:
        table = Table.grid(padding=(0, 2, 0, 0))
        for name, text in report.summary.items():
            wrong = name == "wrong" and bool(report.worries)
            table.add_row(Text(name, "bold red" if wrong else "bold"), Text(_typed(text)))
        return Group(heading, table)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column()
    table.add_column("figure", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("what it means", overflow="fold")
    table.add_column("worry", no_wrap=True)
    for figure in report.figures:
        style = "bold red" if figure.worry else ""
        table.add_row(
            Text("!" if figure.worry else "", style),
            Text(figure.name, style or "bold"),
            Text(figure.shown, style),
            _typed(figure.meaning),
            Text(figure.when, style or "dim"),
        )
    worries = ", ".join(figure.name for figure in report.worries)
    return Group(
        heading,
        table,
        f"To worry about: {worries}." if worries else "Nothing to worry about.",
    )


def _usage(report: UsageReport) -> RenderableType:
    if not report.total.calls:
        return "No model calls."
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(no_wrap=True)
    for name in _USAGE_COLUMNS:
        table.add_column(name, justify="right")
    sections: dict[str, Mapping[str, Usage]] = {
        "step ": report.by_step,
        "mode ": report.by_mode,
        "": {"total": report.total},
    }
    for heading, usages in sections.items():
        for name, usage in usages.items():
            label = Text.assemble((heading, "dim"), (name, "bold"))
            counts = list(asdict(usage).values())
            table.add_row(label, *(f"{count:,}" for count in counts[:-1]), f"{usage.seconds:,.1f}")
    parts: list[RenderableType] = [table, Text('"in" and "out" are tokens.', "dim")]
    if report.total.estimated:
        estimated = f"{report.total.estimated:,} of them are estimates, as the model reported none."
        parts.append(Text(estimated, "dim"))
    return Group(*parts)
