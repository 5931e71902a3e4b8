"""Expiry: what is past its time goes, with everything it caused, unless it is used meanwhile."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note
from amem_integrations.core.io import SyncIO, run
from amem_integrations.formation import commit
from amem_integrations.memory.items import item_note, sweep, write
from amem_integrations.revisions import forget as forgetting
from amem_integrations.stores.expiry import including_expired
from amem_integrations.stores.read import notes_by_id
from tests.support import chat_model, io_of, open_memory

NS = ("users", "ann")


@pytest.fixture
def time() -> list[datetime]:
    return [datetime(2026, 3, 1, tzinfo=UTC)]


@pytest.fixture
def memory(time: list[datetime]) -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model(), clock=lambda: time[0]) as memory:
        yield memory


def put(memory: AgenticMemory, key: str, text: str, minutes: float | None) -> Note:
    ttl = None if minutes is None else timedelta(minutes=minutes)
    note = item_note(NS, key, "{}", [text], now=io_of(memory).now(), ttl=ttl)
    memory.perform(lambda wiring, io: write(wiring, io, [note], {}, "inline"))
    return now(memory, note)


def now(memory: AgenticMemory, note: Note) -> Note:
    return run(notes_by_id(including_expired(io_of(memory)), [note.id]))[note.id]


def swept(memory: AgenticMemory) -> int:
    return memory.perform(lambda wiring, io: sweep(wiring, io, "inline"))


def test_sweeping_takes_back_what_the_note_had_caused(
    memory: AgenticMemory, time: list[datetime]
) -> None:
    kept = put(memory, "kept", "The redis cache", None)
    put(memory, "gone", "Zanzibar trip", 1)
    assert "seen-Zanzibar" in now(memory, kept).keywords
    time[0] += timedelta(minutes=2)
    assert swept(memory) == 1
    assert now(memory, kept).links == ()
    assert "seen-Zanzibar" not in now(memory, kept).keywords
    assert memory.admin.check() == []


def test_a_plain_note_never_expires(memory: AgenticMemory, time: list[datetime]) -> None:
    memory.add("The redis cache", namespace=NS)
    time[0] += timedelta(days=36_500)
    assert swept(memory) == 0


def test_forming_a_note_keeps_its_time(memory: AgenticMemory, time: list[datetime]) -> None:
    note = put(memory, "k", "The redis cache", 5)
    time[0] += timedelta(minutes=1)
    put(memory, "other", "Eviction policy", None)
    assert now(memory, note).version > note.version
    assert now(memory, note).expires_at == note.expires_at
    assert note.ttl == timedelta(minutes=5)


def test_prolonging_starts_the_time_anew(memory: AgenticMemory, time: list[datetime]) -> None:
    forever, note = put(memory, "forever", "tea", None), put(memory, "k", "tea", 5)
    time[0] += timedelta(minutes=4)
    run(forgetting.renew(io_of(memory), [note, forever]))
    prolonged = now(memory, note)
    assert prolonged.expires_at is not None
    assert prolonged.expires_at >= time[0] + timedelta(minutes=5)
    assert prolonged.version == note.version
    assert now(memory, forever).expires_at is None


def test_prolonging_gives_no_time_to_a_note_that_has_none_by_now(memory: AgenticMemory) -> None:
    note = put(memory, "k", "tea", 5)
    put(memory, "k", "tea", None)
    run(forgetting.renew(io_of(memory), [note]))
    assert now(memory, note).expires_at is None


def test_prolonging_counts_for_a_note_that_was_formed_since_it_was_read(
    memory: AgenticMemory, time: list[datetime]
) -> None:
    read = put(memory, "k", "The redis cache", 5)
    put(memory, "other", "Eviction policy", None)
    assert now(memory, read).version > read.version
    time[0] += timedelta(minutes=4)
    run(forgetting.renew(io_of(memory), [read]))
    assert now(memory, read).expires_at > read.expires_at


def test_a_note_read_while_it_is_formed_keeps_its_new_time(
    memory: AgenticMemory, time: list[datetime], monkeypatch: pytest.MonkeyPatch
) -> None:
    note = put(memory, "k", "The redis cache", 5)
    embed = commit.embedded_points

    async def read_meanwhile(*args: Any, **options: Any) -> Any:
        time[0] += timedelta(minutes=1)
        await forgetting.renew(io_of(memory), [note])
        monkeypatch.setattr(commit, "embedded_points", embed)
        return await embed(*args, **options)

    monkeypatch.setattr(commit, "embedded_points", read_meanwhile)
    put(memory, "other", "Eviction policy", None)
    assert now(memory, note).version > note.version
    assert now(memory, note).expires_at > note.expires_at


class Interfered:
    """An engine that lets something else happen just before it deletes."""

    def __init__(self, engine: Any, event: Callable[[], Any]) -> None:
        self._engine = engine
        self._event = event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def delete(self, where: Any) -> Any:
        self._event()
        return self._engine.delete(where)


@pytest.mark.parametrize("use", ["read", "write"])
def test_what_is_used_while_it_is_swept_stays(
    memory: AgenticMemory, time: list[datetime], use: str
) -> None:
    note = put(memory, "k", "tea", 1)
    time[0] += timedelta(minutes=2)
    io = including_expired(io_of(memory))

    def event() -> None:
        if use == "read":
            run(forgetting.renew(io, [now(memory, note)]))
        else:
            put(memory, "k", "coffee", 5)

    watched = SyncIO(Interfered(io.engine, event), io.sparse, io.embedder, None, io.now)  # type: ignore[attr-defined]
    assert run(forgetting.sweep(watched, "test")).notes == 0
    assert now(memory, note).content == ("tea" if use == "read" else "coffee")
    assert memory.admin.check() == []


def test_a_sweep_of_many_pages(memory: AgenticMemory, time: list[datetime]) -> None:
    io = io_of(memory)
    notes = [
        item_note(NS, str(n), "{}", [], now=io.now(), ttl=timedelta(minutes=n % 2 or 10))
        for n in range(600)
    ]
    memory.perform(lambda wiring, io: write(wiring, io, notes, {}, "off"))
    time[0] += timedelta(minutes=5)
    assert swept(memory) == 300
    assert memory.count() == 300
