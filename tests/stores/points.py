"""Points for tests of the store, and what they were encoded with."""

import uuid
from collections.abc import Sequence
from typing import Any

from amem_integrations.core.engine import Point, SparseVector, Vector
from amem_integrations.stores.open import Encoders

DIMENSION = 4
ENCODERS = Encoders("test-embedder", DIMENSION, "test-terms")


def id_of(name: str | int) -> str:
    """Ids in the order of small numbers; anything else somewhere."""
    if isinstance(name, int):
        return str(uuid.UUID(int=name))
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def point(
    name: str | int,
    dense: Sequence[Vector] = (),
    terms: dict[int, float] | None = None,
    **payload: Any,
) -> Point:
    """A point in namespace "a" at version 1, unless `payload` says otherwise."""
    sparse = None if terms is None else SparseVector(tuple(terms), tuple(terms.values()))
    fields = {"kind": "note", "ns": "a", "version": 1, **payload}
    return Point(id_of(name), fields, dense, sparse)
