"""`amem usage`: what model calls took, as a table or as JSON."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from amem_integrations.cli import render
from amem_integrations.cli.options import (
    ApiKey,
    Collection,
    Embedder,
    Json,
    Location,
    example,
    existing,
    labels_of,
    moment,
)
from amem_integrations.cli.shapes import print_json
from amem_integrations.core.usage import Usage, UsageReport

_NAMES = ("calls", "failed", "retries", "in", "out", "estimated", "seconds")


commands = typer.Typer()


@commands.command(epilog=example("amem usage -l ./memory --since 7d"))
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
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Show what model calls took: calls, tokens and seconds."""
    start = None if since is None else moment(since, "--since")
    with existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory:
        report = memory.usage(labels_of(namespace) if namespace else None, start)
    if as_json:
        print_json(asdict(report))
    else:
        show(render.terminal(), report)


def show(console: Console, report: UsageReport) -> None:
    """Print the report: a line each step, each mode, and the total; "in" and "out" are tokens."""
    if not report.total.calls:
        console.print("No model calls.")
        return
    console.print(_table(report))
    console.print('"in" and "out" are tokens.', style="dim")
    if report.total.estimated:
        console.print(
            f"{report.total.estimated:,} of them are estimates, as the model reported none.",
            style="dim",
        )


def _table(report: UsageReport) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(no_wrap=True)
    for name in _NAMES:
        table.add_column(name, justify="right")
    _rows(table, "step", report.by_step)
    _rows(table, "mode", report.by_mode)
    _rows(table, "", {"total": report.total})
    return table


def _rows(table: Table, heading: str, usages: Mapping[str, Usage]) -> None:
    for name, usage in usages.items():
        label = Text.assemble((f"{heading} ", "dim") if heading else "", (name, "bold"))
        counts = list(asdict(usage).values())
        table.add_row(label, *(f"{count:,}" for count in counts[:-1]), f"{usage.seconds:,.1f}")
