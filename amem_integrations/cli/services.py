"""Commands that run until they are stopped: `work` forms notes, `view` and `mcp` serve them."""

import signal
import threading
import webbrowser
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from amem_integrations._lazy import import_library
from amem_integrations.cli import terminal
from amem_integrations.cli.options import MEMORY, ModeOption, Target, check_embedder, command
from amem_integrations.core.note import Status
from amem_integrations.errors import AMemError
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.options import FormationOptions
from amem_integrations.memory.worker import MemoryWorker
from amem_integrations.stores.checks import address_of

commands = typer.Typer()

_LIBRARIES = ("starlette", "uvicorn", "jinja2")


@command(
    commands, ("model", *MEMORY), "amem work -l http://localhost:6333 --model openai:gpt-4o-mini"
)
def work(
    target: Target,
    mode: ModeOption = "batched",
    concurrency: Annotated[int, typer.Option(help="How many namespaces at once.")] = 4,
    poll: Annotated[float, typer.Option(help="Seconds between looks for new notes.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="End when nothing can be formed.")] = False,
) -> None:
    """Form what waits, for applications that only add.

    A process that does nothing else; SIGTERM or Ctrl-C ends it, with everything written.
    """
    as_json = terminal.JSON_ASKED.get()
    console = terminal.console(stderr=as_json)
    with target.open(
        create=True,
        formation="off",
        mode=mode,
        formation_options=FormationOptions(concurrency=concurrency),
    ) as memory:
        check_embedder(memory)
        worker = MemoryWorker(memory, poll=poll)
        with _stop_on_signals(worker):
            location = terminal.plain(address_of(target.location))
            console.print(f"At work in {location}: {_waiting(memory)}.", soft_wrap=True)
            if once:
                with worker:
                    worker.flush()
            else:
                worker.run()
        formed = memory.admin.health().get("formation.formed", 0)
        waiting, parked = _counts(memory)
        terminal.print_result(
            {"formed": formed, "waiting": waiting, "parked": parked},
            f"{formed} formed; {_waiting(memory)}.",
        )


@command(
    commands, ("location", "embedder", "collection", "api_key"), "amem view -l ./memory --open"
)
def view(
    target: Target,
    host: Annotated[str, typer.Option(help="127.0.0.1 or ::1; nothing else.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Where to listen; 0 takes a free port.")] = 8765,
    open_: Annotated[bool, typer.Option("--open", help="Open the browser.")] = False,
) -> None:
    """Browse a memory in a browser, without changing it.

    On this machine only. Ctrl-C ends it. A directory is one process's at a time: nobody else can
    write to it meanwhile. Where another process has it open, a copy is shown.
    """
    try:
        from amem_integrations.view.app import app
        from amem_integrations.view.server import address_of, listen, serve
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _LIBRARIES:
            raise
        raise AMemError(
            f"The pages need {missing}, which is not installed: "
            'pip install "amem-integrations[view]"'
        ) from error
    console = terminal.console()
    with listen(host, port) as listener, target.read() as memory:
        name, address = memory_name(target.location, target.collection), address_of(listener)
        shown = terminal.plain(name)
        console.print(f"Showing {shown} at {address} (Ctrl-C ends it)", soft_wrap=True)
        if open_:
            # Not here: a browser that runs in the terminal would keep the pages from it.
            threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
        serve(app(memory, name), listener)
    console.print("Closed.")


def memory_name(location: str, collection: str) -> str:
    """What pages call a memory: a directory in full, a server without what a URL may hide."""
    which = "" if collection == "amem" else f" ({collection})"
    if "://" not in location:
        return f"{Path(location).expanduser().resolve()}{which}"
    return f"{address_of(location)}{which}"


@command(
    commands,
    ("location", "namespace", "model", "embedder", "collection", "api_key"),
    "amem mcp -l ./memory -n calvin",
    "amem mcp -l ./memory -n team --http --port 9000",
)
def mcp(
    target: Target,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer no tools that write.")
    ] = False,
    http: Annotated[bool, typer.Option("--http", help="Serve HTTP, not this process.")] = False,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="AMEM_MCP_TOKEN",
            metavar="TOKEN",
            help="What clients of --http must send; better given in the environment.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Where --http listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Likewise; 0 takes a free port.")] = 8766,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name by which others reach --http; repeat it."),
    ] = None,
) -> None:
    """Offer a memory to any MCP client, as tools.

    A client starts it and talks to it on standard input and output. With --http it serves many
    clients, which share the memory, until Ctrl-C. Clients cannot choose the namespace.
    """
    import_library("mcp", extra="mcp")
    from amem_integrations.mcp import transports
    from amem_integrations.mcp.server import create_mcp_server
    from amem_integrations.view.server import address_of, serve

    hosts = allow_host or ()
    if http:
        transports.check_access(token, hosts)
    opened = target.read() if read_only else target.open(create=True, formation="background")
    with opened as memory, terminal.warnings_on_stderr():
        check_embedder(memory)
        server = create_mcp_server(memory, namespace=target.namespace, read_only=read_only)
        if not http:
            transports.serve_stdio(server)
            return
        with transports.listen(host, port) as listener:
            address = f"{address_of(listener).rstrip('/')}{transports.PATH}"
            terminal.console().print(f"Serving at {address} (Ctrl-C ends it)", soft_wrap=True)
            serve(transports.http_app(server, token or "", hosts), listener)


@contextmanager
def _stop_on_signals(worker: MemoryWorker) -> Generator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        # In a thread: a handler interrupts whoever may hold the lock that this needs.
        threading.Thread(target=worker.stop).start()

    before = {n: signal.signal(n, stop) for n in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _waiting(memory: AgenticMemory) -> str:
    waiting, parked = _counts(memory)
    return f"{waiting} waiting" + (f", {parked} given up (amem admin retry)" if parked else "")


def _counts(memory: AgenticMemory) -> tuple[int, int]:
    counts = memory.admin.health()
    return int(counts.get(Status.RAW, 0)), int(counts.get(Status.PARKED, 0))
