"""The engine over qdrant-client: opening, writing beside others, threads and event loops.

What every engine has in common is in the contract suite.
"""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

from amem_integrations.core.engine import Point, Query, SparseVector
from amem_integrations.core.filters import EVERYTHING, Any, Not, Range, both, ids, match
from amem_integrations.core.io import run
from amem_integrations.errors import (
    StoreClosedError,
    StoreError,
    StoreMismatchError,
    StoreUnavailableError,
)
from amem_integrations.stores.codec import INDEXES
from amem_integrations.stores.server import engine, transport
from amem_integrations.stores.server.client import ClientStore, open_client
from amem_integrations.stores.server.filters import to_filter
from tests.stores.loopback import LoopbackServer, make_point, open_at, point_id


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    running = LoopbackServer()
    yield running
    running.stop()


@pytest.fixture
def store(server: LoopbackServer) -> Iterator[ClientStore]:
    opened = open_at(server)
    yield opened
    opened.close()


def test_more_points_than_fit_into_one_request_are_inserted(store: ClientStore) -> None:
    assert run(store.sync.insert([make_point(n) for n in range(150)])) == frozenset()
    assert run(store.sync.count(EVERYTHING)) == 150


def test_a_server_is_not_asked_for_nothing_or_without_an_index(store: ClientStore) -> None:
    engine = store.sync
    run(engine.insert([make_point(1)]))
    assert run(engine.get(["no uuid"])) == run(engine.scroll(EVERYTHING, limit=0)) == []
    assert run(engine.facet("ns", EVERYTHING, limit=0)) == {}
    assert run(engine.commit([], expect={})) == frozenset()
    expect = {point_id(1): {"version": 1}}
    assert run(engine.commit([], expect=expect, new=[make_point(2)])) == frozenset()
    assert run(engine.count(EVERYTHING)) == 2
    for ask in (
        engine.scroll(EVERYTHING, limit=1, order_by="attempts"),
        engine.facet("content", EVERYTHING, limit=1),
    ):
        with pytest.raises(StoreError, match="index"):
            run(ask)


def test_integers_are_compared_as_integers(store: ClientStore) -> None:
    run(store.sync.insert([make_point(n, sequence=n - 3) for n in range(1, 6)]))
    for condition, expected in (
        (Range("sequence", gte=0), [0, 1, 2]),
        (Range("sequence", gt=-1, lt=1), [0]),
        (Range("sequence", gt=-2, lte=-1), [-1]),
        (Range("sequence", gte=-2, lt=-1), [-2]),
        (Range("sequence", lt=0), [-2, -1]),
        (Range("sequence", gt=-1.5), [-1, 0, 1, 2]),
        (Range("sequence", lt=1.5), [-2, -1, 0, 1]),
        (Range("sequence", gte=-0.5, lte=0.5), [0]),
    ):
        found = run(store.sync.scroll(condition, limit=10))
        assert [point.payload["sequence"] for point in found] == expected, condition


def test_of_threads_committing_at_once_one_wins_each_version() -> None:
    # Local mode is not thread-safe by itself.
    store = open_client(None, collection="amem", dimension=3)
    run(store.sync.insert([make_point(1)]))
    wins: list[int] = []

    def climb() -> None:
        for _ in range(5):
            [point] = run(store.sync.get([point_id(1)]))
            version = point.payload["version"]
            if not run(
                store.sync.commit(
                    [make_point(1, version + 1)], expect={point.id: {"version": version}}
                )
            ):
                wins.append(version)

    threads = [threading.Thread(target=climb) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [point] = run(store.sync.get([point_id(1)]))
    assert sorted(wins) == list(range(1, point.payload["version"]))
    store.close()


def test_opening_makes_the_collection_and_every_index(server: LoopbackServer) -> None:
    store = open_at(server)
    assert server.indexes["amem"].keys() == INDEXES.keys()
    assert server.indexes["amem"]["ns"].is_tenant
    [created] = server.bodies("PUT", "/collections/amem")
    assert created["hnsw_config"] == {"m": 0, "payload_m": 16}
    assert created["strict_mode_config"]["unindexed_filtering_retrieve"]
    assert created["vectors"]["dense"]["multivector_config"] == {"comparator": "max_sim"}
    assert created["sparse_vectors"] == {"bm25": {"modifier": "idf"}}
    store.close()


def test_opening_again_makes_only_the_indexes_that_are_missing(server: LoopbackServer) -> None:
    open_at(server).close()
    del server.indexes["amem"]["tags"]
    server.requests.clear()
    open_at(server).close()
    assert server.bodies("PUT", "/collections/amem") == []
    assert [body["field_name"] for body in server.bodies("PUT", "/index")] == ["tags"]


def test_a_collection_of_an_older_version_gets_its_vector_of_questions(
    server: LoopbackServer,
) -> None:
    open_at(server).close()
    server.backend.delete_vector_name("amem", "questions")
    server.requests.clear()
    store = open_at(server)
    assert len(server.bodies("PUT", "/vectors/questions")) == 1
    asking = replace(make_point(1), questions=[[1.0, 0.0, 0.0]])
    assert run(store.sync.insert([asking])) == frozenset()
    [[hit]] = run(store.sync.query([Query([1.0, 0.0, 0.0], EVERYTHING, 1, questions=True)]))
    assert hit.id == asking.id
    store.close()
    open_at(server).close()
    assert len(server.bodies("PUT", "/vectors/questions")) == 1


def test_two_that_open_at_once_share_the_collection(server: LoopbackServer) -> None:
    def another_was_quicker(method: str, path: str) -> None:
        if method == "PUT" and path == "/collections/amem":
            server.before = lambda method, path: None
            open_at(server).close()

    server.before = another_was_quicker
    store = open_at(server)
    assert run(store.sync.insert([make_point(1)])) == frozenset()
    store.close()


def test_a_collection_of_something_else_is_left_alone(server: LoopbackServer) -> None:
    params = models.VectorParams(size=3, distance=models.Distance.DOT)
    server.backend.create_collection("amem", vectors_config=params)
    with pytest.raises(StoreMismatchError, match="'amem'"):
        open_at(server)
    assert server.indexes["amem"] == {}


def test_a_commit_is_one_conditional_write_that_any_node_can_lead(server: LoopbackServer) -> None:
    store = open_at(server)
    run(store.sync.insert([make_point(1), make_point(2)]))
    server.requests.clear()
    expect = {point_id(n): {"version": 1} for n in (1, 2)}
    run(store.sync.commit([make_point(1, 2), make_point(2, 2)], expect=expect))
    writes = [(query, body) for method, _, query, body in server.requests if method == "PUT"]
    [(query, body)] = writes
    assert query == {"wait": "true", "ordering": "medium"}
    assert body["update_mode"] == "update_only"
    assert body["update_filter"] == {
        "should": [
            {
                "must": [
                    {"has_id": [point_id(n)]},
                    {"key": "version", "match": {"any": [1]}},
                ]
            }
            for n in (1, 2)
        ]
    }
    reads = [query for method, path, query, _ in server.requests if path.endswith("/points")]
    assert [query["consistency"] for query in (reads[0], reads[-1])] == ["quorum"] * 2
    store.close()


def test_a_writer_who_comes_in_between_is_not_overwritten(server: LoopbackServer) -> None:
    store, other = open_at(server), open_at(server)
    run(store.sync.insert([make_point(1), make_point(2)]))

    def come_between(method: str, path: str) -> None:
        if method == "PUT" and path.endswith("/points"):
            server.before = lambda method, path: None
            run(
                other.sync.commit(
                    [make_point(1, 2, by="other")], expect={point_id(1): {"version": 1}}
                )
            )

    server.before = come_between
    expect = {point_id(n): {"version": 1} for n in (1, 2)}
    left_out = run(store.sync.commit([make_point(1, 2), make_point(2, 2)], expect=expect))
    assert left_out == {point_id(1)}
    first, second = run(store.sync.get([point_id(1), point_id(2)]))
    assert first.payload["by"] == "other"
    assert second.payload["version"] == 2
    store.close()
    other.close()


def test_a_point_deleted_in_between_is_not_brought_back(server: LoopbackServer) -> None:
    store = open_at(server)
    run(store.sync.insert([make_point(1), make_point(2)]))

    def delete_in_between(method: str, path: str) -> None:
        if method == "PUT" and path.endswith("/points"):
            server.backend.delete("amem", models.PointIdsList(points=[point_id(1)]))

    server.before = delete_in_between
    expect = {point_id(n): {"version": 1} for n in (1, 2)}
    left_out = run(store.sync.commit([make_point(1, 2), make_point(2, 2)], expect=expect))
    assert left_out == {point_id(1)}
    assert [point.id for point in run(store.sync.scroll(EVERYTHING, limit=9))] == [point_id(2)]
    store.close()


def test_a_commit_that_others_followed_still_counts_as_written(server: LoopbackServer) -> None:
    store, other = open_at(server), open_at(server)
    run(store.sync.insert([make_point(1)]))

    def follow(method: str, path: str) -> None:
        if method == "PUT" and path.endswith("/points"):
            server.after = lambda method, path: None
            for version in (2, 3):
                following = make_point(1, version + 1)
                assert not run(
                    other.sync.commit([following], expect={point_id(1): {"version": version}})
                )

    server.after = follow
    assert (
        run(store.sync.commit([make_point(1, 2)], expect={point_id(1): {"version": 1}}))
        == frozenset()
    )
    assert run(store.sync.get([point_id(1)]))[0].payload == make_point(1, 4).payload
    store.close()
    other.close()


def test_a_write_whose_answer_was_lost_is_not_taken_for_somebody_elses(
    server: LoopbackServer,
) -> None:
    store = open_at(server)

    def lose(method: str, path: str) -> None:
        if method == "PUT" and path.endswith("/points"):
            server.after = lambda method, path: None
            server.failures = [(503, {})]
            raise ConnectionAbortedError

    for write in (
        lambda: store.sync.insert([make_point(1)]),
        lambda: store.sync.commit([make_point(1, 2)], expect={point_id(1): {"version": 1}}),
    ):
        server.after = lose
        assert run(write()) == frozenset()
    store.close()


def test_a_write_that_the_server_did_not_finish_is_not_called_written(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_at(server)
    waiting = models.UpdateResult(operation_id=1, status=models.UpdateStatus.WAIT_TIMEOUT)
    monkeypatch.setattr(server.backend, "upsert", lambda *args, **options: waiting)
    with pytest.raises(StoreUnavailableError, match="did not finish"):
        run(store.sync.insert([make_point(1)]))
    with pytest.raises(StoreUnavailableError, match="did not finish"):
        asyncio.run(store.asynchronous.insert([make_point(1)]))
    store.close()


def test_a_time_bound_means_the_same_after_the_way_to_a_server() -> None:
    # As a JSON float, the bound itself would arrive changed (measured on the embedded engine).
    moment = 1_977_758_582_143_065
    after = to_filter(Range("created_at", gte=moment)).must[0].range  # type: ignore[index,union-attr]
    before = to_filter(Range("created_at", lte=moment)).must[0].range  # type: ignore[index,union-attr]
    for noise in (-0.25, 0.0, 0.25):
        assert int(after.gt + noise) < moment <= int(after.gt + noise) + 1  # type: ignore[union-attr,operator]
        assert int(before.lte + noise) == moment  # type: ignore[union-attr,operator]


def test_everything_asked_of_a_server_can_be_said_over_grpc() -> None:
    point = Point(point_id(1), {"empty": [], "n": 2**62, "f": 1.5}, [[1.0], [2.0]])
    bare = Point(point_id(2), {"nested": {"a": [None, "\x00é"]}})
    for given in (point, bare):
        sent = engine._struct(given, ["token"])
        assert GrpcToRest.convert_point_struct(RestToGrpc.convert_point_struct(sent)) == sent
    alternatives = (match("created_at", 1), Range("created_at", gte=2, lt=9), Range("n", gt=0.5))
    for condition in (
        EVERYTHING,
        Any(()),
        ids([point_id(1)]),
        both(match("ns", "a"), Not(match("flag", 1))),
        Any(alternatives),
    ):
        query = Query(SparseVector((1,), (1.0,)), condition, 3, corpus=condition)
        sent = RestToGrpc.convert_query_request(engine._request(query), "amem")
        assert sent.params.idf.corpus == sent.filter
        assert sent.filter.ByteSize() or condition == EVERYTHING


def test_each_event_loop_has_a_client_that_is_closed_with_it(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[AsyncQdrantClient] = []

    class Watched(AsyncQdrantClient):
        def __init__(self, **options: object) -> None:
            super().__init__(**options)  # type: ignore[arg-type]
            made.append(self)

    monkeypatch.setattr(transport, "AsyncQdrantClient", Watched)
    store = open_at(server)

    async def use() -> None:
        for _ in range(2):
            await store.asynchronous.count(EVERYTHING)

    for _ in range(3):
        asyncio.run(use())
    assert len(made) == 3
    assert all(client._client.closed for client in made)
    store.close()


def test_closing_reaches_the_client_of_a_loop_in_another_thread(server: LoopbackServer) -> None:
    store = open_at(server)
    used, closed = threading.Event(), threading.Event()
    problems: list[BaseException] = []

    async def live() -> None:
        try:
            await store.asynchronous.count(EVERYTHING)
            used.set()
            await asyncio.to_thread(closed.wait, 10)
            with pytest.raises(StoreClosedError):
                await store.asynchronous.count(EVERYTHING)
        except BaseException as error:
            problems.append(error)

    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    assert used.wait(10)
    store.close()
    closed.set()
    thread.join()
    assert problems == []
