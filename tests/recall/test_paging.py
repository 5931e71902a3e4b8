"""Pages in a settled order, whatever an engine does with ties and however much does not pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from amem_integrations.core.engine import Point, Query, Scored
from amem_integrations.core.filters import EVERYTHING, Condition
from amem_integrations.core.io import SyncIO, run
from amem_integrations.core.note import Note, make_note
from amem_integrations.recall.search import nearest, newest
from amem_integrations.stores.codec import note_point
from amem_integrations.testing import HashEmbedder

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass
class Unsettled:
    """An engine that gives ties in another order at every call, and counts what is read."""

    notes: Mapping[str, Note]
    scores: Mapping[str, float]
    depths: list[int] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    turn: int = 0

    def _first(self, depth: int, rank: Callable[[str], float]) -> list[str]:
        self.depths.append(depth)
        self.turn += 1
        shuffled = [*self.notes][self.turn % len(self.notes) :] + [*self.notes][: self.turn]
        return sorted(dict.fromkeys(shuffled), key=lambda each: -rank(each))[:depth]

    async def query(self, queries: Sequence[Query]) -> list[list[Scored]]:
        [query] = queries
        found = self._first(query.limit, self.scores.__getitem__)
        return [[Scored(id, self.scores[id]) for id in found]]

    async def scroll(self, where: Condition, *, limit: int, **options: object) -> list[Point]:
        found = self._first(limit, lambda each: self.notes[each].updated_at.timestamp())
        return [note_point(self.notes[id], [], None) for id in found]

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        self.read.extend(ids)
        return [note_point(self.notes[id], [], None) for id in ids if id in self.notes]

    async def count(self, where: Condition) -> int:
        return len(self.notes)


def engine_of(scores: Sequence[float]) -> Unsettled:
    notes = [
        replace(
            make_note(f"note {n}", namespace="a", key=str(n), now=NOW),
            updated_at=NOW + timedelta(seconds=score),
        )
        for n, score in enumerate(scores)
    ]
    return Unsettled(
        {note.id: note for note in notes},
        {note.id: score for note, score in zip(notes, scores, strict=True)},
    )


def io_of(engine: Unsettled) -> SyncIO:
    return SyncIO(engine, None, HashEmbedder())  # type: ignore[arg-type]


def page(by: str, engine: Unsettled, **options: object) -> list[str]:
    io = io_of(engine)
    if by == "nearest":
        return [note.key for note, _ in run(nearest(io, "q", EVERYTHING, **options))]  # type: ignore[arg-type]
    return [note.key for note in run(newest(io, EVERYTHING, **options))]  # type: ignore[arg-type]


@pytest.mark.parametrize("by", ["nearest", "newest"])
@pytest.mark.parametrize("scores", [[1.0] * 17, [3.0, 1.0, 2.0] * 6, [float(n) for n in range(17)]])
def test_pages_together_are_the_whole(by: str, scores: list[float]) -> None:
    engine = engine_of(scores)
    everything = page(by, engine, limit=100)
    assert sorted(everything, key=int) == [str(n) for n in range(len(scores))]
    assert [scores[int(key)] for key in everything] == sorted(scores, reverse=True)
    for size in (1, 2, 5):
        starts = range(0, len(scores), size)
        pages = [page(by, engine, limit=size, offset=at) for at in starts]
        assert [key for keys in pages for key in keys] == everything


@pytest.mark.parametrize("by", ["nearest", "newest"])
def test_only_the_page_is_read(by: str) -> None:
    engine = engine_of([float(n) for n in range(50)])
    assert page(by, engine, limit=3, offset=10) == ["39", "38", "37"]
    assert len(engine.read) == 3
    assert engine.depths == [14]


@pytest.mark.parametrize("by", ["nearest", "newest"])
def test_notes_that_do_not_pass_make_room_for_others(by: str) -> None:
    engine = engine_of([float(n) for n in range(500)])
    asked = {"limit": 4, "offset": 2, "meets": lambda note: int(note.key) % 100 == 0}
    assert page(by, engine, **asked) == ["200", "100", "0"]
    assert len(engine.read) == len({*engine.read}) == 500


def test_a_note_that_went_meanwhile_is_left_out() -> None:
    engine = engine_of([3.0, 2.0, 1.0])
    gone = next(id for id, note in engine.notes.items() if note.key == "1")
    kept = {id: note for id, note in engine.notes.items() if id != gone}

    async def get(ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        return [note_point(kept[id], [], None) for id in ids if id in kept]

    engine.get = get  # type: ignore[method-assign]
    assert page("nearest", engine, limit=3) == ["0", "2"]


def test_nothing_is_asked_for_no_places() -> None:
    engine = engine_of([1.0])
    assert page("newest", engine, limit=0) == []
    assert engine.depths == []
