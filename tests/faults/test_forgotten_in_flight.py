"""Forgetting at every instant of a running formation: nothing of it is left, the rest is formed.

An instant is just before a call of the engine or of the model. Each test forms the same notes
again and again, and forgets at one instant after another until there are no more; by default
at some of them, with `AMEM_EVERY_INSTANT=1` at all.
"""

import asyncio
import itertools
import os
from collections.abc import Iterator
from typing import Any

import pytest

from amem_integrations import AgenticMemory, MemoryWorker, Note, Status
from amem_integrations.revisions.forget import Forgotten
from tests.faults.whole import stored_text, wrongs
from tests.support import MARK, aio_of, chat_model, copies_everything, io_of, open_memory

CALLS = ("get", "query", "scroll", "count", "facet", "insert", "commit", "patch", "delete")
EVERY = bool(os.environ.get("AMEM_EVERY_INSTANT"))
# Of the instants every so many, by the way in which the notes are formed.
WAYS = {"inline": 10, "awaited": 24, "threads": 30, "tasks": 30}
TARGETS = ["new", "candidate", "filter", "namespace"]
_PLACES = itertools.count(1)


class Instants:
    """Does something once, at the n-th instant from when it was told to."""

    def __init__(self) -> None:
        self.left = 0
        self.action: Any = None
        self.result: Any = None

    def at(self, n: int, action: Any) -> None:
        """action: a function that returns its result, or something to await."""
        self.left, self.action, self.result = n, action, None

    @property
    def over(self) -> bool:
        """Whether there were no more instants."""
        return self.action is not None

    def due(self) -> Any:
        """The action, if now is the time; it does not see itself."""
        self.left -= self.action is not None
        if self.action is None or self.left >= 0:
            return None
        action, self.action = self.action, None
        return action

    def watch(self, memory: AgenticMemory) -> None:
        engine: Any = io_of(memory).engine
        assert aio_of(memory).engine is engine
        for name in CALLS:
            setattr(engine, name, self._watched(getattr(engine, name)))

    def _watched(self, method: Any) -> Any:
        async def call(*args: Any, **kwargs: Any) -> Any:
            if action := self.due():
                found = action()
                self.result = await found if asyncio.iscoroutine(found) else found
            return await method(*args, **kwargs)

        return call

    def judge(self, text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        if action := self.due():
            found = action()
            # Within a model's call nothing can be awaited.
            self.result = asyncio.run(found) if asyncio.iscoroutine(found) else found
        return copies_everything(text, candidates)


@pytest.fixture(scope="module", params=["fused", "staged", "batched"])
def watched(request: pytest.FixtureRequest) -> Iterator[tuple[AgenticMemory, Instants]]:
    instants = Instants()
    with open_memory(
        model=chat_model(instants.judge), mode=request.param, neighbours=4, concurrency=1
    ) as memory:
        instants.watch(memory)
        yield memory, instants


def form(memory: AgenticMemory, way: str, items: list[dict[str, Any]], namespace: str) -> None:
    if way == "inline":
        memory.add_many(items, namespace=namespace)
    elif way == "awaited":
        asyncio.run(memory.aadd_many(items, namespace=namespace))
    elif way == "threads":
        with MemoryWorker(memory) as worker:
            assert worker.flush(60)
    else:
        asyncio.run(in_tasks(memory))


async def in_tasks(memory: AgenticMemory) -> None:
    async with MemoryWorker(memory) as worker:
        assert await worker.aflush(60)


class Story:
    """Two old notes and two new ones in a namespace of their own; some are to be forgotten."""

    def __init__(self, memory: AgenticMemory, target: str) -> None:
        self.memory = memory
        self.target = target
        place = next(_PLACES)
        self.namespace = f"home{place}"
        self.items = [
            {
                "content": f"The redis cache mark{place}0{n}x",
                "key": str(n),
                "speaker": "Ann" if n in (0, 2) else "Bo",
            }
            for n in range(4)
        ]
        memory.add_many(self.items[:2], namespace=self.namespace)
        self.doomed: list[Note] = []

    def there(self) -> list[Note]:
        return self.memory.recent(namespace=self.namespace, limit=10)

    def forget(self) -> Forgotten:
        """Forget the target, and keep in mind what was there of it."""
        here = {note.key: note for note in self.there()}
        keys = {"new": "2", "candidate": "0", "filter": "02", "namespace": "0123"}[self.target]
        self.doomed = [here[key] for key in keys if key in here]
        if self.target == "filter":
            return self.memory.admin.forget_where({"speaker": "Ann"}, namespace=self.namespace)
        if self.target == "namespace":
            return self.memory.admin.forget_namespace(self.namespace)
        return sum((self.memory.forget(note) for note in self.doomed), Forgotten(0))

    def check(self, forgotten: Forgotten) -> None:
        assert forgotten.notes == len(self.doomed)
        self.memory.resume()
        self.memory.flush()
        stored = stored_text(self.memory)
        gone = [mark for note in self.doomed for mark in (note.id, *MARK.findall(note.content))]
        assert [each for each in gone if each in stored] == []
        left = {item["key"] for item in self.items} - {note.key for note in self.doomed}
        assert {note.key: note.status for note in self.there()} == dict.fromkeys(
            left, Status.FORMED
        )
        assert (self.namespace in stored) == bool(left)
        assert wrongs(self.memory) == []


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_forgotten_at_any_instant_is_gone(
    watched: tuple[AgenticMemory, Instants], way: str, target: str
) -> None:
    memory, instants = watched
    step = 1 if EVERY else WAYS[way]
    for n in itertools.count(TARGETS.index(target) % step, step):
        story = Story(memory, target)
        if way in ("threads", "tasks"):
            memory.add_many(story.items[2:], namespace=story.namespace, formation="off")
        instants.at(n, story.forget)
        form(memory, way, story.items[2:], story.namespace)
        if instants.over:
            break
        story.check(instants.result)
        memory.admin.forget_namespace(story.namespace)
    instants.action = None
    memory.admin.forget_namespace(story.namespace)
    assert n > 8
