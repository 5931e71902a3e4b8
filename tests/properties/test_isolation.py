"""What is seen in one namespace is a function of what is done in it, whatever is done in others.

The same is done twice in one namespace: alone, and among writes, reads and thefts in others whose
labels are as near to it as labels can be. All that can be seen there must be the same.

`AMEM_ISOLATION_CASES=10000 pytest tests/properties/test_isolation.py` is the long form.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amem_integrations import Note
from amem_integrations.errors import InvalidFilterError, InvalidInputError
from tests.support import chat_model, open_memory

CASES = int(os.environ.get("AMEM_ISOLATION_CASES", "120"))

Home = tuple[str, ...]
Act = Callable[["World", Home], object]

HOME: Home = ("org", "ann")
NEAR: tuple[Home, ...] = (
    ("org",),
    ("org", "ann", "x"),
    ("org", "Ann"),
    ("org ", "ann"),
    ("org", "ann "),
    ("org/ann",),
    ('org","ann',),
    ('["org","ann"]',),
    ("org", "*"),
    ("org", "ann\u200b"),
    ("org", "a\u0308nn"),
    ("*",),
    ("ann", "org"),
)
TEXTS = (
    "The redis cache of the shop needs an eviction policy",
    "Redis eviction is LRU since Monday",
    "Ann plays the violin on Sundays",
    "The violin lesson is on Monday at the shop",
    "我们决定把缓存换成 Redis",
    "ok",
)
KEYS = (None, "k", "ann", '["org","ann"]', "a.b[0]", "../k", "$ne")
FILTERS: tuple[dict[str, Any], ...] = (
    {"ns": '["org","ann"]'},
    {"namespace": ["org", "ann"]},
    {"$or": [{"session": "s"}, {"session": {"$exists": False}}]},
    {"$not": {"speaker": "nobody"}},
    {"prefixes": '["org"]'},
    {"session": {"$ne": "t"}},
    {"metadata.ns": {"$exists": False}},
)


class World:
    """A memory, and the time of each namespace in it: that of its own acts."""

    def __init__(self, **options: Any) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.memory = open_memory(clock=lambda: self.now, **options)
        self.memories: dict[Home, list[Note]] = {}

    def empty(self) -> None:
        for home in self.memory.namespaces():
            self.memory.admin.forget_namespace(home)
        self.memories = {}

    def note(self, home: Home, place: int) -> Note | None:
        notes = self.memories.get(home, [])
        return notes[place % len(notes)] if notes else None

    def do(self, act: Act, home: Home) -> object:
        with suppress(InvalidFilterError):
            return act(self, home)
        return "refused"


class Score(float):
    """A score to four decimals: how near a day is depends on now.

    A clock never tells a time twice, so that of the busier store is microseconds ahead.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Score) and abs(float(self) - float(other)) < 1e-4

    __hash__ = float.__hash__


def add(text: str, key: str | None, session: str | None, metadata: dict[str, Any]) -> Act:
    def act(world: World, home: Home) -> object:
        note = world.memory.add(
            text, namespace=home, key=key, session=session, metadata=metadata, speaker="Ann"
        )
        world.memories.setdefault(home, []).append(note)
        return seen(note)

    return act


def search(query: str, filter: dict[str, Any] | None, hops: int) -> Act:
    def act(world: World, home: Home) -> object:
        hits = world.memory.search(query, namespace=home, k=6, hops=hops, filter=filter)
        return {hit.note.id: (seen(hit.note), Score(hit.score), hit.why.keys()) for hit in hits}

    return act


def forget(place: int) -> Act:
    def act(world: World, home: Home) -> object:
        note = world.note(home, place)
        return note and world.memory.forget(note).notes

    return act


def forget_where(filter: dict[str, Any]) -> Act:
    return lambda world, home: world.memory.admin.forget_where(filter, namespace=home).notes


def update(place: int, text: str) -> Act:
    def act(world: World, home: Home) -> object:
        note = world.note(home, place)
        if note is None or world.memory.get(note) is None:
            return None
        return seen(world.memory.update(note, text))

    return act


def revert(place: int) -> Act:
    def act(world: World, home: Home) -> object:
        note = world.note(home, place)
        if note is None or world.memory.get(note) is None:
            return None
        with suppress(InvalidInputError):
            return seen(world.memory.revert(note))
        return None

    return act


def steal(place: int) -> Act:
    """Reach for the notes of HOME from another namespace, by their ids."""

    def act(world: World, home: Home) -> object:
        note = world.note(HOME, place)
        if note is None or home == HOME:
            return None
        memory = world.memory
        assert memory.get(note.id, namespace=home) is None
        assert memory.forget(note.id, namespace=home).notes == 0
        assert memory.links(note.id, namespace=home) == ()
        with suppress(KeyError):
            memory.update(note.id, "stolen", namespace=home)
        with suppress(KeyError):
            memory.revert(note.id, namespace=home)
        with suppress(KeyError):
            memory.history(note.id, namespace=home)
        return None

    return act


def empty(world: World, home: Home) -> object:
    return world.memory.admin.forget_namespace(home).notes


def smuggle(world: World, home: Home) -> object:
    """Bring an export of HOME into another namespace."""
    if home != HOME:
        world.memory.admin.import_(
            list(world.memory.admin.export(HOME)), namespace=home, trust=True
        )
    return None


texts = st.sampled_from(TEXTS)
places = st.integers(0, 5)
filters = st.sampled_from(FILTERS)
acts = st.one_of(
    st.builds(
        add,
        texts,
        st.sampled_from(KEYS),
        st.sampled_from([None, "s", "t"]),
        st.sampled_from([{}, {"ns": '["org","ann"]'}, {"a": {"b": 1}}]),
    ),
    st.builds(search, texts, st.none() | filters, st.integers(0, 2)),
    st.builds(forget, places),
    st.builds(forget_where, filters),
    st.builds(update, places, texts),
    st.builds(revert, places),
)
elsewhere = st.tuples(
    st.sampled_from(NEAR),
    acts | st.builds(steal, places) | st.just(empty) | st.just(smuggle),
)


def seen(note: Note) -> dict[str, Any]:
    """All that there is to see of a note; ids follow from namespace and key."""
    return {
        "note": note,
        "links": note.links,
        "revision": note.revision,
        "metadata": note.metadata,
    }


def everything(world: World) -> dict[str, Any]:
    memory = world.memory
    notes = memory.recent(namespace=HOME, limit=50)
    header, *lines = memory.admin.export(HOME)
    health = memory.admin.health(HOME)
    return {
        "notes": [seen(note) for note in notes],
        "histories": [memory.history(note) for note in notes],
        "export": (json.loads(header)["namespace"], lines),
        "count": memory.count(HOME),
        "health": {
            name: health[name]
            for name in ("raw", "formed", "parked", "links_per_note", "duplicates", "proposals")
            if name in health
        },
        "listed": HOME in memory.namespaces(),
        "scores": search("redis eviction on Monday 缓存", None, 2)(world, HOME),
    }


@pytest.fixture(scope="module", params=["chat", "statistics"])
def worlds(request: pytest.FixtureRequest) -> Iterator[Sequence[World]]:
    model = chat_model() if request.param == "chat" else None
    worlds = [World(model=model), World(model=model)]
    yield worlds
    for world in worlds:
        world.memory.close()


@settings(
    max_examples=CASES // 2,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    script=st.lists(
        st.tuples(acts, st.lists(elsewhere, max_size=3)),
        min_size=1,
        max_size=6,
    )
)
def test_what_is_done_elsewhere_cannot_be_seen(
    worlds: Sequence[World], script: list[tuple[Act, list[tuple[Home, Act]]]]
) -> None:
    alone, among = worlds
    for world in worlds:
        world.now += timedelta(days=1)
    try:
        for act, others in script:
            for home, other in others:
                among.do(other, home)
            # Later than whatever happened elsewhere: a clock never goes back.
            for world in worlds:
                world.now += timedelta(hours=1)
            assert among.do(act, HOME) == alone.do(act, HOME)
        assert everything(among) == everything(alone)
        assert among.memory.admin.check() == []
    finally:
        for world in worlds:
            world.empty()
