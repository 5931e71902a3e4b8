"""`amem plot`: the note graph, the embedding map, activity, one note's trajectory."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from amem_integrations import plots
from amem_integrations.cli import terminal
from amem_integrations.cli.options import (
    NAMESPACE,
    NoteName,
    Target,
    command,
    command_group,
    describe_empty,
    find_note,
)
from amem_integrations.errors import InvalidInputError, StoreWriteError
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.plots.groups import By

group = command_group("Draw notes, links and changes.")


Out = Annotated[
    Path,
    typer.Option(
        "--out",
        "--output",
        "-o",
        metavar="FILE",
        help="A page (.html) or an image (.png, .svg, .pdf; this needs Chrome or Chromium).",
    ),
]
ColouredBy = Annotated[By, typer.Option("--by", help="What colours stand for.")]
Limit = Annotated[int, typer.Option(min=1, help="How many notes to draw at most.")]


@command(group, NAMESPACE, "amem plot graph -l ./memory -n team -o graph.html")
def graph(
    target: Target,
    out: Out = Path("graph.html"),
    by: ColouredBy = "cluster",
    limit: Limit = 1000,
) -> None:
    """Draw the notes of a namespace and their links.

    A link is as wide as it weighs.
    """
    _draw(
        target,
        out,
        lambda memory: plots.note_graph(memory, target.namespace, by=by, limit=limit),
    )


@command(group, NAMESPACE, "amem plot map -l ./memory -n team -o map.html --by tag")
def map_(
    target: Target,
    out: Out = Path("map.html"),
    by: ColouredBy = "cluster",
    method: Annotated[Literal["pca", "tsne"], typer.Option(help="How the axes are found.")] = "pca",
    evolution: Annotated[
        bool, typer.Option(help="Show the notes before they evolved, too.")
    ] = True,
    limit: Limit = 1000,
) -> None:
    """Draw where the notes lie in the embedder's space.

    Before and after they evolved.
    """
    _draw(
        target,
        out,
        lambda memory: plots.embedding_map(
            memory,
            target.namespace,
            method=method,
            by=by,
            evolution=evolution,
            limit=limit,
        ),
    )


@command(group, NAMESPACE, "amem plot activity -l ./memory -n team -o activity.html")
def activity(target: Target, out: Out = Path("activity.html"), limit: Limit = 40) -> None:
    """Draw when notes were made, evolved, changed and used."""
    _draw(target, out, lambda memory: plots.activity_heatmap(memory, target.namespace, limit=limit))


@command(group, NAMESPACE, "amem plot trajectory t24 -l ./memory -n demo -o t24.html")
def trajectory(target: Target, note: NoteName, out: Out = Path("trajectory.html")) -> None:
    """Draw one note's versions, with what changed and why."""
    with target.read() as memory:
        found = find_note(memory, note, target.namespace)
        picture = save(out, lambda: plots.trajectory(memory, found))
    _print(out, picture)


def save(out: Path, draw: Callable[[], plots.Picture]) -> plots.Picture:
    """Draw a picture and write it to a file. Raises AMemError."""
    try:
        with terminal.working("Drawing"):
            picture = draw()
            if out.suffix.lower() in (".html", ".htm"):
                picture.write_html(out)
            else:
                picture.write_image(out)
    except OSError as error:
        raise StoreWriteError(f"{out} cannot be written: {error.strerror or error}.") from error
    return picture


def _draw(target: Target, out: Path, draw: Callable[[AgenticMemory], plots.Picture]) -> None:
    with target.read() as memory:
        if not memory.count(target.namespace):
            raise InvalidInputError(describe_empty(memory, target.namespace))
        picture = save(out, lambda: draw(memory))
    _print(out, picture)


def _print(out: Path, picture: plots.Picture) -> None:
    if terminal.JSON_ASKED.get():
        remarks = list(picture.remarks)
        terminal.print_json({"file": str(out), "title": picture.title, "remarks": remarks})
        return
    for line in (f"{picture.title}: {out}", *picture.remarks):
        terminal.console(stderr=True).print(terminal.plain(line), soft_wrap=True)
