"""A namespace leaves a memory as lines of JSON, and comes to life again in any other."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Status, __version__
from amem_integrations.admin.transfer import Imported
from amem_integrations.errors import InvalidInputError, InvalidLineError
from tests.lifecycle.engines import KINDS, TEXTS, changed, open_on
from tests.support import chat_model, io_of, judgement, open_memory


def with_content(lines: list[str], old: str, new: str) -> list[str]:
    return [line.replace(old, new) for line in lines]


def test_an_export_is_a_header_and_the_notes_oldest_first(lines: list[str]) -> None:
    header, *notes, end = map(json.loads, lines)
    about = {"format": "amem-notes", "format_version": 1, "namespace": ["a"]}
    assert header == about | {"package": __version__}
    assert [note["content"] for note in notes] == [*TEXTS, "left raw"]
    assert end == {"end": "amem-notes", "notes": 4}


def test_an_empty_namespace_and_half_an_export_are_fine(
    source: AgenticMemory, target: AgenticMemory
) -> None:
    assert len(lines := list(target.admin.export("nobody"))) == 2
    assert target.admin.import_(lines, trust=True) == Imported(("nobody",))
    export = source.admin.export("a")
    assert next(export).startswith("{")
    export.close()  # type: ignore[attr-defined]
    with pytest.raises(InvalidInputError, match="label"):
        source.admin.export("")


@pytest.mark.parametrize("kind", KINDS)
def test_notes_come_back_on_every_engine(lines: list[str], kind: str) -> None:
    with open_on(kind) as other:
        imported = other.admin.import_(lines, namespace=("b", "c"), trust=True)
        assert (imported.notes, imported.waiting) == (4, 1)
        assert list(other.admin.export(("b", "c")))[1:] == lines[1:]
        assert other.admin.check() == []


def test_many_notes_of_one_instant_are_each_exported_once(target: AgenticMemory) -> None:
    """More of them than a page holds, between two that are older and newer."""
    first = {"created_at": "2026-01-01T00:00:00+00:00"}
    notes = [f"note {n}" for n in range(300)]
    target.add_many(notes, namespace="a", formation="off")
    header, *given, end = target.admin.export("a")
    same = [json.loads(line) | first for line in given[1:-1]]
    ends = [json.loads(given[0]), json.loads(given[-1])]
    ends[0]["created_at"] = "2025-01-01T00:00:00+00:00"
    target.admin.import_([header, *map(json.dumps, [*same, *ends]), end], namespace="b", trust=True)
    back = [json.loads(line) for line in list(target.admin.export("b"))[1:-1]]
    assert sorted(each["content"] for each in back) == sorted(notes)
    assert [back[0]["content"], back[-1]["content"]] == ["note 0", "note 299"]


def test_formed_notes_stay_formed_and_raw_ones_wait(
    lines: list[str], target: AgenticMemory
) -> None:
    before = target.admin.health()
    assert target.admin.import_(lines, trust=True).waiting == 1
    note = target.search("eviction", namespace="a")[0].note
    assert (note.status, note.content) == (Status.FORMED, TEXTS[1])
    stored = {other.id for other in target.recent(namespace="a")}
    assert {link.other(note.id) for link in note.links} <= stored
    assert target.admin.health().get("formation.formed") == before.get("formation.formed")
    assert target.resume() == 1
    assert target.admin.health("a")["formed"] == 4


def test_forgetting_reaches_what_a_note_caused_before_it_was_imported(
    lines: list[str], target: AgenticMemory
) -> None:
    target.admin.import_(lines, namespace="b", trust=True)
    [gone] = [each for each in target.recent(namespace="b") if each.content == TEXTS[2]]
    assert target.forget(gone).evolutions > 0
    assert "violin" not in "".join(target.admin.export("b"))
    assert target.admin.check() == []


def test_a_note_in_another_state_is_kept_unless_it_is_to_be_replaced(
    lines: list[str], target: AgenticMemory
) -> None:
    target.admin.import_(lines, trust=True)
    assert target.admin.import_(lines, trust=True) == Imported(("a",), kept=4)
    other = with_content(lines, "violin lesson", "violin concert")
    assert target.admin.import_(other, trust=True).kept == 4
    assert list(target.admin.export("a")) == lines
    imported = target.admin.import_(other, replace=True, trust=True)
    assert (imported.replaced, imported.kept) == (1, 3)
    assert target.admin.import_(other, replace=True, trust=True) == Imported(("a",), kept=4)
    stored = "".join(target.admin.export("a"))
    assert "violin concert" in stored
    assert "violin lesson" not in stored


def test_replacing_every_note_gives_what_the_lines_say(
    lines: list[str], target: AgenticMemory
) -> None:
    """What the old texts had caused is taken back, and what the new ones caused is there."""
    target.admin.import_(lines, trust=True)
    other = with_content(with_content(lines, "redis", "memcached"), "violin", "cello")
    assert target.admin.import_(other, replace=True, trust=True).replaced == 3
    unversioned = [
        [json.loads(line) | {"version": 0} for line in export[1:-1]]
        for export in (list(target.admin.export("a")), other)
    ]
    assert unversioned[0] == unversioned[1]


def test_what_an_old_text_had_caused_in_others_goes_when_it_is_replaced(
    lines: list[str], target: AgenticMemory
) -> None:
    target.admin.import_(lines, trust=True)
    other = changed(lines, 3, content="A bassoon lesson", revisions=[])
    imported = target.admin.import_([lines[0], other[3]], replace=True, trust=True)
    assert imported.replaced == 1
    assert len(imported.unformed) == 0
    assert "violin" not in "".join(list(target.admin.export("a"))[1:3])


def test_what_is_kept_gets_no_other_links_or_history(
    lines: list[str], target: AgenticMemory
) -> None:
    target.admin.import_(lines, trust=True)
    [link] = json.loads(lines[2])["links"]
    target.admin.import_(changed(lines, 2, links=[{**link, "reason": "forged"}]), trust=True)
    target.admin.import_(changed(lines, 2, links=[], revisions=[]), trust=True)
    assert list(target.admin.export("a")) == lines


def test_links_to_notes_that_are_nowhere_are_dropped_and_counted(
    lines: list[str], target: AgenticMemory
) -> None:
    imported = target.admin.import_([lines[0], *lines[2:]], trust=True)
    assert (imported.notes, imported.links) == (3, 2)
    assert imported.mentions == 0
    completed = target.admin.import_(lines, trust=True)
    assert (completed.notes, completed.kept, completed.links) == (1, 3, 0)
    assert list(target.admin.export("a")) == lines


def test_what_later_notes_caused_is_put_down_to_the_note_itself_without_them(
    lines: list[str], target: AgenticMemory
) -> None:
    imported = target.admin.import_(lines[:2], trust=True)
    assert imported.mentions == 2
    [note] = target.recent(namespace="a")
    assert {revision.cause for revision in target.history(note)} == {note.id}
    assert note.keywords == tuple(json.loads(lines[1])["keywords"])


def test_what_stands_before_a_broken_line_is_imported_and_the_import_can_go_on(
    lines: list[str], target: AgenticMemory
) -> None:
    with pytest.raises(InvalidLineError, match=r"Line 4: it is not JSON .* import again") as caught:
        target.admin.import_([*lines[:3], "{", *lines[3:]], trust=True)
    assert caught.value.line == 4
    assert target.count("a") == 2
    assert target.admin.check() == []
    assert target.admin.import_(lines, trust=True).notes == 2
    assert list(target.admin.export("a")) == lines


def test_a_note_without_understanding_is_not_taken_for_formed(
    lines: list[str], target: AgenticMemory
) -> None:
    bare = {"keywords": [], "tags": [], "context": "", "links": [], "revisions": []}
    target.admin.import_([lines[0], changed(lines, 1, **bare)[1]], trust=True)
    assert target.recent(namespace="a")[0].status is Status.RAW


def test_a_history_that_does_not_lead_to_the_note_is_cut_short_and_counted(
    lines: list[str], target: AgenticMemory
) -> None:
    edited = changed(lines, 1, keywords=["by", "hand"])
    assert target.admin.import_(edited, trust=True).histories == 1
    [note] = [each for each in target.recent(namespace="a") if each.content == TEXTS[0]]
    assert note.keywords == ("by", "hand")
    assert target.history(note) == []


def test_times_to_live_go_on_from_where_they_were(target: AgenticMemory) -> None:
    from amem_integrations.langgraph import AMemStore

    AMemStore(target, formation="off").put(("a",), "tea", {"likes": "green tea"}, ttl=7.5)
    [before] = target.recent(namespace="a")
    target.admin.import_(list(target.admin.export("a")), namespace="b", trust=True)
    [after] = target.recent(namespace="b")
    assert (after.ttl, after.expires_at) == (before.ttl, before.expires_at)
    assert (after.value, after.parts) == ({"likes": "green tea"}, before.parts)


def test_a_note_that_is_formed_while_it_is_exported_comes_with_a_history_that_fits() -> None:
    with open_memory(model=chat_model(lambda text, _: judgement(text))) as memory:
        note = memory.add(TEXTS[0], namespace="a", formation="off")
        engine = io_of(memory).engine
        get, calls = engine.get, []

        async def and_form(ids: Any, **options: Any) -> Any:
            points = await get(ids, **options)
            if not calls:
                calls.append(1)
                memory.resume()
                memory.update(note, "The memcached cache", namespace="a")
            return points

        engine.get = and_form  # type: ignore[method-assign]
        line = json.loads(list(memory.admin.export("a"))[1])
        assert line["content"] == "The memcached cache"
        assert [each["kind"] for each in line["revisions"]] == ["formed", "updated", "formed"]


async def test_an_export_can_be_imported_as_it_is_read(source: AgenticMemory) -> None:
    async with open_memory() as other:
        imported = await other.admin.aimport_(source.admin.aexport("a"), namespace="b", trust=True)
        assert imported.notes == 4
        assert [line async for line in other.admin.aexport("b")] == [
            line.replace('["a"]', '["b"]') for line in source.admin.export("a")
        ]


async def test_a_failing_source_of_lines_leaves_a_whole_memory(lines: list[str]) -> None:
    async def failing() -> AsyncIterator[str]:
        for line in lines[:3]:
            yield line
        raise ConnectionError("gone")

    async with open_memory() as other:
        with pytest.raises(ConnectionError):
            await other.admin.aimport_(failing(), trust=True)
        assert await other.admin.acheck() == []
        assert (await other.admin.aimport_(lines, trust=True)).notes + (
            await other.acount("a")
        ) >= 4
        assert [line async for line in other.admin.aexport("a")] == lines
