"""Items are notes, and notes are items: what putting, overwriting and deleting do to a memory."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langgraph.store.base import InvalidNamespaceError

from amem_integrations import AgenticMemory, Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.langgraph import AMemStore
from tests.langgraph.support import NS, note, stored, value
from tests.support import chat_model, judgement, open_memory

# -- items are notes ---------------------------------------------------------------------------


async def test_what_is_understood_of_an_item_lies_beside_its_value(store: AMemStore) -> None:
    store.put(NS, "cache", {"text": "The redis cache", "n": 1})
    await store.aput(NS, "policy", {"text": "Eviction policy", "n": 2})
    first, second = note(store, "cache"), note(store, "policy")
    assert first.content == "The redis cache"
    assert first.value == {"text": "The redis cache", "n": 1}
    assert "redis" in first.keywords
    assert [link.to for link in second.outgoing] == [first.id]
    assert [link.source for link in first.incoming] == [second.id]
    assert "seen-Eviction" in first.keywords
    assert [value(store, key)["n"] for key in ("cache", "policy")] == [1, 2]
    assert await store.anote(NS, "policy") == second
    assert await store.anote(NS, "missing") is None


def test_forming_an_item_leaves_its_times_and_its_place_alone(memory: AgenticMemory) -> None:
    store = AMemStore(memory, index={"fields": ["text"]}, formation="off")
    for key in "abc":
        store.put(NS, key, {"text": f"The redis cache {key}"})
    before = store.search(NS)
    scores = {item.key: item.score for item in store.search(NS, query="redis")}
    assert memory.resume() == 3
    assert store.search(NS) == before
    assert {item.key: item.score for item in store.search(NS, query="redis")} == scores


def test_a_value_with_one_text_is_that_text() -> None:
    told = "Bea takes her tea without sugar"
    with open_memory() as memory:
        store = AMemStore(memory, formation="inline")
        store.put(NS, "langmem", {"kind": "Memory", "content": {"content": told}})
        store.put(NS, "several", {"text": "Calvin sails on Sundays", "boat": {"name": "Susie"}})
        assert note(store, "langmem").content == told
        assert note(store, "several").content == "Calvin sails on Sundays\nboat.name: Susie"
        packed = memory.pack(memory.search("Bea's tea", namespace=NS), 500)
        assert f'"{told}"' in packed
        assert '\\"' not in packed
        keywords = {*note(store, "langmem").keywords, *note(store, "several").keywords}
        terms = {word for term in keywords for word in term.lower().split()}
        assert "sugar" in terms
        assert terms.isdisjoint({"memory", "content", "kind", "text", "boat", "name"})


def test_an_object_under_a_path_is_text_as_well(memory: AgenticMemory) -> None:
    store = AMemStore(memory, index={"fields": ["who"]}, formation="off")
    store.put(NS, "k", {"who": {"name": "Bea", "likes": ["tea", "cake"], "age": None}, "n": 1})
    assert note(store, "k").content == "likes: tea, cake\nname: Bea"
    store.put(NS, "k", {"who": "[sic]"})
    assert note(store, "k").content == "[sic]"


@pytest.mark.parametrize("formation", ["background", "off"])
def test_an_item_is_found_before_it_is_formed(memory: AgenticMemory, formation: Any) -> None:
    store = AMemStore(memory, index={"fields": ["text"]}, formation=formation)
    store.put(NS, "k", {"text": "The redis cache"})
    assert store.search(NS, query="redis")[0].key == "k"
    if formation == "background":
        assert memory.flush(timeout=30)
    else:
        assert note(store, "k").status is Status.RAW
        memory.resume()
    assert note(store, "k").status is Status.FORMED


def test_no_model_changes_a_value() -> None:
    def greedy(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        return judgement(text, value={"text": "overwritten"}, content="overwritten")

    with open_memory(model=chat_model(greedy)) as memory:
        store = AMemStore(memory, formation="inline")
        for n in range(3):
            store.put(NS, str(n), {"text": f"drink {n}"})
        assert [item.value["text"] for item in store.search(NS)] == [
            "drink 2",
            "drink 1",
            "drink 0",
        ]


def test_an_item_without_text_is_no_models_business(memory: AgenticMemory) -> None:
    store = AMemStore(memory, index={"fields": ["text"]}, formation="inline")
    calls = memory.usage().total.calls
    store.put(NS, "unindexed", {"text": "The redis cache"}, index=False)
    store.put(NS, "other", {"name": "The redis cache"})
    assert memory.usage().total.calls == calls
    assert memory.resume() == 0
    assert memory.search("redis cache", namespace=NS) == []
    assert memory.admin.check() == []


def test_new_text_takes_back_what_the_old_had_caused(store: AMemStore) -> None:
    store.put(NS, "old", {"text": "The redis cache"})
    store.put(NS, "new", {"text": "Zanzibar trip"})
    assert "seen-Zanzibar" in note(store, "old").keywords
    store.put(NS, "new", {"text": "Violin lesson"})
    assert "seen-Zanzibar" not in note(store, "old").keywords
    assert "seen-Violin" in note(store, "old").keywords
    assert "Zanzibar" not in stored(store.memory)
    assert store.memory.admin.check() == []


def test_a_new_value_with_the_same_text_keeps_what_was_understood(store: AMemStore) -> None:
    store.put(NS, "old", {"text": "The redis cache"})
    store.put(NS, "new", {"text": "Eviction policy", "n": 1})
    before = note(store, "new")
    store.put(NS, "new", {"text": "Eviction policy", "n": 2})
    after = note(store, "new")
    assert after.value == {"text": "Eviction policy", "n": 2}
    assert (after.keywords, after.links) == (before.keywords, before.links)
    assert after.updated_at > before.updated_at


def test_deleting_an_item_forgets_what_it_caused(store: AMemStore) -> None:
    store.put(NS, "old", {"text": "The redis cache"})
    store.put(NS, "new", {"text": "Zanzibar trip"})
    store.delete(NS, "new")
    assert "Zanzibar" not in stored(store.memory)
    assert note(store, "old").links == ()
    assert store.memory.admin.check() == []


def test_the_whole_value_is_read_without_its_keys() -> None:
    with open_memory() as memory:
        store = AMemStore(memory, formation="inline")
        store.put(NS, "a", {"text": "Calvin collects stamps", "kind": "hobby"})
        store.put(NS, "b", {"text": "Violin lesson on Tuesday", "kind": "plan"})
        assert not {"text", "kind"} & {*note(store, "a").keywords, *note(store, "b").keywords}
        assert note(store, "b").links == ()


def test_a_value_is_kept_exactly_and_found_by_store_and_memory(store: AMemStore) -> None:
    value = {"text": "green tea \ud83d", "\udc00": 1}
    store.put(NS, "k", value)
    (item,) = store.search(NS, query="green tea \ud83d")
    assert item.value == value
    store.put(NS, "k", {"text": "The redis cache", "n": 1})
    store.memory.update(note(store, "k"), metadata={"a": 1})
    (hit,) = store.memory.search("redis", namespace=NS, filter={"value.n": 1})
    assert hit.note.value == {"text": "The redis cache", "n": 1}
    assert hit.note.metadata == {"a": 1}


# -- notes are items ---------------------------------------------------------------------------


def test_a_note_that_no_put_made_has_its_content_for_value(store: AMemStore) -> None:
    made = store.memory.add("The redis cache", namespace=NS)
    item = store.get(NS, made.key)
    assert item is not None
    assert item.value == {"content": "The redis cache"}
    assert (item.created_at, item.updated_at) == (made.created_at, made.updated_at)
    assert store.list_namespaces() == [NS]
    for options in ({}, {"query": "redis"}, {"filter": {"content": "The redis cache"}}):
        assert [found.value for found in store.search(NS, **options)] == [item.value]
    assert store.search(NS, filter={"content": {"$ne": "The redis cache"}}) == []
    assert store.search(NS, filter={"other": {"$exists": True}}) == []
    store.delete(NS, made.key)
    assert store.memory.get(made) is None


def test_a_put_takes_the_place_of_a_note(store: AMemStore) -> None:
    made = store.memory.add("Zanzibar trip", key="k", namespace=NS, metadata={"a": "Zanzibar"})
    store.put(NS, "k", {"text": "Violin lesson"})
    item = store.get(NS, "k")
    assert item is not None
    assert (item.value, item.created_at) == ({"text": "Violin lesson"}, made.created_at)
    assert "Zanzibar" not in stored(store.memory)


@pytest.mark.parametrize("how", ["update", "add"])
def test_new_content_takes_the_place_of_a_value(store: AMemStore, how: str) -> None:
    store.put(NS, "k", {"text": "Zanzibar trip"})
    if how == "update":
        store.memory.update(note(store, "k"), "Violin lesson")
    else:
        store.memory.add("Violin lesson", key="k", namespace=NS)
    assert value(store, "k") == {"content": "Violin lesson"}
    assert "Violin" in note(store, "k").keywords
    assert "Zanzibar" not in stored(store.memory)


# -- following links ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def linked() -> Iterator[AMemStore]:
    """Two linked items that share no word, and one that is linked to nothing."""

    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        wanted = [c for c in candidates if "harbour" in c["text"] and "policy" in text]
        links = [{"to": c["n"], "reason": "on", "kind": "cause", "strength": 1} for c in wanted]
        return judgement(text, links=links)

    with open_memory(model=chat_model(judge)) as memory:
        store = AMemStore(memory, index={"fields": ["text"]}, formation="inline")
        store.put(NS, "harbour", {"text": "harbour lights"})
        for n in range(20):
            store.put(NS, f"other{n}", {"text": f"the violin lesson {n}"})
        store.put(NS, "policy", {"text": "eviction policy", "kind": "plan"})
        yield store


def test_links_are_followed_when_asked_for(linked: AMemStore) -> None:
    query = "eviction policy"
    plain = {item.key: item.score or 0.0 for item in linked.search(NS, query=query)}
    unlinked = {
        hit.note.key: hit.score for hit in linked.memory.search(query, namespace=NS, hops=0, k=50)
    }
    followed = {item.key: item.score or 0.0 for item in linked.search(NS, query=query, hops=1)}
    assert max(plain, key=plain.__getitem__) == max(followed, key=followed.__getitem__) == "policy"
    assert plain["policy"] == pytest.approx(1, abs=1e-3)
    assert followed["policy"] == pytest.approx(unlinked["policy"])
    assert followed["harbour"] > unlinked["harbour"] + 0.2


async def test_links_are_followed_asynchronously(linked: AMemStore) -> None:
    found = await linked.asearch(NS, query="eviction policy", limit=2, hops=1)
    assert [item.key for item in found] == ["policy", "harbour"]
    (second,) = await linked.asearch(NS, query="eviction policy", limit=1, offset=1, hops=1)
    assert second.key == "harbour"


def test_following_links_keeps_to_the_filter_and_the_namespace(linked: AMemStore) -> None:
    found = linked.search(NS, query="eviction policy", hops=1, filter={"kind": "plan"})
    assert [item.key for item in found] == ["policy"]
    assert linked.search(("users",), query="eviction policy", hops=1) == []
    for prefix in ((), ("a", "")):
        with pytest.raises(InvalidNamespaceError):
            linked.search(prefix, query="policy", hops=1)


@pytest.mark.parametrize("hops", [0, 1])
def test_a_filter_on_content_is_asked_of_notes_that_are_no_items(
    memory: AgenticMemory, hops: int
) -> None:
    store = AMemStore(memory, formation="off")
    memory.add("green tea", namespace=NS, key="told", formation="off")
    store.put(NS, "item", {"content": "green tea"})
    store.put(NS, "other", {"content": "black tea", "n": 1})

    def keys(filter: dict[str, Any]) -> set[str]:
        return {item.key for item in store.search(NS, query="tea", filter=filter, hops=hops)}

    assert keys({"content": "green tea"}) == {"told", "item"}
    assert keys({"content": {"$ne": "black tea"}}) == {"told", "item"}
    assert keys({"content": {"$gt": "c"}, "n": {"$exists": False}}) == {"told", "item"}
    assert keys({"$not": {"content": {"$in": ["green tea"]}}}) == {"other"}
    assert keys({"content": {"$gt": 1}}) == keys({"content": {"$contains": "green"}}) == set()
    assert keys({"n": 1}) == {"other"}


@pytest.mark.parametrize(
    "options",
    [{"query": None}, {"query": " "}, {"limit": -1}, {"offset": -1}, {"hops": -1}],
    ids=str,
)
def test_following_links_needs_a_query_and_valid_numbers(
    store: AMemStore, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError):
        store.search(NS, **{"query": "policy", "hops": 1, **options})


def test_following_links_hides_what_is_past_its_time_and_prolongs_the_rest() -> None:
    now = [datetime(2026, 3, 1, tzinfo=UTC)]
    with open_memory(clock=lambda: now[0]) as memory:
        store = AMemStore(
            memory, index={"fields": ["text"]}, ttl={"omit_expired": True}, formation="off"
        )
        store.put(NS, "short", {"text": "green tea"}, ttl=1)
        store.put(NS, "long", {"text": "green tea"}, ttl=10)
        now[0] += timedelta(minutes=5)
        assert [each.key for each in store.search(NS, query="tea", hops=1)] == ["long"]
        assert note(store, "long").expires_at > now[0] + timedelta(minutes=9)
