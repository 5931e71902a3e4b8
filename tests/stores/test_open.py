"""Opening stores: new ones, shared ones, temporary ones, and those that do not fit."""

import gc
import importlib.util
import os
import stat
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amem_integrations.core.engine import Query
from amem_integrations.core.filters import EVERYTHING, match
from amem_integrations.core.io import run
from amem_integrations.errors import (
    InvalidInputError,
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    StoreMismatchError,
)
from amem_integrations.stores import checks, codec
from amem_integrations.stores.checks import meta_point
from amem_integrations.stores.codec import META_ID
from amem_integrations.stores.edge import files
from amem_integrations.stores.open import Encoders, Store, is_there, open_store
from tests.stores.points import ENCODERS, point
from tests.stores.processes import next_line, python, running, tell

NOTES = match("kind", "note")


class Bytes(os.PathLike[bytes]):
    def __fspath__(self) -> bytes:
        return b"memory"


def opened(location: Path | str | None, encoders: Encoders = ENCODERS) -> Store:
    return open_store(location, collection="amem", encoders=encoders)


def shard_of(store: Store) -> Path:
    return store.sync._shard.path  # type: ignore[attr-defined]


def contents(directory: Path) -> dict[str, bytes]:
    """Every file, without the trailing zeros that the engine's files mostly consist of."""
    return {str(file.path): file.start for file in files._read(directory)}


def test_whether_a_directory_holds_a_collection_is_asked_without_making_one(tmp_path: Path) -> None:
    assert not is_there(tmp_path / "none", collection="amem")
    assert not (tmp_path / "none").exists()
    opened(tmp_path)
    assert is_there(tmp_path, collection="amem")
    assert not is_there(tmp_path, collection="other")


# -- locations ---------------------------------------------------------------------------------


def test_a_new_store_says_what_it_was_written_with(tmp_path: Path) -> None:
    store = opened(tmp_path / "deep" / "inside")
    (meta,) = run(store.sync.get([META_ID]))
    assert meta.payload == {
        "kind": "meta",
        "schema": 1,
        "embedder": "test-embedder",
        "dimension": 4,
        "sparse": "test-terms",
    }
    assert store.location == str(tmp_path / "deep" / "inside" / "amem")
    if os.name == "posix":
        assert stat.S_IMODE(shard_of(store).stat().st_mode) == 0o700
    store.close()


def test_a_store_that_an_older_version_made_gets_the_indexes_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = {name: kind for name, kind in codec.INDEXES.items() if name != "tier"}
    # Not what was made for other tests with all of them.
    encoders = replace(ENCODERS, embedder="of an older version")
    with monkeypatch.context() as patched:
        patched.setattr(codec, "INDEXES", older)
        store = opened(tmp_path, encoders)
        run(store.sync.insert([replace(point("a"), payload={"kind": "note", "tier": "long"})]))
        with pytest.raises(StoreError):
            run(store.sync.facet("tier", NOTES, limit=9))
        store.close()
    store = opened(tmp_path, encoders)
    assert run(store.sync.facet("tier", NOTES, limit=9)) == {"long": 1}
    store.close()


def test_collections_of_one_directory_are_kept_apart(tmp_path: Path) -> None:
    stores = [open_store(tmp_path, collection=name, encoders=ENCODERS) for name in ("a", "b")]
    run(stores[0].sync.insert([point("one")]))
    assert [run(store.sync.count(NOTES)) for store in stores] == [1, 0]
    for store in stores:
        store.close()


@pytest.mark.parametrize(
    "location",
    ["", "  ", "a\x00b", ":memory:", "ftp://host", "qdrant://host:6333", b"memory", Bytes()],
)
def test_a_location_that_is_none_is_refused(location: Any) -> None:
    with pytest.raises(InvalidInputError):
        opened(location)


@pytest.mark.parametrize(
    "location",
    [
        "localhost:6333",
        "qdrant.example.org:443/",
        "127.0.0.1:6333",
        "[::1]:6333",
        "user@host:80/path",
        "http:localhost:6333",
        "https:/localhost",
        Path("http://localhost:6333"),
    ],
)
def test_the_address_of_a_server_makes_no_directory(
    location: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for act in (opened, lambda place: is_there(place, collection="amem")):
        with pytest.raises(InvalidInputError, match="address of a server: give its URL"):
            act(location)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="a colon is no part of names there")
@pytest.mark.parametrize("location", ["./notes:2024", Path("notes:2024"), "a/b:1", "12:30 talk"])
def test_a_directory_may_have_a_colon_in_its_name(
    location: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    opened(location).close()
    assert is_there(location, collection="amem")


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes")
@pytest.mark.parametrize("engine", ["edge", "local"])
def test_every_directory_that_is_made_for_a_store_is_its_users_only(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if engine == "local":
        request.getfixturevalue("without_wheel")
    (tmp_path / "there").mkdir()
    (tmp_path / "there").chmod(0o755)
    opened(tmp_path / "there" / "new" / "memory").close()
    made = ("there", "there/new", "there/new/memory", "there/new/memory/amem")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in made]
    assert modes == [0o755, 0o700, 0o700, 0o700]


@pytest.mark.parametrize(
    "name", ["", "..", "a/b", "../a", "a\\b", "a.b", "a b", "a\x00", "ä", "a" * 65, "/a"]
)
def test_a_collection_name_that_could_be_a_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match="collection"):
        open_store(tmp_path, collection=name, encoders=ENCODERS)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_place_for_a_store(tmp_path: Path) -> None:
    for path in (tmp_path / "amem", tmp_path / "file"):
        path.write_text("mine")
    for location in (tmp_path, tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InvalidInputError, match="director"):
            opened(location)
    assert contents(tmp_path) == {"amem": b"mine", "file": b"mine"}


def test_no_store_is_made_among_the_files_of_another(tmp_path: Path) -> None:
    opened(tmp_path).close()
    before = contents(tmp_path)
    with pytest.raises(InvalidInputError, match=f"the memory is at {tmp_path}"):
        opened(tmp_path / "amem")
    assert contents(tmp_path) == before


# -- temporary stores --------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["closed", "forgotten"])
def test_a_temporary_store_is_removed_when_it_is_closed_or_forgotten(how: str) -> None:
    store = opened(None)
    directory = shard_of(store).parent
    assert directory.is_dir()
    if how == "closed":
        store.close()
    del store
    gc.collect()
    assert not directory.exists()


def test_a_temporary_store_is_removed_when_the_process_ends() -> None:
    (directory,) = python("store = open_here(None); say(store.sync._shard.path.parent)")
    assert not Path(directory).exists()


# -- the same directory twice ------------------------------------------------------------------


def test_who_opens_a_directory_twice_sees_one_store(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    first, second = opened(tmp_path), opened(tmp_path / "link" / ".." / tmp_path.name)
    run(first.sync.insert([point("one")]))
    assert run(second.sync.count(NOTES)) == 1
    first.close()
    assert run(second.sync.count(NOTES)) == 1
    run(second.sync.insert([point("two")]))
    second.close()
    assert python("say(run(open_here().sync.count(EVERYTHING)))", tmp_path) == ["3"]


def test_a_directory_that_another_process_holds_is_named(tmp_path: Path) -> None:
    with running("store = open_here(); say('open'); sys.stdin.read()", tmp_path) as holder:
        assert next_line(holder) == "open"
        with pytest.raises(StoreLockedError, match="another process") as caught:
            opened(tmp_path)
        assert str(tmp_path / "amem") in str(caught.value)
    opened(tmp_path).close()


def test_of_processes_that_create_a_store_at_once_one_gets_it_whole(tmp_path: Path) -> None:
    code = """
from amem_integrations.stores.edge import engine as edge
from amem_integrations.stores.edge import files as edge_files
say("ready"); sys.stdin.readline()
try:
    store = open_here()
    say("open"); sys.stdin.readline()
    say(run(store.sync.count(EVERYTHING)))
except StoreError as error:
    say(type(error).__name__)
"""
    with ExitStack() as stack:
        processes = [stack.enter_context(running(code, tmp_path)) for _ in range(3)]
        assert [next_line(process) for process in processes] == ["ready"] * 3
        for process in processes:
            tell(process, "go")
        said = [next_line(process) for process in processes]
        assert sorted(said) == ["StoreLockedError"] * 2 + ["open"]
        winner = processes[said.index("open")]
        tell(winner, "count")
        assert next_line(winner) == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["amem"]


def test_a_directory_of_an_older_version_gets_its_vector_of_questions(tmp_path: Path) -> None:
    import qdrant_edge as edge

    store = opened(tmp_path)
    run(store.sync.insert([point("old")]))
    store.close()
    shard = edge.EdgeShard.load(str(tmp_path / "amem"))
    shard.update(edge.UpdateOperation.delete_vector_name("questions"))
    shard.close()
    for _ in range(2):
        store = opened(tmp_path)
        assert run(store.sync.count(EVERYTHING)) == 2
        store.close()
    store = opened(tmp_path)
    asking = replace(point("new"), questions=[[1.0, 0.0, 0.0, 0.0]])
    assert run(store.sync.insert([asking])) == frozenset()
    query = Query([1.0, 0.0, 0.0, 0.0], EVERYTHING, 5, questions=True)
    [[hit]] = run(store.sync.query([query]))
    assert hit.id == asking.id
    store.close()


# -- what does not fit -------------------------------------------------------------------------


OTHERS = [
    (replace(ENCODERS, embedder="other"), ["'test-embedder'", "'other'", "embedder="]),
    (replace(ENCODERS, dimension=8), ["(4 dimensions)", "(8)"]),
    (replace(ENCODERS, sparse="words"), ["'test-terms'", "'words'"]),
]


def test_a_store_is_not_opened_with_other_encoders(tmp_path: Path) -> None:
    store = opened(tmp_path)
    run(store.sync.insert([point("one")]))
    for _ in ("while it is open", "and afterwards"):
        for asked, names in OTHERS:
            with pytest.raises(StoreMismatchError, match="other directory or collection") as caught:
                opened(tmp_path, asked)
            assert all(name in str(caught.value) for name in [*names, str(tmp_path)])
        store.close()
    store = opened(tmp_path)
    assert run(store.sync.count(NOTES)) == 1
    store.close()


def test_a_store_of_another_schema_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "SCHEMA_VERSION", 2)
    files._empty_shard.cache_clear()
    opened(tmp_path).close()
    monkeypatch.undo()
    files._empty_shard.cache_clear()
    with pytest.raises(StoreMismatchError, match=r"has schema 2.*reads schema 1"):
        opened(tmp_path)


def test_a_directory_with_other_content_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "amem" / "segments").mkdir(parents=True)
    (tmp_path / "amem" / "thesis.txt").write_text("three years of work")
    with pytest.raises(StoreMismatchError, match="not a store"):
        opened(tmp_path)
    assert contents(tmp_path) == {"amem/thesis.txt": b"three years of work"}


@pytest.mark.parametrize("points", [0, 1])
def test_a_shard_of_somebody_else_is_refused(tmp_path: Path, points: int) -> None:
    import qdrant_edge as engine

    vectors = {"dense": engine.EdgeVectorParams(size=4, distance=engine.Distance.Cosine)}
    shard = engine.EdgeShard.create(str(tmp_path / "amem"), engine.EdgeConfig(vectors=vectors))
    theirs = [engine.Point(n, {"dense": [1.0] * 4}, {"mine": "yes"}) for n in range(points)]
    shard.update(engine.UpdateOperation.upsert_points(theirs))
    shard.close()
    with pytest.raises((StoreMismatchError, StoreCorruptError), match="Nothing was changed"):
        opened(tmp_path)
    shard = engine.EdgeShard.load(str(tmp_path / "amem"))
    assert shard.count(engine.CountRequest()) == points
    shard.close()


def test_a_meta_point_that_is_not_whole_means_damage(tmp_path: Path) -> None:
    for payload in ({"kind": "meta"}, {"schema": "x", "dimension": None}):
        store = opened(tmp_path)
        run(store.sync.delete(EVERYTHING))
        run(store.sync.insert([replace(point("x"), id=META_ID, payload=payload)]))
        with pytest.raises(StoreCorruptError, match="describes"):
            opened(tmp_path)
        run(store.sync.delete(EVERYTHING))
        run(store.sync.insert([meta_point(ENCODERS)]))
        store.close()


# -- platforms without a wheel of the embedded engine ------------------------------------------


@pytest.fixture
def without_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "qdrant_edge" else find(name)
    )


@pytest.mark.usefixtures("without_wheel")
def test_without_a_wheel_the_clients_local_mode_keeps_the_directory(tmp_path: Path) -> None:
    store = opened(tmp_path)
    run(store.sync.insert([point("one")]))
    store.close()
    store = opened(tmp_path)
    assert run(store.sync.count(NOTES)) == 1
    store.close()
    with pytest.raises(StoreMismatchError, match="'test-embedder'"):
        opened(tmp_path, replace(ENCODERS, embedder="other"))


def test_what_one_engine_wrote_the_other_refuses(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    opened(tmp_path / "edge").close()
    request.getfixturevalue("without_wheel")
    with pytest.raises(StoreMismatchError, match="engine did not write"):
        opened(tmp_path / "edge")
    opened(tmp_path / "local").close()
    request.getfixturevalue("monkeypatch").undo()
    with pytest.raises(StoreMismatchError, match="not a store"):
        opened(tmp_path / "local")


@pytest.mark.usefixtures("without_wheel")
def test_a_collection_without_description_is_used_only_if_it_is_empty(tmp_path: Path) -> None:
    from amem_integrations.stores.server.client import open_client

    path = tmp_path / "amem"
    client = open_client(None, path=path, collection="amem", dimension=4)
    client.close()
    opened(tmp_path).close()
    client = open_client(None, path=path, collection="amem", dimension=4)
    run(client.sync.delete(EVERYTHING))
    run(client.sync.insert([point("theirs")]))
    client.close()
    with pytest.raises(StoreMismatchError, match="not written by this package"):
        opened(tmp_path)
