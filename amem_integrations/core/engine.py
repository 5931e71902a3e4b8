"""What goes into an engine and what comes out: points, queries, matches; values only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

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
    """What an engine stores under an id: a payload, passages' vectors, term weights."""

    id: str
    payload: dict[str, Any]
    dense: Sequence[Vector] = ()
    sparse: SparseVector | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One nearest-neighbour list: `vector` dense or sparse, within `where`.

    corpus: the points over which IDF is taken for a sparse query.
    """

    vector: Vector | SparseVector
    where: Condition
    limit: int
    corpus: Condition | None = None


class Scored(NamedTuple):
    """A match. Lists are long, and a tuple is made several times as quickly as a dataclass."""

    id: str
    score: float
