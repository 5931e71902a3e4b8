"""Forgetting is complete: nothing of a note is left, in the store or in what others carry."""

import json
from typing import Any

import pytest

from amem_integrations import Status
from amem_integrations.core.io import run
from amem_integrations.stores.read import load_points
from tests.support import again, chat_model, io_of, judgement, links_everything, open_memory

SECRET = "Rumpelstiltskin"


def everything_stored(memory: Any) -> str:
    points = run(load_points(io_of(memory)))
    return json.dumps([point.payload for point in points], ensure_ascii=False)


@pytest.mark.parametrize("mode", ["fused", "staged"])
def test_nothing_of_a_forgotten_note_is_left(mode: Any) -> None:
    with open_memory(mode=mode, model=chat_model()) as memory:
        before = memory.add("The redis cache")
        gone = memory.add(f"{SECRET} is the name of the project")
        after = memory.add("Memcached instead")
        assert SECRET in everything_stored(memory)
        forgotten = memory.forget(gone)
        assert forgotten.notes == 1
        assert forgotten.evolutions > 0
        assert SECRET not in everything_stored(memory)
        assert memory.admin.check() == []
        for note in (before, after):
            assert again(memory, note).status is Status.FORMED


def test_evolutions_that_others_caused_survive() -> None:
    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        return links_everything(text, [c for c in candidates if "redis" in c["text"]])

    with open_memory(model=None) as free:
        assert free.forget("not-an-id", namespace="x").notes == 0
    with open_memory(model=chat_model(judge)) as memory:
        old = memory.add("The redis cache")
        gone = memory.add(f"{SECRET} came by")
        memory.add("Memcached instead")
        memory.forget(gone)
        keywords = again(memory, old).keywords
        assert f"seen-{SECRET}" not in keywords
        assert SECRET not in everything_stored(memory)


def test_words_that_went_from_note_to_note_are_gone_from_all_of_them() -> None:
    def copying(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        if SECRET in text:
            return links_everything(text, candidates[:1])
        contexts = " ".join(c.get("context", "") for c in candidates)
        return judgement(text, context=f"{text} {contexts}")

    with open_memory(model=chat_model(copying), neighbours=1) as memory:
        memory.add("redis cache eviction")
        gone = memory.add(f"{SECRET} redis cache")
        chain = [
            memory.add("redis cache eviction violin"),
            memory.add("eviction violin Tuesday"),
            memory.add("violin Tuesday harbour"),
        ]
        assert SECRET in chain[-1].context
        assert gone.id not in [link.to for note in chain for link in note.links]
        memory.forget(gone)
        assert SECRET not in everything_stored(memory)
        assert {again(memory, note).status for note in chain} == {Status.FORMED}
        assert memory.admin.check() == []


def test_without_a_model_forgetting_rolls_back_what_the_note_caused() -> None:
    with open_memory() as memory:
        notes = [
            memory.add(f"{topic} and the {SECRET} contract with {SECRET}")
            for topic in ("Redis cache eviction", "Redis cache eviction policy")
        ]
        keeper = memory.add("Redis cache eviction is settled")
        for note in notes:
            memory.forget(note)
        assert SECRET not in everything_stored(memory)
        assert again(memory, keeper).links == ()
        assert memory.admin.check() == []


def test_without_a_model_forgetting_leaves_the_links_between_others() -> None:
    with open_memory() as memory:
        texts = (
            "Rosalyn plans the garden: tomatoes along the south wall, beans by the shed.",
            "The beans by the shed were eaten by snails last night.",
            "Calvin built a raised bed for the tomatoes out of old pallets.",
            "Copper tape around the raised bed keeps snails away, says Bea.",
        )
        notes = memory.add_many(texts)
        before = [again(memory, note).outgoing for note in notes]
        memory.forget(memory.add("Snails: the copper tape works, the beans by the shed are gone."))
        assert any(before)
        assert [again(memory, note).outgoing for note in notes] == before


def test_a_forgotten_note_does_not_come_back_with_later_writes() -> None:
    with open_memory(model=chat_model()) as memory:
        memory.add("The redis cache")
        gone = memory.add(f"{SECRET} is the name")
        memory.forget(gone)
        for n in range(5):
            memory.add(f"Later remark number {n}")
        assert SECRET not in everything_stored(memory)
        assert memory.get(gone) is None


def test_forgetting_through_another_namespace_does_nothing() -> None:
    with open_memory() as memory:
        note = memory.add("The redis cache", namespace="a")
        assert memory.forget(note.id, namespace="b").notes == 0
        assert memory.get(note) is not None


def test_a_namespace_can_be_forgotten_whole() -> None:
    with open_memory(model=chat_model()) as memory:
        for n in range(3):
            memory.add(f"{SECRET} number {n}", namespace="a")
            memory.add(f"Other matter {n}", namespace=("a", "b"))
        assert memory.admin.forget_namespace("a").notes == 3
        assert memory.namespaces() == [("a", "b")]
        assert SECRET not in everything_stored(memory)


async def test_forgetting_asynchronously() -> None:
    async with open_memory(model=chat_model(lambda t, _: judgement(t))) as memory:
        note = await memory.aadd("The redis cache")
        assert (await memory.aforget(note)).notes == 1
        assert await memory.aget(note) is None
        assert await memory.acount() == 0
