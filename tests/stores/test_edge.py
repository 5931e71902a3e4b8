"""What is particular to the embedded engine: its errors, room on the disk, flushing, the lock."""

import functools
import gc
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from amem_integrations.core.filters import EVERYTHING, match
from amem_integrations.core.io import run
from amem_integrations.errors import (
    EmbeddingError,
    InvalidFilterError,
    StoreClosedError,
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    StoreWriteError,
)
from amem_integrations.stores.edge import engine, shards
from amem_integrations.stores.edge.errors import translated
from amem_integrations.stores.edge.ownership import SPARE
from amem_integrations.stores.edge.shards import Shard
from amem_integrations.stores.open import Store, open_store
from tests.stores.points import ENCODERS, id_of, point
from tests.stores.processes import python


def opened(location: Path | None = None) -> Store:
    return open_store(location, collection="amem", encoders=ENCODERS)


@pytest.fixture
def store() -> Iterator[Store]:
    store = opened()
    yield store
    store.close()


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("failed to open WAL ./wal: Can't init WAL: Kind(WouldBlock)", StoreLockedError),
        ("IO Error: No space left on device (os error 28)", StoreWriteError),
        ('Os { code: 27, kind: FileTooLarge, message: "File too large" }', StoreWriteError),
        ("failed to create directory: Read-only file system (os error 30)", StoreWriteError),
        ("Permission denied (os error 13)", StoreWriteError),
        ("Service runtime error: Shard is not initialized", StoreClosedError),
        ("Failed to decode value: Failed to deserialize payload", StoreCorruptError),
        ("vector offset out of bounds", StoreCorruptError),
        ("No range index for `order_by` key: `x`", StoreError),
        ("Too many open files (os error 24)", StoreError),
    ],
)
def test_what_the_engine_says_becomes_one_of_our_errors(said: str, meant: type[StoreError]) -> None:
    with (
        pytest.raises(StoreError, match="some-directory") as caught,
        translated(Path("some-directory")),
    ):
        raise Exception(f"Service runtime error: {said}")
    assert type(caught.value) is meant


def test_a_panic_of_the_engine_becomes_one_of_our_errors() -> None:
    panic = type("PanicException", (BaseException,), {})
    with pytest.raises(StoreCorruptError, match="index out of bounds"), translated(Path("x")):
        raise panic("index out of bounds: the len is 0\nbacktrace")
    with pytest.raises(KeyboardInterrupt), translated(Path("x")):
        raise KeyboardInterrupt


def test_what_was_refused_is_not_in_the_log_either(tmp_path: Path) -> None:
    store = opened(tmp_path)
    bad = [point("bad", [[1.0] * 4, [1.0]]), point("bad", [[float("nan")] * 4])]
    bad.append(point("bad", deep=functools.reduce(lambda inner, _: {"in": inner}, range(200), {})))
    for each in bad:
        with pytest.raises((StoreError, EmbeddingError)):
            run(store.sync.insert([point("good"), each]))
    store.close()
    store = opened(tmp_path)
    assert run(store.sync.count(match("kind", "note"))) == 0
    store.close()


def test_a_condition_on_a_value_that_cannot_be_stored_is_refused(store: Store) -> None:
    for value in ("\ud800", 2**70, True):
        with pytest.raises(InvalidFilterError):
            run(store.sync.count(match("ns", value)))


# -- room --------------------------------------------------------------------------------------


def test_a_disk_without_room_refuses_writes_and_goes_on_reading(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(store.sync.insert([point("one")]))
    monkeypatch.setattr(
        os, "fstatvfs", lambda _: SimpleNamespace(f_bavail=SPARE // 4096 - 1, f_frsize=4096)
    )
    for write in (
        store.sync.insert([point("two")]),
        store.sync.commit([point("one", version=2)], expect={id_of("one"): {"version": 1}}),
        store.sync.patch(id_of("one"), {"attempts": 1}),
        store.sync.delete(EVERYTHING),
    ):
        with pytest.raises(StoreWriteError, match="63 MB left, and 64 MB"):
            run(write)
    assert [found.payload["version"] for found in run(store.sync.get([id_of("one")]))] == [1]
    # A large write needs more room than a small one.
    free = SPARE + 8 * 1024 * 1024
    monkeypatch.setattr(os, "fstatvfs", lambda _: SimpleNamespace(f_bavail=free, f_frsize=1))
    with pytest.raises(StoreWriteError):
        run(store.sync.insert([point("large", content="x" * 2_000_000)]))
    assert run(store.sync.insert([point("two")])) == frozenset()


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be deleted on Windows")
def test_a_directory_deleted_while_open_takes_no_more_writes(tmp_path: Path) -> None:
    store = opened(tmp_path)
    shutil.rmtree(tmp_path / "amem")
    with pytest.raises(StoreWriteError, match="deleted"):
        run(store.sync.insert([point("one")]))
    again = opened(tmp_path)
    run(again.sync.insert([point("one")]))
    store.close()
    again.close()
    again = opened(tmp_path)
    assert run(again.sync.count(match("kind", "note"))) == 1
    again.close()


def test_deleting_more_than_one_batch_deletes_everything(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_DELETED_AT_ONCE", 3)
    run(store.sync.insert([point(n) for n in range(10)]))
    run(store.sync.delete(match("ns", "a")))
    assert run(store.sync.count(match("ns", "a"))) == 0


# -- flushing ----------------------------------------------------------------------------------


@pytest.fixture
def flushes(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When shards were flushed, which is due a twentieth of a second after a write."""
    times: list[float] = []
    flush = Shard.flush

    def counted(self: Shard) -> None:
        times.append(time.monotonic())
        flush(self)

    monkeypatch.setattr(shards, "FLUSH_AFTER", 0.05)
    monkeypatch.setattr(Shard, "flush", counted)
    return times


def wait_for(condition: list[float], count: int) -> None:
    deadline = time.monotonic() + 30
    while len(condition) < count and time.monotonic() < deadline:
        time.sleep(0.01)


def test_writes_are_flushed_by_themselves_once_for_many(flushes: list[float], store: Store) -> None:
    start = time.monotonic()
    for n in range(5):
        run(store.sync.insert([point(n)]))
    wait_for(flushes, 1)
    time.sleep(0.2)
    assert len(flushes) <= 1 + int((time.monotonic() - start) / 0.05)
    assert flushes
    assert flushes[0] - start >= 0.04


def test_nothing_is_flushed_after_reading_or_closing(flushes: list[float]) -> None:
    store = opened()
    run(store.sync.count(EVERYTHING))
    time.sleep(0.1)
    assert flushes == []
    run(store.sync.insert([point("one")]))
    store.close()
    time.sleep(0.1)
    assert flushes == []
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


def test_a_failed_flush_is_logged_and_tried_again(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    times: list[float] = []

    def failing(self: Shard) -> None:
        times.append(time.monotonic())
        raise StoreWriteError("There is no room.")

    monkeypatch.setattr(shards, "FLUSH_AFTER", 0.05)
    with monkeypatch.context() as patched:
        patched.setattr(Shard, "flush", failing)
        run(store.sync.insert([point("one")]))
        wait_for(times, 2)
    assert len(times) >= 2
    assert "tried again" in caplog.text


def test_a_process_that_ends_without_closing_waits_for_no_timer_and_loses_nothing(
    tmp_path: Path,
) -> None:
    start = time.monotonic()
    code = """
from amem_integrations.stores.edge import shards
shards.FLUSH_AFTER = 300
store = open_here()
run(store.sync.insert([point("one", content="kept")]))
"""
    python(code, tmp_path)
    assert time.monotonic() - start < 60
    store = opened(tmp_path)
    (found,) = run(store.sync.get([id_of("one")]))
    assert found.payload["content"] == "kept"
    store.close()


# -- loops and threads -------------------------------------------------------------------------


def test_garbage_collection_amid_a_call_closes_other_stores_without_harm(store: Store) -> None:
    with shards._lock:
        dropped = opened()
        del dropped
        gc.collect()
    assert run(store.sync.insert([point("one")])) == frozenset()
