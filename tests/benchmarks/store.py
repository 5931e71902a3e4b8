"""What AMemStore takes beside other stores of LangGraph, as ratios taken in one run.

    pip install langgraph-store-qdrant       # the store to compare with; not needed otherwise
    python -m tests.benchmarks.store         # 10,000 items in 100 namespaces
    python -m tests.benchmarks.store 1000    # another size

Each store gets the same items in the same batches, then the same single calls; what is
printed is the median of each call. Vectors are given, so that no model is timed. Ours runs on
the embedded engine, with formation off; `langgraph-store-qdrant` on the client's local mode,
in memory; InMemoryStore with numpy.
"""

import gc
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from statistics import median
from typing import Any

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, IndexConfig, PutOp
from langgraph.store.memory import InMemoryStore

from amem_integrations.langgraph import AMemStore

DIMENSION = 384
NAMESPACES = 100
KINDS = ("fact", "plan", "taste", "rule")
WORDS = [f"word{n}" for n in range(3000)]
BATCH = 200
OURS, MEMORY, PEER = "AMemStore", "InMemoryStore", "langgraph-store-qdrant"


class GivenVectors(Embeddings):
    """A random vector for each text, the same one each time."""

    def __init__(self) -> None:
        self.vectors: dict[str, list[float]] = {}

    def embed_query(self, text: str) -> list[float]:
        if text not in self.vectors:
            chance = random.Random(text)
            self.vectors[text] = [chance.gauss(0, 1) for _ in range(DIMENSION)]
        return self.vectors[text]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def item(n: int) -> PutOp:
    chance = random.Random(n)
    value = {
        "text": " ".join(chance.choices(WORDS, k=15)),
        "kind": chance.choice(KINDS),
        "importance": chance.randrange(100),
        "source": {"session": f"s{n % 500}", "turn": n % 40},
    }
    return PutOp(("users", f"user{n % NAMESPACES}"), f"item{n}", value)


def stores(stack: ExitStack, given: GivenVectors) -> Iterator[tuple[str, BaseStore]]:
    index: IndexConfig = {"dims": DIMENSION, "embed": given, "fields": ["text"]}
    yield OURS, stack.enter_context(AMemStore.from_url(index=index, formation="off"))
    yield MEMORY, InMemoryStore(index=index)
    try:
        from langgraph.store.qdrant import QdrantStore  # type: ignore[import-not-found]
    except ImportError:
        print(f"{PEER} is not installed; going on without it.", file=sys.stderr)
        return
    from qdrant_client import QdrantClient

    peer = QdrantStore(QdrantClient(":memory:"), index=index)
    peer.setup()
    yield PEER, peer


def calls(store: BaseStore, size: int) -> dict[str, Callable[[int], Any]]:
    """One call of each kind, by the number of the round."""
    user = [("users", f"user{n}") for n in range(NAMESPACES)]
    queries = [item(n).value["text"] for n in range(-100, 0)]  # type: ignore[index]
    new = [item(size + n) for n in range(1000)]
    old = [item(n) for n in range(1000)]
    fact = {"kind": "fact", "importance": {"$gte": 50}}

    def changed(op: PutOp) -> dict[str, Any]:
        return {**(op.value or {}), "seen": True}

    return {
        "put, a new item": lambda n: store.put(new[n].namespace, new[n].key, new[n].value or {}),
        "put, the text unchanged": lambda n: store.put(
            old[n].namespace, old[n].key, changed(old[n])
        ),
        "get": lambda n: store.get(old[n].namespace, old[n].key),
        "search, no query": lambda n: store.search(user[n % NAMESPACES]),
        "search, no query, filtered": lambda n: store.search(user[n % NAMESPACES], filter=fact),
        "search by vector": lambda n: store.search(user[n % NAMESPACES], query=queries[n % 100]),
        "search by vector, filtered": lambda n: store.search(
            user[n % NAMESPACES], query=queries[n % 100], filter=fact
        ),
        "list namespaces": lambda n: store.list_namespaces(prefix=("users",)),
    }


def median_ms(call: Callable[[int], Any], seconds: float = 4.0) -> float:
    """The median over at most 200 rounds, as many as fit into the time; 3 at least."""
    call(999)
    taken: list[float] = []
    started = time.perf_counter()
    while len(taken) < 3 or (len(taken) < 200 and time.perf_counter() - started < seconds):
        before = time.perf_counter()
        call(len(taken))
        taken.append(time.perf_counter() - before)
    return median(taken) * 1e3


def main(size: int) -> None:
    ops, given = [item(n) for n in range(size)], GivenVectors()
    for op in (*ops, *(item(n) for n in range(-100, 0)), *(item(size + n) for n in range(1000))):
        given.embed_query((op.value or {})["text"])
    table: dict[str, dict[str, float]] = {}
    found: dict[str, list[list[str]]] = {}
    with ExitStack() as stack:
        for name, store in stores(stack, given):
            gc.collect()
            before = time.perf_counter()
            for at in range(0, size, BATCH):
                store.batch(ops[at : at + BATCH])
            loaded = (time.perf_counter() - before) / size * 1e3
            table.setdefault(f"put, in batches of {BATCH}, per item", {})[name] = loaded
            near = [store.search(op.namespace, query=(op.value or {})["text"]) for op in ops[:20]]
            found[name] = [[each.key for each in page] for page in near]
            for kind, call in calls(store, size).items():
                table.setdefault(kind, {})[name] = median_ms(call)
    assert len({str(each) for each in found.values()}) == 1, "the stores find different items"
    show(size, table)


def show(size: int, table: dict[str, dict[str, float]]) -> None:
    names = list(next(iter(table.values())))
    print(f"\n{size} items, {NAMESPACES} namespaces, {DIMENSION} dimensions; median ms of a call")
    print(f"{'':40}" + "".join(f"{name:>24}" for name in names) + f"{'ours : peer':>14}")
    for kind, times in table.items():
        line = f"{kind:40}" + "".join(f"{times[name]:24.3f}" for name in names)
        print(line + (f"{times[PEER] / times[OURS]:12.1f} ×" if PEER in times else ""))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
