"""Checks before an engine is used: of points and queries, and of what a collection says of itself.

Engines take NaN without a word, and an operation that fails inside the embedded one stays in its
log and fails again at every opening. So every engine asks here first, before it writes.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from amem_integrations.core.engine import Fields, Point, Query, SparseVector, Vector
from amem_integrations.errors import (
    EmbeddingError,
    StoreCorruptError,
    StoreError,
    StoreMismatchError,
)
from amem_integrations.stores.codec import META_ID, SCHEMA_VERSION

# The embedded engine cannot read a payload nested 127 deep again; ours have three levels.
MAX_PAYLOAD_DEPTH = 32
_LARGEST_FLOAT32 = 3.4028235e38
_ID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def address_of(location: str) -> str:
    """A directory as it is; of a URL scheme, host and port only, as the rest may be a secret."""
    scheme, mark, rest = location.partition("://")
    if not mark:
        return location
    host, *path = re.split("[/?#]", rest, maxsplit=1)
    return f"{scheme}://{host.rpartition('@')[2]}{'/…' if any(path) else ''}"


def check_points(points: Iterable[Point], dimension: int) -> None:
    """Raise EmbeddingError or StoreError if one of the points must not be stored."""
    for point in points:
        if not is_id(point.id):
            raise StoreError(f"A point's id is a UUID in its usual form; got {point.id!r}.")
        for vector in (*point.dense, *point.questions):
            check_vector(vector, dimension)
        if point.sparse is not None:
            check_sparse(point.sparse)
        _check_depth(point.payload, point.id)


def check_commit(
    points: Sequence[Point], expect: Mapping[str, Fields], new: Sequence[Point], dimension: int
) -> None:
    """Raise as `check_points`, and StoreError if nothing is expected of one of `points`."""
    check_points([*points, *new], dimension)
    if unstated := {point.id for point in points} - expect.keys():
        raise StoreError(f"A commit must state what it expects of {', '.join(sorted(unstated))}.")


def holds(stored: Mapping[str, Any] | None, fields: Fields) -> bool:
    """Return whether a point's payload is there and has these fields; None: it lacks the field."""
    return stored is not None and all(stored.get(name) == value for name, value in fields.items())


def check_query(query: Query, dimension: int) -> None:
    """Raise EmbeddingError for a query whose vector is none."""
    if isinstance(query.vector, SparseVector):
        check_sparse(query.vector)
    else:
        check_vector(query.vector, dimension)


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


def is_id(text: str) -> bool:
    """Whether `text` can be the id of a point: a UUID, lower case, with hyphens."""
    return _ID.fullmatch(text) is not None


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


_ELSEWHERE = "use another directory or collection"


@dataclass(frozen=True, slots=True)
class Encoders:
    """What turns text into the vectors of a collection.

    embedder: the dense embedder's name; dimension: the size of its vectors; sparse: the name
    of the sparse encoder. others: sparse encoders that a collection may have as well; what it has
    is its own and never changes.
    """

    embedder: str
    dimension: int
    sparse: str
    others: tuple[str, ...] = ()


def meta_point(encoders: Encoders) -> Point:
    held = asdict(encoders)
    del held["others"]
    return Point(META_ID, {"kind": "meta", "schema": SCHEMA_VERSION, **held})


def encoders_of(held: Mapping[str, Any], location: str) -> Encoders:
    """What a collection was written with, by the payload of its meta point.

    Raises StoreCorruptError if that is not whole, StoreMismatchError for another schema.
    """
    try:
        schema, dimension = int(held["schema"]), int(held["dimension"])
        embedder, sparse = str(held["embedder"]), str(held["sparse"])
    except (KeyError, TypeError, ValueError) as error:
        raise StoreCorruptError(
            f"The point that describes the collection in {location} is damaged. Nothing was "
            f"changed: restore a copy, or {_ELSEWHERE}."
        ) from error
    if schema != SCHEMA_VERSION:
        raise StoreMismatchError(
            f"The store in {location} has schema {schema}, and this version of amem-integrations "
            f"reads schema {SCHEMA_VERSION}. Open it with the version that wrote it, or "
            f"{_ELSEWHERE}."
        )
    return Encoders(embedder, dimension, sparse)


def check_fits(held: Mapping[str, Any], asked: Encoders, location: str) -> None:
    """Raise StoreMismatchError unless the collection was written just as it is to be used.

    held: the payload of its meta point; StoreCorruptError if that is not whole.
    """
    written = encoders_of(held, location)
    embedder, dimension, sparse = written.embedder, written.dimension, written.sparse
    if (embedder, dimension) != (asked.embedder, asked.dimension):
        raise StoreMismatchError(
            f"The store in {location} was written with the embedder {embedder!r} ({dimension} "
            f"dimensions), and {asked.embedder!r} ({asked.dimension}) was asked for; their vectors "
            f"cannot be compared. Open it with embedder={embedder!r}, {_ELSEWHERE}, or have "
            "`amem admin reembed` (`copy_to`) make a copy for the other embedder.",
            embedder=embedder,
            dimension=dimension,
        )
    if sparse not in (asked.sparse, *asked.others):
        raise StoreMismatchError(
            f"The store in {location} was written with the sparse encoder {sparse!r}, and "
            f"{asked.sparse!r} was asked for; their terms differ. Open it with {sparse!r}, or "
            f"{_ELSEWHERE}."
        )
