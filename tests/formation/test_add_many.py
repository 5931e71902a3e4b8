"""Many notes at once without a model: as one by one, but each is read once."""

import asyncio
import gc
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note
from amem_integrations.formation import state
from tests.support import again, io_of, open_memory

WHO = ("Ada", "Bea", "Calvin")
WHAT = (
    "the redis cache is slow",
    "the garden gate squeaks",
    "we moved the release to June 20",
    "the kettle needs a new lid",
    "PROJ-181 is about the product page",
    "the kayak trip was cancelled",
)
WHERE = ("in Leipzig", "at the office", "for the product page", "on the garden terrace", "again")


def talk(size: int) -> list[dict[str, Any]]:
    """Turns of three people in sessions of ten, some of them the same, some without a session."""
    chance = random.Random(7)
    turns: list[dict[str, Any]] = []
    for n in range(size):
        text = f"{chance.choice(WHAT).capitalize()} {chance.choice(WHERE)} {chance.choice(WHAT)}"
        turn: dict[str, Any] = {"content": text, "key": str(n)}
        if n % 7:
            turn |= {"speaker": WHO[n % 3], "session": f"s{n // 10}"}
        turns.append(turn)
    return turns


def clock() -> Iterator[datetime]:
    now = datetime(2026, 3, 2, tzinfo=UTC)
    while True:
        yield now
        now += timedelta(seconds=1)


def formed(memory: AgenticMemory, notes: list[Note]) -> list[tuple[Any, ...]]:
    """What became of each note: what was understood, linked and changed, and why."""
    made: list[tuple[Any, ...]] = []
    for note in (again(memory, each) for each in notes):
        links = sorted((link.to, link.kind, link.weight, link.reason) for link in note.outgoing)
        history = [(each.kind, each.cause, each.reason) for each in memory.history(note)]
        made.append((note.key, note.keywords, note.tags, note.context, links, history))
    return made


@pytest.mark.parametrize("mode", ["fused", "staged"])
@pytest.mark.parametrize("kept", [(1024, 512), (70, 40)], ids=["all kept", "few kept"])
def test_notes_that_are_added_together_are_formed_as_one_by_one(
    mode: Any, kept: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "_MOST_NOTES", kept[0])
    monkeypatch.setattr(state, "_MOST_VECTORS", kept[1])
    items = talk(90)
    found: list[Any] = []
    for together in (True, False):
        moments = clock()
        with open_memory(clock=lambda m=moments: next(m), mode=mode, lifecycle=False) as memory:
            each_alone = (memory.add(**item) for item in items)
            notes = memory.add_many(items) if together else list(each_alone)
            found.append(formed(memory, notes))
            assert memory.admin.check() == []
    assert found[0] == found[1]
    assert any(each[4] for each in found[0])
    assert any(kind == "evolved" for each in found[0] for kind, *_ in each[5])


def test_notes_that_are_added_together_are_read_once_and_take_six_calls_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: Counter[str] = Counter()
    read: Counter[str] = Counter()

    def counted(name: str, call: Any) -> Any:
        async def counting(*args: Any, **kwargs: Any) -> Any:
            answer = await call(*args, **kwargs)
            calls[name] += 1
            if name == "get" or (name == "scroll" and kwargs.get("fields") is None):
                read.update(point.id for point in answer)
            return answer

        return counting

    with open_memory(lifecycle=False) as memory:
        memory.add_many(talk(70), namespace="before")
        engine = type(io_of(memory).engine)
        for name in ("get", "query", "scroll", "insert", "commit", "patch"):
            monkeypatch.setattr(engine, name, counted(name, getattr(engine, name)))
        notes = memory.add_many([f"{each['content']} {n}" for n, each in enumerate(talk(128))])
    assert calls.total() / len(notes) <= 6.2, calls
    # The first 64 are too few to be known by heart: each reads those before it.
    assert max(read[note.id] for note in notes[64:]) <= 1


def test_what_others_change_meanwhile_is_seen() -> None:
    """Notes are read once, so each is held against what is stored when it is written."""
    with open_memory() as memory:
        old = [f"The orchid needs water, says {who}" for who in ("Ada", "Bea")]
        changed, forgotten = memory.add_many(old)
        before: list[str] = []

        def meddle(done: int, total: int) -> None:
            if done == 2:
                linked = memory.links(changed) + memory.links(forgotten)
                before.extend(link.reason for link in linked)
                memory.update(changed, "The window needs water")
                memory.forget(forgotten)

        items = [f"The orchid needs water, round {n}" for n in range(6)]
        notes = memory.add_many(items, progress=meddle)
        assert memory.admin.check() == []
        assert again(memory, changed).content == "The window needs water"
        assert any("orchid" in reason for reason in before)
        links = [link for note in notes[2:] for link in memory.links(note)]
        assert forgotten.id not in {link.to for link in links}
        assert not any("orchid" in link.reason for link in links if link.to == changed.id)


async def test_forming_many_notes_does_not_hold_up_the_loop() -> None:
    with open_memory() as memory:
        turns = 0

        async def tick() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        notes = await memory.aadd_many([each["content"] for each in talk(20)])
        ticking.cancel()
    assert turns >= 3 * len(notes)


def test_what_a_call_has_read_is_gone_after_it() -> None:
    def kept() -> int:
        gc.collect()
        return sum(isinstance(each, state.RunContext) for each in gc.get_objects())

    before = kept()
    with open_memory() as memory:
        memory.add_many(talk(40))
    assert kept() <= before


def test_without_a_model_langgraph_is_not_loaded() -> None:
    program = (
        "import sys\n"
        "from amem_integrations import AgenticMemory\n"
        "from amem_integrations.testing import HashEmbedder\n"
        "with AgenticMemory(embedder=HashEmbedder()) as memory:\n"
        "    assert memory.add('The redis cache is slow').keywords\n"
        "assert 'langgraph' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
