"""The health of a memory: what is measured of a namespace, and what is said about it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.admin.figures import Figure, Told, figures
from amem_integrations.admin.vitals import Vitals
from amem_integrations.core.analysis import Evolution
from amem_integrations.core.io import run
from amem_integrations.core.note import Note, Status
from amem_integrations.embedders.embedder import NamedEmbedder
from amem_integrations.lifecycle.audits import audit
from amem_integrations.lifecycle.co_use import clusters_of, echo_index
from amem_integrations.lifecycle.policy import DEFAULT_POLICY, Policy
from amem_integrations.recall.rerank import same_as
from amem_integrations.revisions.proposals import Proposal, proposal_point
from amem_integrations.testing import HashEmbedder
from tests.lifecycle.days import START as NOW
from tests.lifecycle.days import Days
from tests.lifecycle.engines import open_on
from tests.support import again, chat_model, io_of, open_memory

SAID = ["The redis cache evicts", "The redis cache is full", "The redis cache evicts!"]


@pytest.fixture(scope="module")
def days() -> Days:
    return Days()


@pytest.fixture(scope="module")
def opened(days: Days) -> Iterator[AgenticMemory]:
    english = NamedEmbedder(HashEmbedder(), name="hash", languages=("en",))
    with open_memory(model=chat_model(), embedder=english, clock=days) as memory:
        yield memory


@pytest.fixture
def memory(opened: AgenticMemory) -> Iterator[AgenticMemory]:
    yield opened
    opened.admin.forget_namespace("default")


def patch(memory: AgenticMemory, note: Note, **payload: Any) -> None:
    run(io_of(memory).engine.patch(note.id, payload))


def told(**fields: Any) -> dict[str, Figure]:
    vitals = Vitals(NOW, DEFAULT_POLICY, same_as, str.isascii)
    found = figures(vitals, Told(**{"counts": {"formed": 10}, **fields}), DEFAULT_POLICY)
    return {each.name: each for each in found}


# -- what is measured ------------------------------------------------------------------------


def test_notes_are_counted_by_status_and_tier(memory: AgenticMemory) -> None:
    raw = memory.add_many(SAID, formation="off")
    patch(memory, raw[1], status=str(Status.PARKED))
    patch(memory, raw[2], status=str(Status.ARCHIVED), tier="long")
    health = memory.admin.health("default")
    names = ("notes", "raw", "parked", "archived", "formed", "short", "long")
    assert [health[name] for name in names] == [3, 1, 1, 1, 0, 2, 0]


def test_the_oldest_wait_is_in_hours(memory: AgenticMemory, days: Days) -> None:
    memory.add("Waits", formation="off")
    days += 0.5
    assert memory.admin.health("default")["oldest_wait"] == pytest.approx(12, abs=1e-6)


def test_links_duplicates_and_plasticity_are_of_the_notes_there_are(memory: AgenticMemory) -> None:
    memory.add_many(SAID)
    health = memory.admin.health("default")
    assert (health["links_per_note"], health["orphans"]) == (1, 0)
    assert health["duplicates"] == pytest.approx(1 / 3)
    assert health["plasticity"] == pytest.approx(2 / 3)
    assert health["transparency"] == 1


@pytest.mark.parametrize(("count", "worries"), [(9, set()), (10, {"links_per_note", "orphans"})])
def test_that_notes_are_not_linked_is_a_worry_once_there_are_several(
    count: int, worries: set[str]
) -> None:
    with open_memory(link=False, evolve=False) as memory:
        memory.add_many([f"About matter{place}x" for place in range(count)])
        health = memory.admin.health("default")
    assert health["orphans"] == 1
    assert {each.name for each in health.worries} & {"links_per_note", "orphans"} == worries


def test_uses_count_once_maintenance_has_counted_them(memory: AgenticMemory) -> None:
    note, other = memory.add_many(SAID[:2])
    memory.lifecycle.feedback(note, session="s")
    memory.lifecycle.feedback(other, "conflict", session="s")
    before = memory.admin.health("default")
    assert (before["uncounted"], before["activity"], "consistency" in before) == (2, 0, False)
    memory.lifecycle.maintain("default")
    after = memory.admin.health("default")
    assert (after["uncounted"], after["activity"], after["consistency"]) == (0, 1, 0.5)


def test_open_audits_and_proposals_are_counted(memory: AgenticMemory) -> None:
    note, other = memory.add_many(SAID[:2])
    evolution = Evolution(note.id, ("tea",), None, None, "both")
    proposal = Proposal(note.namespace, other.id, note.id, evolution, False, 1, NOW, "tests")
    run(io_of(memory).engine.insert([proposal_point(proposal)]))
    run(audit(io_of(memory), again(memory, note), "3 conflicting uses"))
    health = memory.admin.health("default")
    assert (health["proposals"], health["quarantined"]) == (1, 1)


def test_a_contradicted_note_is_traced_to_the_other(memory: AgenticMemory) -> None:
    old = memory.add("The board meets on Monday")
    memory.add("The board meets on Tuesday", supersedes=old)
    assert memory.admin.health("default")["traceability"] == 1


def test_the_cocoon_index_is_the_one_that_maintenance_goes_by(memory: AgenticMemory) -> None:
    memory.add_many(SAID)
    found = run(clusters_of(io_of(memory), ("default",), DEFAULT_POLICY))
    assert memory.admin.health("default")["echo"] == pytest.approx(echo_index(*found))


def test_cost_is_by_note(memory: AgenticMemory) -> None:
    memory.add_many(SAID[:2], formation="inline")
    memory.add("Kept raw", formation="off")
    health, usage = memory.admin.health("default"), memory.usage("default").total
    assert usage.calls == 2
    assert health["calls_per_note"] == pytest.approx(2 / 3)
    assert health["tokens_per_note"] == pytest.approx((usage.tokens_in + usage.tokens_out) / 3)


def test_what_the_embedder_does_not_know_is_told(memory: AgenticMemory) -> None:
    memory.add_many(["素菜馆的座位", "A table for four"], formation="off")
    assert memory.admin.health("default")["foreign_script"] == 0.5


def test_a_damaged_note_is_counted_and_fails_nothing(memory: AgenticMemory) -> None:
    note, _ = memory.add_many(SAID[:2])
    patch(memory, note, revision="{")
    health = memory.admin.health("default")
    assert (health["unreadable"], health["notes"], health["formed"]) == (1, 2, 1)
    assert "unreadable" in {each.name for each in health.worries}


def test_a_namespace_has_nothing_of_another(memory: AgenticMemory) -> None:
    memory.add_many(SAID)
    elsewhere = memory.admin.health("elsewhere")
    assert {elsewhere[name] for name in ("notes", "formed", "short", "proposals")} == {0}
    assert {"calls_per_note", "orphans", "echo"}.isdisjoint(elsewhere)


async def test_both_forms_measure_the_same(memory: AgenticMemory) -> None:
    memory.add_many(SAID)
    # Time goes on in between.
    assert dict(memory.admin.health("default")) == pytest.approx(
        dict(await memory.admin.ahealth("default"))
    )


@pytest.mark.parametrize("kind", ["local", "server"])
def test_on_other_engines_the_same_is_measured(kind: str) -> None:
    with open_on(kind, model=chat_model()) as memory:
        note, *_ = memory.add_many(SAID)
        memory.lifecycle.feedback(note)
        health = memory.admin.health("default")
    names = ("formed", "links_per_note", "orphans", "uncounted", "calls_per_note", "transparency")
    assert [health[name] for name in names] == [3, 1, 0, 1, 1, 1]
    assert health["echo"] == pytest.approx(-2 / 9)


# -- what it is ------------------------------------------------------------------------------


def test_of_the_whole_memory_there_are_counts_and_events(memory: AgenticMemory) -> None:
    memory.add("Waits", formation="off")
    memory.admin.count_event("adapter.skipped")
    health = memory.admin.health()
    assert (health["raw"], health["adapter.skipped"], health.figures) == (1, 1, ())
    assert "orphans" not in health


def test_it_is_a_mapping_without_what_could_not_be_measured(memory: AgenticMemory) -> None:
    health = memory.admin.health("default")
    assert dict(health) == {name: health[name] for name in health}
    assert health.figure("orphans").value is None
    assert "orphans" not in dict(health)


def test_json_has_every_figure_with_its_meaning(memory: AgenticMemory) -> None:
    memory.add_many(SAID)
    health = memory.admin.health("default")
    read = json.loads(json.dumps(health.as_dict()))
    rows = {row["name"]: row for row in read["figures"]}
    assert rows.keys() == {each.name for each in health.figures}
    assert rows["duplicates"]["worry"] is True
    assert all(row["meaning"] for row in read["figures"])
    assert read["worries"] == [each.name for each in health.worries]


def test_as_text_each_figure_has_a_line_and_worries_are_marked(memory: AgenticMemory) -> None:
    memory.add_many(SAID)
    first, *lines = str(memory.admin.health("default")).splitlines()
    assert first == "default"
    marked = [line.split()[1] for line in lines if line.startswith("!")]
    assert marked == [each.name for each in memory.admin.health("default").worries]


# -- when to worry ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "worry"), [(None, False), (0.1, True), (0.2, False), (0.8, False), (0.9, True)]
)
def test_beyond_its_bounds_a_figure_is_to_worry_about(value: float | None, worry: bool) -> None:
    assert Figure("x", value, "share", "a share", under=0.2, over=0.8).worry is worry


def test_a_figure_says_when_to_worry() -> None:
    assert Figure("x", 1, "notes", "so many", under=0.5, over=10_000).when == (
        "under 0.5 or over 10,000"
    )


def test_no_two_figures_have_one_name_and_each_fits_a_line() -> None:
    vitals = Vitals(NOW, DEFAULT_POLICY, same_as, str.isascii)
    found = figures(vitals, Told({}), DEFAULT_POLICY)
    assert len({each.name for each in found}) == len(found)
    assert all(each.meaning and "\n" not in each.meaning for each in found)


def test_the_policy_says_when_a_cocoon_is_one() -> None:
    vitals = Vitals(NOW, DEFAULT_POLICY, same_as, str.isascii)
    strict = figures(vitals, Told({}, echo=0.3), Policy(echo=0.2))
    assert "echo" in {each.name for each in strict if each.worry}
    assert not told(echo=0.6)["echo"].worry
    assert told(echo=0.61)["echo"].worry


def test_many_short_notes_are_no_worry_where_nobody_looks_after_them() -> None:
    assert told()["short"].over is None
    assert told(looked_after=True)["short"].over == DEFAULT_POLICY.most_short


def test_the_policy_says_how_long_ago_a_use_may_be() -> None:
    vitals = Vitals(NOW, replace(DEFAULT_POLICY, active=timedelta(days=7)), same_as, str.isascii)
    found = figures(vitals, Told({}), vitals.policy)
    assert "7 days" in {each.name: each.meaning for each in found}["activity"]
