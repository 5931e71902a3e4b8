"""A nursery of writers: each is forked, adds its notes, and is killed as it was ordered.

Run with a directory as argument; it reads an order a line and answers each with a line, both
JSON. The nursery itself never opens a store: that happens in the writer only.
"""

import asyncio
import dataclasses
import importlib
import itertools
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from amem_integrations import AgenticMemory, MemoryWorker, Note
from amem_integrations.stores.edge.engine import EdgeEngine
from amem_integrations.testing import ScriptedChatModel
from tests.faults.whole import wrongs
from tests.support import chat_model, links_everything, open_memory

# What a writer would import itself is imported once, before forking.
for name in ("formation.graph", "llms.langchain", "llms.json_answers", "stores.edge.files"):
    importlib.import_module(f"amem_integrations.{name}")
for name in ("langchain_core.tools", "langchain_core.tracers.stdout", "numpy"):
    importlib.import_module(name)

NOTES = 20
NAMESPACES = 3
# How many formations a writer has at hand at once, by the way it works.
AT_HAND = {"inline": 1, "tasks": 4, "background": 3, "worker": 3, "worker tasks": 3}
# The entries of the engine that begin each phase of a note's way.
ENTRIES = {"accept": "insert", "lease": "patch", "commit": "commit", "flush": "flush"}


@dataclasses.dataclass(frozen=True)
class Order:
    """What a writer is to do, and when it is killed.

    directory: where the store is, shared by some rounds, each with namespaces of its own.
    phase: where: a key of ENTRIES, "model", or "" for anywhere. nth: at which entry, from 1.
    when: "before" it, "after" it, or "during", `delay` seconds from its beginning; with "" as
    phase, from the forking. None: it is left alone, and has to finish.
    """

    directory: str
    round: int
    mode: str
    way: str
    phase: str | None = None
    nth: int = 1
    when: str = "during"
    delay: float = 0.0


def serve() -> None:
    """Fork a writer for each order read, and kill it if it does not do so itself."""
    for line in sys.stdin:
        order = Order(**json.loads(line))
        reading, writing = os.pipe()
        writer = os.fork()
        if writer == 0:
            os.close(reading)
            _write(order, writing)
        os.close(writing)
        sys.stdout.write(json.dumps({"killed": _ended_by_kill(order, writer, reading)}) + "\n")
        sys.stdout.flush()
        os.close(reading)


def _ended_by_kill(order: Order, writer: int, marks: int) -> bool:
    if order.phase == "":
        select.select([marks], [], [], order.delay)
        os.kill(writer, signal.SIGKILL)
    elif os.read(marks, 1):
        time.sleep(order.delay)
        os.kill(writer, signal.SIGKILL)
    _, status = os.waitpid(writer, 0)
    return os.WIFSIGNALED(status)


# -- in the writer ---------------------------------------------------------------------------


def _write(order: Order, marks: int) -> None:
    code = 1
    try:
        acknowledged = _appender(path_of(order, "acknowledged"))

        def acknowledge(note: Note) -> None:
            os.write(acknowledged, f"{note.id} {note.namespace[0]}\n".encode())

        kill = _killer(order, marks)
        model = _model(order, kill)
        for phase, name in ENTRIES.items():
            if phase == order.phase:
                setattr(EdgeEngine, name, _hooked(getattr(EdgeEngine, name), kill))
        with _open(order, model, formation="off") as idle:
            report = {"lost": _lost(idle, order), "wrongs": wrongs(idle)}
            with _open(order, model) as memory:
                _work(memory, order, acknowledge)
        with _open(order, model, formation="off") as memory:
            report["lost"] += _lost(memory, order)
            report["wrongs"] += wrongs(memory)
            formed = [
                memory.admin.health(namespace).get("formed", 0) for namespace in _namespaces(order)
            ]
        path_of(order, "report").write_text(json.dumps({**report, "formed": sum(formed)}))
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def path_of(order: Order, what: str) -> Path:
    """A file about one round."""
    return Path(order.directory, f"{order.round}-{what}")


def _open(order: Order, model: Any, formation: Any = None) -> AgenticMemory:
    return open_memory(
        Path(order.directory, "store"),
        model=model,
        mode=order.mode,
        neighbours=4,
        batch=4,
        concurrency=AT_HAND["background"],
        formation=formation or ("background" if order.way == "background" else "off"),
    )


def _lost(memory: AgenticMemory, order: Order) -> list[str]:
    """The notes that were acknowledged and are not there."""
    promised = path_of(order, "acknowledged").read_text().splitlines()
    named = (line.split() for line in promised)
    return [id for id, namespace in named if memory.get(id, namespace=namespace) is None]


def _namespaces(order: Order) -> list[str]:
    return [f"{order.round}-{n}" for n in range(NAMESPACES)]


def _items(order: Order) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for n, namespace in zip(range(NOTES), itertools.cycle(_namespaces(order))):
        content = f"Remark mark{n}x on the redis cache"
        yield namespace, {"content": content, "key": str(n)}


def _work(memory: AgenticMemory, order: Order, acknowledge: Callable[[Note], None]) -> None:
    """Add everything, whatever of it is there already, and have everything formed."""
    if order.way in ("tasks", "worker tasks"):
        asyncio.run(_work_in_tasks(memory, order, acknowledge))
    elif order.way == "inline" and order.mode == "batched":
        for namespace in _namespaces(order):
            items = [item for home, item in _items(order) if home == namespace]
            for start in range(0, len(items), 7):
                some = items[start : start + 7]
                for note in memory.add_many(some, namespace=namespace, formation="inline"):
                    acknowledge(note)
            memory.flush()
    else:
        working = MemoryWorker(memory) if order.way == "worker" else nullcontext()
        formation: Any = "inline" if order.way == "inline" else "background"
        with working:
            for n, (namespace, item) in enumerate(_items(order)):
                acknowledge(memory.add(namespace=namespace, formation=formation, **item))
                if n % 5 == 4:
                    memory.flush(0 if n % 10 == 4 else 60)
    if order.way in ("inline", "tasks"):
        memory.resume()
    assert memory.flush(60)


async def _work_in_tasks(
    memory: AgenticMemory, order: Order, acknowledge: Callable[[Note], None]
) -> None:
    formation: Any = "inline" if order.way == "tasks" else "background"
    room = asyncio.Semaphore(AT_HAND["tasks"])

    async def add(namespace: str, item: Mapping[str, Any]) -> None:
        async with room:
            acknowledge(await memory.aadd(namespace=namespace, formation=formation, **item))

    async with MemoryWorker(memory) if order.way == "worker tasks" else nullcontext():
        await asyncio.gather(*(add(*each) for each in _items(order)))
        assert await memory.aflush(60)


def _model(order: Order, kill: Callable[[str], None]) -> ScriptedChatModel:
    """A model that puts every call on record, whichever process makes it."""
    calls, script = _appender(path_of(order, "calls")), chat_model(links_everything)._script

    def answer(messages: Sequence[BaseMessage]) -> Any:
        os.write(calls, b"1\n")
        if order.phase == "model":
            kill("before")
        said = script.reply(0, messages)
        if order.phase == "model":
            kill("after")
        return said

    return ScriptedChatModel(answer, latency=0.001)


def _killer(order: Order, marks: int) -> Callable[[str], None]:
    """Told of both ends of each entry; at the ordered one this process is killed."""
    entered = {"before": itertools.count(1), "after": itertools.count(1)}

    def kill(end: str) -> None:
        if next(entered[end]) != order.nth:
            return
        if order.when == end:
            os.kill(os.getpid(), signal.SIGKILL)
        if (order.when, end) == ("during", "before"):
            os.write(marks, b"!")

    return kill


def _hooked(method: Any, kill: Callable[[str], None]) -> Any:
    async def entered(*args: Any, **kwargs: Any) -> Any:
        kill("before")
        result = await method(*args, **kwargs)
        kill("after")
        return result

    return entered


def _appender(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


if __name__ == "__main__":
    serve()
