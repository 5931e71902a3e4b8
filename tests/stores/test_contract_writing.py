"""What every engine does with points given to it: insert, commit, patch, delete, get."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from amem_integrations.core.engine import Fields, Point, SparseVector
from amem_integrations.core.filters import EVERYTHING, HasId, Not, both, match
from amem_integrations.core.io import run
from amem_integrations.errors import EmbeddingError, StoreError
from amem_integrations.stores.open import Store
from tests.stores.contract import Driven, engine_fixture, store_fixture
from tests.stores.points import id_of, point

__all__ = ["engine_fixture", "store_fixture"]

NAN = float("nan")
INFINITY = float("inf")
EAST = [1.0, 0.0, 0.0, 0.0]
NORTH = [0.0, 1.0, 0.0, 0.0]
HOSTILE = "NUL \x00, quotes \"'`, עִבְרִית, 👩‍👩‍👧, e\u0301, \u202egnp.exe, 记忆"


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"inner": value}
    return value


async def test_a_point_comes_back_as_it_was_given(engine: Driven) -> None:
    given = point("one", [EAST, NORTH], {7: 0.5, 3: 1.5}, content=HOSTILE, links=[{"to": "x"}])
    await engine.insert([given])
    (found,) = await engine.get([given.id], vectors=True)
    assert (found.id, found.payload) == (given.id, given.payload)
    assert [list(vector) for vector in found.dense] == [EAST, NORTH]
    assert dict(zip(found.sparse.indices, found.sparse.values, strict=True)) == {7: 0.5, 3: 1.5}


async def test_payload_values_keep_their_types(engine: Driven) -> None:
    whole = [0, -1, 2**53 + 1, 2**63 - 1, 1.5, 1e-300, True, False, None, "", [], {}, [[1], {}]]
    await engine.insert([point("one", values={f"v{n}": value for n, value in enumerate(whole)})])
    (found,) = await engine.get([id_of("one")])
    values = list(found.payload["values"].values())
    assert values == whole
    assert list(map(type, values)) == list(map(type, whole))


async def test_two_megabytes_of_text_come_back_whole(engine: Driven) -> None:
    await engine.insert([point("one", content="记忆 memory\n" * 150_000)])
    (found,) = await engine.get([id_of("one")])
    assert found.payload["content"] == "记忆 memory\n" * 150_000


async def test_get_keeps_the_order_asked_for_and_leaves_out_what_is_not_there(
    engine: Driven,
) -> None:
    await engine.insert([point(n) for n in (1, 2, 3)])
    wanted = [id_of(3), id_of(99), "no uuid", "", id_of(2).replace("-", ""), id_of(1), id_of(3)]
    assert [found.id for found in await engine.get(wanted)] == [id_of(3), id_of(1)]


BAD_VECTORS = {
    "NaN": point("bad", [EAST, [NAN, 0.0, 0.0, 0.0]]),
    "infinity": point("bad", [[INFINITY, 0.0, 0.0, 0.0]]),
    "too large for 32 bits": point("bad", [[1e39, 0.0, 0.0, 0.0]]),
    "too short": point("bad", [EAST, [1.0]]),
    "too long": point("bad", [[*EAST, 0.0]]),
    "empty": point("bad", [[]]),
    "no numbers": point("bad", [["a", "b", "c", "d"]]),  # type: ignore[list-item]
    "NaN among the terms": point("bad", terms={1: NAN}),
    "terms without weights": Point(id_of("bad"), {}, (), SparseVector((1, 2), (1.0,))),
    "a term twice": Point(id_of("bad"), {}, (), SparseVector((1, 1), (1.0, 2.0))),
    "a term beyond 32 bits": point("bad", terms={2**32: 1.0}),
}


@pytest.mark.parametrize("bad", BAD_VECTORS.values(), ids=BAD_VECTORS.keys())
async def test_an_invalid_vector_is_refused_and_nothing_is_stored(
    engine: Driven, bad: Point
) -> None:
    await engine.insert([point("one"), Point(bad.id, {"version": 1})])
    one, expect = point("one", version=2), {id_of("one"): {"version": 1}}
    for write in (
        engine.insert([point("good", [EAST]), bad]),
        engine.commit([one, bad], expect={**expect, bad.id: {"version": 1}}),
        engine.commit([one], expect=expect, new=[bad]),
    ):
        with pytest.raises(EmbeddingError):
            await write
    assert await engine.count(match("version", 1)) == await engine.count(EVERYTHING) == 2


async def test_a_payload_that_would_damage_the_store_is_refused(engine: Driven) -> None:
    for write in (
        engine.insert([point("deep", value=nested(127))]),
        engine.patch(id_of("deep"), {"value": nested(127)}),
    ):
        with pytest.raises(StoreError, match="levels deep"):
            await write
    assert await engine.scroll(EVERYTHING, limit=10) == []


async def test_an_id_that_is_no_uuid_is_refused(engine: Driven) -> None:
    with pytest.raises(StoreError, match="UUID"):
        await engine.insert([Point("one", {})])


async def test_a_commit_replaces_whole_points(engine: Driven) -> None:
    await engine.insert([point("one", [EAST], {1: 1.0}, speaker="Ana", content="old")])
    failed = await engine.commit(
        [point("one", [NORTH], version=2, content="new")], expect={id_of("one"): {"version": 1}}
    )
    assert failed == frozenset()
    (found,) = await engine.get([id_of("one")], vectors=True)
    assert found.payload == point("one", version=2, content="new").payload
    assert [list(vector) for vector in found.dense] == [NORTH]
    assert found.sparse is None


async def test_a_failed_commit_names_every_reason_and_writes_nothing(engine: Driven) -> None:
    await engine.insert([point("one", version=3), point("good")])
    failed = await engine.commit(
        [point("one", version=2), point("good", version=2)],
        expect={id_of(name): {"version": 1} for name in ("one", "two", "good")},
        present=[id_of("good"), id_of("three"), "no uuid"],
    )
    assert failed == {id_of("one"), id_of("two"), id_of("three"), "no uuid"}
    assert await engine.count(match("version", 2)) == 0


async def test_a_commit_must_state_what_it_expects_of_each_point(engine: Driven) -> None:
    await engine.insert([point("one"), point("two")])
    changed = [point("one", version=2), point("two", version=2)]
    with pytest.raises(StoreError, match="expects"):
        await engine.commit(changed, expect={id_of("one"): {"version": 1}})
    assert await engine.count(match("version", 1)) == 2


async def test_of_commits_side_by_side_exactly_one_wins(engine: Driven) -> None:
    await engine.insert([point("one")])
    for version in range(1, 6):
        rivals = (
            engine.commit(
                [point("one", version=version + 1)], expect={id_of("one"): {"version": version}}
            )
            for _ in range(8)
        )
        outcomes = await asyncio.gather(*rivals)
        assert sum(not failed for failed in outcomes) == 1


def test_threads_lose_nothing_and_one_commit_wins_each_version(store: Store) -> None:
    engine = store.sync
    run(engine.delete(EVERYTHING))
    run(engine.insert([point("one")]))
    start = threading.Barrier(8, timeout=60)

    def compete(thread: int) -> int:
        wins = 0
        for version in range(1, 16):
            start.wait()
            run(engine.insert([point(f"{thread}-{version}", [EAST], session=f"s{thread}")]))
            changed = point("one", version=version + 1)
            wins += not run(engine.commit([changed], expect={changed.id: {"version": version}}))
            run(engine.scroll(match("session", f"s{thread}"), limit=100))
        return wins

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(compete, range(8))) == 15
    assert run(engine.get([id_of("one")]))[0].payload["version"] == 16
    assert [run(engine.count(match("session", f"s{n}"))) for n in range(8)] == [15] * 8


async def test_a_patch_sets_its_fields_and_leaves_the_rest(engine: Driven) -> None:
    await engine.insert([point("one", [EAST], {1: 1.0}, attempts=0, content="text")])
    await engine.patch(id_of("one"), {"attempts": 3, "last_error": "timeout"})
    (found,) = await engine.get([id_of("one")], vectors=True)
    assert found.payload == {
        **point("one", content="text").payload,
        "attempts": 3,
        "last_error": "timeout",
    }
    assert [list(vector) for vector in found.dense] == [EAST]
    assert found.sparse is not None


async def test_a_write_may_expect_that_a_number_is_missing(engine: Driven) -> None:
    without: Fields = {"version": 1, "expires_at": None}
    await engine.insert([point("one"), point("two", expires_at=5)])
    for name in ("one", "two"):
        await engine.patch(id_of(name), {"status": "patched"}, expect=without)
    assert [found.id for found in await engine.scroll(match("status", "patched"), limit=9)] == [
        id_of("one")
    ]
    changed = [point("one", version=2), point("two", version=2)]
    expect = {id_of("one"): without, id_of("two"): without}
    assert await engine.commit(changed, expect=expect) == {id_of("two")}
    expect[id_of("two")] = {"version": 1, "expires_at": 5}
    assert await engine.commit(changed, expect=expect) == frozenset()


async def test_delete_removes_what_meets_the_condition_and_nothing_else(engine: Driven) -> None:
    await engine.insert([point(n, ns="a" if n % 2 else "b") for n in range(1, 7)])
    await engine.delete(both(match("ns", "a"), Not(HasId((id_of(3),)))))
    await engine.delete(HasId((id_of(6), id_of(99), "no uuid")))
    assert [found.id for found in await engine.scroll(EVERYTHING, limit=10)] == [
        id_of(n) for n in (2, 3, 4)
    ]


async def test_a_deleted_point_can_be_inserted_again(engine: Driven) -> None:
    await engine.insert([point("one", content="first")])
    await engine.delete(HasId((id_of("one"),)))
    assert await engine.insert([point("one", content="again")]) == frozenset()
    (found,) = await engine.get([id_of("one")])
    assert found.payload["content"] == "again"


async def test_new_points_come_with_a_commit_or_not_at_all(engine: Driven) -> None:
    await engine.insert([point("one"), point("taken", content="theirs")])
    new = [point("new"), point("taken", content="ours")]
    stale = await engine.commit(
        [point("one", version=2)], expect={id_of("one"): {"version": 7}}, new=new
    )
    assert stale == {id_of("one")}
    assert await engine.get([id_of("new")]) == []
    assert not await engine.commit(
        [point("one", version=2)], expect={id_of("one"): {"version": 1}}, new=new
    )
    found = await engine.get([id_of("new"), id_of("taken")])
    assert [each.payload.get("content") for each in found] == [None, "theirs"]


async def test_a_commit_may_be_of_new_points_alone(engine: Driven) -> None:
    await engine.insert([point("one")])
    new, one = point("new"), id_of("one")
    assert await engine.commit([], expect={one: {"version": 7}}, new=[new]) == {one}
    assert await engine.get([new.id]) == []
    assert not await engine.commit([], expect={one: {"version": 1}}, new=[new])
    assert [each.id for each in await engine.get([new.id])] == [new.id]
