"""`amem view`: pages to browse a memory with, served to a browser on this machine."""

import threading
import webbrowser
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from amem_integrations.cli import render
from amem_integrations.cli.options import (
    ApiKey,
    Collection,
    Embedder,
    Location,
    example,
    existing,
)
from amem_integrations.errors import AMemError

commands = typer.Typer()

_LIBRARIES = ("starlette", "uvicorn", "jinja2")


@commands.command(epilog=example("amem view -l ./memory --open"))
def view(
    location: Location,
    host: Annotated[str, typer.Option(help="127.0.0.1 or ::1; nothing else.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Where to listen; 0 takes a free port.")] = 8765,
    open_: Annotated[bool, typer.Option("--open", help="Open the browser.")] = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Browse a memory in a browser, without changing it.

    On this machine only. Ctrl-C ends it. A directory is one process's at a time: nobody else can
    open it meanwhile.
    """
    try:
        from amem_integrations.view.app import app
        from amem_integrations.view.serving import address_of, listening, serve
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _LIBRARIES:
            raise
        raise AMemError(
            f"The pages need {missing}, which is not installed: "
            'pip install "amem-integrations[view]"'
        ) from error
    console = render.terminal()
    with (
        listening(host, port) as listener,
        existing(location, collection=collection, embedder=embedder, api_key=api_key) as memory,
    ):
        at, address = place(location, collection), address_of(listener)
        console.print(f"Showing {render.plain(at)} at {address} (Ctrl-C ends it)", soft_wrap=True)
        if open_:
            # Not here: a browser that runs in the terminal would keep the pages from it.
            threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
        serve(app(memory, at), listener)
    console.print("Closed.")


def place(location: str, collection: str) -> str:
    """What to call a memory by: a directory in full, a server without what a URL may hide."""
    which = "" if collection == "amem" else f" ({collection})"
    if "://" not in location:
        return f"{Path(location).expanduser().resolve()}{which}"
    parts = urlsplit(location)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{which}"
