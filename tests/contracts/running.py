"""Running: in loops, beside loops, in threads, side by side and given up half-way."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.store.base import BaseStore, GetOp

from tests.contracts.base import (
    ContractBase,
    RecordingEmbeddings,
    index_of,
)

NS = ("docs",)


class RunningContract(ContractBase):
    @pytest.fixture
    def bare(self, embeddings: RecordingEmbeddings) -> Iterator[BaseStore]:
        """A store whose two forms a test calls itself."""
        with self.open_store(index=index_of(embeddings, ["text"]), ttl=None) as store:
            yield store

    def test_sync_calls_where_a_loop_is_running(self, bare: BaseStore) -> None:
        async def calls() -> list[Any]:
            bare.put(NS, "k", {"text": "tea"})
            await bare.aput(NS, "other", {"text": "coffee"})
            got, missing = bare.batch([GetOp(NS, "other"), GetOp(NS, "missing")])
            found = bare.search(NS, query="tea")
            bare.delete(NS, "k")
            return [got, missing, found[0].key, bare.list_namespaces(), await bare.aget(NS, "k")]

        got, missing, nearest, namespaces, gone = asyncio.run(calls())
        assert got.value == {"text": "coffee"}
        assert (missing, nearest, namespaces, gone) == (None, "k", [NS], None)

    def test_one_event_loop_after_another(self, bare: BaseStore) -> None:
        async def add(n: int) -> int:
            await bare.aput(NS, str(n), {"text": f"tea {n}"})
            await bare.asearch(NS, query="tea")
            return len(await bare.asearch(NS, limit=100))

        assert [asyncio.run(add(n)) for n in range(4)] == [1, 2, 3, 4]
        assert len(bare.search(NS)) == 4

    def test_many_threads_some_with_event_loops(self, bare: BaseStore) -> None:
        def work(n: int) -> None:
            asyncio.run(awaited(n)) if n % 2 else called(n)

        async def awaited(n: int) -> None:
            for m in range(10):
                await bare.aput((*NS, str(n)), str(m), {"text": f"tea {n} {m}"})
            assert len(await bare.asearch((*NS, str(n)), query="tea")) == 10
            for m in range(5):
                await bare.adelete((*NS, str(n)), str(m))

        def called(n: int) -> None:
            for m in range(10):
                bare.put((*NS, str(n)), str(m), {"text": f"tea {n} {m}"})
                assert bare.get((*NS, str(n)), str(m)) is not None
            for m in range(5):
                bare.delete((*NS, str(n)), str(m))

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(6)))
        assert len(bare.search(NS, limit=100)) == 30
        assert len(bare.list_namespaces()) == 6

    def test_many_calls_side_by_side(self, bare: BaseStore) -> None:
        async def calls() -> int:
            await asyncio.gather(
                *(bare.aput((*NS, str(n % 3)), f"k{n}", {"text": f"tea {n}"}) for n in range(60)),
                *(bare.asearch(NS, query="tea") for _ in range(20)),
                *(bare.aget(NS, f"k{n}") for n in range(20)),
                *(bare.alist_namespaces() for _ in range(5)),
            )
            return len(await bare.asearch(NS, limit=100))

        assert asyncio.run(calls()) == 60

    def test_puts_of_one_key_side_by_side(self, bare: BaseStore) -> None:
        async def calls() -> None:
            puts = [bare.aput(NS, "k", {"text": f"drink {n}", "n": n}) for n in range(40)]
            await asyncio.gather(*puts)
            assert asyncio.all_tasks() == {asyncio.current_task()}

        asyncio.run(calls())
        (item,) = bare.search(NS)
        assert item.value in [{"text": f"drink {n}", "n": n} for n in range(40)]
        (found,) = bare.search(NS, query=item.value["text"])
        assert found.score == pytest.approx(1, abs=1e-3)

    def test_puts_and_deletes_of_one_key_in_threads(self, bare: BaseStore) -> None:
        def work(n: int) -> None:
            for m in range(8):
                bare.put(NS, "k", {"text": f"drink {n} {m}"})
                bare.delete(NS, "k")

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        assert bare.search(()) == bare.search((), query="drink") == []

    def test_a_call_that_is_given_up_leaves_the_others_alone(self, bare: BaseStore) -> None:
        async def calls() -> list[Any]:
            given_up: list[asyncio.Task[Any]] = [
                asyncio.create_task(bare.aget(NS, "k")),
                asyncio.create_task(bare.aput(NS, "maybe", {"text": "tea"})),
                asyncio.create_task(bare.asearch(NS, query="tea")),
            ]
            kept = asyncio.create_task(bare.aput(NS, "kept", {"text": "tea"}))
            await asyncio.sleep(0)
            for task in given_up:
                task.cancel()
            await asyncio.gather(*given_up, return_exceptions=True)
            await kept
            await bare.aput(NS, "later", {"text": "tea"})
            return [await bare.aget(NS, "kept"), await bare.aget(NS, "later")]

        assert None not in asyncio.run(calls())
        assert {"kept", "later"} <= {item.key for item in bare.search(NS, query="tea")}

    def test_a_bad_call_fails_alone(self, bare: BaseStore) -> None:
        async def calls() -> list[Any]:
            bad: Any = {"bad": object()}
            results = await asyncio.gather(
                bare.aput(NS, "a", {"text": "tea"}),
                bare.aput(NS, "b", bad),
                bare.asearch(NS, filter={"n": {"$unknown": 1}}),
                bare.aput(NS, "c", {"text": "coffee"}),
                return_exceptions=True,
            )
            return [*results]

        first, bad, unknown, last = asyncio.run(calls())
        assert (first, last) == (None, None)
        assert isinstance(bad, (TypeError, ValueError))
        assert isinstance(unknown, ValueError)
        assert {item.key for item in bare.search(NS)} == {"a", "c"}
