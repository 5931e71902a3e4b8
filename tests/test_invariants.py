"""What must always hold, one test or more for each promise. Kills are in `faults/`."""

import asyncio
import importlib.util
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amem_integrations import AgenticMemory, Status
from amem_integrations.core.io import run
from amem_integrations.errors import AnalysisError
from amem_integrations.stores.read import load_points
from amem_integrations.testing import ScriptedChatModel
from tests.support import (
    EMBEDDER,
    again,
    chat_model,
    io_of,
    links_everything,
    open_memory,
    parts_of,
    words,
)

SENTENCES = [
    "The redis cache needs an eviction policy",
    "Eviction by least recent use, says Ann",
    "The violin lesson moves to Tuesday",
    "Redis eviction policy is settled now",
    "Ann teaches the violin on Tuesday",
]


def stored(memory: AgenticMemory) -> str:
    points = run(load_points(io_of(memory)))
    return json.dumps([point.payload for point in points], ensure_ascii=False)


@pytest.mark.parametrize("error", [TimeoutError(), RuntimeError("x"), ValueError("y")])
def test_invariant_1_nothing_is_lost_when_the_model_fails(error: Exception, tmp_path: Path) -> None:
    with open_memory(tmp_path, model=ScriptedChatModel([error], after="repeat")) as memory:
        notes = [memory.add(sentence) for sentence in SENTENCES[:2]]
    with open_memory(tmp_path) as memory:
        assert [again(memory, note).content for note in notes] == SENTENCES[:2]


@pytest.mark.parametrize("model", [None, "chat"])
def test_invariant_2_links_are_seen_from_both_ends(model: str | None) -> None:
    with open_memory(model=model and chat_model()) as memory:
        for sentence in SENTENCES:
            memory.add(sentence)
        notes = {note.id: note for note in memory.recent(limit=10)}
        links = {link for note in notes.values() for link in note.links}
        assert links
        for link in links:
            assert link in notes[link.source].outgoing
            assert link in notes[link.to].incoming
        assert memory.admin.check() == []


def test_invariant_3_no_model_path_rewrites_content_and_every_change_can_be_undone() -> None:
    def greedy(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        answer = links_everything(text, candidates)
        for evolution in answer["evolutions"]:
            evolution["content"] = evolution["text"] = evolution["metadata"] = "overwritten"
        return {**answer, "content": "overwritten"}

    with open_memory(model=chat_model(greedy)) as memory:
        notes = [memory.add(s, metadata={"n": n}) for n, s in enumerate(SENTENCES)]
        for n, note in enumerate(notes):
            found = again(memory, note)
            assert (found.content, found.metadata) == (SENTENCES[n], {"n": n})
            changes = memory.history(note)
            assert len(changes) == found.version - 1
        first = again(memory, notes[0])
        assert first.keywords != notes[0].keywords
        assert memory.revert(first, to_version=2).keywords == notes[0].keywords


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(
            st.sampled_from([("a",), ("a", "b"), ("b",), ('a","b',), ("a.b",), ("A",)]),
            st.sampled_from(SENTENCES),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_invariant_4_namespaces_do_not_leak(writes: list[tuple[tuple[str, ...], str]]) -> None:
    with open_memory(model=chat_model()) as memory:
        notes = [memory.add(text, namespace=home) for home, text in writes]
        homes = {note.id: note.namespace for note in notes}
        for home in {home for home, _ in writes}:
            found = memory.search("redis eviction violin Ann", namespace=home, k=50, hops=3)
            own = {note.id for note in notes if note.namespace == home}
            assert {hit.note.id for hit in found} <= own
            assert memory.count(home) == len(own)
            assert {note.id for note in memory.recent(namespace=home, limit=50)} == own
        for note in notes:
            assert all(homes[link.other(note.id)] == note.namespace for link in note.links)
            others = set(homes.values()) - {note.namespace}
            assert all(memory.get(note.id, namespace=other) is None for other in others)
        assert sorted(set(homes.values())) == memory.namespaces()


def test_invariant_4_writes_in_one_namespace_leave_the_scores_of_another_unchanged() -> None:
    with open_memory() as memory:
        for sentence in SENTENCES:
            memory.add(sentence, namespace="a")
        before = memory.search("redis eviction", namespace="a")
        memory.add_many([f"redis eviction {n}" for n in range(50)], namespace="b")
        after = memory.search("redis eviction", namespace="a")
        assert [(h.note.id, h.score, h.why) for h in after] == [
            (h.note.id, h.score, h.why) for h in before
        ]


@pytest.mark.parametrize("place", range(len(SENTENCES)))
@pytest.mark.parametrize("model", [None, "chat"])
def test_invariant_5_forgetting_any_note_is_complete(place: int, model: str | None) -> None:
    marked = [f"{s} zz{n}marker" for n, s in enumerate(SENTENCES)]
    with open_memory(model=model and chat_model()) as memory:
        notes = [memory.add(sentence) for sentence in marked]
        memory.forget(notes[place])
        memory.add("Redis and the violin once more")
        content = stored(memory)
        assert f"zz{place}marker" not in content
        assert notes[place].id not in content
        assert memory.admin.check() == []
        assert memory.count() == len(SENTENCES)


def test_invariant_6_a_reply_never_waits_for_formation_nor_fails_with_it() -> None:
    calls: list[str] = []

    def slow(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        calls.append(text)
        raise AnalysisError("no", reason="refusal", retryable=False)

    with open_memory(model=chat_model(slow, latency=0.2), formation="background") as memory:
        note = memory.add(SENTENCES[0])
        assert note.status is Status.RAW
        assert memory.search("eviction")[0].note.id == note.id
        assert memory.flush(timeout=30)
        assert again(memory, note).status is Status.PARKED
        assert len(calls) == 1


def test_invariant_7_the_engines_behave_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    engines: set[str] = set()
    find_spec = importlib.util.find_spec
    for hidden in ("", "qdrant_edge"):
        monkeypatch.setattr(
            importlib.util,
            "find_spec",
            lambda name, package=None, hidden=hidden: (
                None if name == hidden else find_spec(name, package)
            ),
        )
        with open_memory(model=chat_model()) as memory:
            for sentence in SENTENCES:
                memory.add(sentence, session="s")
            hits = memory.search("redis eviction", filter={"session": "s"}, k=5)
            assert memory.forget(memory.recent(limit=1)[0]).notes == 1
            assert memory.admin.check() == []
            seen.append([hit.note.content for hit in hits])
            seen.append({note.content: note.keywords for note in memory.recent()})
            engines.add(type(parts_of(memory).store.sync).__name__)
    assert len(engines) == 2
    assert seen[:2] == seen[2:]


def test_invariant_8_whatever_was_dropped_is_counted_and_nothing_is_logged_of_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def lies(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        answer = links_everything(text, candidates)
        answer["links"].append({"to": "99", "reason": "", "kind": "cause", "strength": 1})
        return answer

    caplog.set_level(logging.INFO)
    with open_memory(model=chat_model(lies)) as memory:
        for sentence in SENTENCES:
            memory.add(sentence)
        memory.search("eviction policy")
        assert memory.admin.health()["dropped.link.not_offered"] == len(SENTENCES) - 1
    for sentence in SENTENCES:
        assert not any(word in caplog.text for word in words(sentence) if len(word) > 5)


async def test_invariant_7_same_behaviour_on_many_tasks_and_in_threads() -> None:
    memory = AgenticMemory(embedder=EMBEDDER, model=chat_model())
    await asyncio.gather(
        *(memory.aadd(s, namespace=f"n{n % 3}", key=f"{n}") for n, s in enumerate(SENTENCES * 4)),
        *(
            asyncio.to_thread(memory.add, s, namespace=f"n{n % 3}", key=f"t{n}")
            for n, s in enumerate(SENTENCES * 4)
        ),
    )
    await memory.admin.aretry()
    assert await memory.acount() == 8 * len(SENTENCES)
    assert (await memory.admin.ahealth())["formed"] == 8 * len(SENTENCES)
    assert await memory.admin.acheck() == []
    await memory.aclose()


def written(directory: Path) -> bytes:
    """Whatever stands in any file of a directory; most of these are holes."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return b"\0".join(path.read_bytes().rstrip(b"\0") for path in files)


def test_no_file_of_a_copy_has_what_was_forgotten(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory", formation="off") as memory:
        memory.add("The harbour opens at dawn")
        memory.forget(memory.add("The quokkamark is under the violin"))
        with open_memory(tmp_path / "copy") as copy:
            memory.admin.copy_to(copy)
    kept = written(tmp_path / "copy")
    assert b"harbour" in kept
    assert b"quokkamark" not in kept


def test_no_key_is_in_what_shows_a_memory() -> None:
    with open_memory(api_key="sk-secret") as memory:
        assert "sk-secret" not in f"{memory!r} {memory.options!r} {memory.admin.health()}"
