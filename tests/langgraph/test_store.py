"""AMemStore beyond the store contract: what it refuses, opening, closing, sweeping, in a graph."""

import asyncio
import gc
import importlib
import importlib.util
import threading
import time
import weakref
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, InvalidNamespaceError, PutOp
from typing_extensions import TypedDict

from amem_integrations import AgenticMemory
from amem_integrations.core.note import MAX_PARTS
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.errors import InvalidFilterError, InvalidInputError, StoreClosedError
from amem_integrations.langgraph import AMemStore
from tests.langgraph.support import NS, value, without_qdrant_edge
from tests.support import EMBEDDER, open_memory, parts_of

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
    ("key", "value", "options"),
    [
        ("x" * 5000, {}, {}),
        ("\ud800", {}, {}),
        ("k", ["no", "mapping"], {}),
        ("k", {"n": float("nan")}, {}),
        ("k", {1: 2}, {}),
        ("k", {"text": "tea"}, {"index": "text"}),
        ("k", {"text": "tea"}, {"index": [1]}),
        ("k", {"text": "tea"}, {"index": True}),
        ("k", {"text": "tea"}, {"ttl": "soon"}),
        ("k", {"text": "tea"}, {"ttl": True}),
        ("k", {"text": "tea"}, {"ttl": 1e12}),
    ],
)
def test_invalid_items_are_refused(
    store: AMemStore, key: str, value: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError):
        store.put(NS, key, value, **options)
    assert store.search(()) == []


@pytest.mark.parametrize(
    "filter",
    [["no", "dict"], {1: 2}, {"$nor": []}, {"$or": {"a": 1}}, {"n": {"$gt": None}}, {"$not": 1}],
    ids=str,
)
def test_invalid_filters_and_queries_are_refused(store: AMemStore, filter: Any) -> None:
    with pytest.raises(InvalidFilterError):
        store.search(NS, filter=filter)
    with pytest.raises(InvalidInputError):
        store.search(NS, query=filter)  # type: ignore[arg-type]


def test_a_filter_by_a_tuple_is_a_path(store: AMemStore) -> None:
    store.put(NS, "dotted", {"a.b": {"c.d": 1}})
    store.put(NS, "nested", {"a": {"b": {"c": {"d": 1}}}})
    assert [each.key for each in store.search(NS, filter={("a.b", "c.d"): 1})] == ["dotted"]
    assert [each.key for each in store.search(NS, filter={("a", "b", "c", "d"): 1})] == ["nested"]


# -- opening and closing -----------------------------------------------------------------------


class Plain(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return EMBEDDER.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return EMBEDDER.embed_query(text)


async def an_async_function(texts: list[str]) -> list[list[float]]:
    return EMBEDDER.embed_documents(texts)


@pytest.mark.parametrize("embed", [Plain(), an_async_function], ids=["object", "async"])
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


@pytest.mark.parametrize(
    ("index", "found"), [(None, 1.0), ({"fields": []}, 1.0), ({"fields": None}, 1.0), (False, None)]
)
def test_the_index_says_what_is_indexed_unless_a_put_does(
    memory: AgenticMemory, index: Any, found: float | None
) -> None:
    store = AMemStore(memory, index=index, formation="off")
    store.put(NS, "k", {"drink": "tea"})
    scores = [item.score for item in store.search(NS, query="tea")]
    assert scores == ([] if found is None else [pytest.approx(found, abs=1e-3)])
    store.put(NS, "k", {"drink": "tea"}, index=["drink"])
    assert store.search(NS, query="tea")[0].score == pytest.approx(1, abs=1e-3)


def test_of_very_many_texts_the_last_are_embedded_together(memory: AgenticMemory) -> None:
    store = AMemStore(memory, index={"fields": ["lines[*]"]}, formation="off")
    store.put(("log",), "k", {"lines": [f"line {n}" for n in range(MAX_PARTS + 500)]})
    (note,) = memory.recent(namespace="log")
    assert note.parts is not None
    assert len(note.parts) == MAX_PARTS
    assert note.content.endswith(f"line {MAX_PARTS + 499}")
    lines = list(memory.admin.export("log"))
    assert memory.admin.import_(lines, namespace="again", trust=True).notes == 1


def test_a_directory_is_opened_again_and_shared_by_two_stores(tmp_path: Path) -> None:
    options: dict[str, Any] = {"embedder": EMBEDDER, "formation": "inline"}
    with AMemStore.from_url(tmp_path, **options) as store:
        store.put(NS, "k", {"text": "green tea", "n": 1}, ttl=60)
        before, behind = store.get(NS, "k"), store.note(NS, "k")
    with (
        AMemStore.from_url(tmp_path, **options) as store,
        AMemStore.from_url(tmp_path, **options) as other,
    ):
        assert value(other, "k") == {"text": "green tea", "n": 1}
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


@pytest.mark.parametrize("engine", ["EdgeEngine", "ClientEngine"])
async def test_nothing_in_the_async_form_blocks_the_loop(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "ClientEngine":
        monkeypatch.setattr(importlib.util, "find_spec", without_qdrant_edge)
    async with AMemStore.afrom_url(tmp_path, embedder=EMBEDDER, formation="inline") as store:
        assert type(parts_of(store.memory).store.asynchronous).__name__ == engine
        ops = [PutOp(NS, str(n), {"text": f"green tea {n}"}, ttl=5) for n in range(20)]
        await store.abatch(ops)
        await asyncio.gather(*(store.aput(NS, "0", {"text": f"black tea {n}"}) for n in range(5)))
        assert len(await store.asearch(NS, query="tea", limit=30)) == 20
        assert await store.asweep_ttl() == 0
        assert await store.alist_namespaces() == [NS]
        await store.abatch([PutOp(NS, str(n), None) for n in range(20)])
        assert await store.aget(NS, "0") is None
    assert asyncio.all_tasks() == {asyncio.current_task()}
    with pytest.raises(StoreClosedError):
        await store.aget(NS, "k")


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
    store.start_ttl_sweeper()
    assert wait_for(lambda: store.get(NS, "k", refresh_ttl=False) is None)
    store.close()


def test_cancelling_its_future_stops_the_sweeper(memory: AgenticMemory) -> None:
    store = AMemStore(memory)
    done = store.start_ttl_sweeper(INTERVAL)
    assert done.cancel()
    assert wait_for(store.stop_ttl_sweeper)
    assert store.stop_ttl_sweeper()


def test_the_sweeper_ends_with_its_store_and_its_memory(memory: AgenticMemory) -> None:
    store = AMemStore(memory)
    done, gone = store.start_ttl_sweeper(INTERVAL), weakref.ref(store)
    del store
    gc.collect()
    assert gone() is None
    assert done.result(timeout=20) is None
    other = open_memory()
    done = AMemStore(other).start_ttl_sweeper(INTERVAL)
    other.close()
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


def test_setup_and_the_sweeper_are_called_as_of_the_official_sync_stores() -> None:
    with AMemStore.from_url(embedder=EMBEDDER, ttl={"sweep_interval_minutes": 1}) as store:
        store.setup()
        assert not store.start_ttl_sweeper().done()
        assert store.stop_ttl_sweeper()


async def test_setup_and_the_sweeper_are_awaited_as_of_the_official_async_stores() -> None:
    async with AMemStore.afrom_url(embedder=EMBEDDER, ttl={"sweep_interval_minutes": 1}) as store:
        await store.setup()
        sweeping = await store.start_ttl_sweeper()
        assert isinstance(sweeping, asyncio.Future)
        assert await store.stop_ttl_sweeper(timeout=20)
        await asyncio.wait_for(sweeping, 20)
        sweeping = await store.start_ttl_sweeper()
        sweeping.cancel()
        assert await store.stop_ttl_sweeper()


async def test_stopping_the_sweeper_does_not_hold_up_the_loop(
    memory: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    perform, begun, may_end = memory.perform, threading.Event(), threading.Event()

    def slow(operation: Any) -> Any:
        begun.set()
        assert may_end.wait(20)
        return perform(operation)

    monkeypatch.setattr(memory, "perform", slow)
    store = AMemStore(memory)
    store.start_ttl_sweeper(INTERVAL)
    assert await asyncio.to_thread(begun.wait, 20)
    stopping = asyncio.ensure_future(store.stop_ttl_sweeper())
    await asyncio.sleep(0.05)
    assert not stopping.done()
    may_end.set()
    assert await stopping


def test_a_store_says_what_it_indexes_and_by_which_embedder(memory: AgenticMemory) -> None:
    assert AMemStore(memory, index=False).index_config is None
    config = AMemStore(memory, index={"fields": ["text"]}).index_config
    assert config is not None
    assert config["fields"] == ["text"]  # type: ignore[typeddict-item]
    index = {"dims": EMBEDDER.dimension, "embed": EMBEDDER}
    with AMemStore.from_url(index=index) as store:  # type: ignore[arg-type]
        assert store.embeddings is EMBEDDER
        assert store.index_config == {**index, "fields": ["$"]}


# -- on a LangGraph server ---------------------------------------------------------------------

PATH = "amem_integrations.langgraph.platform.open_store"


async def test_a_server_opens_the_store_that_its_file_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, name = PATH.rpartition(".")
    # As the server does it: what a module makes on demand is not found.
    open_store = importlib.import_module(module).__dict__[name]
    monkeypatch.delenv("AMEM_LOCATION", raising=False)
    with pytest.raises(InvalidInputError, match="AMEM_LOCATION"):
        async with open_store():
            pass
    embedder = resolve_embedder(EMBEDDER)
    monkeypatch.setattr("amem_integrations.memory.build.resolve_embedder", lambda _: embedder)
    monkeypatch.setenv("AMEM_LOCATION", str(tmp_path))
    monkeypatch.setenv("AMEM_COLLECTION", "server")
    for _ in range(2):
        async with open_store() as store:
            assert isinstance(store, BaseStore)
            assert store.memory.options.collection == "server"
            await store.aput(NS, "k", {"text": "tea"})


# -- namespaces --------------------------------------------------------------------------------

MAIL = ("users", "bea@example.com")


async def test_ids_with_a_period_are_labels_like_any_other_where_they_are_allowed(
    memory: AgenticMemory,
) -> None:
    with pytest.raises(InvalidNamespaceError, match="periods=True"):
        AMemStore(memory).get(MAIL, "told")
    store = AMemStore(memory, periods=True)
    memory.add("Bea takes no sugar", namespace=MAIL, key="told")
    store.put(MAIL, "tea", {"text": "green tea"})
    await store.aput(("users", "bea@example", "com"), "tea", {"text": "black tea"})
    assert store.get(MAIL, "told") == await store.aget(MAIL, "told") is not None
    assert {item.key for item in store.search(MAIL)} == {"told", "tea"}
    assert await store.alist_namespaces(prefix=MAIL) == [MAIL] == store.list_namespaces(suffix=MAIL)
    store.delete(MAIL, "tea")
    await store.adelete(MAIL, "told")
    assert store.search(MAIL) == []
    assert len(store.search(("users",))) == 1


def test_a_namespace_of_one_label_may_be_a_string(memory: AgenticMemory) -> None:
    store = AMemStore(memory)
    memory.add("Calvin has a boat", namespace="calvin", key="told")
    store.put("calvin", "tea", {"text": "green tea"})
    assert [item.namespace for item in store.search("calvin")] == [("calvin",)] * 2
    assert store.get("calvin", "told") is not None
    assert store.note("calvin", "tea") is not None
    assert store.list_namespaces(prefix="calvin") == [("calvin",)]
    store.delete("calvin", "tea")
    assert store.get("calvin", "tea") is None
    with pytest.raises(InvalidNamespaceError):
        store.search("")


# -- in a graph --------------------------------------------------------------------------------


class State(TypedDict):
    said: str
    known: list[str]


async def remember(state: State, runtime: Runtime) -> dict[str, Any]:
    assert runtime.store is not None
    known = runtime.store.search(NS, query=state["said"], limit=3)
    assert known == await runtime.store.asearch(NS, query=state["said"], limit=3)
    await runtime.store.aput(NS, state["said"], {"text": state["said"]})
    return {"known": [item.value["text"] for item in known]}


async def test_a_node_of_a_graph_has_the_store_in_both_forms(store: AMemStore) -> None:
    builder = StateGraph(State)
    builder.add_node("remember", remember)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", END)
    graph = builder.compile(store=store)
    assert (await graph.ainvoke({"said": "green tea", "known": []}))["known"] == []
    assert (await graph.ainvoke({"said": "black tea", "known": []}))["known"] == ["green tea"]
