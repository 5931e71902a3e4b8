"""How a shard directory comes into being, is recognised and is opened.

A new shard is made beside its place and renamed into it when it is whole and on the disk, so
that a process killed in between leaves no half-made store. Nothing here ever deletes or
changes a directory that it did not just make. `shards.py` calls it, and turns what the engine
raises into our errors.
"""

import contextlib
import functools
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import qdrant_edge as edge

from amem_integrations.errors import (
    InvalidInputError,
    StoreCorruptError,
    StoreLockedError,
    StoreMismatchError,
)
from amem_integrations.stores import codec
from amem_integrations.stores.checks import Encoders, meta_point
from amem_integrations.stores.edge.engine import DENSE, QUESTIONS, SPARSE, edge_point
from amem_integrations.stores.edge.errors import full, translated
from amem_integrations.stores.edge.ownership import SPARE, Ownership, make_private_directory

# On a file system in memory the empty maps of a new shard take some 200 MB at once.
_SPARE_TO_CREATE = 4 * SPARE
_CONFIG = "edge_config.json"
_SEVERAL = edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim)
_PARTS = ("segments", "wal")
# A segment that lacks one of these is taken by the engine for one that was never finished, and
# is cleared away with all that it holds.
_ESSENTIAL = ("version.info", "*id_tracker.mappings", "*id_tracker.versions")


def create_missing(path: Path, encoders: Encoders) -> None:
    """Make and describe a shard in `path` if nothing is there yet."""
    if not _entries(path):
        _create(path, encoders)


def open_existing(path: Path, owned: Ownership) -> edge.EdgeShard:
    """The engine's shard in `path`, which this process owns.

    Raises StoreMismatchError for a directory with other content, StoreWriteError,
    StoreCorruptError.
    """
    entries = _entries(path)
    if _CONFIG not in entries and not entries.issuperset(_PARTS):
        raise StoreMismatchError(
            f"{path} holds files that are not a store (such as {min(entries, default='none')!r}). "
            "Nothing was changed. Use another directory or collection, or empty this one."
        )
    if not _is_whole(path):
        raise StoreCorruptError(
            f"The files in {path} are damaged: some that a store cannot do without are missing or "
            "empty. Nothing was changed: move the directory aside, keep it, and restore a copy."
        )
    _check(path, SPARE)
    with translated(path, opening=True), owned.writing():
        shard = edge.EdgeShard.load(str(path))
        try:
            _make_missing(shard, path)
        except BaseException:
            shard.close()
            raise
        return shard


def _entries(path: Path) -> set[str]:
    if path.is_file():
        raise InvalidInputError(f"{path} is a file; a store needs a directory.")
    return {entry.name for entry in path.iterdir()} if path.exists() else set()


def _make_missing(shard: edge.EdgeShard, path: Path) -> None:
    """Make the vectors and indexes that an older version did not make."""
    vectors = json.loads((path / _CONFIG).read_bytes()).get("vectors", {})
    if DENSE in vectors and QUESTIONS not in vectors:
        shard.update(
            edge.UpdateOperation.create_dense_vector(
                QUESTIONS, vectors[DENSE]["size"], edge.Distance.Cosine, _SEVERAL
            )
        )
    there = shard.info().payload_schema
    for field, kind in codec.INDEXES.items():
        if field not in there:
            shard.update(edge.UpdateOperation.create_field_index(field, _index(kind)))


def open_temporary(path: Path, encoders: Encoders) -> edge.EdgeShard:
    """The engine's shard in the new directory `path`, which need not survive this process."""
    create_temporary(path, encoders)
    return edge.EdgeShard.load(str(path))


def create_temporary(path: Path, encoders: Encoders) -> None:
    """Write an empty shard into the new directory `path`, without waiting for the disk."""
    path.mkdir(mode=0o700, parents=True)
    _check(path, _SPARE_TO_CREATE)
    _write(_empty_shard(encoders), path)


def beside(path: Path, kind: str) -> Path:
    """A place for a directory that is to take the place of `path`, or had it."""
    # A collection's name has no dot, so this is nobody's place.
    return path.with_name(f"{path.name}.{kind}-{secrets.token_hex(4)}")


def _create(path: Path, encoders: Encoders) -> None:
    if (path.parent / _CONFIG).exists():
        raise InvalidInputError(
            f"{path.parent} is a collection's own directory; the memory is at {path.parent.parent}."
        )
    try:
        make_private_directory(path.parent)
    except (FileExistsError, NotADirectoryError) as error:
        raise InvalidInputError(
            f"{path.parent} is not a directory, so no store fits in."
        ) from error
    _check(path.parent, _SPARE_TO_CREATE)
    if aside := next(path.parent.glob(f"{path.name}.old-*"), None):
        raise StoreLockedError(
            f"{path} is being replaced, or that was broken off. If nobody is at it any more, "
            f"rename {aside} to {path.name}; then all is as before."
        )
    making = beside(path, "new")
    try:
        _write(_empty_shard(encoders), making)
        sync(making)
        # Another process may have been quicker; then its store is the one to open.
        with contextlib.suppress(OSError):
            path.rmdir()
        try:
            making.rename(path)
        except OSError:
            if not (path / _CONFIG).exists():
                raise
    finally:
        shutil.rmtree(making, ignore_errors=True)


@dataclass(frozen=True)
class _File:
    """A file of an empty shard: mostly a hole, so without its trailing zeros."""

    path: Path
    size: int
    start: bytes


@functools.lru_cache(maxsize=4)
def _empty_shard(encoders: Encoders) -> Sequence[_File]:
    """What a new shard consists of.

    The engine makes one with a thousand calls of fsync. So it makes it where those cost
    little, once a process, and what came out is written wherever a shard is wanted.
    """
    with tempfile.TemporaryDirectory(prefix="amem-", dir=_memory_disk()) as directory:
        root = Path(directory) / "empty"
        _check(root.parent, _SPARE_TO_CREATE)
        _build(root, encoders)
        return _read(root)


def _read(root: Path) -> list[_File]:
    return [
        _File(path.relative_to(root), path.stat().st_size, _start(path))
        for path in root.rglob("*")
        if path.is_file()
    ]


def _start(path: Path) -> bytes:
    """Return what a file holds without its trailing zeros, and read no hole at its end."""
    with path.open("rb", buffering=0) as stream:
        end = 0 if hasattr(os, "SEEK_DATA") else -1
        with contextlib.suppress(OSError):
            # Past the last data there is nothing to seek.
            while end >= 0:
                end = stream.seek(stream.seek(end, os.SEEK_DATA), os.SEEK_HOLE)
        stream.seek(0)
        return stream.read(end).rstrip(b"\0")


def _memory_disk() -> str | None:
    candidate = "/dev/shm"
    try:
        _check(Path(candidate), _SPARE_TO_CREATE)
    except Exception:
        return None
    return candidate


def _write(files: Sequence[_File], root: Path) -> None:
    # What people said is nobody else's business; whoever wants it to be can change the mode.
    root.mkdir(mode=0o700, exist_ok=True)
    for file in files:
        target = root / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as stream:
            stream.write(file.start)
            stream.truncate(file.size)


def sync(root: Path) -> None:
    """See to it that all files below `root`, and itself, are on the disk."""
    if os.name != "posix":
        return
    for path in (*root.rglob("*"), root, root.parent):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _build(path: Path, encoders: Encoders) -> None:

    def several(memory: edge.Memory) -> edge.EdgeVectorParams:
        return edge.EdgeVectorParams(
            size=encoders.dimension,
            distance=edge.Distance.Cosine,
            multivector_config=_SEVERAL,
            memory=memory,
        )

    config = edge.EdgeConfig(
        # Few notes have questions without a model, and room held in memory is 65 MB a store.
        vectors={DENSE: several(edge.Memory.Cached), QUESTIONS: several(edge.Memory.Cold)},
        sparse_vectors={SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
    )
    shard = edge.EdgeShard.create(str(path), config)
    try:
        for field, kind in codec.INDEXES.items():
            shard.update(edge.UpdateOperation.create_field_index(field, _index(kind)))
        meta = edge_point(meta_point(encoders))
        shard.update(edge.UpdateOperation.upsert_points([meta]))
    finally:
        shard.close()


def _index(kind: codec.Index) -> "edge.PayloadSchemaParams":
    match kind:
        case codec.Index.TENANT:
            return edge.KeywordIndexParams(is_tenant=True)
        case codec.Index.KEYWORD:
            return edge.KeywordIndexParams()
        case codec.Index.INTEGER:
            return edge.IntegerIndexParams()


def _check(path: Path, needed: int) -> None:
    """Opening writes too, so this is asked before anything is touched."""
    if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(0, "Permission denied, or the file system is read-only")
    free = shutil.disk_usage(path).free
    if free < needed:
        raise full(path, free, needed)


def _is_whole(path: Path) -> bool:
    segments = path.glob("segments/*/")
    return (path / _CONFIG).exists() and any(
        all(any(file.stat().st_size for file in segment.glob(name)) for name in _ESSENTIAL)
        for segment in segments
    )
