"""The embedding map as data: both states, their groups, and how the first is told."""

import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.io import IO
from amem_integrations.core.note import Note, Status, make_note
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.wiring import Wiring
from amem_integrations.plots import embedding_map, map_data
from amem_integrations.plots.embedding import Method
from amem_integrations.plots.records import (
    as_first_understood,
    entries_of,
    notes_of,
    vectors_before_and_after,
)
from amem_integrations.revisions.change import revised
from amem_integrations.revisions.entry import Entry
from amem_integrations.stores.write import passages
from tests.support import EMBEDDER

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ONE_WAY, OTHER_WAY = (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)


def notes(count: int) -> list[Note]:
    return [make_note(f"note {i}", namespace="a", now=NOW, key=str(i)) for i in range(count)]


def around(way: tuple[float, ...], step: int) -> list[float]:
    return [value + 0.01 * math.sin(step * (axis + 1)) for axis, value in enumerate(way)]


def two_clumps(count: int = 12) -> tuple[list[Note], dict[str, list[float]]]:
    made = notes(count)
    vectors = {
        note.id: around(ONE_WAY if place % 2 else OTHER_WAY, place)
        for place, note in enumerate(made)
    }
    return made, vectors


def test_what_was_first_understood_of_the_present_text_is_told_from_the_revisions() -> None:
    (raw,) = notes(1)
    assert as_first_understood(raw, []) is raw
    versions = [raw]

    def revise(kind: str, **changes: Any) -> None:
        changed = replace(versions[-1], **changes)
        versions.append(revised(versions[-1], changed, kind, "x", NOW, "judge"))

    def first() -> Note:
        return as_first_understood(
            versions[-1], [note.revision for note in versions if note.revision is not None]
        )

    revise("formed", keywords=("k",), context="First.", status=Status.FORMED)
    revise("evolved", keywords=("k", "l"), context="Later.")
    assert (first().keywords, first().context) == (("k",), "First.")
    revise("updated", content="other", keywords=(), context="", status=Status.RAW)
    revise("formed", keywords=("new",), status=Status.FORMED)
    assert first().keywords == ("new",)


def test_before_is_what_the_embedder_makes_of_the_first_understanding(
    memory: AgenticMemory,
) -> None:
    entries = memory.perform(_entries)
    before, after = memory.perform(lambda _, io: vectors_before_and_after(io, entries))
    evolved = [e for e in entries if as_first_understood(e.note, e.revisions) != e.note]
    assert evolved
    for entry in evolved:
        (text,) = passages(as_first_understood(entry.note, entry.revisions))
        assert before[entry.note.id] == EMBEDDER.embed_query(text)
        (text,) = passages(entry.note)
        assert after[entry.note.id] == pytest.approx(EMBEDDER.embed_query(text), abs=1e-6)


async def _entries(_: Wiring, io: IO) -> list[Entry]:
    return await entries_of(io, await notes_of(io, ("cache",)))


def test_drawing_the_map_changes_nothing(memory: AgenticMemory) -> None:
    before = sorted(memory.recent(namespace="cache"), key=lambda note: note.id)
    embedding_map(memory, "cache")
    assert sorted(memory.recent(namespace="cache"), key=lambda note: note.id) == before


def test_two_clumps_are_two_clusters_of_a_high_silhouette() -> None:
    made, vectors = two_clumps()
    data = map_data(made, vectors, vectors)
    groups = [point.group for point in data.after.points]
    assert len(data.groups) == 2
    assert groups[0::2] == [groups[0]] * 6
    assert groups[1::2] == [groups[1]] * 6
    assert data.after.silhouette == data.before.silhouette
    assert data.after.silhouette is not None
    assert data.after.silhouette > 0.9


def test_a_note_that_did_not_change_stays_where_it_was() -> None:
    made, vectors = two_clumps()
    moved = vectors | {made[0].id: list(ONE_WAY)}
    data = map_data(made, vectors, moved)
    places = [
        ((old.x, old.y), (new.x, new.y), new.moved)
        for old, new in zip(data.before.points, data.after.points, strict=True)
    ]
    assert places[0][0] != places[0][1]
    assert places[0][2] > 0.9
    assert all(old == new and far == 0 for old, new, far in places[1:])


def test_tsne_keeps_clumps_apart() -> None:
    made, vectors = two_clumps()
    data = map_data(made, vectors, vectors, method="tsne")
    assert data.method == "tsne"
    xy = [(point.x, point.y) for point in data.after.points]
    within = max(math.dist(xy[0], each) for each in xy[2::2])
    across = min(math.dist(xy[0], each) for each in xy[1::2])
    assert within < across


@pytest.mark.parametrize("method", ["pca", "tsne"])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_map_of_hardly_any_notes_is_one_of_pca(count: int, method: Method) -> None:
    made, vectors = two_clumps(count)
    data = map_data(made, vectors, vectors, method=method)
    assert data.method == "pca"
    assert len(data.after.points) == count
    assert all(math.isfinite(point.x + point.y) for point in data.after.points)


def test_the_first_notes_with_vectors_are_mapped() -> None:
    made, vectors = two_clumps()
    del vectors[made[3].id]
    data = map_data(made, vectors, vectors, limit=5)
    assert [point.id for point in data.after.points] == [made[i].id for i in (0, 1, 2, 4, 5)]
    assert data.total == 11
    with pytest.raises(InvalidInputError, match="'umap'"):
        map_data(made, vectors, vectors, method="umap")  # type: ignore[arg-type]


def test_a_map_shows_both_states_with_their_silhouettes(memory: AgenticMemory) -> None:
    figure = embedding_map(memory, "cache", by="speaker").figure
    assert [annotation.text for annotation in figure.layout.annotations] == [
        "<b>as first understood</b>, silhouette –",
        "<b>as stored now</b>, silhouette –",
    ]
    assert {trace.xaxis for trace in figure.data} == {"x", "x2"}
    one = embedding_map(memory, "cache", evolution=False).figure
    assert len(one.layout.annotations) == 1


def test_a_map_of_too_few_notes_says_so(memory: AgenticMemory) -> None:
    assert "PCA" in embedding_map(memory, "two", method="tsne").remarks[0]
    (annotation,) = embedding_map(memory, "nobody").figure.layout.annotations
    assert "no notes" in annotation.text
