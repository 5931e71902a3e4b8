"""What looking after a namespace costs, by how many notes it has.

    python -m tests.benchmarks.maintain               # 1,000, 3,000 and 10,000 notes
    python -m tests.benchmarks.maintain 500 1000      # other sizes

Each size: notes over a hundred sessions, two links a note, and a report of use for every fifth
note. Shown are the first maintenance, as of an import, round by round until nothing is left;
one that was killed half-way and taken up; one after 200 more reports; and one where nothing is
due. "a note" is the time for each note, and the last line how that grew from the smallest size.
"""

import random
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from amem_integrations import AgenticMemory
from amem_integrations.core.io import SyncIO, run
from amem_integrations.core.note import Link, Status, make_note
from amem_integrations.lifecycle.maintenance import Maintained, maintain
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.stores.codec import note_point
from tests.admin.fragile import Fragile, Killed
from tests.support import io_of

T = TypeVar("T")
DIMENSION = 384
HOME = ("bench",)
START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = [f"word{n}" for n in range(3000)]
CHANCE = random.Random(7)
# The ring would set aside what the later rounds are to look at.
POLICY = Policy(most_short=10**6)


class Counting:
    """An engine that counts what it is asked, each question of a batch by itself."""

    calls = 0

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        if name not in ("get", "scroll", "query", "count", "facet", "patch", "commit", "insert"):
            return found

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.calls += len(args[0]) if name == "query" else 1
            return found(*args, **kwargs)

        return counted


class Days:
    now = START

    def __call__(self) -> datetime:
        return self.now


def vector() -> list[float]:
    return [CHANCE.gauss(0, 1) for _ in range(DIMENSION)]


def fill(memory: AgenticMemory, days: Days, size: int) -> list[str]:
    io = io_of(memory)
    made: list[str] = []
    points = []
    for n in range(size):
        days.now += timedelta(seconds=30)
        text = " ".join(CHANCE.choices(WORDS, k=20))
        said: dict[str, Any] = {"session": f"s{100 * n // size}", "speaker": "user"}
        note = make_note(text, namespace=HOME, now=io.now(), key=str(n), **said)
        links = [
            Link(note.id, to, "bench", note.created_at, weight=CHANCE.uniform(0.06, 1))
            for to in CHANCE.sample(made[-500:], min(2, len(made)))
        ]
        made.append(note.id)
        note = note.evolve(
            status=Status.FORMED,
            keywords=tuple(CHANCE.choices(WORDS, k=4)),
            context="About words.",
            links=tuple(links),
        )
        points.append(note_point(note, [vector()], io.sparse.document(text)))
        if len(points) == 500 or n == size - 1:
            run(io.engine.insert(points))
            points = []
    return made


def report(memory: AgenticMemory, days: Days, ids: list[str], count: int) -> None:
    for n in range(count):
        days.now += timedelta(minutes=1)
        used = CHANCE.sample(ids, 3)
        memory.lifecycle.feedback(used, session=f"use{n % 50}", namespace=HOME)


def timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def once(memory: AgenticMemory, engine: Any = None) -> Maintained:
    io = io_of(memory)
    if engine is not None:
        io = SyncIO(engine, io.sparse, io.embedder, None, io.now)
    return run(maintain(io, HOME, POLICY, "bench"))


def killed_half_way(memory: AgenticMemory, writes: int) -> None:
    try:
        once(memory, Fragile(io_of(memory).engine, writes))
    except Killed:
        return
    raise SystemExit("It was done before it was killed; give it fewer writes.")


def measure(size: int) -> dict[str, float]:
    days = Days()
    embedder = lambda texts: [vector() for _ in texts]  # noqa: E731
    with AgenticMemory(embedder=embedder, formation="off", clock=days) as memory:
        ids = fill(memory, days, size)
        report(memory, days, ids, size // 5)
        # Some links are worn out by then, and some notes settled.
        days.now += timedelta(days=40)
        rounds: list[tuple[float, Maintained]] = []
        killing, _ = timed(lambda: killed_half_way(memory, size // 4))
        engine = Counting(io_of(memory).engine)
        cpu = time.process_time()
        while not rounds or rounds[-1][1].left:
            rounds.append(timed(lambda: once(memory, engine)))
        cpu = time.process_time() - cpu
        total = Maintained()
        for _, done in rounds:
            total += done
        print(f"{size:,} notes: killed after {killing:.2f} s; {len(rounds)} rounds. {total}")
        report(memory, days, ids, 200)
        later, done = timed(lambda: once(memory))
        print(f"  after 200 reports more: {later:.2f} s ({done.uses} counted)")
        days.now += timedelta(minutes=1)
        idle = sorted(timed(lambda: once(memory))[0] for _ in range(9))[4]
        days.now += timedelta(hours=2)
        sweep, _ = timed(lambda: once(memory))
        slowest = max(seconds for seconds, _ in rounds)
        first = killing + sum(seconds for seconds, _ in rounds)
        print(f"  first {first:.2f} s, {1e3 * first / size:.2f} ms a note; slowest {slowest:.2f} s")
        print(f"  {engine.calls / size:.2f} engine calls, {1e3 * cpu / size:.2f} ms of CPU each")
        print(f"  nothing due {1e3 * idle:.1f} ms; a sweep {sweep:.2f} s")
        assert once(memory) == Maintained()
        return {
            "first": first / size,
            "CPU": cpu / size,
            "calls": engine.calls / size,
            "sweep": sweep / size,
        }


def main() -> None:
    sizes = [int(each) for each in sys.argv[1:]] or [1_000, 3_000, 10_000]
    results = {size: measure(size) for size in sizes}
    least, most = min(sizes), max(sizes)
    for name in results[least]:
        ratio = results[most][name] / results[least][name]
        print(f"{name}: {ratio:.2f} times as much a note at {most:,} as at {least:,}")


if __name__ == "__main__":
    main()
