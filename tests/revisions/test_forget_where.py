"""Forgetting all notes that meet a filter: each as completely as one by itself, and counted."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.filters import ids
from amem_integrations.core.io import run
from amem_integrations.errors import InvalidFilterError
from amem_integrations.revisions.forget import Forgotten
from amem_integrations.stores.codec import revision_point
from amem_integrations.stores.read import load_points
from tests.lifecycle.engines import KINDS, TEXTS, open_on
from tests.support import chat_model, io_of, open_memory


@pytest.fixture(params=KINDS)
def memory(request: pytest.FixtureRequest) -> Iterator[AgenticMemory]:
    """Three formed notes, each linked to the older ones, and a raw one; the same elsewhere."""
    with open_on(request.param, model=chat_model()) as memory:
        for namespace in "ab":
            for n, text in enumerate(TEXTS):
                memory.add(text, namespace=namespace, speaker=f"s{n}", metadata={"big": n})
            memory.add("left raw", namespace=namespace, formation="off")
        yield memory
        assert memory.admin.check() == []
        assert memory.count("b") == 4


def stored(memory: AgenticMemory, namespace: str) -> str:
    points = [each.payload for each in run(load_points(io_of(memory)))]
    return json.dumps([each for each in points if namespace in (each.get("ns"), each.get("owner"))])


def contents(memory: AgenticMemory) -> set[str]:
    return {note.content for note in memory.recent(namespace="a")}


def test_only_the_notes_that_meet_it_go_and_all_they_had_caused(memory: AgenticMemory) -> None:
    forgotten = memory.admin.forget_where({"speaker": "s2"}, namespace="a")
    assert (forgotten.notes, forgotten.waiting) == (1, 0)
    assert forgotten.evolutions > 0
    assert contents(memory) == {*TEXTS[:2], "left raw"}
    assert "violin" not in stored(memory, '["a"]')
    assert "violin" in stored(memory, '["b"]')


def test_notes_that_waited_are_counted(memory: AgenticMemory) -> None:
    assert memory.admin.forget_where({"status": "raw"}, namespace="a") == Forgotten(1, waiting=1)
    assert memory.resume() == 1


def test_what_becomes_raw_on_the_way_neither_stays_nor_counts_as_waiting(
    memory: AgenticMemory,
) -> None:
    forgotten = memory.admin.forget_where({"status": "formed"}, namespace="a")
    assert (forgotten.notes, forgotten.waiting, forgotten.unformed) == (3, 0, ())
    assert contents(memory) == {"left raw"}


def test_a_filter_that_the_engine_cannot_ask_exactly_is_asked_of_the_notes(
    memory: AgenticMemory,
) -> None:
    assert memory.admin.forget_where({"content": {"$gte": "The v"}}, namespace="a").notes == 2
    assert contents(memory) == set(TEXTS[:2])


def test_nothing_that_meets_it_is_no_error(memory: AgenticMemory) -> None:
    assert memory.admin.forget_where({"speaker": "nobody"}, namespace="a") == Forgotten(0)
    assert memory.admin.forget_where({"speaker": "s1"}, namespace="nowhere") == Forgotten(0)


def test_forgetting_a_namespace_counts_what_waited(memory: AgenticMemory) -> None:
    assert memory.admin.forget_namespace("a") == Forgotten(4, waiting=1)


@pytest.mark.parametrize(
    "filter",
    [{}, {"$and": []}, {"$or": [{}]}, {"$not": {}}, {"$not": {"$or": []}}],
)
def test_a_filter_that_asks_for_nothing_is_refused(filter: Mapping[str, Any]) -> None:
    with open_memory() as memory:
        note = memory.add("Tea at four", namespace="a", formation="off")
        with pytest.raises(InvalidFilterError, match="forget_namespace"):
            memory.admin.forget_where(filter, namespace="a")
        assert memory.get(note) is not None


def test_forgetting_one_note_says_whether_it_waited() -> None:
    with open_memory() as memory:
        raw = memory.add("Tea at four", formation="off")
        formed = memory.add("Coffee at five")
        assert memory.forget(raw).waiting == 1
        assert memory.forget(formed).waiting == 0


def test_forgetting_touches_no_record_of_another_namespace() -> None:
    """Not even where a record there was made to name the note."""
    with open_memory(model=chat_model()) as memory:
        gone = memory.add("Tea at four", namespace="a")
        other = memory.add("Coffee at five", namespace="b")
        assert other.revision is not None
        record = revision_point(other, other.revision)
        record.payload["influences"] = [gone.id]
        run(io_of(memory).engine.insert([record]))
        assert memory.forget(gone).notes == 1
        assert run(io_of(memory).engine.get([record.id]))


def test_a_forgetting_that_was_broken_off_can_be_repeated_when_the_note_is_gone() -> None:
    with open_memory(model=chat_model()) as memory:
        gone, *_ = memory.add_many(TEXTS)
        run(io_of(memory).engine.delete(ids([gone.id])))
        assert memory.admin.check() != []
        forgotten = memory.forget(gone)
        assert forgotten.notes == 0
        assert forgotten.links > 0
        assert memory.admin.check() == []
        assert gone.id not in stored(memory, '["default"]')


def test_forgetting_by_an_id_of_another_namespace_leaves_its_history() -> None:
    with open_memory(model=chat_model()) as memory:
        note = memory.add_many(TEXTS, namespace="a")[0]
        before = memory.history(note)
        assert len(before) > 1
        assert memory.forget(note.id, namespace="b") == Forgotten(0)
        assert memory.history(note) == before
