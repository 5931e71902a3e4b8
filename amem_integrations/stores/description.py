"""What a collection says of itself: the meta point, and whether it fits what is asked for."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from amem_integrations.core.io import Point
from amem_integrations.errors import StoreCorruptError, StoreMismatchError
from amem_integrations.stores.codec import META_ID, SCHEMA_VERSION

_ELSEWHERE = "use another directory or collection"


@dataclass(frozen=True, slots=True)
class Encoders:
    """What turns text into the vectors of a collection.

    embedder: the dense embedder's name; dimension: the size of its vectors; sparse: the name
    of the sparse encoder.
    """

    embedder: str
    dimension: int
    sparse: str


def meta_point(encoders: Encoders) -> Point:
    return Point(META_ID, {"kind": "meta", "schema": SCHEMA_VERSION, **asdict(encoders)})


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
    if sparse != asked.sparse:
        raise StoreMismatchError(
            f"The store in {location} was written with the sparse encoder {sparse!r}, and "
            f"{asked.sparse!r} was asked for; their terms differ. Open it with {sparse!r}, or "
            f"{_ELSEWHERE}."
        )
