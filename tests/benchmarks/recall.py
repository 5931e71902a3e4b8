"""What recall takes beside its parts and beside chromadb, as ratios taken in one run.

    pip install chromadb                                # for its column; n/a without it
    python -m tests.benchmarks.recall                   # 1k, 10k and 100k notes; some 10 minutes
    python -m tests.benchmarks.recall 5000              # other sizes
    python -m tests.benchmarks.recall 1000000 --alone   # a million, without chromadb: an hour,
                                                        # 8 GB of memory, 10 GB of disk

Notes are turns of talks in 100 namespaces, each linked to two before it; half of the questions
name a speaker. Everybody is given the same vectors, and takes turns question by question:

- ours: `AgenticMemory.search`, ten notes, one hop along the links, on the embedded engine;
- raw: the same engine's own query on the same files: the lists that ours asks for (two, or four
  where a speaker is named) as its prefetches, fused by it, ten points with payload;
- chromadb: the store of the reference implementation, on disk, `where` the namespace is this one.

Each question is asked TURNS times by turns, and the quickest of each counts, as what else the
machine does only ever adds. Ratios are medians over the questions. Then, at the last size, the
same search while 20 notes a second are added: by another thread, and by another task of the same
event loop.
"""

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import qdrant_edge as edge

from amem_integrations import AgenticMemory
from amem_integrations.core.io import Clock, run
from amem_integrations.core.namespace import encode
from amem_integrations.core.note import Link, Note, Status, make_note
from amem_integrations.recall.search import DEPTH
from amem_integrations.stores.codec import note_point
from tests.support import io_of

DIMENSION = 384
NAMESPACES = 100
K = 10
SPEAKERS = ("Ann", "Bob")
WORDS = [f"word{n}" for n in range(5000)]
# As in language: a few words make up much of what is said.
FREQUENCIES = [1 / (n + 10) for n in range(len(WORDS))]
SESSION = 20
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
ROUNDS = 200
TURNS = 3
CHROMA_ROUNDS = 20
WRITES_A_SECOND = 20
BATCH = 500


class Question(NamedTuple):
    text: str
    asked: str | None
    """What the engine is asked by meaning and by words: the text without the speaker's name."""
    matter: str
    vector: list[float]


CHANCE = random.Random(7)
NUMBERS = np.random.default_rng(7)


def vector() -> list[float]:
    return NUMBERS.normal(size=DIMENSION).tolist()


def sentence(words: int) -> str:
    return " ".join(CHANCE.choices(WORDS, FREQUENCIES, k=words))


def question(n: int) -> Question:
    about = sentence(6)
    asked = SPEAKERS[n // 2 % 2] if n % 2 else None
    said = f"What did {asked} say" if asked else "What was said"
    matter = "What did say" if asked else "What was said"
    return Question(f"{said} about {about}?", asked, f"{matter} about {about}?", vector())


QUESTIONS = [question(n) for n in range(ROUNDS)]
VECTORS = {each.matter: each.vector for each in QUESTIONS}
ANY = vector()


def given_vectors(texts: list[str]) -> list[list[float]]:
    return [VECTORS.get(text, ANY) for text in texts]


def home(n: int) -> str:
    return f"user{n % NAMESPACES}"


def opened(path: Path) -> AgenticMemory:
    return AgenticMemory(path, embedder=given_vectors, formation="off")


# -- filling ---------------------------------------------------------------------------------


def talk(size: int) -> Iterator[tuple[Note, list[float]]]:
    """`size` formed notes, namespace by turns, in sessions of SESSION turns."""
    made: dict[str, list[str]] = {}
    now = Clock()
    for n in range(size):
        earlier = made.setdefault(home(n), [])
        turn = len(earlier)
        note = make_note(
            sentence(20),
            namespace=home(n),
            now=now(),
            key=str(n),
            speaker=SPEAKERS[turn % 2],
            session=f"session{turn // SESSION}",
            sequence=turn % SESSION,
            occurred_at=LONG_AGO + timedelta(days=turn // SESSION, minutes=turn % SESSION),
        )
        links = tuple(
            Link(note.id, to, "both on the same", note.created_at, weight=0.8)
            for to in CHANCE.sample(earlier, min(2, len(earlier)))
        )
        earlier.append(note.id)
        yield (
            note.evolve(
                status=Status.FORMED,
                keywords=tuple(CHANCE.choices(WORDS, k=4)),
                tags=tuple(CHANCE.choices(WORDS, k=2)),
                context=sentence(10),
                links=links,
            ),
            vector(),
        )


def batches(size: int) -> Iterator[list[tuple[Note, list[float]]]]:
    batch: list[tuple[Note, list[float]]] = []
    for each in talk(size):
        batch.append(each)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def fill(memory: AgenticMemory, chroma: Any, size: int) -> None:
    io = io_of(memory)
    for batch in batches(size):
        points = [
            note_point(note, [dense], io.sparse.document(note.content)) for note, dense in batch
        ]
        run(io.engine.insert(points))
        if chroma is not None:
            chroma.add(
                ids=[note.id for note, _ in batch],
                embeddings=[dense for _, dense in batch],
                documents=[note.content for note, _ in batch],
                metadatas=[{"ns": note.namespace[0], "context": note.context} for note, _ in batch],
            )


@contextmanager
def chroma_collection(path: Path, wanted: bool) -> Iterator[Any]:
    """None where there is none to compare with."""
    if not wanted:
        yield None
        return
    try:
        import chromadb
    except ImportError:
        print("chromadb is not installed; going on without it.", file=sys.stderr)
        yield None
        return
    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(path), settings=settings)
    yield client.create_collection("memories", metadata={"hnsw:space": "cosine"})
    del client


# -- the contestants -------------------------------------------------------------------------


def ours(memory: AgenticMemory, n: int) -> Any:
    return memory.search(QUESTIONS[n % ROUNDS].text, namespace=home(n // 2), k=K, hops=1)


def raw(shard: edge.EdgeShard, memory: AgenticMemory) -> Callable[[int], Any]:
    sparse = [io_of(memory).sparse.query(each.matter) for each in QUESTIONS]
    terms = [edge.SparseVector(list(each.indices), list(each.values)) for each in sparse]

    def query(n: int) -> Any:
        asked = QUESTIONS[n % ROUNDS]
        here = edge.FieldCondition("ns", match=edge.MatchValue(encode((home(n // 2),))))
        scopes = [edge.Filter(must=[here])]
        if asked.asked:
            theirs = edge.FieldCondition("speaker", match=edge.MatchValue(asked.asked))
            scopes.append(edge.Filter(must=[here, theirs]))
        params = edge.SearchParams(idf=edge.IdfParams(scopes[0]))
        prefetches = [
            each
            for scope in scopes
            for each in (
                edge.Prefetch(
                    limit=DEPTH,
                    query=edge.Query.Nearest(asked.vector, using="dense"),
                    filter=scope,
                ),
                edge.Prefetch(
                    limit=DEPTH,
                    query=edge.Query.Nearest(terms[n % ROUNDS], using="bm25"),
                    filter=scope,
                    params=params,
                ),
            )
        ]
        return shard.query(
            edge.QueryRequest(
                limit=K, query=edge.Fusion.Rrf(k=60), prefetches=prefetches, with_payload=True
            )
        )

    return query


def by_chroma(collection: Any, n: int) -> Any:
    return collection.query(
        query_embeddings=[QUESTIONS[n % ROUNDS].vector], n_results=K, where={"ns": home(n // 2)}
    )


# -- measuring -------------------------------------------------------------------------------


def took(call: Callable[[int], Any], n: int) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    call(n)
    return (time.perf_counter() - start) * 1e3


def p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


class Row(NamedTuple):
    size: int
    times: list[tuple[float, float]]
    """Of each question: the raw engine's, and ours."""
    chroma: list[tuple[float, float]]
    """Of some of them: chromadb's, and ours."""
    memory: float
    disk: float

    def ratio(self, named: bool) -> float:
        """Ours : raw, of the questions that name a speaker or of the others."""
        return median(mine / theirs for theirs, mine in self.times[int(named) :: 2])

    @property
    def ours(self) -> list[float]:
        return [mine for _, mine in self.times]

    def show(self) -> str:
        raw = [theirs for theirs, _ in self.times]
        chroma, ratio = "n/a", "n/a"
        if self.chroma:
            chroma = f"{median(theirs for theirs, _ in self.chroma):.1f}"
            ratio = f"{median(theirs / mine for theirs, mine in self.chroma):.1f}"
        return (
            f"{self.size:>9,} {median(raw):>7.2f} {p95(raw):>7.2f} "
            f"{median(self.ours):>7.2f} {p95(self.ours):>7.2f} {self.ratio(named=False):>9.2f} "
            f"{self.ratio(named=True):>9.2f} {chroma:>9} {ratio:>14} "
            f"{self.memory / self.size / 1024:>10.1f} {self.disk / self.size / 1024:>9.1f}"
        )


HEAD = (
    f"{'':>9} {'raw, ms':>15} {'ours, ms':>15} {'ours : raw':>19} {'chromadb':>9} "
    f"{'chromadb : ours':>14} {'kB a note':>19}\n"
    f"{'notes':>9} {'p50':>7} {'p95':>7} {'p50':>7} {'p95':>7} {'2 lists':>9} {'4 lists':>9} "
    f"{'p50, ms':>9} {'':>14} {'memory':>10} {'disk':>9}"
)


def measured(path: Path, size: int, with_chroma: bool) -> Row:
    with chroma_collection(path / "chroma", with_chroma) as collection:
        with opened(path / "ours") as memory:
            fill(memory, collection, size)
            shard = io_of(memory).engine.whole._shard._edge  # type: ignore[attr-defined]
            query = raw(shard, memory)
            for n in range(3):
                query(n), ours(memory, n)
            times: list[tuple[float, float]] = []
            beside: list[tuple[float, float]] = []
            mine = partial(ours, memory)
            for n in range(ROUNDS):
                turns = [(took(query, n), took(mine, n)) for _ in range(TURNS)]
                times.append((min(each for each, _ in turns), min(each for _, each in turns)))
                if collection is not None and n % (ROUNDS // CHROMA_ROUNDS) == 0:
                    theirs = min(took(partial(by_chroma, collection), n) for _ in range(TURNS))
                    beside.append((theirs, times[-1][1]))
        disk = sum(f.stat().st_blocks * 512 for f in (path / "ours").rglob("*") if f.is_file())
    resident = resident_in_child(path / "ours") - resident_in_child(path / "empty")
    return Row(size, times, beside, resident, disk)


def resident_in_child(path: Path) -> float:
    """Bytes resident in a process that has opened the store and searched each namespace."""
    command = [sys.executable, "-m", "tests.benchmarks.recall", "--resident", str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def resident(path: Path) -> int:
    with opened(path) as memory:
        for n in range(2 * NAMESPACES):
            ours(memory, n)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


# -- recall under writes ---------------------------------------------------------------------


def new_note(n: int) -> dict[str, Any]:
    return {"content": sentence(20), "speaker": SPEAKERS[n % 2], "session": "new", "sequence": n}


@contextmanager
def written_by_thread(memory: AgenticMemory) -> Iterator[None]:
    done = threading.Event()

    def write() -> None:
        n, start = 0, time.perf_counter()
        while not done.wait(max(0.0, start + n / WRITES_A_SECOND - time.perf_counter())):
            memory.add_many([new_note(n)], namespace=home(n))
            n += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        done.set()
        writer.join()


async def beside_a_task(memory: AgenticMemory, writes: bool) -> list[float]:
    async def write() -> None:
        n, start = 0, time.perf_counter()
        while True:
            await asyncio.sleep(max(0.0, start + n / WRITES_A_SECOND - time.perf_counter()))
            await memory.aadd_many([new_note(n)], namespace=home(n))
            n += 1

    writer = asyncio.create_task(write()) if writes else None
    times = []
    for n in range(ROUNDS):
        start = time.perf_counter()
        await memory.asearch(QUESTIONS[n].text, namespace=home(n // 2), k=K, hops=1)
        times.append((time.perf_counter() - start) * 1e3)
        # As a server does between requests; without it the writer would get no turn.
        await asyncio.sleep(0.005)
    if writer is not None:
        writer.cancel()
    return times


def beside_a_thread(memory: AgenticMemory, writes: bool) -> list[float]:
    def searched() -> list[float]:
        times = []
        for n in range(ROUNDS):
            times.append(took(partial(ours, memory), n))
            time.sleep(0.005)
        return times

    if not writes:
        return searched()
    with written_by_thread(memory):
        return searched()


def writes_table(path: Path) -> None:
    print(f"\nSearch while {WRITES_A_SECOND} notes a second are added: p95 in ms, against none")
    print(f"{'formation':>10} {'writer':>8} {'quiet':>7} {'writing':>8} {'ratio':>6}")
    for formation in ("off", "inline"):
        with AgenticMemory(path, embedder=given_vectors, formation=formation) as memory:  # type: ignore[arg-type]
            memory.add("warm up the graph")
            for name, times in (
                ("thread", lambda writes, m=memory: beside_a_thread(m, writes)),
                ("task", lambda writes, m=memory: asyncio.run(beside_a_task(m, writes))),
            ):
                # By turns, so that what else the machine does is in both.
                runs = [(times(False), times(True)) for _ in range(3)]
                quiet = p95([each for run in runs for each in run[0]])
                writing = p95([each for run in runs for each in run[1]])
                print(
                    f"{formation:>10} {name:>8} {quiet:>7.2f} {writing:>8.2f} "
                    f"{writing / quiet:>6.2f}",
                    flush=True,
                )


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--resident"]:
        print(resident(Path(arguments[1])))
        return
    alone = "--alone" in arguments
    sizes = [int(each) for each in arguments if each != "--alone"] or [1_000, 10_000, 100_000]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(
        f"{NAMESPACES} namespaces, {DIMENSION} dimensions, {os.cpu_count()} cores, load {load:.1f}"
    )
    print(HEAD)
    rows = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as directory:
            rows.append(measured(Path(directory), size, not alone))
            print(rows[-1].show(), flush=True)
            if size == sizes[-1]:
                if len(rows) > 1:
                    grown = median(rows[-1].ours) / median(rows[0].ours)
                    print(f"from {sizes[0]:,} to {size:,} notes: p50 × {grown:.1f}")
                writes_table(Path(directory) / "ours")


if __name__ == "__main__":
    main(sys.argv[1:])
