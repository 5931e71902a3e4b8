"""Canned answers: an io whose engine returns what a test laid out, and keeps what it was asked."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from amem_integrations.core.engine import Point, Query, Scored, SparseVector
from amem_integrations.core.filters import Condition
from amem_integrations.core.hit import Hit
from amem_integrations.core.io import SyncIO
from amem_integrations.core.note import Link, Status, make_note
from amem_integrations.stores.codec import note_point

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass
class CannedEngine:
    """answers: one list of (id, score) for each query, handed out in order, cut to its limit."""

    points: dict[str, Point] = field(default_factory=dict)
    answers: list[Mapping[str, float]] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    async def query(self, queries: Sequence[Query]) -> list[list[Scored]]:
        self.calls.append("query")
        self.queries.extend(queries)
        return [self._answer(query) for query in queries]

    def _answer(self, query: Query) -> list[Scored]:
        if query.questions:
            return []
        scores = self.answers.pop(0)
        ordered = sorted(scores.items(), key=lambda item: -item[1])[: query.limit]
        return [Scored(id, score, self._payload(id, query.fields)) for id, score in ordered]

    def _payload(self, id: str, fields: tuple[str, ...] | None) -> dict[str, Any]:
        payload = self.points[id].payload if id in self.points else {}
        return {name: payload[name] for name in payload if fields is None or name in fields}

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        self.calls.append("get")
        self.read.update(ids)
        return [self.points[id] for id in ids if id in self.points]

    async def facet(self, key: str, where: Condition, *, limit: int, exact: bool) -> dict[str, int]:
        self.calls.append("facet")
        return dict(Counter(p.payload[key] for p in self.points.values() if key in p.payload))

    async def scroll(
        self,
        where: Condition,
        *,
        limit: int,
        order_by: str | None = None,
        fields: tuple[str, ...] | None = None,
    ) -> list[Point]:
        """The points with a place, as what is around those that queries answered."""
        self.calls.append("scroll")
        return [point for point in self.points.values() if "place" in point.payload][:limit]

    async def count(self, where: Condition) -> int:
        self.calls.append("count")
        return len(self.points)


class CannedEmbedder:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_query(self, text: str) -> list[float]:
        self.texts.append(text)
        return [1.0, 0.0]


class CannedTerms:
    name = "canned"

    def query(self, text: str) -> SparseVector:
        """One term a word; a text of stop words only has none."""
        words = {word for word in text.lower().split() if word not in {"the", "of", "and"}}
        return SparseVector(tuple(range(len(words))), (1.0,) * len(words))


@dataclass
class Canned:
    """A namespace laid out by hand."""

    engine: CannedEngine = field(default_factory=CannedEngine)
    embedder: CannedEmbedder = field(default_factory=CannedEmbedder)

    @property
    def io(self) -> SyncIO:
        return SyncIO(self.engine, CannedTerms(), self.embedder)  # pyright: ignore[reportArgumentType]

    def add(
        self,
        name: str,
        *,
        links: Mapping[str, float] | None = None,
        confidence: float = 1.0,
        namespace: str = "calvin",
        metadata: Mapping[str, object] | None = None,
        **said: Any,
    ) -> str:
        """Store a note about `name`, linked to the notes called so; returns its id."""
        now = NOW + timedelta(seconds=len(self.engine.points))
        note = make_note(name, namespace=namespace, now=now, key=name, metadata=metadata, **said)
        made = tuple(
            Link(note.id, self.id(to), f"{name} goes with {to}", now, weight=weight)
            for to, weight in (links or {}).items()
        )
        note = note.evolve(links=made, confidence=confidence, status=Status.FORMED)
        self.engine.points[note.id] = note_point(note, [[1.0, 0.0]], None)
        return note.id

    def id(self, name: str) -> str:
        return make_note(name, namespace="calvin", now=NOW, key=name).id

    def answer(self, *lists: Mapping[str, float]) -> None:
        """What the next queries find, by names."""
        self.engine.answers.extend(
            {self.id(name): score for name, score in scores.items()} for scores in lists
        )


def texts(hits: Iterable[Hit]) -> list[str]:
    return [hit.note.content for hit in hits]
