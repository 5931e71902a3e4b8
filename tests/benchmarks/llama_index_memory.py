"""What AMemMemory costs a chat, against LlamaIndex's own `Memory` in an SQLite file.

    python -m tests.benchmarks.llama_index_memory           # 200 turns, 50 sessions
    python -m tests.benchmarks.llama_index_memory 40 10     # fewer of both

The same turns through `SimpleChatEngine` with a scripted model, so that what is timed is the
memory: one that answers at once, which leaves no time to form notes in the background, and one
that takes a tenth of a second. Each way of keeping a chat takes its turns in the same run, in
rounds, so that whatever else the machine does falls on all alike; what a round left to the
background is waited for, untimed, before the next way's. Notes are kept in a directory and formed
by statistics; the default embedder is timed too where its weights are installed.
"""

import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import BaseMemory, Memory

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import AMemMemory
from amem_integrations.testing import HashEmbedder
from amem_integrations.testing.llama_index import ScriptedLLM

ROUNDS = 10
TOPICS = ["the cache", "the harbour", "my dog Rex", "the violin lesson", "the trip to Bern"]
ANSWERS = ["I see.", "That is worth remembering.", "Shall we look at it again tomorrow?"]


def said(turn: int) -> str:
    topic = TOPICS[turn % len(TOPICS)]
    return f"About {topic}: point {turn} is settled, but number {turn % 7} still worries me."


def answer(messages: Any) -> str:
    return ANSWERS[len(messages) % len(ANSWERS)]


def plain(directory: Path, name: str) -> Memory:
    return Memory.from_defaults(
        session_id=name, async_database_uri=f"sqlite+aiosqlite:///{directory / name}.db"
    )


def ours(core: AgenticMemory, name: str, **settings: Any) -> AMemMemory:
    return AMemMemory.from_defaults(core=core, namespace=name, session_id=name, **settings)


@contextmanager
def memories(directory: Path) -> Iterator[dict[str, Callable[[str], BaseMemory]]]:
    """The ways of keeping a chat, each with a memory of its own beneath."""
    cores = {"hashed words": AgenticMemory(directory / "hash", embedder=HashEmbedder())}
    try:
        cores["MiniLM"] = AgenticMemory(directory / "minilm")
        cores["MiniLM"].search("warm up")
    except Exception as error:
        print(f"(No default embedder here: {type(error).__name__}.)")
        cores.pop("MiniLM", None)
    ways: dict[str, Callable[[str], BaseMemory]] = {
        "Memory, SQLite file": lambda name: plain(directory, name)
    }
    for embedder, core in cores.items():
        for ingest in ("background", "manual"):
            ways[f"AMemMemory, {embedder}, {ingest}"] = lambda name, core=core, ingest=ingest: ours(
                core, f"{name}-{ingest}", ingest=ingest
            )
        ways[f"AMemMemory, {embedder}, chat in SQLite"] = (
            lambda name, core=core, embedder=embedder: ours(
                core,
                f"{name}-sqlite",
                async_database_uri=f"sqlite+aiosqlite:///{directory / name}-{embedder}.db",
            )
        )
    yield ways
    for core in cores.values():
        core.close()


def engine(memory: BaseMemory, latency: float = 0.0) -> SimpleChatEngine:
    llm = ScriptedLLM(answer, latency=latency)
    return SimpleChatEngine.from_defaults(llm=llm, memory=memory)


def turns_table(turns: int, latency: float = 0.0) -> None:
    """Milliseconds a turn beside the model's, sync, over one long chat."""
    model = f"takes {latency * 1000:.0f} ms" if latency else "answers at once"
    print(f"\nOne chat of {turns} turns, a model that {model}: ms a turn beside it, p50 (p95)")
    print(f"{'':<42} {'whole chat':>16} {'first 20':>9} {'last 20':>9} {'ratio':>6} {'more ms':>8}")
    with tempfile.TemporaryDirectory() as name, memories(Path(name)) as ways:
        kept = {way: make("bench") for way, make in ways.items()}
        chats = {way: engine(memory, latency) for way, memory in kept.items()}
        times: dict[str, list[float]] = {way: [] for way in ways}
        step = max(1, turns // ROUNDS)
        for start in range(0, turns, step):
            for way, chat in chats.items():
                for turn in range(start, min(start + step, turns)):
                    began = time.perf_counter()
                    chat.chat(said(turn))
                    times[way].append((time.perf_counter() - began - latency) * 1000)
                if isinstance(memory := kept[way], AMemMemory) and memory.ingest == "background":
                    memory.flush()
        base = median(times["Memory, SQLite file"])
        for way, taken in times.items():
            middle = median(taken)
            worst = sorted(taken)[int(len(taken) * 0.95)]
            print(
                f"{way:<42} {middle:>8.2f} ({worst:>5.1f}) {median(taken[:20]):>9.2f} "
                f"{median(taken[-20:]):>9.2f} {middle / base:>6.2f} {middle - base:>8.2f}"
            )


def sessions_table(sessions: int, turns: int = 4) -> None:
    """Many sessions at once on one event loop."""
    print(f"\n{sessions} concurrent sessions of {turns} turns, async, one event loop")
    print(f"{'':<42} {'seconds':>8} {'turns/s':>8} {'ratio':>6}  messages kept")

    async def talk(chat: SimpleChatEngine) -> None:
        for turn in range(turns):
            await chat.achat(said(turn))

    async def all_at_once(chats: list[SimpleChatEngine]) -> None:
        await asyncio.gather(*(talk(chat) for chat in chats))

    base = None
    with tempfile.TemporaryDirectory() as name, memories(Path(name)) as ways:
        for way, make in ways.items():
            chats = [engine(make(f"session{n}")) for n in range(sessions)]
            began = time.perf_counter()
            asyncio.run(all_at_once(chats))
            took = time.perf_counter() - began
            base = base or took
            kept = sum(len(chat.chat_history) for chat in chats)
            print(
                f"{way:<42} {took:>8.2f} {sessions * turns / took:>8.0f} {took / base:>6.2f}  "
                f"{kept} of {2 * sessions * turns}"
            )


def main() -> None:
    logging.disable(logging.WARNING)
    turns, sessions = map(int, sys.argv[1:] or (200, 50))
    turns_table(turns)
    turns_table(turns // 4, latency=0.1)
    sessions_table(sessions)


if __name__ == "__main__":
    main()
