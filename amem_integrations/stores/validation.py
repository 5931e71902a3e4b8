"""What may reach an engine: vectors that are vectors, shallow payloads, UUIDs as ids.

Engines take NaN without a word, and an operation that fails inside the embedded one stays in
its log and fails again at every opening. So every engine asks here first, before it writes.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from amem_integrations.core.filters import All, Condition, Not
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.io import Point, Query, SparseVector, Vector
from amem_integrations.errors import EmbeddingError, InvalidFilterError, StoreError

# The embedded engine cannot read a payload nested 127 deep again; ours have three levels.
MAX_PAYLOAD_DEPTH = 32
# A filter nested some hundred deep overflows the engine's stack and ends the process.
MAX_CONDITION_DEPTH = 64
_LARGEST_FLOAT32 = 3.4028235e38
_ID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def check_points(points: Iterable[Point], dimension: int) -> None:
    """Raise EmbeddingError or StoreError if one of the points must not be stored."""
    for point in points:
        if not is_id(point.id):
            raise StoreError(f"A point's id is a UUID in its usual form; got {point.id!r}.")
        for vector in point.dense:
            check_vector(vector, dimension)
        if point.sparse is not None:
            check_sparse(point.sparse)
        _check_depth(point.payload, point.id)


def check_query(query: Query, dimension: int) -> None:
    """Raise EmbeddingError or InvalidFilterError for a query that cannot be asked."""
    if isinstance(query.vector, SparseVector):
        check_sparse(query.vector)
    else:
        check_vector(query.vector, dimension)
    check_condition(query.where)
    if query.corpus is not None:
        check_condition(query.corpus)


def check_vector(vector: Vector, dimension: int) -> None:
    if len(vector) != dimension:
        raise EmbeddingError(
            f"The embedder returned a vector of {len(vector)} numbers; this store keeps vectors "
            f"of {dimension}. Open the store with the embedder that it was written with."
        )
    try:
        length = math.hypot(*vector)
    except TypeError as error:
        raise EmbeddingError(
            "The embedder returned a vector that holds something other than numbers."
        ) from error
    if not length <= _LARGEST_FLOAT32:
        raise EmbeddingError(
            "The embedder returned a vector that holds NaN, infinity or numbers too large for "
            "32 bits. Nothing was stored; check the model and its input."
        )


def check_sparse(vector: SparseVector) -> None:
    indices, values = vector.indices, vector.values
    if len(indices) != len(values) or len(set(indices)) != len(indices):
        raise EmbeddingError(
            "The sparse encoder returned a vector whose indices repeat or do not match its values."
        )
    if not all(0 <= index < 2**32 for index in indices):
        raise EmbeddingError("The sparse encoder returned an index outside of 32 bits.")
    if not math.hypot(*values) <= _LARGEST_FLOAT32:
        raise EmbeddingError("The sparse encoder returned a weight that is NaN or infinite.")


def check_condition(condition: Condition) -> None:
    """Raise InvalidFilterError for a condition nested deeper than engines can take."""
    level: Sequence[Condition] = [condition]
    for _ in range(MAX_CONDITION_DEPTH):
        level = [part for parent in level for part in _parts(parent)]
        if not level:
            return
    raise InvalidFilterError(
        f"A filter is nested at most {MAX_CONDITION_DEPTH} levels deep. Flatten it."
    )


def is_id(text: str) -> bool:
    """Whether `text` can be the id of a point: a UUID, lower case, with hyphens."""
    return _ID.fullmatch(text) is not None


def _parts(condition: Condition) -> tuple[Condition, ...]:
    match condition:
        case All(parts) | AnyOf(parts):
            return parts
        case Not(part):
            return (part,)
        case _:
            return ()


def _check_depth(payload: dict[str, Any], id: str) -> None:
    level: list[Any] = [payload]
    for _ in range(MAX_PAYLOAD_DEPTH):
        level = [item for value in level for item in _items(value)]
        if not level:
            return
    raise StoreError(
        f"The payload of point {id} is nested more than {MAX_PAYLOAD_DEPTH} levels deep, which "
        "would damage the store. Nested data is kept as one JSON string."
    )


def _items(value: Any) -> list[Any]:
    """The containers directly inside a value."""
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    if not isinstance(value, list | tuple):
        return []
    items = cast("Sequence[Any]", value)
    return [item for item in items if isinstance(item, dict | list | tuple)]
