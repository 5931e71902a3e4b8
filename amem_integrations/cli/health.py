"""`amem health`: the figures of a namespace as a table or as JSON, and a gate made of them."""

import math
from typing import Annotated, Literal, TypeAlias

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from amem_integrations.admin.health import Health
from amem_integrations.cli import render
from amem_integrations.cli.options import (
    FOUND,
    ApiKey,
    Collection,
    Embedder,
    Json,
    Labels,
    Location,
    empty,
    example,
    existing,
    labels_of,
)
from amem_integrations.cli.progress import working
from amem_integrations.cli.shapes import print_json
from amem_integrations.errors import InvalidInputError

commands = typer.Typer()

Side: TypeAlias = Literal["under", "over"]


@commands.command(
    epilog=example(
        "amem health -l ./memory -n team",
        "amem health -l ./memory -n team --fail-under stability=0.8 --json",
    )
)
def health(
    location: Location,
    namespace: Labels = None,
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
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Report how a namespace is doing, in figures.

    With what each means and when to worry. Bounds make a gate of it.
    """
    under, over = bounds("--fail-under", fail_under), bounds("--fail-over", fail_over)
    with (
        existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory,
        working("Reading every note"),
    ):
        report = memory.admin.health(labels := labels_of(namespace))
        nothing = "" if memory.count(labels) else empty(memory, labels)
    failed = [*beyond(report, "under", under), *beyond(report, "over", over)]
    if as_json:
        print_json(report.as_dict())
    else:
        show(render.terminal(), report)
        if nothing:
            render.terminal().print(render.plain(nothing), soft_wrap=True)
    for line in failed:
        render.terminal(stderr=True).print(line, soft_wrap=True)
    if failed:
        raise typer.Exit(FOUND)


def bounds(option: str, given: list[str] | None) -> dict[str, float]:
    """The bound of each figure that NAME=VALUE options name. Raises InvalidInputError."""
    found: dict[str, float] = {}
    for text in given or ():
        name, mark, value = text.partition("=")
        try:
            found[name.strip()] = bound = float(value)
        except ValueError:
            bound = math.nan
        if not mark or math.isnan(bound):
            raise InvalidInputError(
                f"{option} is a figure and a number, such as stability=0.8; got {text!r}."
            )
    return found


def beyond(report: Health, side: Side, wanted: dict[str, float]) -> list[str]:
    """What to say of each figure that is beyond its bound; one without a value is not.

    Raises InvalidInputError for names that no figure has.
    """
    known = {each.name: each for each in report.figures}
    if unknown := sorted(wanted.keys() - known.keys()):
        raise InvalidInputError(
            f"No figure is called {', '.join(map(repr, unknown))}; there are {', '.join(known)}."
        )
    lines: list[str] = []
    for name, bound in wanted.items():
        value = known[name].value
        if value is not None and (value < bound if side == "under" else value > bound):
            lines.append(f"{name} is {value:g}, {side} {bound:g}.")
    return lines


def show(console: Console, report: Health) -> None:
    """Print a line each figure, those to worry about marked, then what is to worry about."""
    home = render.plain("/".join(report.namespace or ()))
    console.print(Text.assemble("Health of namespace ", (home, "bold")))
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column()
    table.add_column("figure", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("what it means", overflow="fold")
    table.add_column("worry", no_wrap=True)
    for each in report.figures:
        style = "bold red" if each.worry else ""
        table.add_row(
            Text("!" if each.worry else "", style),
            Text(each.name, style or "bold"),
            Text(each.shown, style),
            each.meaning,
            Text(each.when, style or "dim"),
        )
    console.print(table)
    worries = ", ".join(each.name for each in report.worries)
    console.print(f"To worry about: {worries}." if worries else "Nothing to worry about.")
