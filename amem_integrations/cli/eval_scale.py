"""`amem eval scale`: how storage and retrieval grow with the number of notes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from amem_integrations.cli import render
from amem_integrations.cli.options import Json
from amem_integrations.cli.plots import save
from amem_integrations.cli.shapes import print_json

Report = Mapping[str, Any]


def scale(
    sizes: Annotated[
        str, typer.Option(metavar="N,N,…", help="How many notes: 1k, 5000, 1m.")
    ] = "1k,10k",
    storages: Annotated[
        str, typer.Option(metavar="NAME,…", help="What is measured.")
    ] = "amem,memorybank,readagent,chroma",
    questions: Annotated[int, typer.Option(min=1, help="How many are asked.")] = 50,
    seed: Annotated[int, typer.Option(help="Of the notes that are made up.")] = 0,
    directory: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Where there is room for the stores."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Draw it, as a page or an image."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Memory, disk and retrieval time as notes grow.

    The paper's Table 4, for ours and for others.
    Also what one more note costs to write at each size. A million takes an hour and 10 GB.
    """
    # Here, since it imports numpy.
    from amem_integrations.evaluation.scaling.scale import scale as measure
    from amem_integrations.evaluation.scaling.scale import size_of

    console = render.terminal(stderr=True)
    with console.status("", spinner="dots") as status:
        report = measure(
            [size_of(each.strip()) for each in sizes.split(",")],
            storages=[each.strip() for each in storages.split(",")],
            questions=questions,
            seed=seed,
            directory=directory,
            stage=_telling(console, status.update),
        )
    if as_json:
        print_json(report)
    else:
        show(render.terminal(), report)
    if out is not None:
        # Here, since it draws.
        from amem_integrations.plots.growth import growth

        save(out, lambda: growth(report))


def _telling(console: Console, update: Callable[[str], None]) -> Callable[[str], None]:
    return update if console.is_terminal else lambda name: None


def show(console: Console, report: Report) -> None:
    """Print the report that `evaluation.scaling.scale` makes."""
    console.print(_storages(report))
    for name, why in report["missing"].items():
        console.print(f"{name}: n/a, {why}.", style="dim")
    setup = report["setup"]
    for line in (
        f"Retrieval of {setup['k']} notes, the question's vector given: the quickest of "
        f"{setup['passes']} passes, over {setup['questions']} questions.",
        "Each storage in a process of its own. Memory: beyond that of one with hardly a note.",
    ):
        console.print(line, style="dim")
    if report["writing"]:
        console.print()
        console.print(_writing(report))
        console.print("Judged by statistics, nothing embedded; medians.", style="dim")
    if report["paper"]:
        console.print()
        console.print(_paper(report))
        console.print(
            "The paper's own figures: its megabytes are those of the vectors alone, and how it "
            "timed is not said.",
            style="dim",
        )
    versions = ", ".join(f"{name} {version}" for name, version in setup["versions"].items())
    console.print()
    console.print(
        f"seed {setup['seed']}, {setup['dimension']} dimensions; Python {setup['python']}, "
        f"{setup['machine']}, {setup['cores']} cores, load {setup['load']}; {versions}",
        style="dim",
    )


def _storages(report: Report) -> Table:
    names = ("notes", "p50, ms", "p95, ms", "memory, MB", "disk, MB", "growth")
    table = _table("storage", *names)
    storages = dict.fromkeys(row["storage"] for row in report["rows"])
    for storage in storages:
        rows = [row for row in report["rows"] if row["storage"] == storage]
        for row in rows:
            took, memory = row["microseconds"], row["memory"]
            exponent = report["growth"][storage] if row is rows[-1] else None
            table.add_row(
                storage if row is rows[0] else "",
                f"{row['size']:,}",
                f"{took['p50'] / 1e3:,.3f}",
                f"{took['p95'] / 1e3:,.3f}",
                "n/a" if memory is None else f"{memory / 1e6:,.1f}",
                f"{row['disk'] / 1e6:,.1f}",
                "" if exponent is None else f"n^{exponent:.2f}",
            )
    return table


def _writing(report: Report) -> Table:
    steps = list(report["writing"][0]["milliseconds"])
    table = _table("one more note, ms", *steps)
    for row in report["writing"]:
        took = row["milliseconds"]
        table.add_row(f"{row['size']:,}", *(f"{took[step]:.2f}" for step in steps))
    return table


def _paper(report: Report) -> Table:
    names = [name for name in report["paper"][0] if name != "size"]
    heads = [name if name == "MB" else f"{name}, µs" for name in names]
    table = _table("the paper's Table 4", *heads)
    for row in report["paper"]:
        table.add_row(f"{row['size']:,}", *(f"{row[name]:,.2f}" for name in names))
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table
