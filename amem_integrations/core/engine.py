"""What an engine is: the protocol, and the points, queries and hits that it takes and gives."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from amem_integrations.core.filters import Condition

Vector = list[float]
Fields: TypeAlias = Mapping[str, str | int | None]
"""What payload fields must still hold for a write to happen; None: a number that is missing."""


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term weights: strictly increasing is not required, but indices are unique."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """What an engine stores under an id: a payload, vectors of passages and terms' weights.

    questions: a vector for each question that the note answers.
    """

    id: str
    payload: dict[str, Any]
    dense: Sequence[Vector] = ()
    sparse: SparseVector | None = None
    questions: Sequence[Vector] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """One nearest-neighbour list: `vector` dense or sparse, within `where`.

    questions: whether a dense vector is compared with the points' questions, not their passages.
    corpus: the points over which IDF is taken for a sparse query.
    fields: the payload fields that come with each match; None means all.
    """

    vector: Vector | SparseVector
    where: Condition
    limit: int
    corpus: Condition | None = None
    fields: tuple[str, ...] | None = ()
    questions: bool = False


class Scored(NamedTuple):
    """A match. Lists are long, and a tuple is made several times as quickly as a dataclass."""

    id: str
    score: float
    payload: Mapping[str, Any] = {}


class Engine(Protocol):
    """The few things asked of Qdrant, the same for every way of running it.

    Every method raises StoreError or one of its kinds, never the engine's own exceptions.
    """

    @property
    def exclusive(self) -> bool:
        """Whether no other process can have the store open at the same time."""
        ...

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        """The points that exist among `ids`, in the order of `ids`."""
        ...

    async def query(self, queries: Sequence[Query]) -> list[list[Scored]]:
        """One list per query, best first, in one round trip."""
        ...

    async def scroll(
        self,
        where: Condition,
        *,
        limit: int,
        order_by: str | None = None,
        descending: bool = False,
        start_from: int | None = None,
        after: str | None = None,
        fields: tuple[str, ...] | None = None,
    ) -> list[Point]:
        """Points by id, those past the id `after`; or by the unique integer field `order_by`.

        `start_from` is inclusive. `fields` selects payload fields; None means all.
        """
        ...

    async def count(self, where: Condition) -> int: ...

    async def facet(
        self, key: str, where: Condition, *, limit: int, exact: bool = True
    ) -> dict[str, int]:
        """How many points hold each value of the keyword field `key`.

        exact: without it the counts may be off, and the answer comes several times as quickly.
        """
        ...

    async def insert(self, points: Sequence[Point]) -> frozenset[str]:
        """Add the points whose id is free; return the ids that were already taken."""
        ...

    async def commit(
        self,
        points: Sequence[Point],
        *,
        expect: Mapping[str, Fields],
        present: Collection[str] = (),
        new: Sequence[Point] = (),
    ) -> frozenset[str]:
        """Replace points in one operation if each still is as it was read.

        `expect` gives, by id, what tells that (`codec.as_read`); `present` names further points
        that must exist; those of `new` whose ids are free are added with them. Returns the ids
        that failed; where the engine can, nothing was written then.
        A server may have written the other points: the caller redoes what was left out.
        """
        ...

    async def patch(
        self, id: str, payload: Mapping[str, Any], *, expect: Fields | None = None
    ) -> None:
        """Set payload fields without raising the version; nothing if the point is gone.

        expect: nor if one of these fields holds something else.
        """
        ...

    async def delete(self, where: Condition) -> None: ...

    async def flush(self) -> None: ...

    async def close(self) -> None: ...
