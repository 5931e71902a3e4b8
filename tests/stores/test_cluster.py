"""A collection with three replicas: one dead node stops no write, no commit is half believed."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from amem_integrations import AgenticMemory, ServerOptions, Status
from amem_integrations.core.io import run
from amem_integrations.errors import InvalidInputError, StoreUnavailableError
from tests.stores.loopback import LoopbackServer, make_point, open_at, point_id
from tests.support import EMBEDDER, again


@pytest.fixture
def cluster() -> Iterator[LoopbackServer]:
    server = LoopbackServer(replicas=3, write_factor=2)
    yield server
    server.stop()


def versions(server: LoopbackServer, number: int) -> list[int | None]:
    """The version of a point on each replica; None where it is missing."""
    found = [client.retrieve("amem", [point_id(number)]) for client in server.replicas]
    return [records[0].payload["version"] if records else None for records in found]  # type: ignore[index]


@pytest.mark.parametrize("dead", [0, 1, 2])
def test_one_dead_node_of_three_stops_no_write(cluster: LoopbackServer, dead: int) -> None:
    with AgenticMemory(cluster.url, embedder=EMBEDDER) as memory:
        first = memory.add("The gateway drops packets at noon")
        cluster.down = {dead}
        second = memory.add("The gateway's firewall drops packets")
        memory.update(first, "The gateway drops packets at midnight")
        memory.forget(memory.add("A note to forget"))
        third = asyncio.run(memory.aadd("Packets are dropped by the firewall"))
        assert [again(memory, note).status for note in (first, second, third)] == [
            Status.FORMED
        ] * 3
        assert "midnight" in memory.search("when does the gateway drop packets")[0].note.content
        cluster.recover(dead)
        assert memory.admin.check() == []


def test_two_dead_nodes_of_three_are_named_with_a_remedy(cluster: LoopbackServer) -> None:
    store = open_at(cluster, timeout=1)
    cluster.down = {0, 1}
    for act in (
        lambda: run(store.sync.insert([make_point(1)])),
        lambda: asyncio.run(store.asynchronous.insert([make_point(1)])),
    ):
        with pytest.raises(StoreUnavailableError, match="more than half of the replicas") as caught:
            act()
        assert "three replicas" in str(caught.value)
    store.close()


def test_of_two_commits_of_one_version_one_is_left_out(cluster: LoopbackServer) -> None:
    store, other = open_at(cluster, timeout=60), open_at(cluster, timeout=60)
    run(store.sync.insert([make_point(1)]))
    seen: list[frozenset[str]] = []

    def overtake(method: str, path: str) -> None:
        if method == "PUT" and path.endswith("/points"):
            cluster.before = lambda method, path: None
            expect = {point_id(1): {"version": 1}}
            seen.append(run(other.sync.commit([make_point(1, version=2)], expect=expect)))

    cluster.before = overtake
    late = run(store.sync.commit([make_point(1, version=3)], expect={point_id(1): {"version": 1}}))
    assert seen == [frozenset()]
    assert late == {point_id(1)}
    assert versions(cluster, 1) == [2, 2, 2]
    store.close()
    other.close()


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_a_write_that_only_one_replica_got_does_not_count(
    cluster: LoopbackServer, turn: int
) -> None:
    """A replica that was cut off took a commit that was never acknowledged."""
    store = open_at(cluster, timeout=60)
    run(store.sync.insert([make_point(1)]))
    cluster.replicas[0].set_payload("amem", {"version": 7, "write": ["cut off"]}, [point_id(1)])
    cluster.reads = turn
    expect = {point_id(1): {"version": 1}}
    assert run(store.sync.commit([make_point(1, version=2)], expect=expect)) == frozenset()
    cluster.down = {0}
    cluster.recover(0)
    assert versions(cluster, 1) == [2, 2, 2]
    store.close()


def test_replicas_that_all_disagree_are_an_error_and_no_missing_note(
    cluster: LoopbackServer,
) -> None:
    store = open_at(cluster, timeout=60)
    run(store.sync.insert([make_point(1)]))
    for number in (0, 1):
        cluster.replicas[number].set_payload("amem", {"version": 7 + number}, [point_id(1)])
    expect = {point_id(1): {"version": 1}}
    for commit in (
        lambda: run(store.sync.commit([make_point(1, version=2)], expect=expect)),
        lambda: asyncio.run(store.asynchronous.commit([make_point(1, version=2)], expect=expect)),
    ):
        with pytest.raises(StoreUnavailableError, match="replicas disagree"):
            commit()
    store.close()


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_a_replica_that_lags_is_waited_for(cluster: LoopbackServer, turn: int) -> None:
    """The read-back may meet an older copy, which catches up a moment later."""
    store = open_at(cluster, timeout=60)
    run(store.sync.insert([make_point(1)]))
    upsert = cluster.replicas[2].upsert
    held: list[Callable[[], object]] = []
    reads = 0

    def hold(*arguments: Any, **options: Any) -> None:
        held.append(partial(upsert, *arguments, **options))

    def catch_up(method: str, path: str) -> None:
        nonlocal reads
        if held and path.endswith("/points"):
            reads += 1
            if reads == 3:
                held.pop()()

    cluster.replicas[2].upsert = hold  # type: ignore[method-assign]
    cluster.reads, cluster.before = turn, catch_up
    expect = {point_id(1): {"version": 1}}
    assert run(store.sync.commit([make_point(1, version=2)], expect=expect)) == frozenset()
    for late in held:
        late()
    assert versions(cluster, 1) == [2, 2, 2]
    store.close()


def test_a_note_whose_formation_met_a_dead_server_is_formed_when_it_is_back(
    cluster: LoopbackServer,
) -> None:
    options = ServerOptions(timeout=1)
    with AgenticMemory(
        cluster.url, embedder=EMBEDDER, formation="background", server_options=options
    ) as memory:
        memory.flush()

        def fail(method: str, path: str) -> None:
            # The worker has taken its lease, then the server goes away.
            if path.endswith("/points/payload"):
                cluster.down = {0, 1, 2}

        cluster.after = fail
        note = memory.add("The gateway drops packets at noon")
        assert not memory.flush(timeout=2)
        cluster.after = lambda method, path: None
        cluster.down = set()
        assert memory.flush(timeout=60)
        assert again(memory, note).status is Status.FORMED


def test_the_port_of_grpc_can_be_chosen() -> None:
    with pytest.raises(StoreUnavailableError, match="gRPC"):
        AgenticMemory(
            "http://127.0.0.1:1",
            embedder=EMBEDDER,
            server_options=ServerOptions(timeout=1, prefer_grpc=True, grpc_port=2),
        )
    for port in (0, 65_536, "6334", True):
        with pytest.raises(InvalidInputError, match="grpc_port"):
            ServerOptions(grpc_port=port)  # type: ignore[arg-type]
