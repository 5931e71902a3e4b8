"""What the core costs beside its parts, as ratios taken in one run.

    python -m tests.benchmarks.core            # 1k, 10k and 50k notes
    python -m tests.benchmarks.core 1000 5000  # other sizes

Search is compared with the raw engine's own query (scoped, hybrid, fused by it, with payload)
on the same files; adding with embedding the same texts and nothing else; the import with
`python -c pass`. Query vectors are given, so that no model is timed in searches.
"""

import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import qdrant_edge as edge

from amem_integrations import AgenticMemory
from amem_integrations.core.clock import Clock
from amem_integrations.core.io import run
from amem_integrations.core.namespace import encode
from amem_integrations.core.note import Link, Status, make_note
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.stores.codec import note_point
from tests.support import io_of

DIMENSION = 384
NAMESPACES = 100
WORDS = [f"word{n}" for n in range(3000)]
CHANCE = random.Random(7)


def vector() -> list[float]:
    return [CHANCE.gauss(0, 1) for _ in range(DIMENSION)]


def sentence(words: int = 20) -> str:
    return " ".join(CHANCE.choices(WORDS, k=words))


QUERIES = [(sentence(6), vector()) for _ in range(60)]
VECTORS = dict(QUERIES)


def given_vectors(texts: list[str]) -> list[list[float]]:
    return [VECTORS.get(text) or vector() for text in texts]


def open_given(path: Path) -> AgenticMemory:
    return AgenticMemory(path, embedder=given_vectors)


def fill(memory: AgenticMemory, size: int) -> None:
    """`size` formed notes in NAMESPACES namespaces, each linked to two before it."""
    io, now = io_of(memory), Clock()
    points, made = [], {}
    for n in range(size):
        home = f"user{n % NAMESPACES}"
        note = make_note(sentence(), namespace=home, now=now(), key=str(n))
        earlier = made.setdefault(home, [])
        links = [
            Link(note.id, to, "bench", note.created_at, weight=0.8)
            for to in CHANCE.sample(earlier, min(2, len(earlier)))
        ]
        earlier.append(note.id)
        note = note.evolve(
            status=Status.FORMED,
            keywords=tuple(CHANCE.choices(WORDS, k=4)),
            tags=tuple(CHANCE.choices(WORDS, k=2)),
            context=sentence(10),
            links=tuple(links),
        )
        points.append(note_point(note, [vector()], io.sparse.document(note.content)))
        if len(points) == 500:
            run(io.engine.insert(points))
            points = []
    if points:
        run(io.engine.insert(points))


def milliseconds(call: Callable[[int], Any], rounds: int = 60) -> list[float]:
    call(0)
    times = []
    for n in range(rounds):
        start = time.perf_counter()
        call(n)
        times.append((time.perf_counter() - start) * 1000)
    return sorted(times)


def raw_query(shard: edge.EdgeShard, memory: AgenticMemory, n: int) -> Any:
    text, dense = QUERIES[n % len(QUERIES)]
    scope = edge.Filter(
        must=[edge.FieldCondition("ns", match=edge.MatchValue(encode((f"user{n % NAMESPACES}",))))]
    )
    terms = io_of(memory).sparse.query(text)
    words = edge.SparseVector(list(terms.indices), list(terms.values))
    return shard.query(
        edge.QueryRequest(
            limit=10,
            query=edge.Fusion.Rrf(k=60),
            prefetches=[
                edge.Prefetch(
                    limit=32, query=edge.Query.Nearest(dense, using="dense"), filter=scope
                ),
                edge.Prefetch(
                    limit=32,
                    query=edge.Query.Nearest(words, using="bm25"),
                    filter=scope,
                    params=edge.SearchParams(idf=edge.IdfParams(scope)),
                ),
            ],
            with_payload=True,
        )
    )


def search_table(sizes: list[int]) -> None:
    print("\nScoped hybrid search, k=10, p50 in ms (p95), and ratio to the raw engine's query")
    print(
        f"{'notes':>8} {'raw':>14} {'hops=0':>14} {'ratio':>6} {'hops=1':>14} {'ratio':>6} "
        f"{'MB resident':>12} {'kB disk/note':>13}"
    )
    for size in sizes:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory)
            with open_given(path) as memory:
                fill(memory, size)
                shard = io_of(memory).engine._shard._edge  # type: ignore[attr-defined]

                def ours(n: int, hops: int, memory: AgenticMemory = memory) -> Any:
                    return memory.search(
                        QUERIES[n % len(QUERIES)][0],
                        namespace=f"user{n % NAMESPACES}",
                        hops=hops,
                    )

                raw = milliseconds(lambda n, s=shard, m=memory: raw_query(s, m, n))
                flat = milliseconds(lambda n: ours(n, 0))
                linked = milliseconds(lambda n: ours(n, 1))
                resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                memory.flush()
            used = sum(f.stat().st_blocks * 512 for f in path.rglob("*") if f.is_file())

            def show(times: list[float]) -> str:
                return f"{median(times):6.2f} ({times[int(len(times) * 0.95)]:5.2f})"

            print(
                f"{size:>8} {show(raw):>14} {show(flat):>14} {median(flat) / median(raw):>6.2f} "
                f"{show(linked):>14} {median(linked) / median(raw):>6.2f} {resident:>12.0f} "
                f"{used / 1024 / size:>13.2f}"
            )


def add_table(notes: int = 120) -> None:
    """Each way of adding, on the same texts, against embedding each text once by itself."""
    texts = [
        f"{CHANCE.choice(['Ann', 'Bob', 'Cid'])} said the {topic} needs {need} before {day}."
        for topic in ("cache", "harbour", "violin", "invoice", "garden", "sensor")
        for need in ("a review", "more budget", "new strings", "an owner", "some care")
        for day in ("Monday", "Tuesday", "Thursday", "Friday")
    ][:notes]
    embedder = resolve_embedder(None)
    embedder.embed_documents(["warm up"])
    start = time.perf_counter()
    for text in texts:
        embedder.embed_documents([text])
    alone = (time.perf_counter() - start) / len(texts)
    print(f"\nAdding one note, against embedding its text alone ({alone * 1000:.1f} ms)")
    print(f"{'formation':>12} {'ms/note':>8} {'ratio':>6}  texts embedded/note")
    for formation in ("off", "inline", "background"):
        counted = Counting(embedder)
        with AgenticMemory(embedder=counted, formation=formation) as memory:  # type: ignore[arg-type]
            memory.add("warm up the graph")
            memory.flush()
            counted.texts = 0
            start = time.perf_counter()
            for text in texts:
                memory.add(text)
            took = (time.perf_counter() - start) / len(texts)
            memory.flush()
            print(
                f"{formation:>12} {took * 1000:>8.1f} {took / alone:>6.2f}  "
                f"{counted.texts / len(texts):.2f}"
            )


class Counting:
    """An embedder that counts the texts it was given."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.texts = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += len(texts)
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self.inner.embed_query(text)


def import_table() -> None:
    def started(code: str) -> float:
        times = []
        for _ in range(7):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - start)
        return median(times) * 1000

    nothing = started("pass")
    print(f"\nStarting Python, against `python -c pass` ({nothing:.0f} ms)")
    for code in (
        "import amem_integrations",
        "from amem_integrations import AgenticMemory",
        "from amem_integrations import AgenticMemory; AgenticMemory().close()",
    ):
        took = started(code)
        print(f"{took - nothing:>8.0f} ms more, ×{took / nothing:.2f}  {code}")


def main() -> None:
    sizes = [int(argument) for argument in sys.argv[1:]] or [1_000, 10_000, 50_000]
    import_table()
    add_table()
    search_table(sizes)


if __name__ == "__main__":
    main()
