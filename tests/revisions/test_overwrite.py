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
from tests.support import io_of

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


def test_the_time_of_creation_stays(target: AgenticMemory) -> None:
    first = put(target, "tea")
    second = put(target, "coffee")
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at
    assert second.version == 2


def test_another_put_in_the_meantime_is_the_later_one(target: AgenticMemory) -> None:
    put(target, "tea")
    assert put(target, "coffee", lambda: put(target, "cocoa")).content == "cocoa"
    assert kept(target) == "cocoa"


def test_two_first_puts_leave_one_item(target: AgenticMemory) -> None:
    assert put(target, "tea", lambda: put(target, "coffee")).content == "coffee"
    assert target.count() == 1


def test_an_item_that_is_forgotten_meanwhile_is_put_again(target: AgenticMemory) -> None:
    old = put(target, "tea")
    put(target, "coffee", lambda: target.forget(old))
    assert kept(target) == "coffee"


def test_an_evolution_in_the_meantime_does_not_keep_a_value_from_being_put(
    memory: AgenticMemory,
) -> None:
    put(memory, "redis cache")
    memory.resume()
    put(memory, "violin lesson", lambda: memory.add("Zanzibar trip", namespace=NS))
    note = memory.get(given(memory, "x").id, namespace=NS)
    assert note is not None
    assert note.content == "violin lesson"
    assert "seen-Zanzibar" not in note.keywords


def test_an_item_that_never_stands_still_is_an_error(target: AgenticMemory) -> None:
    old = put(target, "tea")
    changes = [lambda n=n: target.update(old, metadata={"n": n}) for n in range(50)]
    with pytest.raises(StoreError, match="kept changing"):
        put(target, "coffee", *changes)


def test_history_goes_with_the_old_text(memory: AgenticMemory) -> None:
    put(memory, "redis cache")
    memory.resume()
    for text in ("first", "second"):
        memory.add(f"Zanzibar {text}", namespace=NS)
    put(memory, "violin lesson")
    own = {given(memory, "x").id}
    points = run(load_points(io_of(memory)))
    assert not [point for point in points if point.payload.get("of") in own]


def test_the_same_text_keeps_its_history_and_takes_the_new_time(memory: AgenticMemory) -> None:
    put(memory, "redis cache")
    memory.resume()
    memory.add("Zanzibar trip", namespace=NS)
    before = memory.get(given(memory, "x").id, namespace=NS)
    assert before is not None
    io = io_of(memory)
    again = item_note(NS, "k", '{"n":2}', ["redis cache"], now=io.now(), ttl=timedelta(minutes=5))
    after, taken_back = run(overwrite(io, again, before, "test"))
    assert taken_back.evolutions == 0
    assert (after.keywords, after.revision) == (before.keywords, before.revision)
    assert after.value == {"n": 2}
    assert after.expires_at == again.expires_at
