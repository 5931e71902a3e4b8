"""Overwriting while others write: the last one stays whole, and nothing of the others."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note
from amem_integrations.core.io import SyncIO, run
from amem_integrations.errors import StoreError
from amem_integrations.memory.items import item_note
from amem_integrations.revisions.update import overwrite
from amem_integrations.stores.read import load_points, notes_by_id
from tests.support import chat_model, io_of, open_memory

NS = ("users", "ann")


class Interfered:
    """An engine that lets something else happen just before each of the first commits."""

    def __init__(self, engine: Any, *events: Callable[[], Any]) -> None:
        self._engine = engine
        self._events = list(events)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def commit(self, *args: Any, **options: Any) -> Awaitable[Any]:
        if self._events:
            self._events.pop(0)()
        return self._engine.commit(*args, **options)

    def insert(self, *args: Any, **options: Any) -> Awaitable[Any]:
        if self._events:
            self._events.pop(0)()
        return self._engine.insert(*args, **options)


def given(memory: AgenticMemory, text: str) -> Note:
    value = f'{{"text":"{text}"}}'
    return item_note(NS, "k", value, [text], now=io_of(memory).now())


def put(memory: AgenticMemory, text: str, *events: Callable[[], Any]) -> Note:
    io, note = io_of(memory), given(memory, text)
    held = run(notes_by_id(io, [note.id])).get(note.id)
    watched = SyncIO(Interfered(io.engine, *events), io.sparse, io.embedder, None, io.now)  # type: ignore[attr-defined]
    return run(overwrite(watched, note, held, "test"))[0]


def kept(memory: AgenticMemory) -> str | None:
    note = memory.get(given(memory, "x").id, namespace=NS)
    return None if note is None else note.content


def test_nothing_held_is_simply_kept() -> None:
    with open_memory() as memory:
        assert put(memory, "tea").version == 1
        assert kept(memory) == "tea"


def test_the_time_of_creation_stays() -> None:
    with open_memory() as memory:
        first = put(memory, "tea")
        second = put(memory, "coffee")
        assert second.created_at == first.created_at
        assert second.updated_at > first.updated_at
        assert second.version == 2


def test_another_put_in_the_meantime_is_the_later_one() -> None:
    with open_memory() as memory:
        put(memory, "tea")
        assert put(memory, "coffee", lambda: put(memory, "cocoa")).content == "cocoa"
        assert kept(memory) == "cocoa"


def test_two_first_puts_leave_one_item() -> None:
    with open_memory() as memory:
        assert put(memory, "tea", lambda: put(memory, "coffee")).content == "coffee"
        assert memory.count() == 1


def test_an_item_that_is_forgotten_meanwhile_is_put_again() -> None:
    with open_memory() as memory:
        old = put(memory, "tea")
        put(memory, "coffee", lambda: memory.forget(old))
        assert kept(memory) == "coffee"


def test_an_evolution_in_the_meantime_does_not_keep_a_value_from_being_put() -> None:
    with open_memory(model=chat_model()) as memory:
        put(memory, "redis cache")
        memory.resume()
        put(memory, "violin lesson", lambda: memory.add("Zanzibar trip", namespace=NS))
        note = memory.get(given(memory, "x").id, namespace=NS)
        assert note is not None
        assert note.content == "violin lesson"
        assert "seen-Zanzibar" not in note.keywords
        assert memory.admin.check() == []


def test_metadata_given_in_the_meantime_does_not_keep_a_value_from_being_put() -> None:
    with open_memory() as memory:
        old = put(memory, "tea")
        put(memory, "coffee", lambda: memory.update(old, metadata={"a": 1}))
        assert kept(memory) == "coffee"


def test_an_item_that_never_stands_still_is_an_error() -> None:
    with open_memory() as memory:
        old = put(memory, "tea")
        changes = [lambda n=n: memory.update(old, metadata={"n": n}) for n in range(50)]
        with pytest.raises(StoreError, match="kept changing"):
            put(memory, "coffee", *changes)


def test_history_goes_with_the_old_text() -> None:
    with open_memory(model=chat_model()) as memory:
        put(memory, "redis cache")
        memory.resume()
        for text in ("first", "second"):
            memory.add(f"Zanzibar {text}", namespace=NS)
        put(memory, "violin lesson")
        own = {given(memory, "x").id}
        points = run(load_points(io_of(memory)))
        assert not [point for point in points if point.payload.get("of") in own]
        assert memory.admin.check() == []


def test_the_same_text_keeps_its_history_and_takes_the_new_time() -> None:
    with open_memory(model=chat_model()) as memory:
        put(memory, "redis cache")
        memory.resume()
        memory.add("Zanzibar trip", namespace=NS)
        before = memory.get(given(memory, "x").id, namespace=NS)
        assert before is not None
        io = io_of(memory)
        again = item_note(
            NS, "k", '{"n":2}', ["redis cache"], now=io.now(), ttl=timedelta(minutes=5)
        )
        after, taken_back = run(overwrite(io, again, before, "test"))
        assert taken_back.evolutions == 0
        assert (after.keywords, after.revision) == (before.keywords, before.revision)
        assert after.value == {"n": 2}
        assert after.expires_at == again.expires_at
