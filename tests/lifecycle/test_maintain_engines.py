"""Maintenance does the same on every engine, and what it does is undone like any change."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amem_integrations import AgenticMemory, Note
from amem_integrations.core.io import run
from amem_integrations.core.note import Status
from amem_integrations.core.status import NEW, Tier
from tests.lifecycle.days import Days, Lived
from tests.lifecycle.engines import KINDS, open_on
from tests.support import io_of, open_memory

WORDS = ("cache", "violin", "rent", "garden")


@pytest.mark.parametrize("kind", KINDS)
def test_maintenance_does_the_same_on_every_engine(kind: str) -> None:
    days = Days()
    with open_on(kind, clock=days, formation="off", lifecycle=True) as memory:
        lived = Lived(memory, days, "a")
        said = {"session": "s", "speaker": "ann"}
        ids = [lived.add(f"The {word} of {word}s", **said) for word in WORDS]
        for id in ids:
            run(io_of(memory).engine.patch(id, {"status": str(Status.PLAIN)}))
        lived.link(ids[1], ids[0], 0.06)
        for session in ("t", "u", "v"):
            lived.use(ids[0], ids[2], session=session)
        done = lived.maintain(30)
        assert (done.uses, done.tiers, done.pruned, done.co_used) == (3, 2, 1, 1)
        assert lived.note(ids[0]).tier is Tier.MID
        assert [link.to for link in lived.note(ids[2]).outgoing] == [ids[0]]
        assert lived.note(ids[1]).outgoing == ()
        assert lived.maintain(0.5).uses == 0
        assert memory.admin.check() == []


async def test_two_at_once_count_nothing_twice(memory: AgenticMemory, days: Days) -> None:
    memory.admin.forget_namespace("a")
    lived = Lived(memory, days, "a")
    ids = [lived.add(f"The {word} of {word}s", session="s") for word in WORDS]
    lived.link(ids[0], ids[1], 0.3)
    for number in range(100):
        lived.use(*ids[:2], session=f"t{number % 4}", days=0.001)
    done = await asyncio.gather(*(memory.lifecycle.amaintain("a") for _ in range(3)))
    assert any(each.left for each in done)
    memory.lifecycle.maintain("a")
    assert [lived.note(id).life.clean for id in ids] == [100, 100, 0, 0]
    [link] = lived.note(ids[0]).outgoing
    assert link.weight == pytest.approx(1 - 0.7 * 0.9**100, abs=1e-3)
    assert memory.admin.check() == []


@pytest.fixture(scope="module")
def days() -> Days:
    return Days()


@pytest.fixture(scope="module")
def memory(days: Days) -> AgenticMemory:
    return open_memory(clock=days, formation="off", lifecycle=True)


def as_it_stands(note: Note) -> Note:
    """A note but for its figures, its version and what is said of the last change."""
    links = tuple(sorted(note.links, key=lambda link: link.to))
    links = tuple(replace(link, weight=1.0, used_at=None) for link in links)
    moment = note.created_at
    return replace(note, life=NEW, version=1, revision=None, updated_at=moment, links=links)


happenings = st.one_of(
    st.tuples(st.just("use"), st.sets(st.integers(0, 3), min_size=1), st.sampled_from("tuvw")),
    st.tuples(st.just("conflict"), st.sets(st.integers(0, 3), min_size=1), st.just("x")),
    st.tuples(st.just("days"), st.integers(1, 400), st.just("")),
    st.tuples(st.just("maintain"), st.just(0), st.just("")),
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(happenings, max_size=12))
def test_whatever_maintenance_did_undoes_cleanly(
    memory: AgenticMemory, days: Days, story: list[tuple[str, object, str]]
) -> None:
    memory.admin.forget_namespace("a")
    lived = Lived(memory, days, "a")
    ids = [lived.add(f"The {word} of {word}s", session="s") for word in WORDS]
    for id in ids:
        run(io_of(memory).engine.patch(id, {"status": str(Status.PLAIN)}))
    lived.link(ids[0], ids[1], 0.3)
    lived.link(ids[2], ids[1], 0.9)
    before = [lived.note(id) for id in ids]
    for what, how, session in [*story, ("maintain", 0, "")]:
        match what, how:
            case "days", int(passed):
                lived.days += passed
            case "maintain", _:
                lived.maintain(0.1)
            case _, set(used):
                outcome = "conflict" if what == "conflict" else "used"
                lived.use(*(ids[n] for n in sorted(used)), session=session, outcome=outcome)
    assert memory.admin.check() == []
    for note in before:
        if lived.note(note.id).version > note.version:
            memory.revert(note.id, namespace="a", to_version=note.version)
    assert [as_it_stands(lived.note(id)) for id in ids] == list(map(as_it_stands, before))
    assert memory.admin.check() == []
