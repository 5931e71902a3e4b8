"""Search on real engines, in both forms: what only an engine can get right or wrong."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from amem_integrations.core.filters import EVERYTHING
from amem_integrations.core.hit import Hit
from amem_integrations.core.io import AsyncIO, SyncIO, run
from amem_integrations.core.note import Link, Status, make_note
from amem_integrations.embedders.sparse import resolve_sparse
from amem_integrations.recall.search import search
from amem_integrations.recall.signals import RecallOptions
from amem_integrations.stores.codec import note_point
from amem_integrations.stores.open import Encoders, Store, open_store
from amem_integrations.stores.server.client import ClientStore, open_client
from amem_integrations.testing import HashEmbedder

NOW = datetime(2026, 3, 1, tzinfo=UTC)
EMBEDDER = HashEmbedder()
SPARSE = resolve_sparse()


@dataclass
class Namespaces:
    """Notes in a store, written directly: recall is tested without formation."""

    store: Store
    form: str
    made: int = field(default=0)

    def add(
        self,
        content: str,
        *,
        namespace: str = "calvin",
        links: tuple[str, ...] = (),
        status: Status = Status.FORMED,
        tags: tuple[str, ...] = (),
        **about: Any,
    ) -> str:
        self.made += 1
        now = NOW + timedelta(seconds=self.made)
        note = make_note(content, namespace=namespace, now=now, **about)
        made = tuple(Link(note.id, to, "goes with it", now) for to in links)
        note = note.evolve(links=made, tags=tags, status=Status.FORMED).evolve(status=status)
        vector = EMBEDDER.embed_query(content)
        run(self.store.sync.insert([note_point(note, [vector], SPARSE.document(content))]))
        return note.id

    def search(self, query: str, *, namespace: str = "calvin", **options: Any) -> list[Hit]:
        if self.form == "sync":
            io = SyncIO(self.store.sync, SPARSE, EMBEDDER)
            return run(search(io, query, namespace=(namespace,), **options))
        other = AsyncIO(self.store.asynchronous, SPARSE, EMBEDDER)
        return asyncio.run(search(other, query, namespace=(namespace,), **options))

    def found(self, query: str, **options: Any) -> list[str]:
        return [hit.note.content for hit in self.search(query, **options)]


@pytest.fixture(scope="module", params=["edge", "local"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    dimension = EMBEDDER.dimension
    if request.param == "edge":
        encoders = Encoders(EMBEDDER.name, dimension, SPARSE.name)
        opened = open_store(None, collection="recall", encoders=encoders)
    else:
        opened = open_client(None, collection="recall", dimension=dimension)
    yield opened
    opened.close()


@pytest.fixture
def notes(store: Store) -> Namespaces:
    """Asked synchronously on one engine, asynchronously on the other."""
    run(store.sync.delete(EVERYTHING))
    return Namespaces(store, "async" if isinstance(store, ClientStore) else "sync")


def test_archived_and_quarantined_notes_appear_only_when_the_filter_asks(notes: Namespaces) -> None:
    notes.add("cache one")
    notes.add("cache two", status=Status.ARCHIVED)
    notes.add("cache three", status=Status.QUARANTINED)
    assert notes.found("cache") == ["cache one"]
    assert notes.found("cache", filter={"status": "archived"}) == ["cache two"]


def test_filters_on_tags_speaker_session_and_time_narrow_the_search(notes: Namespaces) -> None:
    early = NOW - timedelta(days=9)
    notes.add("cache a", tags=("db",), speaker="Ann", session="s1", occurred_at=early)
    notes.add("cache b", tags=("ui",), speaker="Ben", session="s2", occurred_at=NOW)
    for wanted in (
        {"tags": {"$contains": "db"}},
        {"speaker": "Ann"},
        {"session": {"$in": ["s1", "s9"]}},
        {"occurred_at": {"$lt": NOW}},
        {"$not": {"speaker": "Ben"}},
    ):
        assert notes.found("cache", filter=wanted) == ["cache a"]


def test_a_filter_that_engines_cannot_compare_is_exact_all_the_same(notes: Namespaces) -> None:
    for i in range(60):
        notes.add(f"cache {i}", metadata={"where": {"rack": [i % 20]}})
    found = notes.found("cache", k=10, hops=0, filter={"metadata.where": {"rack": [7]}})
    assert sorted(found) == ["cache 27", "cache 47", "cache 7"]


def test_as_of_a_moment_later_notes_are_unknown(notes: Namespaces) -> None:
    notes.add("cache last year", occurred_at=NOW - timedelta(days=300))
    notes.add("cache next year", occurred_at=NOW + timedelta(days=300))
    notes.add("cache undated")
    assert sorted(notes.found("cache", at=NOW)) == ["cache last year"]
    assert sorted(notes.found("cache", at=NOW + timedelta(days=1))) == [
        "cache last year",
        "cache undated",
    ]


@pytest.mark.parametrize("least", [None, 0.0])
def test_a_turn_of_several_notes_counts_alike_whichever_was_written_first(
    notes: Namespaces, least: float | None
) -> None:
    said = [(f"{['rose', 'cache', 'fence', 'slow'][n % 4]} number {n}", n // 3) for n in range(24)]
    options = RecallOptions(min_relevance=least)
    found: list[Any] = []
    for order in (said, said[::-1]):
        run(notes.store.sync.delete(EVERYTHING))
        for text, turn in order:
            notes.add(text, session="s", sequence=turn)
        hits = notes.search("which rose has a slow cache?", k=24, options=options)
        found.append({hit.note.content: (hit.score, hit.relevance) for hit in hits})
    one, other = found
    assert one == {content: pytest.approx(values) for content, values in other.items()}


def test_a_note_among_turns_of_several_notes_is_as_relevant_whatever_else_is_found(
    notes: Namespaces,
) -> None:
    wanted = notes.add("a rose, I think", speaker="Ann", session="s", sequence=5)
    for n in range(16):
        notes.add(f"rose cache fence {n}", speaker="Ben", session="s", sequence=3 + n % 2)
    options = RecallOptions(min_relevance=0.0, words=1.0)
    query = "What did Ann say of the rose, cache, fence?"
    (few,), many = (notes.search(query, k=k, options=options) for k in (1, 17))
    assert few.note.id == wanted
    assert few.relevance == pytest.approx(
        next(hit.relevance for hit in many if hit.note.id == wanted)
    )


def test_both_forms_put_notes_that_are_equally_near_in_the_same_order(store: Store) -> None:
    """Local mode adds up in another way in another thread."""
    run(store.sync.delete(EVERYTHING))
    said = [make_note(f"meeting {n}", namespace="n", now=NOW) for n in range(400)]
    points = [note_point(note, [EMBEDDER.embed_query(note.content)], None) for note in said]
    run(store.sync.insert(points))
    for query in ("LRU", "slow rose thing"):
        one = run(search(SyncIO(store.sync, SPARSE, EMBEDDER), query, namespace=("n",)))
        io = AsyncIO(store.asynchronous, SPARSE, EMBEDDER)
        other = asyncio.run(search(io, query, namespace=("n",)))
        assert one == other


def crowd(notes: Namespaces) -> None:
    """So many notes about kayaks that those about nothing of the kind are in no list."""
    for i in range(160):
        notes.add(f"A kayak trip on the river, day {i}")


@pytest.mark.parametrize("forward", [True, False])
def test_a_linked_note_that_no_signal_finds_takes_a_place(notes: Namespaces, forward: bool) -> None:
    crowd(notes)
    if forward:
        linked = notes.add("Zebra stripes")
        notes.add("My kayak leaks badly", links=(linked,))
    else:
        source = notes.add("My kayak leaks badly")
        linked = notes.add("Zebra stripes", links=(source,))
    options = RecallOptions(damping=0.9)
    assert linked not in [hit.note.id for hit in notes.search("kayak leaks badly", k=5, hops=0)]
    hits = notes.search("kayak leaks badly", k=5, options=options)
    assert hits[0].note.content == "My kayak leaks badly"
    [found] = [hit for hit in hits if hit.note.id == linked]
    assert found.via is not None
    assert "link" in found.why
    assert len(hits) == 5


def test_links_lead_to_no_hidden_filtered_or_foreign_note(notes: Namespaces) -> None:
    crowd(notes)
    targets = (
        notes.add("Zebra stripes", status=Status.ARCHIVED),
        notes.add("Zebra hooves", speaker="Ben"),
        notes.add("Zebra ears", namespace="susie"),
        notes.add("Zebra tail", speaker="Ann"),
    )
    notes.add("My kayak leaks badly", links=targets, speaker="Ann")
    options = RecallOptions(damping=1.0)
    found = notes.found("kayak leaks badly", filter={"speaker": "Ann"}, options=options)
    assert found == ["My kayak leaks badly", "Zebra tail"]
