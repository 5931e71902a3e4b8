"""`amem work`: a process that does nothing but form what waits, until it is told to stop."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer

from amem_integrations.cli import render
from amem_integrations.cli.options import (
    ApiKey,
    Collection,
    Embedder,
    Json,
    Location,
    Model,
    able_to_form,
    example,
    opened,
)
from amem_integrations.cli.shapes import print_json
from amem_integrations.core.note import Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.options import MODES, FormationOptions
from amem_integrations.memory.worker import MemoryWorker

commands = typer.Typer()


@commands.command(epilog=example("amem work -l http://localhost:6333 --model openai:gpt-4o-mini"))
def work(
    location: Location,
    model: Model = None,
    mode: Annotated[
        str, typer.Option(help="How notes are judged: batched, fused or staged.")
    ] = "batched",
    concurrency: Annotated[int, typer.Option(help="How many namespaces at once.")] = 4,
    poll: Annotated[float, typer.Option(help="Seconds between looks for new notes.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="End when nothing can be formed.")] = False,
    as_json: Json = False,
    embedder: Embedder = None,
    collection: Collection = "amem",
    api_key: ApiKey = None,
) -> None:
    """Form what waits, for applications that only add.

    A process that does nothing else; SIGTERM or Ctrl-C ends it, with everything written.
    """
    if mode not in MODES:
        raise InvalidInputError(f"--mode is one of {', '.join(MODES)}; got {mode!r}.")
    console = render.terminal(stderr=as_json)
    with opened(
        location,
        collection=collection,
        model=model,
        embedder=embedder,
        api_key=api_key,
        formation="off",
        mode=mode,
        formation_options=FormationOptions(concurrency=concurrency),
    ) as memory:
        able_to_form(memory)
        worker = MemoryWorker(memory, poll=poll)
        with _stopped_by_signals(worker):
            at = render.plain(location)
            console.print(f"At work in {at}: {_counts(memory)}.", soft_wrap=True)
            if once:
                with worker:
                    worker.flush()
            else:
                worker.run()
        formed = memory.admin.health().get("formation.formed", 0)
        if as_json:
            waiting, parked = _waiting(memory)
            print_json({"formed": formed, "waiting": waiting, "parked": parked})
        else:
            console.print(f"{formed} formed; {_counts(memory)}.")


@contextmanager
def _stopped_by_signals(worker: MemoryWorker) -> Generator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        # In a thread: a handler interrupts whoever may hold the lock that this needs.
        threading.Thread(target=worker.stop).start()

    before = {n: signal.signal(n, stop) for n in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _counts(memory: AgenticMemory) -> str:
    waiting, parked = _waiting(memory)
    return f"{waiting} waiting" + (f", {parked} given up (amem retry)" if parked else "")


def _waiting(memory: AgenticMemory) -> tuple[int, int]:
    counts = memory.admin.health()
    return int(counts.get(Status.RAW, 0)), int(counts.get(Status.PARKED, 0))
