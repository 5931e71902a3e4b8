"""AMemStore beyond the store contract: what it refuses, opening, closing, sweeping, in a graph."""

import asyncio
import gc
import importlib.util
import threading
import time
import weakref
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import InvalidNamespaceError, PutOp
from typing_extensions import TypedDict

from amem_integrations import AgenticMemory
from amem_integrations.errors import InvalidFilterError, InvalidInputError, StoreClosedError
from amem_integrations.langgraph import AMemStore
from tests.langgraph.stores import (
    NS,
    memory_fixture,
    opened_fixture,
    store_fixture,
    value,
    without_qdrant_edge,
)
from tests.support import EMBEDDER, aio_of, open_memory

__all__ = ["memory_fixture", "opened_fixture", "store_fixture"]


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "namespace", [(" ",), ("a",) * 40, ("\ud800",), ("x" * 5000,)], ids=range(4)
)
def test_namespaces_that_no_note_can_have_are_refused(store: AMemStore, namespace: Any) -> None:
    for call in (
        lambda: store.put(namespace, "k", {}),
        lambda: store.get(namespace, "k"),
        lambda: store.delete(namespace, "k"),
        lambda: store.search(namespace),
        lambda: store.note(namespace, "k"),
    ):
        with pytest.raises(InvalidNamespaceError):
            call()


@pytest.mark.parametrize(
    ("namespace", "key", "value", "options"),
    [
        (NS, "x" * 5000, {}, {}),
        (NS, "\ud800", {}, {}),
        (NS, "k", ["no", "mapping"], {}),
        (NS, "k", {"n": float("nan")}, {}),
        (NS, "k", {1: 2}, {}),
        (NS, "k", {"text": "tea"}, {"index": "text"}),
        (NS, "k", {"text": "tea"}, {"index": [1]}),
        (NS, "k", {"text": "tea"}, {"index": True}),
        (NS, "k", {"text": "tea"}, {"ttl": "soon"}),
        (NS, "k", {"text": "tea"}, {"ttl": True}),
        (NS, "k", {"text": "tea"}, {"ttl": 1e12}),
    ],
)
def test_items_that_cannot_be_are_refused(
    store: AMemStore, namespace: Any, key: str, value: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError):
        store.put(namespace, key, value, **options)
    assert store.search(()) == []


@pytest.mark.parametrize(
    "filter",
    [["no", "dict"], {1: 2}, {"$nor": []}, {"$or": {"a": 1}}, {"n": {"$gt": None}}, {"$not": 1}],
    ids=str,
)
def test_filters_that_mean_nothing_are_refused(store: AMemStore, filter: Any) -> None:
    with pytest.raises(InvalidFilterError):
        store.search(NS, filter=filter)


def test_a_filter_by_a_tuple_is_a_path(store: AMemStore) -> None:
    store.put(NS, "dotted", {"a.b": {"c.d": 1}})
    store.put(NS, "nested", {"a": {"b": {"c": {"d": 1}}}})
    assert [each.key for each in store.search(NS, filter={("a.b", "c.d"): 1})] == ["dotted"]
    assert [each.key for each in store.search(NS, filter={("a", "b", "c", "d"): 1})] == ["nested"]


@pytest.mark.parametrize("query", [7, ["tea"]])
def test_a_query_is_text(store: AMemStore, query: Any) -> None:
    with pytest.raises(InvalidInputError):
        store.search(NS, query=query)


# -- opening and closing -----------------------------------------------------------------------


class Plain(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return EMBEDDER.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return EMBEDDER.embed_query(text)


def a_function(texts: list[str]) -> list[list[float]]:
    return EMBEDDER.embed_documents(texts)


async def an_async_function(texts: list[str]) -> list[list[float]]:
    return EMBEDDER.embed_documents(texts)


@pytest.mark.parametrize(
    "embed", [Plain(), a_function, an_async_function], ids=["object", "def", "async"]
)
def test_an_index_says_who_embeds(embed: Any) -> None:
    index: Any = {"embed": embed, "dims": 256, "fields": ["text"]}
    with AMemStore.from_url(index=index, formation="off") as store:
        store.put(NS, "k", {"text": "green tea"})
        assert store.search(NS, query="green tea")[0].score == pytest.approx(1, abs=1e-3)


def test_an_index_that_does_not_fit_is_refused(memory: AgenticMemory, tmp_path: Path) -> None:
    wrong: Any = {"embed": Plain(), "dims": 7}
    with pytest.raises(InvalidInputError, match="7 dimensions"):
        AMemStore.from_url(tmp_path / "new", index=wrong)
    assert not (tmp_path / "new").exists()
    with pytest.raises(InvalidInputError, match="memory that embeds"):
        AMemStore(memory, index={"embed": Plain(), "dims": 256})
    with pytest.raises(InvalidInputError, match="formation"):
        AMemStore(memory, formation="later")  # type: ignore[arg-type]


def test_without_fields_the_whole_value_is_indexed(memory: AgenticMemory) -> None:
    for index in (None, {"fields": []}, {"fields": None}):
        store = AMemStore(memory, index=index, formation="off")  # type: ignore[arg-type]
        store.put(NS, "k", {"drink": "tea"})
        found = store.search(NS, query='{"drink": "tea"}')
        assert found[0].score == pytest.approx(1, abs=1e-3)


def test_an_index_of_false_leaves_indexing_to_each_put(memory: AgenticMemory) -> None:
    store = AMemStore(memory, index=False, formation="off")
    store.put(NS, "not", {"text": "tea"})
    store.put(NS, "indexed", {"text": "tea"}, index=["text"])
    assert [item.key for item in store.search(NS, query="tea")] == ["indexed"]


def test_items_outlive_the_process(tmp_path: Path) -> None:
    options: dict[str, Any] = {"embedder": EMBEDDER, "formation": "inline"}
    with AMemStore.from_url(tmp_path, **options) as store:
        store.put(NS, "k", {"text": "green tea", "n": 1}, ttl=60)
        before, behind = store.get(NS, "k"), store.note(NS, "k")
    with AMemStore.from_url(tmp_path, **options) as store:
        assert store.get(NS, "k", refresh_ttl=False) == before
        assert store.search((), query="tea", filter={"n": 1}, refresh_ttl=False)[0].key == "k"
        after = store.note(NS, "k")
        assert behind is not None
        assert after is not None
        assert (after.ttl, after.keywords) == (timedelta(hours=1), behind.keywords)


def test_a_store_closes_its_own_memory_only(memory: AgenticMemory) -> None:
    with AMemStore(memory) as borrowed:
        borrowed.put(NS, "k", {"text": "tea"}, index=False)
    borrowed.close()
    assert borrowed.get(NS, "k") is not None
    own = AMemStore.from_url(embedder=EMBEDDER)
    for _ in range(2):
        own.close()
    with pytest.raises(StoreClosedError):
        own.get(NS, "k")


async def test_a_server_takes_a_store_from_an_async_context_manager(tmp_path: Path) -> None:
    async with AMemStore.afrom_url(tmp_path, embedder=EMBEDDER, formation="off") as store:
        await store.aput(NS, "k", {"text": "green tea"})
        (item,) = await store.asearch(NS, query="tea")
        assert item.key == "k"
        assert await store.alist_namespaces() == [NS]
        await store.adelete(NS, "k")
        assert await store.aget(NS, "k") is None
    with pytest.raises(StoreClosedError):
        await store.aget(NS, "k")


@pytest.mark.parametrize("engine", ["EdgeEngine", "ClientEngine"])
async def test_nothing_in_the_async_form_blocks_the_loop(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "ClientEngine":
        monkeypatch.setattr(importlib.util, "find_spec", without_qdrant_edge)
    async with AMemStore.afrom_url(tmp_path, embedder=EMBEDDER, formation="inline") as store:
        assert type(aio_of(store.memory).engine).__name__ == engine
        ops = [PutOp(NS, str(n), {"text": f"green tea {n}"}, ttl=5) for n in range(20)]
        await store.abatch(ops)
        await asyncio.gather(*(store.aput(NS, "0", {"text": f"black tea {n}"}) for n in range(5)))
        assert len(await store.asearch(NS, query="tea", limit=30)) == 20
        assert await store.asweep_ttl() == 0
        await store.abatch([PutOp(NS, str(n), None) for n in range(20)])
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_two_stores_share_a_directory(tmp_path: Path) -> None:
    with (
        AMemStore.from_url(tmp_path, embedder=EMBEDDER) as one,
        AMemStore.from_url(tmp_path, embedder=EMBEDDER) as other,
    ):
        one.put(NS, "k", {"text": "tea"})
        assert value(other, "k") == {"text": "tea"}


# -- sweeping ----------------------------------------------------------------------------------


def wait_for(condition: Any, seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(condition())


INTERVAL = 0.02 / 60


def test_the_sweeper_sweeps_until_it_is_stopped(memory: AgenticMemory) -> None:
    store = AMemStore(memory, ttl={"sweep_interval_minutes": INTERVAL}, formation="off")  # type: ignore[typeddict-item]
    done = store.start_ttl_sweeper()
    assert store.start_ttl_sweeper() is done
    store.put(NS, "k", {"text": "tea"}, ttl=0)
    assert wait_for(lambda: store.get(NS, "k", refresh_ttl=False) is None)
    assert store.stop_ttl_sweeper()
    assert done.done()
    store.put(NS, "k", {"text": "tea"}, ttl=0)
    time.sleep(0.1)
    assert store.get(NS, "k", refresh_ttl=False) is not None
    assert not any(thread.name == "amem-ttl-sweeper" for thread in threading.enumerate())


def test_the_sweeper_can_be_started_again(memory: AgenticMemory) -> None:
    store = AMemStore(memory, formation="off")
    store.start_ttl_sweeper(INTERVAL)
    assert store.stop_ttl_sweeper()
    store.start_ttl_sweeper(INTERVAL)
    store.put(NS, "k", {"text": "tea"}, ttl=0)
    assert wait_for(lambda: store.get(NS, "k", refresh_ttl=False) is None)
    store.close()


def test_cancelling_its_future_stops_the_sweeper(memory: AgenticMemory) -> None:
    store = AMemStore(memory)
    done = store.start_ttl_sweeper(INTERVAL)
    assert done.cancel()
    assert wait_for(store.stop_ttl_sweeper)
    assert store.stop_ttl_sweeper()


def test_closing_the_memory_ends_the_sweeper() -> None:
    memory = open_memory()
    done = AMemStore(memory).start_ttl_sweeper(INTERVAL)
    memory.close()
    assert done.result(timeout=20) is None


def test_a_store_that_is_forgotten_sweeps_no_more(memory: AgenticMemory) -> None:
    store = AMemStore(memory)
    done, gone = store.start_ttl_sweeper(INTERVAL), weakref.ref(store)
    del store
    gc.collect()
    assert gone() is None
    assert done.result(timeout=20) is None


def test_a_sweep_that_fails_is_logged_and_tried_again(
    memory: AgenticMemory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = AMemStore(memory, formation="off")
    store.put(NS, "k", {"text": "secret tea"}, ttl=0)
    perform, failures = memory.perform, iter([RuntimeError("secret"), RuntimeError("secret")])

    def sometimes(operation: Any) -> Any:
        if threading.current_thread().name == "amem-ttl-sweeper":
            for failure in failures:
                raise failure
        return perform(operation)

    monkeypatch.setattr(memory, "perform", sometimes)
    store = AMemStore(memory, formation="off")
    store.start_ttl_sweeper(INTERVAL)
    assert wait_for(lambda: store.get(NS, "k", refresh_ttl=False) is None)
    store.close()
    assert caplog.text.count("RuntimeError") == 2
    assert "secret" not in caplog.text


# -- in a graph --------------------------------------------------------------------------------


class State(TypedDict):
    said: str
    known: list[str]


def remember(state: State, runtime: Runtime) -> dict[str, Any]:
    assert runtime.store is not None
    known = runtime.store.search(NS, query=state["said"], limit=3)
    runtime.store.put(NS, state["said"], {"text": state["said"]})
    return {"known": [item.value["text"] for item in known]}


async def aremember(state: State, runtime: Runtime) -> dict[str, Any]:
    assert runtime.store is not None
    known = await runtime.store.asearch(NS, query=state["said"], limit=3)
    await runtime.store.aput(NS, state["said"], {"text": state["said"]})
    return {"known": [item.value["text"] for item in known]}


def graph(store: AMemStore, node: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("remember", node)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", END)
    return builder.compile(store=store)


def test_in_a_graph(store: AMemStore) -> None:
    compiled = graph(store, remember)
    assert compiled.invoke({"said": "green tea", "known": []})["known"] == []
    assert compiled.invoke({"said": "black tea", "known": []})["known"] == ["green tea"]
    assert len(list(compiled.stream({"said": "coffee", "known": []}))) == 1


@pytest.fixture
async def store_on_a_loop() -> AsyncIterator[AMemStore]:
    async with AMemStore.afrom_url(embedder=EMBEDDER, formation="background") as store:
        yield store


async def test_in_a_graph_asynchronously(store_on_a_loop: AMemStore) -> None:
    compiled = graph(store_on_a_loop, aremember)
    assert (await compiled.ainvoke({"said": "green tea", "known": []}))["known"] == []
    assert (await compiled.ainvoke({"said": "black tea", "known": []}))["known"] == ["green tea"]
    assert len([each async for each in compiled.astream({"said": "x", "known": []})]) == 1
