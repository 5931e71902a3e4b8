"""Commands that draw: the note graph, the embedding map, activity, one note's trajectory."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from amem_integrations import plots
from amem_integrations.cli import render
from amem_integrations.cli.options import (
    ApiKey,
    Collection,
    Embedder,
    Json,
    Labels,
    Location,
    check_some,
    example,
    existing,
    labels_of,
    named,
)
from amem_integrations.cli.progress import working
from amem_integrations.cli.shapes import print_json
from amem_integrations.errors import AMemError, StoreWriteError

commands = typer.Typer()

_PAGES = (".html", ".htm")


class By(StrEnum):
    """What colours stand for."""

    CLUSTER = "cluster"
    TAG = "tag"
    SPEAKER = "speaker"
    SESSION = "session"
    TIER = "tier"


class Method(StrEnum):
    """How many dimensions become two."""

    PCA = "pca"
    TSNE = "tsne"


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


@commands.command(epilog=example("amem graph -l ./memory -n team -o graph.html"))
def graph(
    location: Location,
    namespace: Labels = None,
    out: Out = Path("graph.html"),
    by: ColouredBy = By.CLUSTER,
    limit: Limit = 1000,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Draw the notes of a namespace and their links.

    A link is as wide as it weighs.
    """
    home = labels_of(namespace)
    with existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory:
        check_some(memory, home)
        save(out, lambda: plots.note_graph(memory, home, by=by.value, limit=limit), as_json)


@commands.command("map", epilog=example("amem map -l ./memory -n team -o map.html --by tag"))
def map_(
    location: Location,
    namespace: Labels = None,
    out: Out = Path("map.html"),
    by: ColouredBy = By.CLUSTER,
    method: Annotated[Method, typer.Option(help="How the axes are found.")] = Method.PCA,
    evolution: Annotated[
        bool, typer.Option(help="Show the notes before they evolved, too.")
    ] = True,
    limit: Limit = 1000,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Draw where the notes lie in the embedder's space.

    Before and after they evolved.
    """
    home = labels_of(namespace)
    with existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory:
        check_some(memory, home)
        save(
            out,
            lambda: plots.embedding_map(
                memory, home, method=method.value, by=by.value, evolution=evolution, limit=limit
            ),
            as_json,
        )


@commands.command(epilog=example("amem activity -l ./memory -n team -o activity.html"))
def activity(
    location: Location,
    namespace: Labels = None,
    out: Out = Path("activity.html"),
    limit: Limit = 40,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Draw when notes were made, evolved, changed and used."""
    home = labels_of(namespace)
    with existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory:
        check_some(memory, home)
        save(out, lambda: plots.activity_heatmap(memory, home, limit=limit), as_json)


@commands.command(epilog=example("amem trajectory t24 -l ./memory -n demo -o t24.html"))
def trajectory(
    note: Annotated[str, typer.Argument(help="Its id or key.")],
    location: Location,
    namespace: Labels = None,
    out: Out = Path("trajectory.html"),
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Draw one note's versions, with what changed and why."""
    home = labels_of(namespace)
    with existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory:
        held = named(memory, note, home)
        save(out, lambda: plots.trajectory(memory, held), as_json)


def save(out: Path, draw: Callable[[], plots.Picture], as_json: bool = False) -> None:
    """Write the picture to a file, and say so."""
    try:
        with working("Drawing"):
            picture = draw()
            if out.suffix.lower() in _PAGES:
                picture.write_html(out)
            else:
                picture.write_image(out)
    except ModuleNotFoundError as error:
        raise AMemError(str(error)) from error
    except OSError as error:
        raise StoreWriteError(f"{out} cannot be written: {error.strerror or error}.") from error
    if as_json:
        remarks = list(picture.remarks)
        print_json({"file": str(out), "title": picture.title, "remarks": remarks})
        return
    console = render.terminal(stderr=True)
    console.print(f"{render.plain(picture.title)}: {render.plain(str(out))}", soft_wrap=True)
    for remark in picture.remarks:
        console.print(render.plain(remark), soft_wrap=True)
