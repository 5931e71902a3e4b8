"""The client's local mode: its files, its threads, its process."""

import asyncio
import multiprocessing
import os
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient

from amem_integrations.core.engine import Query
from amem_integrations.core.filters import EVERYTHING
from amem_integrations.core.io import run
from amem_integrations.errors import (
    StoreClosedError,
    StoreCorruptError,
    StoreLockedError,
    StoreWriteError,
)
from amem_integrations.stores.server.client import open_client
from tests.stores.loopback import make_point, point_id


def test_a_directory_keeps_what_was_written(tmp_path: Path) -> None:
    for expected in (0, 1):
        store = open_client(None, path=tmp_path / "s", collection="amem", dimension=3)
        assert run(store.sync.count(EVERYTHING)) == expected
        run(store.sync.insert([make_point(1)]))
        store.close()


def test_a_directory_that_is_open_elsewhere_is_locked(tmp_path: Path) -> None:
    store = open_client(None, path=tmp_path, collection="amem", dimension=3)
    with pytest.raises(StoreLockedError, match=str(tmp_path)):
        open_client(None, path=tmp_path, collection="amem", dimension=3)
    store.close()
    open_client(None, path=tmp_path, collection="amem", dimension=3).close()


def test_damaged_files_are_named(tmp_path: Path) -> None:
    open_client(None, path=tmp_path, collection="amem", dimension=3).close()
    (tmp_path / "meta.json").write_text("{")
    with pytest.raises(StoreCorruptError, match=str(tmp_path)):
        open_client(None, path=tmp_path, collection="amem", dimension=3)


def test_a_directory_that_is_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreWriteError, match="file"):
        open_client(None, path=tmp_path / "file", collection="amem", dimension=3)


def test_local_mode_does_its_work_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("upsert", "retrieve", "query_batch_points", "count", "delete")
    threads: dict[str, int] = {}

    def watching(name: str, original: Any) -> Any:
        def watched(self: QdrantClient, **arguments: object) -> object:
            threads[name] = threading.get_ident()
            return original(self, **arguments)

        return watched

    async def use() -> None:
        await store.asynchronous.insert([make_point(1)])
        await store.asynchronous.commit([make_point(1, 2)], expect={point_id(1): {"version": 1}})
        await store.asynchronous.query([Query([1.0, 0.0, 0.0], EVERYTHING, 1)])
        await store.asynchronous.count(EVERYTHING)
        await store.asynchronous.delete(EVERYTHING)

    store = open_client(None, collection="amem", dimension=3)
    for name in names:
        original = getattr(QdrantClient, name)
        monkeypatch.setattr(QdrantClient, name, watching(name, original))
    asyncio.run(use())
    assert threads.keys() == set(names)
    assert threading.get_ident() not in threads.values()
    store.close()


def test_a_forked_child_is_told_to_open_the_store_itself() -> None:
    store = open_client(None, collection="amem", dimension=3)
    receiving, sending = multiprocessing.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads, from 3.12 on
        child = os.fork()
    if child == 0:
        try:
            run(store.sync.count(EVERYTHING))
        except StoreClosedError as error:
            sending.send(str(error))
        finally:
            os._exit(0)
    assert receiving.poll(20)
    assert "child process" in receiving.recv()
    os.waitpid(child, 0)
    store.close()
