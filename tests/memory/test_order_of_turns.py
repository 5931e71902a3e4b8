"""Turns without a sequence: their memory counts them, session by session."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note
from amem_integrations.core.caches import Caches
from amem_integrations.core.io import SyncIO, run
from amem_integrations.memory.operations import add
from amem_integrations.stores.expiry import LiveEngine
from amem_integrations.testing import HashEmbedder
from tests.memory.test_turns import TWO_IDEAS
from tests.support import io_of, open_memory, wiring_of

START = datetime(2026, 3, 2, 9)
TALK = (
    "Shall we take the ferry or the tunnel?",
    "The ferry, by all means.",
    "Then I book two cabins.",
    "Did anybody feed the tortoise?",
    "Bea did, on Monday.",
)


@pytest.fixture
def memory(raw_memory: AgenticMemory) -> AgenticMemory:
    return raw_memory


def places(notes: Any) -> list[int | None]:
    return [note.sequence for note in notes]


def test_turns_of_sessions_that_alternate_are_counted_apart(memory: AgenticMemory) -> None:
    notes = [memory.add(f"Turn {n}", session="st"[n % 2]) for n in range(6)]
    assert places(notes) == [0, 0, 1, 1, 2, 2]
    alone = [{"content": f"Alone {n}", "speaker": "Ada"} for n in range(2)]
    assert places(memory.add_many(alone)) == [0, 1]
    more = [{"content": f"More {n}", "session": "st"[n % 2]} for n in range(70)]
    assert places(memory.add_many(more)) == [3 + n // 2 for n in range(70)]


def test_facts_of_nobody_and_no_conversation_are_no_turns(memory: AgenticMemory) -> None:
    assert places(memory.add_many(TALK)) == [None] * len(TALK)
    assert memory.add_turn("The board meets on Monday at ten.").notes[0].sequence is None


def test_what_answers_a_turn_is_found_by_the_words_of_the_turn(memory: AgenticMemory) -> None:
    for n, text in enumerate(TALK):
        memory.add(text, session="trip")
        memory.add(f"The number {n} bus is late", session="buses")
    hits = memory.search("Did they choose the tunnel?", k=3)
    assert [hit.note.content for hit in hits[:2]] == [*TALK[:2]]
    assert hits[1].why["words"] > 0


async def test_turns_added_by_awaiting_are_counted_alike(memory: AgenticMemory) -> None:
    assert places([await memory.aadd(text, session="s") for text in TALK]) == [*range(len(TALK))]


def test_a_turn_that_is_told_again_is_counted_once(memory: AgenticMemory) -> None:
    first = memory.add(TALK[0], session="s")
    assert memory.add(TALK[0], session="s") == first
    again = memory.add_many([{"content": text, "session": "s"} for text in TALK])
    assert places(again) == [*range(len(TALK))]


def test_a_turn_whose_embedding_failed_leaves_no_gap() -> None:
    embedder = HashEmbedder()
    with AgenticMemory(embedder=embedder, formation="off") as memory:
        memory.add(TALK[0], session="s")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(HashEmbedder, "embed_documents", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                memory.add(TALK[1], session="s")
        assert memory.add(TALK[1], session="s").sequence == 1


def test_counting_goes_on_after_the_store_was_opened_again(tmp_path: Path) -> None:
    with open_memory(tmp_path, formation="off") as memory:
        memory.add_many([{"content": text, "session": "s"} for text in TALK[:3]])
        memory.add("Elsewhere", session="t")
        memory.add("Nowhere", speaker="Ada")
        with open_memory(tmp_path, formation="off") as other:
            assert other.add("By the other", session="s").sequence == 3
        assert memory.add("By the first", session="s").sequence == 4
    with open_memory(tmp_path, formation="off") as memory:
        assert memory.add(TALK[3], session="s").sequence == 5
        assert memory.add("Nowhere, either", speaker="Bea").sequence == 1
        assert memory.add("New", session="u").sequence == 0


def test_counting_goes_on_from_the_sequences_that_were_given(memory: AgenticMemory) -> None:
    assert memory.add("Seventh", session="s", sequence=7).sequence == 7
    assert memory.add("Eighth", session="s").sequence == 8
    memory.add("Twentieth", session="s", sequence=20)
    assert memory.add("Next", session="s").sequence == 21
    memory.add("At a time", session="s", sequence=2**62)
    assert memory.add("After it", session="s").sequence == 22


def test_threads_that_add_to_one_session_get_a_place_each(memory: AgenticMemory) -> None:
    def tell(number: int) -> Note:
        return memory.add(f"Said {number}", session="s")

    with ThreadPoolExecutor(8) as pool:
        notes = list(pool.map(tell, range(80)))
    assert sorted(note.sequence or 0 for note in notes) == [*range(80)]


def test_processes_that_share_a_store_go_on_from_each_other(memory: AgenticMemory) -> None:
    class Shared(LiveEngine):
        exclusive = False  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    io = io_of(memory)
    assert isinstance(io, SyncIO)
    engine = Shared(memory._parts.store.sync, io.now, io.caches.speakers)
    processes = [replace(io, engine=engine, caches=Caches()) for _ in range(3)]
    notes = [
        run(add(wiring_of(memory), processes[n % 3], [{"content": text, "session": "s"}], "n"))[0]
        for n, text in enumerate(TALK)
    ]
    assert places(notes) == [*range(len(TALK))]


def test_a_list_that_begins_with_the_newest_is_counted_in_the_order_of_time(
    memory: AgenticMemory,
) -> None:
    turns = [
        {"content": f"Turn {n}", "session": "st"[n % 2], "occurred_at": START + timedelta(hours=n)}
        for n in range(80)
    ]
    notes = memory.add_many(turns[::-1])
    assert [note.content for note in notes] == [f"Turn {n}" for n in range(80)][::-1]
    assert places(notes) == [n // 2 for n in range(80)][::-1]
    newest = [note.content for note in memory.recent(limit=2)]
    assert newest == ["Turn 79", "Turn 78"] or newest == ["Turn 78", "Turn 79"]


def test_ideas_of_one_turn_share_its_place(memory: AgenticMemory) -> None:
    memory.add_turn("The board meets on Monday at ten.", session="s")
    result = memory.add_turn(TWO_IDEAS, session="s")
    assert len(result.notes) == 2
    assert {*places(result.notes)} == {1}
    assert memory.add_turn(TWO_IDEAS, session="s").notes == result.notes
    assert places(memory.add_turn("Cabins cost ninety euros.", session="s").notes) == [2]


def test_counting_goes_on_after_an_import_into_the_session(memory: AgenticMemory) -> None:
    memory.add_many([{"content": text, "session": "s"} for text in TALK], namespace="a")
    lines = list(memory.admin.export("a"))
    memory.add("Before", session="s", namespace="b")
    memory.admin.import_(lines, namespace="b")
    assert memory.add("After", session="s", namespace="b").sequence == len(TALK)


@pytest.mark.parametrize("formation", ["inline", "background"])
def test_counted_turns_are_linked_to_the_turn_before(formation: Any) -> None:
    with open_memory(formation=formation) as memory:
        for text in TALK:
            memory.add(text, session="s")
        assert memory.flush()
        notes = memory.recent()[::-1]
        links = {note.sequence: note.outgoing for note in notes}
        before = {note.id: note.sequence or 0 for note in notes}
        following = [
            (sequence, before[link.to])
            for sequence, made in links.items()
            for link in made
            if link.kind == "sequence"
        ]
        assert following
        assert all(after == (sequence or 0) - 1 for sequence, after in following)
