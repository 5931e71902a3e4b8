"""Forgetting is complete: nothing of a note is left, in the store or in what others carry."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Status
from amem_integrations.core.filters import ids
from amem_integrations.core.io import run
from amem_integrations.errors import InvalidFilterError
from amem_integrations.revisions.forget import Forgotten
from amem_integrations.stores.codec import revision_point
from amem_integrations.stores.read import load_points
from tests.lifecycle.engines import KINDS, TEXTS, open_on
from tests.support import again, chat_model, io_of, judgement, links_everything, open_memory

SECRET = "Rumpelstiltskin"


def stored(memory: AgenticMemory, namespace: str | None = None) -> str:
    """All that is stored, or what of it is of a namespace."""
    points = [each.payload for each in run(load_points(io_of(memory)))]
    if namespace is not None:
        points = [each for each in points if namespace in (each.get("ns"), each.get("owner"))]
    return json.dumps(points, ensure_ascii=False)


# -- one note --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["fused", "staged"])
def test_nothing_of_a_forgotten_note_is_left_or_comes_back(mode: Any) -> None:
    with open_memory(mode=mode, model=chat_model()) as memory:
        before = memory.add("The redis cache")
        gone = memory.add(f"{SECRET} is the name of the project")
        after = memory.add("Memcached instead")
        assert SECRET in stored(memory)
        forgotten = memory.forget(gone)
        assert forgotten.notes == 1
        assert forgotten.evolutions > 0
        memory.add("Later remark")
        assert SECRET not in stored(memory)
        assert memory.admin.check() == []
        for note in (before, after):
            assert again(memory, note).status is Status.FORMED


def test_evolutions_that_others_caused_survive() -> None:
    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        return links_everything(text, [c for c in candidates if "redis" in c["text"]])

    with open_memory(model=chat_model(judge)) as memory:
        old = memory.add("The redis cache")
        gone = memory.add(f"{SECRET} came by")
        memory.add("Memcached instead")
        memory.forget(gone)
        assert "seen-Memcached" in again(memory, old).keywords
        assert SECRET not in stored(memory)


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
        assert SECRET not in stored(memory)
        assert {again(memory, note).status for note in chain} == {Status.FORMED}
        assert memory.admin.check() == []


def test_without_a_model_forgetting_rolls_back_what_the_note_caused(
    target: AgenticMemory,
) -> None:
    notes = [
        target.add(f"{topic} and the {SECRET} contract with {SECRET}")
        for topic in ("Redis cache eviction", "Redis cache eviction policy")
    ]
    keeper = target.add("Redis cache eviction is settled")
    for note in notes:
        target.forget(note)
    assert SECRET not in stored(target)
    assert again(target, keeper).links == ()


def test_without_a_model_forgetting_leaves_the_links_between_others(
    target: AgenticMemory,
) -> None:
    texts = (
        "Rosalyn plans the garden: tomatoes along the south wall, beans by the shed.",
        "The beans by the shed were eaten by snails last night.",
        "Calvin built a raised bed for the tomatoes out of old pallets.",
        "Copper tape around the raised bed keeps snails away, says Bea.",
    )
    notes = target.add_many(texts)
    before = [again(target, note).outgoing for note in notes]
    target.forget(target.add("Snails: the copper tape works, the beans by the shed are gone."))
    assert any(before)
    assert [again(target, note).outgoing for note in notes] == before


async def test_forgetting_asynchronously(target: AgenticMemory) -> None:
    note = await target.aadd("The redis cache")
    assert (await target.aforget(note)).notes == 1
    assert await target.aget(note) is None


def test_a_forgetting_that_was_broken_off_can_be_repeated(memory: AgenticMemory) -> None:
    gone, *_ = memory.add_many(TEXTS)
    run(io_of(memory).engine.delete(ids([gone.id])))
    assert memory.admin.check() != []
    forgotten = memory.forget(gone)
    assert forgotten.notes == 0
    assert forgotten.links > 0
    assert gone.id not in stored(memory)


def test_forgetting_by_an_id_of_another_namespace_leaves_its_history(
    memory: AgenticMemory,
) -> None:
    note = memory.add_many(TEXTS, namespace="a")[0]
    before = memory.history(note)
    assert len(before) > 1
    assert memory.forget(note.id, namespace="b") == Forgotten(0)
    assert memory.forget("not-an-id", namespace="x") == Forgotten(0)
    assert memory.history(note) == before


def test_forgetting_touches_no_record_of_another_namespace(memory: AgenticMemory) -> None:
    """Not even where a record there was made to name the note."""
    gone = memory.add("Tea at four", namespace="a")
    other = memory.add("Coffee at five", namespace="b")
    assert other.revision is not None
    record = revision_point(other, other.revision)
    record.payload["influences"] = [gone.id]
    run(io_of(memory).engine.insert([record]))
    assert memory.forget(gone).notes == 1
    assert run(io_of(memory).engine.get([record.id]))
    run(io_of(memory).engine.delete(ids([record.id])))


# -- many notes ------------------------------------------------------------------------------


@pytest.fixture
def filled(memory: AgenticMemory) -> Iterator[AgenticMemory]:
    yield from fill(memory)


def fill(memory: AgenticMemory) -> Iterator[AgenticMemory]:
    """Three formed notes, each linked to the older ones, and a raw one; the same elsewhere."""
    for namespace in "ab":
        for n, text in enumerate(TEXTS):
            memory.add(text, namespace=namespace, speaker=f"s{n}", metadata={"big": n})
        memory.add("left raw", namespace=namespace, formation="off")
    yield memory
    assert memory.admin.check() == []
    assert memory.count("b") == 4


def contents(memory: AgenticMemory) -> set[str]:
    return {note.content for note in memory.recent(namespace="a")}


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_notes_that_match_go_and_all_they_had_caused(kind: str) -> None:
    with open_on(kind, model=chat_model()) as opened:
        for memory in fill(opened):
            forgotten = memory.admin.forget_where({"speaker": "s2"}, namespace="a")
            assert (forgotten.notes, forgotten.waiting) == (1, 0)
            assert forgotten.evolutions > 0
            assert contents(memory) == {*TEXTS[:2], "left raw"}
            assert "violin" not in stored(memory, '["a"]')
            assert "violin" in stored(memory, '["b"]')


@pytest.mark.parametrize(
    ("filter", "expected", "left"),
    [
        ({"status": "raw"}, Forgotten(1, waiting=1), set(TEXTS)),
        # What becomes raw on the way neither stays nor counts as waiting.
        ({"status": "formed"}, Forgotten(3), {"left raw"}),
        # The engine cannot ask this exactly.
        ({"content": {"$gte": "The v"}}, Forgotten(2, waiting=1), set(TEXTS[:2])),
        ({"speaker": "nobody"}, Forgotten(0), {*TEXTS, "left raw"}),
    ],
)
def test_forgetting_counts_what_it_removed(
    filled: AgenticMemory, filter: Mapping[str, Any], expected: Forgotten, left: set[str]
) -> None:
    forgotten = filled.admin.forget_where(filter, namespace="a")
    assert (forgotten.notes, forgotten.waiting) == (expected.notes, expected.waiting)
    assert contents(filled) == left


def test_a_namespace_can_be_forgotten_whole(filled: AgenticMemory) -> None:
    filled.add(SECRET, namespace=("a", "b"))
    assert filled.admin.forget_namespace("a") == Forgotten(4, waiting=1)
    assert stored(filled, '["a"]') == "[]"
    assert SECRET in stored(filled)


@pytest.mark.parametrize(
    "filter",
    [{}, {"$and": []}, {"$or": [{}]}, {"$not": {}}, {"$not": {"$or": []}}],
)
def test_a_filter_without_a_condition_is_refused(
    target: AgenticMemory, filter: Mapping[str, Any]
) -> None:
    target.add("Tea at four", namespace="a", formation="off")
    with pytest.raises(InvalidFilterError, match="forget_namespace"):
        target.admin.forget_where(filter, namespace="a")
    assert target.count("a") == 1
