"""Four ways to keep notes and find ten of them: ours, and what other systems do.

Each writes what it is given to a directory and opens it again. Retrieval is given the question's
vector; nothing is embedded and no model is asked. What is measured is storage, not memory.
"""

import heapq
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from amem_integrations.core.clock import Clock
from amem_integrations.core.io import IO
from amem_integrations.core.note import Link, Note, Status, make_note, note_id
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.evaluation.scaling.material import HOME, Asked, Made
from amem_integrations.formation.state import Mode
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.pipeline import Wiring
from amem_integrations.stores.codec import note_point
from amem_integrations.stores.passages import sparse_text

K = 10
_CHROMA_BATCH = 5000
_COSINE = {"hnsw:space": "cosine"}

Batches = Iterable[list[Made]]
Ask = Callable[[Asked], Sequence[object]]


class Storage(Protocol):
    """A way to keep notes."""

    @property
    def name(self) -> str: ...

    def missing(self) -> str | None:
        """Why it cannot be measured here; None if it can."""
        ...

    def write(self, path: Path, batches: Batches, dimension: int) -> None:
        """Fill the empty directory `path`."""
        ...

    def opened(self, path: Path, questions: Sequence[Asked]) -> Ask:
        """What finds the K best notes for one of the questions. Kept open while it is held."""
        ...


class Ours:
    """`AgenticMemory.search` on the embedded engine: by meaning, by words, along one link."""

    name = "amem"

    def missing(self) -> str | None:
        return None

    def write(self, path: Path, batches: Batches, dimension: int) -> None:
        now = Clock()
        with memory_at(path, dimension) as memory:
            for batch in batches:
                memory.perform(partial(_insert, batch, now))
            memory.flush()

    def opened(self, path: Path, questions: Sequence[Asked]) -> Ask:
        memory = memory_at(path, len(questions[0].vector), questions)
        return lambda asked: memory.search(asked.text, namespace=HOME, k=K, hops=1)


class Flat:
    """MemoryBank's: vectors in memory, all of them compared (FAISS's flat index, by numpy)."""

    name = "memorybank"

    def missing(self) -> str | None:
        return None

    def write(self, path: Path, batches: Batches, dimension: int) -> None:
        path.mkdir(parents=True, exist_ok=True)
        with (path / "vectors").open("wb") as vectors, (path / "texts").open("w") as texts:
            for batch in batches:
                np.asarray([made.vector for made in batch], dtype=np.float32).tofile(vectors)
                texts.writelines(json.dumps(made.text) + "\n" for made in batch)

    def opened(self, path: Path, questions: Sequence[Asked]) -> Ask:
        dimension = len(questions[0].vector)
        rows: Any = np.fromfile(path / "vectors", dtype=np.float32).reshape(-1, dimension)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        texts = _texts(path)

        def ask(asked: Asked) -> Sequence[object]:
            scores = rows @ np.asarray(asked.vector, dtype=np.float32)
            best: Any = np.argpartition(-scores, min(K, len(texts)) - 1)[:K]
            places: list[int] = best[np.argsort(-scores[best])].tolist()
            return [texts[place] for place in places]

        return ask


class Scanned:
    """ReadAgent's: pages of text without an index, each looked through for the question's words.

    There a model looks through the gists of all pages; this is the least that takes.
    """

    name = "readagent"

    def missing(self) -> str | None:
        return None

    def write(self, path: Path, batches: Batches, dimension: int) -> None:
        path.mkdir(parents=True, exist_ok=True)
        with (path / "texts").open("w") as texts:
            for batch in batches:
                texts.writelines(json.dumps(made.text) + "\n" for made in batch)

    def opened(self, path: Path, questions: Sequence[Asked]) -> Ask:
        texts = _texts(path)

        def ask(asked: Asked) -> Sequence[object]:
            words = set(asked.text.rstrip("?").split())

            def shared(text: str) -> int:
                return len(words.intersection(text.split()))

            return heapq.nlargest(K, texts, key=shared)

        return ask


class Chroma:
    """The reference implementation's: one chromadb collection on disk, by cosine."""

    name = "chroma"

    def missing(self) -> str | None:
        return None if find_spec("chromadb") else "chromadb is not installed"

    def write(self, path: Path, batches: Batches, dimension: int) -> None:
        client = _chroma(path)
        collection = client.get_or_create_collection("memories", metadata=_COSINE)
        for batch in batches:
            for start in range(0, len(batch), _CHROMA_BATCH):
                part = batch[start : start + _CHROMA_BATCH]
                collection.add(
                    ids=[str(made.number) for made in part],
                    embeddings=[made.vector for made in part],
                    documents=[made.text for made in part],
                    metadatas=[{"context": made.context} for made in part],
                )
        # Its files would stay open; versions before 1.5 have no way to close them.
        if close := getattr(client, "close", None):
            close()

    def opened(self, path: Path, questions: Sequence[Asked]) -> Ask:
        collection = _chroma(path).get_or_create_collection("memories", metadata=_COSINE)

        def ask(asked: Asked) -> Sequence[object]:
            found = collection.query(query_embeddings=[asked.vector], n_results=K)
            return found["ids"][0]

        return ask


STORAGES: Mapping[str, Storage] = {
    each.name: each for each in (Ours(), Flat(), Scanned(), Chroma())
}


def memory_at(
    path: Path, dimension: int, known: Sequence[Asked | Made] = (), *, mode: Mode = "fused"
) -> AgenticMemory:
    """A memory that embeds each text that is known as its own vector, and all else alike."""
    vectors = {each.text: each.vector for each in known}
    other = known[0].vector if known else [1.0] * dimension

    def embed(texts: list[str]) -> list[list[float]]:
        # The text of a formed note stands in its first line.
        return [vectors.get(text.split("\n")[0], other) for text in texts]

    embedder = resolve_embedder(embed, name=f"given-{dimension}")
    return AgenticMemory(path, embedder=embedder, formation="off", mode=mode)


async def _insert(batch: list[Made], now: Clock, wiring: Wiring, io: IO) -> None:
    notes = [_note(made, now) for made in batch]
    await io.engine.insert(
        [
            note_point(note, [made.vector], io.sparse.document(sparse_text(note)))
            for note, made in zip(notes, batch, strict=True)
        ]
    )


def _note(made: Made, now: Clock) -> Note:
    """As formation leaves it."""
    note = make_note(
        made.text,
        namespace=HOME,
        now=now(),
        key=str(made.number),
        speaker=made.speaker,
        session=made.session,
        sequence=made.sequence,
        occurred_at=made.at,
    )
    links = tuple(
        Link(note.id, note_id(HOME, str(to)), "both on the same", note.created_at, weight=0.8)
        for to in made.links
    )
    return note.evolve(
        status=Status.FORMED,
        keywords=made.keywords,
        tags=made.tags,
        context=made.context,
        links=links,
    )


def _chroma(path: Path) -> Any:
    chromadb: Any = import_module("chromadb")
    return chromadb.PersistentClient(
        str(path), settings=chromadb.Settings(anonymized_telemetry=False)
    )


def _texts(path: Path) -> list[str]:
    with (path / "texts").open() as lines:
        return [json.loads(line) for line in lines]
