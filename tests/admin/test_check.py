"""Each kind of damage is found, and mended without losing content; or reported and left alone."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note, Status
from amem_integrations.core.engine import Point
from amem_integrations.core.filters import ids, match
from amem_integrations.core.io import run
from amem_integrations.stores.codec import note_point, revision_point
from amem_integrations.stores.read import every_point
from tests.lifecycle.engines import TEXTS, open_on
from tests.support import aio_of, chat_model, io_of, open_memory

GHOST = "00000000-0000-5000-8000-00000000dead"


@pytest.fixture(scope="module", params=["embedded", "server"])
def opened(request: pytest.FixtureRequest) -> Iterator[AgenticMemory]:
    with open_on(request.param, model=chat_model()) as memory:
        yield memory


@pytest.fixture
def memory(opened: AgenticMemory, lines: list[str]) -> Iterator[AgenticMemory]:
    """Three formed notes in each of two namespaces."""
    for namespace in "ab":
        opened.admin.import_(lines[:4], namespace=namespace)
    assert opened.admin.check() == []
    yield opened
    run(io_of(opened).engine.delete(match("kind", "note", "revision")))


def middle(memory: AgenticMemory) -> Note:
    """A note that links to another, is linked to, has evolved, and has an older revision."""
    [note] = [each for each in memory.recent(namespace="a") if each.content == TEXTS[1]]
    return note


def point_of(memory: AgenticMemory, note_id: str) -> Point:
    return run(io_of(memory).engine.get([note_id], vectors=True))[0]


def write(memory: AgenticMemory, point: Point) -> None:
    """Put a point in place of another, past everything that would refuse it."""
    held = point_of(memory, point.id)
    expect = {point.id: {"version": held.payload["version"]}}
    assert not run(io_of(memory).engine.commit([point], expect=expect))


def patched(memory: AgenticMemory, id: str, **payload: Any) -> None:
    run(io_of(memory).engine.patch(id, payload))


def link(to: str) -> dict[str, Any]:
    return {"to": to, "reason": "x", "kind": "related", "weight": 0.5, "created_at": 1}


def dangling(memory: AgenticMemory, note: Note) -> None:
    held = point_of(memory, note.id).payload
    patched(
        memory,
        note.id,
        links=[*held["links"], link(GHOST)],
        link_ids=[*held["link_ids"], GHOST],
    )


def foreign(memory: AgenticMemory, note: Note) -> None:
    other = memory.recent(namespace="b")[0].id
    held = point_of(memory, note.id).payload
    patched(
        memory,
        note.id,
        links=[*held["links"], link(other)],
        link_ids=[*held["link_ids"], other],
    )


def to_itself(memory: AgenticMemory, note: Note) -> None:
    patched(memory, note.id, links=[*point_of(memory, note.id).payload["links"], link(note.id)])


def twice(memory: AgenticMemory, note: Note) -> None:
    links = point_of(memory, note.id).payload["links"]
    patched(memory, note.id, links=[*links, links[0]])


def other_link_ids(memory: AgenticMemory, note: Note) -> None:
    patched(memory, note.id, link_ids=[])


def other_prefixes(memory: AgenticMemory, note: Note) -> None:
    patched(memory, note.id, prefixes=['["b"]'])


def same_namespace_in_other_words(memory: AgenticMemory, note: Note) -> None:
    patched(memory, note.id, ns='[ "a" ]')


def no_place(memory: AgenticMemory, note: Note) -> None:
    """As an earlier version of the package left it: among the turns around it, it is not found."""
    patched(memory, note.id, session="monday", sequence=3)


def other_facts(memory: AgenticMemory, note: Note) -> None:
    patched(memory, note.id, facts=[], numbers={"n1": 1})


def other_influences(memory: AgenticMemory, note: Note) -> None:
    patched(memory, note.id, influences=[])


def influences_of_a_record(memory: AgenticMemory, note: Note) -> None:
    patched(memory, record_of(memory, note).id, influences=[])


def owner_of_a_record(memory: AgenticMemory, note: Note) -> None:
    patched(memory, record_of(memory, note).id, owner='["b"]')


def gone_cause(memory: AgenticMemory, note: Note) -> None:
    assert note.revision is not None
    revision = replace(note.revision, cause=GHOST)
    patched(
        memory,
        note.id,
        revision=note_point(replace(note, revision=revision), (), None).payload["revision"],
        influences=[GHOST, *(each.to for each in note.outgoing)],
    )


def contested_by_nobody(memory: AgenticMemory, note: Note) -> None:
    patched(memory, note.id, contested_by=[GHOST])


def merged_into_nothing(memory: AgenticMemory, note: Note) -> None:
    patched(memory, note.id, merged_into=GHOST)


def oldest_deleted_alone(memory: AgenticMemory, note: Note) -> None:
    """As if its removal had been all that was done of forgetting it."""
    run(io_of(memory).engine.delete(ids([memory.recent(namespace="a")[-1].id])))


def newest_deleted_alone(memory: AgenticMemory, note: Note) -> None:
    run(io_of(memory).engine.delete(ids([memory.recent(namespace="a")[0].id])))


def empty(memory: AgenticMemory, note: Note) -> None:
    newest = memory.recent(namespace="a")[0].id
    patched(memory, newest, keywords=[], tags=[], context="", revision=None, influences=[])


def version_behind(memory: AgenticMemory, note: Note) -> None:
    patched(memory, note.id, version=1)


def record_of_a_later_version(memory: AgenticMemory, note: Note) -> None:
    assert note.revision is not None
    run(io_of(memory).engine.insert([revision_point(note, replace(note.revision, version=99))]))


def record_of_nobody(memory: AgenticMemory, note: Note) -> None:
    assert note.revision is not None
    gone = replace(note, id=GHOST)
    run(io_of(memory).engine.insert([revision_point(gone, note.revision)]))


def no_vectors(memory: AgenticMemory, note: Note) -> None:
    write(memory, replace(point_of(memory, note.id), dense=()))


def too_many_vectors(memory: AgenticMemory, note: Note) -> None:
    point = point_of(memory, note.id)
    write(memory, replace(point, dense=[*point.dense, *point.dense]))


def record_of(memory: AgenticMemory, note: Note) -> Point:
    return next(
        point for point in run(every_point(io_of(memory))) if point.payload.get("of") == note.id
    )


def contents(memory: AgenticMemory) -> set[tuple[str, str]]:
    points = run(every_point(io_of(memory)))
    return {(p.id, p.payload["content"]) for p in points if "content" in p.payload}


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (dangling, "dangling-link"),
        (foreign, "foreign-link"),
        (to_itself, "self-link"),
        (twice, "duplicate-link"),
        (other_link_ids, "derived"),
        (other_prefixes, "derived"),
        (other_facts, "derived"),
        (no_place, "derived"),
        (same_namespace_in_other_words, "derived"),
        (other_influences, "derived"),
        (influences_of_a_record, "derived"),
        (owner_of_a_record, "derived"),
        (gone_cause, "stale-influence"),
        (contested_by_nobody, "stale-influence"),
        (merged_into_nothing, "stale-influence"),
        (oldest_deleted_alone, "dangling-link"),
        (oldest_deleted_alone, "orphaned-revision"),
        (newest_deleted_alone, "stale-influence"),
        (empty, "empty"),
        (version_behind, "version"),
        (record_of_a_later_version, "orphaned-revision"),
        (record_of_nobody, "orphaned-revision"),
        (no_vectors, "vectors"),
        (too_many_vectors, "vectors"),
    ],
)
def test_damage_is_found_and_mended(
    memory: AgenticMemory, damage: Callable[[AgenticMemory, Note], None], what: str
) -> None:
    others = list(memory.admin.export("b"))
    damage(memory, middle(memory))
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


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"key": "another"}, "id"),
        ({"status": "confused"}, "unreadable"),
        ({"metadata": "{"}, "unreadable"),
        ({"metadata": "[" * 100_000}, "unreadable"),
        ({"links": [{"to": "x"}]}, "unreadable"),
        ({"keywords": ["other", "words"]}, "revision-gap"),
    ],
)
def test_what_cannot_be_mended_is_reported_and_left_alone(
    memory: AgenticMemory, fields: dict[str, Any], what: str
) -> None:
    note = middle(memory)
    patched(memory, note.id, **fields)
    held = point_of(memory, note.id).payload
    assert (note.id, what) in {(each.note_id, each.what) for each in memory.admin.check()}
    repaired = {(each.note_id, each.what, each.mended) for each in memory.admin.repair()}
    assert (note.id, what, False) in repaired
    assert point_of(memory, note.id).payload == held
    assert what in {finding.what for finding in memory.admin.check()}
    assert memory.admin.health()[f"found.{what}"] > 0


def test_a_removed_link_is_a_revision_that_does_not_name_it(memory: AgenticMemory) -> None:
    note = middle(memory)
    dangling(memory, note)
    memory.admin.repair()
    assert memory.history(note)[-1].kind in ("repaired", "retracted")
    assert GHOST not in repr(memory.history(note))


def test_completing_an_erasure_takes_back_what_the_note_had_caused(memory: AgenticMemory) -> None:
    newest_deleted_alone(memory, middle(memory))
    assert "violin" in repr(stored(memory, '["a"]'))
    memory.admin.repair()
    assert "violin" not in repr(stored(memory, '["a"]'))


def stored(memory: AgenticMemory, namespace: str) -> list[Any]:
    points = run(every_point(io_of(memory)))
    return [p.payload for p in points if namespace in (p.payload.get("ns"), p.payload.get("owner"))]


def test_a_healthy_memory_is_left_as_it_is(memory: AgenticMemory) -> None:
    before = [list(memory.admin.export(each)) for each in "ab"]
    assert memory.admin.repair() == []
    assert [list(memory.admin.export(each)) for each in "ab"] == before


def test_a_note_set_raw_by_a_repair_waits_where_nothing_is_formed_at_once() -> None:
    with open_on("embedded", model=chat_model(), formation="off") as memory:
        note = memory.add(TEXTS[0], formation="inline")
        patched(memory, note.id, keywords=[], tags=[], context="", revision=None, influences=[])
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
