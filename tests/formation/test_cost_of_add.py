"""What adding a note costs: calls of the engine, reads of the new note, modules crossed."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from amem_integrations import AgenticMemory, Note
from amem_integrations.formation.state import initial_state
from tests.support import again, chat_model, io_of, links_everything, open_memory

CONFIG: Any = {"configurable": {"thread_id": "t"}}
# Values and their checks, without I/O, and what an add is for: the vectors, the engine.
ENDS = ("core", "memory.options", "embedders", "stores.edge", "stores.server", "testing")

Calls = list[tuple[str, list[str]]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[AgenticMemory], Calls]:
    """Count the engine's calls from now on: their names, and the ids of the points they gave."""

    def counted(memory: AgenticMemory) -> Calls:
        engine = type(io_of(memory).engine)
        made: Calls = []

        def count(name: str, call: Any) -> Any:
            async def counting(*args: Any, **kwargs: Any) -> Any:
                answer = await call(*args, **kwargs)
                whole = name == "get" or (name == "scroll" and kwargs.get("fields") is None)
                made.append((name, [point.id for point in answer] if whole else []))
                return answer

            return counting

        for name in ("get", "query", "scroll", "count", "facet", "insert", "commit", "patch"):
            monkeypatch.setattr(engine, name, count(name, getattr(engine, name)))
        return made

    return counted


def reads(calls: Calls, note: Note) -> int:
    return sum(note.id in ids for _, ids in calls)


def test_a_raw_note_is_looked_up_and_inserted(
    calls: Callable[[AgenticMemory], Calls],
) -> None:
    with open_memory() as memory:
        # A session that this process has not seen costs one call more: for its last turn.
        memory.add("The violin lesson", session="s")
        made = calls(memory)
        note = memory.add("The redis cache", session="s", formation="off")
        assert [name for name, _ in made] == ["get", "insert"]
        notes = memory.add_many(["The kayak trip", "A red kayak"], formation="off")
        assert [name for name, _ in made] == ["get", "insert"] * 2
        assert [note, *notes] == [again(memory, each) for each in (note, *notes)]


@pytest.mark.parametrize(("lifecycle", "most"), [(False, 10), (True, 11)])
def test_a_raw_note_crosses_ten_modules_between_client_and_engine(
    lifecycle: bool, most: int
) -> None:
    crossed: set[str] = set()

    def profile(frame: Any, event: str, _: Any) -> None:
        name = str(frame.f_globals.get("__name__", ""))
        if event == "call" and name.startswith("amem_integrations."):
            crossed.add(name.removeprefix("amem_integrations."))

    with open_memory(formation="off", lifecycle=lifecycle) as memory:
        memory.add("The violin lesson", session="s")
        sys.setprofile(profile)
        try:
            memory.add("The redis cache", session="s", metadata={"x": 1})
        finally:
            sys.setprofile(None)
    assert len({name for name in crossed if not name.startswith(ENDS)}) <= most


@pytest.mark.parametrize(
    ("mode", "model", "lifecycle"),
    [
        ("fused", None, False),
        ("fused", chat_model(links_everything), True),
        ("staged", None, True),
        ("staged", chat_model(links_everything), False),
        ("staged", chat_model(links_everything), True),
        ("batched", chat_model(links_everything), False),
    ],
)
def test_a_note_formed_inline_takes_ten_calls_and_is_read_once(
    mode: Any,
    model: Any,
    lifecycle: bool,
    calls: Callable[[AgenticMemory], Calls],
) -> None:
    with open_memory(model=model, mode=mode, lifecycle=lifecycle) as memory:
        turns = [{"content": f"The redis cache {n}", "session": "s"} for n in range(20)]
        memory.add_many(turns)
        made = calls(memory)
        note = memory.add("The redis cache is slow", session="s")
        # With a lifecycle, a model's links are weighed by a sample of the namespace.
        most = 12 if lifecycle and mode == "staged" else 10
        assert len(made) <= most, [name for name, _ in made]
        # With a lifecycle it may be one of a sample as well.
        assert reads(made, note) <= 1 + lifecycle
        assert note.outgoing


@pytest.mark.parametrize("mode", ["fused", "batched"])
@pytest.mark.parametrize("model", [None, chat_model(links_everything)])
def test_added_notes_are_returned_as_they_are_stored(mode: Any, model: Any) -> None:
    with open_memory(model=model, mode=mode) as memory:
        old = memory.add("The redis cache", key="old")
        items: list[Any] = [f"The redis cache {n}" for n in range(4)]
        items += [
            {"content": "The redis cache", "key": "old"},
            {"content": "Memcached", "key": "k"},
        ]
        items += [{"content": "The cache moved", "supersedes": old}, items[0]]
        items += [{"content": "The valkey cache", "key": "k"}]
        notes = memory.add_many(items)
        assert any(note.incoming for note in notes[:4])
        assert notes == [again(memory, note) for note in notes]
        assert memory.admin.check() == []


def test_after_a_resume_from_a_checkpoint_notes_are_read_again(
    calls: Callable[[AgenticMemory], Calls],
) -> None:
    with open_memory(model=chat_model(links_everything)) as memory:
        memory.add("The redis cache")
        raw = memory.add("The redis cache is slow", formation="off")
        saver = InMemorySaver()
        graph = memory.graph(checkpointer=saver)
        graph.invoke(initial_state([raw]), CONFIG, interrupt_after=["candidates"])
        assert "slow" not in f"{saver.storage}{saver.blobs}{saver.writes}"
        made = calls(memory)
        resumed = memory.graph(checkpointer=saver).invoke(None, CONFIG)
        assert resumed["outcomes"][raw.id]["status"] == "formed"
        # Once more where a model's links are weighed by a sample of the namespace.
        assert reads(made, raw) <= 3
