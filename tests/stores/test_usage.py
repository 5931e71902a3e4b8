"""Usage in the collection: on every engine, by many writers, disturbing nothing."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.core.engine import Engine
from amem_integrations.core.filters import EVERYTHING, match
from amem_integrations.core.io import SyncIO, run
from amem_integrations.core.usage import Ledger, Usage
from amem_integrations.errors import StoreWriteError
from amem_integrations.revisions.forget import forget_namespace
from amem_integrations.stores.read import load_points
from amem_integrations.stores.usage import read_usage, save_usage
from amem_integrations.testing import ScriptedChatModel
from tests.stores.contract import Driven, engine_fixture, store_fixture
from tests.support import EMBEDDER, chat_model, io_of, judgement, open_memory, wiring_of

__all__ = ["engine_fixture", "store_fixture"]

CALVIN, HOBBES = ("calvin",), ("org", "hobbes")
NOON = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)
USED = Usage(calls=1, tokens_in=10, tokens_out=2, seconds=0.5)


def io_over(engine: Engine | Driven) -> SyncIO:
    return SyncIO(engine, None, EMBEDDER)  # type: ignore[arg-type]


@pytest.fixture
def io(engine: Driven) -> SyncIO:
    return io_over(engine)


class Time:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


def call(ledger: Ledger, namespace: tuple[str, ...] = CALVIN, step: str = "fuse") -> None:
    reply = ChatReply("{}", {}, tokens_in=10, tokens_out=2, seconds=0.5)
    ledger.account(namespace, "fused").answered(ChatRequest(step, [], {}), reply)


async def calls(io: SyncIO, ledger: Ledger | None = None, **where: Any) -> int:
    """As another process sees it, unless a ledger is given."""
    where = {"namespace": None, "since": None} | where
    return (await read_usage(io, ledger or Ledger(), **where)).total.calls


async def test_another_process_reads_what_was_saved(io: SyncIO) -> None:
    ledger = Ledger()
    for step in ("construct", "link", "link"):
        call(ledger, step=step)
    await save_usage(io, ledger)
    read = await read_usage(io, Ledger(), None, None)
    assert read.by_step == {"construct": USED, "link": USED + USED}
    assert read.by_mode == {"fused": read.total}


async def test_what_is_stored_and_what_is_not_yet_are_counted_once(io: SyncIO) -> None:
    ledger = Ledger()
    for expected in (1, 2, 3):
        call(ledger)
        assert await calls(io, ledger) == expected
        await save_usage(io, ledger)
        assert await calls(io, ledger) == await calls(io) == expected


async def test_writers_do_not_overwrite_each_other(io: SyncIO) -> None:
    first, second = Ledger(Time()), Ledger(Time())
    for ledger in (first, second, first):
        call(ledger)
        await save_usage(io, ledger)
    # Each has one record of the hour.
    assert await io.engine.count(match("kind", "usage")) == 2
    assert await calls(io) == await calls(io, first) == await calls(io, second) == 3


async def test_with_every_it_saves_once_in_so_many_calls(io: SyncIO) -> None:
    ledger = Ledger()
    stored: list[int] = []
    for _ in range(7):
        call(ledger)
        await save_usage(io, ledger, every=3)
        stored.append(await calls(io))
    assert stored == [0, 0, 3, 3, 3, 6, 6]


async def test_one_namespace_is_exactly_that(io: SyncIO) -> None:
    ledger = Ledger()
    # More than fit into one write.
    for namespace in (CALVIN, HOBBES, HOBBES, *((f"n{n}",) for n in range(100))):
        call(ledger, namespace)
    await save_usage(io, ledger)
    call(ledger, HOBBES)
    counted = [await calls(io, ledger, namespace=each) for each in (CALVIN, HOBBES, ("org",))]
    assert counted == [1, 3, 0]
    assert await calls(io) == 103


async def test_since_counts_from_the_hour_in_which_it_lies(io: SyncIO) -> None:
    time = Time()
    ledger = Ledger(time)
    for _ in range(3):
        call(ledger)
        await save_usage(io, ledger)
        time.now += HOUR
    for start, expected in (
        (NOON - HOUR, 3),
        (NOON.replace(minute=59), 3),
        (NOON.replace(hour=13, minute=0), 2),
        (NOON + 2 * HOUR, 1),
        (NOON + 3 * HOUR, 0),
    ):
        assert await calls(io, ledger, since=start) == await calls(io, since=start) == expected


# -- forgetting ---------------------------------------------------------------------------------


async def test_forgetting_a_namespace_removes_its_usage(io: SyncIO) -> None:
    ledger = Ledger()
    call(ledger)
    call(ledger, HOBBES)
    await save_usage(io, ledger)
    await forget_namespace(io, CALVIN)
    assert [point.payload["owner"] for point in await load_points(io)] == ['["org","hobbes"]']
    call(ledger)
    await save_usage(io, ledger)
    assert await calls(io, namespace=CALVIN) == await calls(io, ledger, namespace=CALVIN) == 1


async def test_a_save_that_a_forgetting_overtakes_leaves_nothing(engine: Driven) -> None:
    ledger = Ledger()
    call(ledger)

    class Overtaken:
        def __getattr__(self, name: str) -> Any:
            return getattr(engine, name)

        async def insert(self, points: Any) -> Any:
            ledger.forget(CALVIN)
            await forget_namespace(io_over(engine), CALVIN)
            return await engine.insert(points)

    await save_usage(io_over(Overtaken()), ledger)  # type: ignore[arg-type]
    assert await engine.count(EVERYTHING) == 0


# -- trouble ------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["get", "insert", "commit"])
async def test_a_write_that_fails_is_counted_and_made_up_for(engine: Driven, broken: str) -> None:
    ledger = Ledger()
    call(ledger)
    await save_usage(io_over(engine), ledger)
    call(ledger)
    call(ledger, HOBBES)

    class Broken:
        def __getattr__(self, name: str) -> Any:
            return fails if name == broken else getattr(engine, name)

    async def fails(*_: Any, **__: Any) -> Any:
        raise StoreWriteError("full")

    await save_usage(io_over(Broken()), ledger)  # type: ignore[arg-type]
    assert ledger.events() == {"usage.unsaved": 1}
    await save_usage(io_over(engine), ledger)
    assert await calls(io_over(engine)) == await calls(io_over(engine), ledger) == 3
    assert ledger.events() == {"usage.unsaved": 1}


async def test_saves_at_the_same_time_lose_and_double_nothing(io: SyncIO) -> None:
    ledger = Ledger()

    async def work() -> None:
        for _ in range(10):
            call(ledger)
            await save_usage(io, ledger)

    await asyncio.gather(*(work() for _ in range(4)))
    await save_usage(io, ledger)
    assert await calls(io) == await calls(io, ledger) == 40


# -- in a memory --------------------------------------------------------------------------------


def remembered(directory: Path, **settings: Any) -> Any:
    settings.setdefault("model", chat_model(lambda text, _: judgement(text)))
    return open_memory(directory, **settings)


async def test_usage_is_kept_when_a_memory_is_closed(tmp_path: Path) -> None:
    with remembered(tmp_path) as memory:
        memory.add("The redis cache")
    async with remembered(tmp_path) as memory:
        await memory.aadd("The redis cluster")
    with remembered(tmp_path) as memory:
        assert memory.usage().total.calls == 2


def test_flushing_and_forming_many_notes_save_usage(tmp_path: Path) -> None:
    with remembered(tmp_path) as memory, remembered(tmp_path) as other:
        memory.add("The redis cache")
        assert other.usage().total.calls == 0
        memory.flush()
        assert other.usage().total.calls == 1
        memory.add_many([f"The redis cache {n}" for n in range(70)])
        assert 32 <= other.usage().total.calls <= 71


@pytest.mark.parametrize("trouble", ["no object", TimeoutError()])
def test_a_question_that_is_asked_again_is_a_retry(
    trouble: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amem_integrations.analysts.llm._FIRST_WAIT", 0.0)
    model = ScriptedChatModel([trouble, judgement("The redis cache")])
    with open_memory(model=model) as memory:
        memory.add("The redis cache")
        total = memory.usage().total
        assert (total.calls, total.retries) == (2, 1)
        assert total.failures == (trouble != "no object")
        assert memory.admin.health()["formed"] == 1


LOOKS: tuple[Callable[[Any], object], ...] = (
    lambda memory: memory.count(),
    lambda memory: memory.admin.check(),
    lambda memory: memory.admin.health(),
    lambda memory: memory.namespaces(),
    lambda memory: [note.id for note in memory.recent(limit=9)],
    lambda memory: [(hit.note.id, hit.score) for hit in memory.search("redis cache")],
    lambda memory: memory.history(memory.recent()[0]),
    lambda memory: memory.resume(),
)


def test_nothing_else_sees_usage_points() -> None:
    with open_memory(model=chat_model(lambda text, _: judgement(text))) as memory:
        memory.add_many(["The redis cache", "The redis eviction policy"])
        before = [look(memory) for look in LOOKS]
        run(save_usage(io_of(memory), wiring_of(memory).settings.ledger))
        assert run(io_of(memory).engine.count(match("kind", "usage"))) == 1
        assert [look(memory) for look in LOOKS] == before


def test_forgetting_a_namespace_leaves_no_usage_of_it_anywhere(tmp_path: Path) -> None:
    with remembered(tmp_path) as memory:
        memory.add("The redis cache", namespace="calvin")
        memory.flush()
        memory.add("The redis eviction policy", namespace="calvin")
        memory.admin.forget_namespace("calvin")
        assert memory.usage().total.calls == 0
    with remembered(tmp_path) as memory:
        assert [point.payload["kind"] for point in run(load_points(io_of(memory)))] == ["meta"]
