"""Canned answers: an io whose engine returns what a test laid out, and keeps what it was asked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from amem_integrations.core.filters import Condition, HasId
from amem_integrations.core.io import Point, Query, Scored, SparseVector, SyncIO
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
    answered: set[str] = field(default_factory=set)
    scrolled: list[Condition] = field(default_factory=list)

    async def query(self, queries: Sequence[Query]) -> list[list[Scored]]:
        self.calls.append("query")
        self.queries.extend(queries)
        return [self._answer(query) for query in queries]

    def _answer(self, query: Query) -> list[Scored]:
        scores = self.answers.pop(0)
        ordered = sorted(scores.items(), key=lambda item: -item[1])[: query.limit]
        self.answered.update(id for id, _ in ordered)
        return [Scored(id, score) for id, score in ordered]

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        self.calls.append("get")
        self.read.update(ids)
        return [self.points[id] for id in ids if id in self.points]

    async def facet(self, key: str, where: Condition, *, limit: int, exact: bool) -> dict[str, int]:
        self.calls.append("facet")
        return dict(Counter(self._values(key)))

    def _values(self, key: str) -> list[str]:
        return [p.payload[key] for p in self.points.values() if key in p.payload]

    async def scroll(
        self, where: Condition, *, limit: int, order_by: str, fields: tuple[str, ...]
    ) -> list[Point]:
        """The points asked for by id; or that no query answered, as what is around those it did."""
        self.calls.append("scroll")
        self.scrolled.append(where)
        found = [
            point
            for id, point in self.points.items()
            if (id in where.ids if isinstance(where, HasId) else id not in self.answered)
            and order_by in point.payload
        ]
        return sorted(found, key=lambda point: point.payload[order_by])[:limit]

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
