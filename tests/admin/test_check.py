"""Each kind of damage is found, and mended without losing content; or reported and left alone."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from amem_integrations import AgenticMemory, Note, Status
from amem_integrations.core.engine import Point
from amem_integrations.core.filters import ids, match
from amem_integrations.core.io import run
from amem_integrations.stores.codec import note_point, revision_point
from amem_integrations.stores.read import load_points
from tests.lifecycle.engines import TEXTS, open_on
from tests.support import aio_of, chat_model, io_of, open_memory

GHOST = "00000000-0000-5000-8000-00000000dead"
EMPTY = {"keywords": [], "tags": [], "context": "", "revision": None, "influences": []}

Damage: TypeAlias = Callable[[AgenticMemory, Note], None] | Mapping[str, Any]


@pytest.fixture(scope="module")
def opened() -> Iterator[AgenticMemory]:
    with open_on("embedded", model=chat_model()) as memory:
        yield memory


@pytest.fixture
def memory(opened: AgenticMemory, lines: list[str]) -> Iterator[AgenticMemory]:
    fill(opened, lines)
    yield opened
    run(io_of(opened).engine.delete(match("kind", "note", "revision")))


def fill(memory: AgenticMemory, lines: list[str]) -> None:
    """Add three formed notes in each of two namespaces."""
    for namespace in "ab":
        memory.admin.import_(lines[:4], namespace=namespace, trust=True)
    assert memory.admin.check() == []


def middle(memory: AgenticMemory) -> Note:
    """A note that links to another, is linked to, has evolved, and has an older revision."""
    [note] = [note for note in memory.recent(namespace="a") if note.content == TEXTS[1]]
    return note


def point_of(memory: AgenticMemory, note_id: str) -> Point:
    return run(io_of(memory).engine.get([note_id], vectors=True))[0]


def patch(memory: AgenticMemory, id: str, **payload: Any) -> None:
    run(io_of(memory).engine.patch(id, payload))


def cause(memory: AgenticMemory, damage: Damage) -> None:
    note = middle(memory)
    if callable(damage):
        damage(memory, note)
    else:
        patch(memory, note.id, **damage)


def link_to(memory: AgenticMemory, note: Note, target: str) -> None:
    stored = point_of(memory, note.id).payload
    link = {"to": target, "reason": "x", "kind": "related", "weight": 0.5, "created_at": 1}
    # What else follows from the links is right.
    link_ids = stored["link_ids"] if target == note.id else [*stored["link_ids"], target]
    patch(memory, note.id, links=[*stored["links"], link], link_ids=link_ids)


def dangling(memory: AgenticMemory, note: Note) -> None:
    link_to(memory, note, GHOST)


def foreign(memory: AgenticMemory, note: Note) -> None:
    link_to(memory, note, memory.recent(namespace="b")[0].id)


def to_itself(memory: AgenticMemory, note: Note) -> None:
    link_to(memory, note, note.id)


def twice(memory: AgenticMemory, note: Note) -> None:
    links = point_of(memory, note.id).payload["links"]
    patch(memory, note.id, links=[*links, links[0]])


def record_of(memory: AgenticMemory, note: Note) -> Point:
    points = run(load_points(io_of(memory)))
    return next(point for point in points if point.payload.get("of") == note.id)


def influences_of_a_record(memory: AgenticMemory, note: Note) -> None:
    patch(memory, record_of(memory, note).id, influences=[])


def owner_of_a_record(memory: AgenticMemory, note: Note) -> None:
    patch(memory, record_of(memory, note).id, owner='["b"]')


def gone_cause(memory: AgenticMemory, note: Note) -> None:
    assert note.revision is not None
    revision = replace(note.revision, cause=GHOST)
    payload = note_point(replace(note, revision=revision), (), None).payload
    influences = [GHOST, *(link.to for link in note.outgoing)]
    patch(memory, note.id, revision=payload["revision"], influences=influences)


def oldest_deleted_alone(memory: AgenticMemory, note: Note) -> None:
    """Forgetting it stopped after it was removed."""
    run(io_of(memory).engine.delete(ids([memory.recent(namespace="a")[-1].id])))


def newest_deleted_alone(memory: AgenticMemory, note: Note) -> None:
    run(io_of(memory).engine.delete(ids([memory.recent(namespace="a")[0].id])))


def empty(memory: AgenticMemory, note: Note) -> None:
    patch(memory, memory.recent(namespace="a")[0].id, **EMPTY)


def record_of_a_later_version(memory: AgenticMemory, note: Note) -> None:
    assert note.revision is not None
    run(io_of(memory).engine.insert([revision_point(note, replace(note.revision, version=99))]))


def record_of_nobody(memory: AgenticMemory, note: Note) -> None:
    assert note.revision is not None
    run(io_of(memory).engine.insert([revision_point(replace(note, id=GHOST), note.revision)]))


def no_vectors(memory: AgenticMemory, note: Note) -> None:
    set_vectors(memory, note, times=0)


def too_many_vectors(memory: AgenticMemory, note: Note) -> None:
    set_vectors(memory, note, times=2)


def set_vectors(memory: AgenticMemory, note: Note, times: int) -> None:
    point = point_of(memory, note.id)
    expect = {point.id: {"version": point.payload["version"]}}
    written = replace(point, dense=[*point.dense] * times)
    assert not run(io_of(memory).engine.commit([written], expect=expect))


def contents(memory: AgenticMemory) -> set[tuple[str, str]]:
    points = run(load_points(io_of(memory)))
    return {(p.id, p.payload["content"]) for p in points if "content" in p.payload}


@pytest.mark.parametrize(
    ("what", "damage"),
    [
        ("dangling-link", dangling),
        ("foreign-link", foreign),
        ("self-link", to_itself),
        ("duplicate-link", twice),
        ("derived", {"link_ids": []}),
        ("derived", {"prefixes": ['["b"]']}),
        ("derived", {"facts": [], "numbers": {"n1": 1}}),
        # An earlier version of the package stored no place.
        ("derived", {"session": "monday", "sequence": 3}),
        ("derived", {"ns": '[ "a" ]'}),
        ("derived", {"influences": []}),
        ("derived", influences_of_a_record),
        ("derived", owner_of_a_record),
        ("stale-influence", gone_cause),
        ("stale-influence", {"contested_by": [GHOST]}),
        ("stale-influence", {"merged_into": GHOST}),
        ("dangling-link", oldest_deleted_alone),
        ("orphaned-revision", oldest_deleted_alone),
        ("stale-influence", newest_deleted_alone),
        ("empty", empty),
        ("version", {"version": 1}),
        ("orphaned-revision", record_of_a_later_version),
        ("orphaned-revision", record_of_nobody),
        ("vectors", no_vectors),
        ("vectors", too_many_vectors),
    ],
)
def test_damage_is_found_and_mended(memory: AgenticMemory, what: str, damage: Damage) -> None:
    others = list(memory.admin.export("b"))
    cause(memory, damage)
    before = contents(memory)
    assert what in {finding.what for finding in memory.admin.check()}
    repaired = memory.admin.repair()
    assert what in {finding.what for finding in repaired}
    assert all(finding.mended for finding in repaired)
    assert memory.admin.health()[f"repaired.{what}"] > 0
    assert memory.admin.check() == []
    assert contents(memory) == before
    assert list(memory.admin.export("b")) == others
    assert {note.status for note in memory.recent(namespace="a")} == {Status.FORMED}
    # What was there no longer is not named either.
    assert GHOST not in repr(memory.history(middle(memory)))


@pytest.mark.parametrize(
    ("what", "fields"),
    [
        ("id", {"key": "another"}),
        ("unreadable", {"status": "confused"}),
        ("unreadable", {"metadata": "{"}),
        ("unreadable", {"metadata": "[" * 100_000}),
        ("unreadable", {"links": [{"to": "x"}]}),
        ("revision-gap", {"keywords": ["other", "words"]}),
    ],
)
def test_what_cannot_be_mended_is_reported_and_left_alone(
    memory: AgenticMemory, what: str, fields: dict[str, Any]
) -> None:
    note = middle(memory)
    patch(memory, note.id, **fields)
    stored = point_of(memory, note.id).payload
    assert (note.id, what) in {(found.note_id, found.what) for found in memory.admin.check()}
    repaired = {(found.note_id, found.what, found.mended) for found in memory.admin.repair()}
    assert (note.id, what, False) in repaired
    assert point_of(memory, note.id).payload == stored
    assert what in {finding.what for finding in memory.admin.check()}
    assert memory.admin.health()[f"found.{what}"] > 0


def test_a_store_on_a_server_is_mended_as_well(lines: list[str]) -> None:
    damages = (dangling, foreign, to_itself, record_of_nobody, no_vectors, newest_deleted_alone)
    with open_on("server", model=chat_model()) as memory:
        fill(memory, lines)
        assert memory.admin.repair() == []
        for damage in damages:
            cause(memory, damage)
            assert all(finding.mended for finding in memory.admin.repair())
            assert memory.admin.check() == []
        assert list(memory.admin.export("b"))[1:-1] == lines[1:4]


def test_completing_an_erasure_takes_back_what_the_note_had_caused(memory: AgenticMemory) -> None:
    cause(memory, newest_deleted_alone)
    assert "violin" in stored_text(memory, '["a"]')
    memory.admin.repair()
    assert "violin" not in stored_text(memory, '["a"]')


def stored_text(memory: AgenticMemory, namespace: str) -> str:
    payloads = [point.payload for point in run(load_points(io_of(memory)))]
    return repr([p for p in payloads if namespace in (p.get("ns"), p.get("owner"))])


def test_a_note_set_raw_by_a_repair_waits_if_nothing_is_formed_at_once() -> None:
    with open_on("embedded", model=chat_model(), formation="off") as memory:
        note = memory.add(TEXTS[0], formation="inline")
        patch(memory, note.id, **EMPTY)
        assert [finding.what for finding in memory.admin.repair()] == ["empty"]
        assert memory.admin.health()["raw"] == 1


async def test_checking_and_repairing_asynchronously() -> None:
    async with open_on("embedded") as memory:
        note = await memory.aadd(TEXTS[0])
        await aio_of(memory).engine.patch(note.id, {"prefixes": []})
        assert [finding.what for finding in await memory.admin.acheck()] == ["derived"]
        assert [finding.mended for finding in await memory.admin.arepair()] == [True]
        assert await memory.admin.acheck() == []


def test_what_damaged_indexes_hide_is_found_and_can_be_seen_again(tmp_path: Path) -> None:
    fields = ("kind", "ns", "status", "created_at", "link_ids", "of")
    with open_memory(tmp_path, model=chat_model()) as memory:
        memory.add_many(TEXTS[:3], namespace="a")
        memory.flush()
    with open_memory(tmp_path):
        pass  # What is in the log is indexed anew when it is read.
    for field in fields:
        for file in tmp_path.glob(f"amem/segments/*/payload_index/*-{field[:8]}-*/tracker.dat"):
            file.write_bytes(bytes(file.stat().st_size))
    with open_memory(tmp_path, model=chat_model()) as memory:
        assert memory.count() == memory.count("a") == 0
        found = memory.admin.check()
        assert {(each.what, each.detail) for each in found} == {
            ("unindexed", field) for field in fields
        }
        assert all(each.mended for each in memory.admin.repair())
        assert memory.admin.check() == []
        assert len(memory.recent(namespace="a")) == memory.count() == 3
        assert len(memory.search("Redis", namespace="a")) == 3
