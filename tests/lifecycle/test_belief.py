"""Notes and links as they are shown where there is a policy, and where there is none."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from amem_integrations import AgenticMemory, Policy
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle.confidence import confidence
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from tests.lifecycle.days import Days, Lived
from tests.support import open_memory

CACHE, VIOLIN = "The redis cache evicts by LRU.", "The violin lesson is on Tuesday."


@pytest.fixture(scope="module")
def days() -> Days:
    return Days()


@pytest.fixture(scope="module")
def memory(days: Days) -> Iterator[AgenticMemory]:
    with open_memory(clock=days, lifecycle=True, formation="off") as memory:
        yield memory


@pytest.fixture
def lived(memory: AgenticMemory, days: Days) -> Iterator[Lived]:
    yield Lived(memory, days, "a")
    memory.admin.forget_namespace("a")


def test_hits_and_notes_carry_the_confidence_of_the_moment(lived: Lived) -> None:
    note = lived.add(CACHE, source="user")
    lived.days += 7
    expected = confidence(lived.note(note), lived.days.now, DEFAULT_POLICY)
    [hit] = lived.memory.search("redis", namespace="a")
    shown = lived.memory.get(note, namespace="a")
    [recent] = lived.memory.recent(namespace="a")
    assert shown is not None
    for each in (hit.note, shown, recent):
        assert each.confidence == pytest.approx(expected, abs=1e-6)
    assert lived.note(note).confidence == 1.0


def test_confidence_is_that_of_the_moment_that_is_asked_about(lived: Lived) -> None:
    lived.add(CACHE, source="user", occurred_at=lived.days.now)
    then = lived.days.now
    lived.days += 30
    [now] = lived.memory.search("redis", namespace="a")
    [before] = lived.memory.search("redis", namespace="a", at=then + timedelta(minutes=1))
    assert before.note.confidence > 0.6 > now.note.confidence


def test_links_are_shown_with_the_weight_that_they_have_now(lived: Lived) -> None:
    one, other = lived.add(CACHE), lived.add(VIOLIN)
    lived.link(one, other, 0.8)
    lived.days += 90
    for id in (one, other):
        [link] = lived.memory.links(id, namespace="a")
        assert link.weight == pytest.approx(0.4, abs=1e-6)
    found = lived.memory.search("redis violin", namespace="a")
    weights = [link.weight for hit in found for link in hit.note.links]
    assert weights == pytest.approx([0.4, 0.4], abs=1e-6)
    [stored] = lived.note(one).outgoing
    assert stored.weight == 0.8


def test_an_old_note_that_answers_is_found_in_front_all_the_same(lived: Lived) -> None:
    lived.add(CACHE)
    lived.days += 2000
    lived.add(VIOLIN)
    [first, *_] = lived.memory.search("how does the redis cache evict?", namespace="a")
    assert first.note.content == CACHE
    assert first.note.confidence < 0.11
    assert "doubt" not in first.why


def test_what_a_worn_link_leads_to_is_doubted_and_says_so(lived: Lived) -> None:
    one, other = lived.add(CACHE), lived.add(VIOLIN)
    lived.link(one, other, 1.0)
    fresh = {h.note.id: h for h in lived.memory.search("redis cache", namespace="a")}
    lived.days += 60
    hits = {h.note.id: h for h in lived.memory.search("redis cache", namespace="a")}
    assert "doubt" not in fresh[other].why
    assert hits[other].why["doubt"] < 0
    assert hits[other].score == pytest.approx(sum(hits[other].why.values()))
    assert hits[other].score < fresh[other].score


def test_without_a_policy_time_changes_nothing(days: Days) -> None:
    with open_memory(clock=days, formation="off") as memory:
        lived = Lived(memory, days, "a")
        one, other = lived.add(CACHE), lived.add(VIOLIN)
        lived.link(one, other, 0.8)
        before = memory.search("redis cache", namespace="a")
        lived.days += 500
        after = memory.search("redis cache", namespace="a")
        assert [replace(hit) for hit in after] == before
        assert {hit.note.confidence for hit in after} == {1.0}


def test_importing_again_leaves_weights_that_moved(lived: Lived) -> None:
    one, other = lived.add(CACHE), lived.add(VIOLIN)
    lived.link(one, other)
    lines = list(lived.memory.admin.export("a"))
    lived.use(one, other)
    lived.maintain()
    before = lived.note(one)
    assert before.outgoing[0].weight != 0.5
    for replacing in (False, True):
        imported = lived.memory.admin.import_(lines, replace=replacing)
        assert (imported.notes, imported.replaced, imported.kept) == (0, 0, 2)
        assert lived.note(one) == before


def test_weights_and_when_they_moved_are_carried_to_another_namespace(lived: Lived) -> None:
    one, other = lived.add(CACHE), lived.add(VIOLIN)
    lived.link(one, other)
    lived.use(one, other)
    lived.maintain()
    [link] = lived.note(one).outgoing
    lived.memory.admin.import_(list(lived.memory.admin.export("a")), namespace="b")
    carried = [each for note in lived.memory.recent(namespace="b") for each in note.outgoing]
    lived.memory.admin.forget_namespace("b")
    assert [(each.used_at, each.weight) for each in carried] == [
        (link.used_at, pytest.approx(link.weight, abs=1e-6))
    ]


def test_a_lifecycle_is_a_policy_or_a_switch() -> None:
    with pytest.raises(InvalidInputError, match="lifecycle is True, False or a Policy"):
        open_memory(lifecycle="yes")
    with pytest.raises(InvalidInputError, match="pruned lies in"):
        Policy(pruned=2.0)
