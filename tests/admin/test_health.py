"""The health report of a memory: what is measured of a namespace, and what is said about it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.admin.health import Figure, figures
from amem_integrations.admin.metrics import Metrics
from amem_integrations.core.analysis import Evolution
from amem_integrations.core.io import run
from amem_integrations.core.note import Note, Status
from amem_integrations.embedders.embedder import NamedEmbedder
from amem_integrations.lifecycle.audits import audit
from amem_integrations.lifecycle.co_use import clusters_of, echo_index
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from amem_integrations.revisions.proposals import Proposal, proposal_point
from amem_integrations.testing import HashEmbedder
from tests.lifecycle.days import START as NOW
from tests.lifecycle.days import Days
from tests.lifecycle.engines import open_on
from tests.support import again, chat_model, io_of, open_memory

TEXTS = ["The redis cache evicts", "The redis cache is full", "The redis cache evicts!"]


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


def table(**fields: Any) -> dict[str, Figure]:
    """The figures, by name, of metrics with these fields."""
    metrics = replace(Metrics(NOW, DEFAULT_POLICY, str.isascii), **fields)
    return {figure.name: figure for figure in figures(metrics)}


async def test_every_kind_of_number_is_in_the_report_of_a_namespace(
    memory: AgenticMemory, days: Days
) -> None:
    notes = memory.add_many(TEXTS)
    health = memory.admin.health("default")
    assert (health["links_per_note"], health["orphans"], health["transparency"]) == (1, 0, 1)
    assert health["duplicates"] == pytest.approx(1 / 3)
    assert health["plasticity"] == pytest.approx(2 / 3)
    found = run(clusters_of(io_of(memory), ("default",), DEFAULT_POLICY))
    assert health["echo"] == pytest.approx(echo_index(*found))
    # Time goes on in between.
    assert dict(health) == pytest.approx(dict(await memory.admin.ahealth("default")))
    patch(memory, notes[1], status=str(Status.PARKED))
    patch(memory, notes[2], status=str(Status.ARCHIVED), tier="long")
    memory.add("素菜馆的座位", formation="off")
    days += 0.5
    health = memory.admin.health("default")
    names = ("notes", "raw", "parked", "archived", "formed", "short", "long")
    assert [health[name] for name in names] == [4, 1, 1, 1, 1, 3, 0]
    assert health["oldest_wait"] == pytest.approx(12, abs=1e-6)
    assert health["foreign_script"] == pytest.approx(1 / 3)
    usage = memory.usage("default").total
    assert health["calls_per_note"] == usage.calls / 4
    assert health["tokens_per_note"] == (usage.tokens_in + usage.tokens_out) / 4


@pytest.mark.parametrize(("count", "worries"), [(9, set()), (10, {"links_per_note", "orphans"})])
def test_missing_links_are_a_worry_once_there_are_several_notes(
    count: int, worries: set[str]
) -> None:
    with open_memory(link=False, evolve=False) as memory:
        memory.add_many([f"About matter{place}x" for place in range(count)])
        health = memory.admin.health("default")
    assert health["orphans"] == 1
    assert {figure.name for figure in health.worries} & {"links_per_note", "orphans"} == worries


def test_uses_count_once_maintenance_has_counted_them(memory: AgenticMemory) -> None:
    note, other = memory.add_many(TEXTS[:2])
    memory.lifecycle.feedback(note, session="s")
    memory.lifecycle.feedback(other, "conflict", session="s")
    before = memory.admin.health("default")
    assert (before["uncounted"], before["activity"], "consistency" in before) == (2, 0, False)
    memory.lifecycle.maintain("default")
    after = memory.admin.health("default")
    assert (after["uncounted"], after["activity"], after["consistency"]) == (0, 1, 0.5)


def test_open_audits_proposals_and_conflicts_are_counted(memory: AgenticMemory) -> None:
    note, other = memory.add_many(TEXTS[:2])
    evolution = Evolution(note.id, ("tea",), None, None, "both")
    proposal = Proposal(note.namespace, other.id, note.id, evolution, False, 1, NOW, "tests")
    run(io_of(memory).engine.insert([proposal_point(proposal)]))
    run(audit(io_of(memory), again(memory, note), "3 conflicting uses"))
    memory.add("The redis cache is empty", supersedes=other)
    health = memory.admin.health("default")
    assert (health["proposals"], health["audited"], health["traceability"]) == (1, 1, 1)


def test_a_damaged_note_is_counted_and_fails_nothing(memory: AgenticMemory) -> None:
    note, _ = memory.add_many(TEXTS[:2])
    patch(memory, note, revision="{")
    health = memory.admin.health("default")
    assert (health["unreadable"], health["notes"], health["formed"]) == (1, 2, 1)
    assert "unreadable" in {figure.name for figure in health.worries}


def test_a_namespace_has_nothing_of_another(memory: AgenticMemory) -> None:
    memory.add_many(TEXTS)
    elsewhere = memory.admin.health("elsewhere")
    assert {elsewhere[name] for name in ("notes", "formed", "short", "proposals")} == {0}
    assert {"calls_per_note", "orphans", "echo"}.isdisjoint(elsewhere)


@pytest.mark.parametrize("kind", ["local", "server"])
def test_other_engines_measure_the_same(kind: str) -> None:
    with open_on(kind, model=chat_model()) as memory:
        note, *_ = memory.add_many(TEXTS)
        memory.lifecycle.feedback(note)
        health = memory.admin.health("default")
    names = ("formed", "links_per_note", "orphans", "uncounted", "calls_per_note", "transparency")
    assert [health[name] for name in names] == [3, 1, 0, 1, 1, 1]
    assert health["echo"] == pytest.approx(-2 / 9)


def test_the_whole_memory_has_counts_and_events(memory: AgenticMemory) -> None:
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


def test_text_and_json_have_every_figure_and_mark_the_worries(memory: AgenticMemory) -> None:
    memory.add_many(TEXTS)
    health = memory.admin.health("default")
    worries = [figure.name for figure in health.worries]
    read = json.loads(json.dumps(health.as_dict()))
    rows = {row["name"]: row for row in read["figures"]}
    assert rows.keys() == {figure.name for figure in health.figures}
    assert rows["duplicates"]["worry"] is True
    assert read["worries"] == worries
    lines = health.table.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("!")] == worries


def test_as_text_it_is_four_lines(memory: AgenticMemory) -> None:
    memory.add_many(TEXTS)
    memory.add("Tea is served at four", formation="off")
    first, *lines = str(memory.admin.health("default")).splitlines()
    assert first == "default"
    assert [line.split(":")[0].strip() for line in lines[:3]] == ["fine", "waiting", "wrong"]
    assert lines[1].endswith("1 to be formed")
    assert "duplicates is " in lines[2]
    assert lines[-1].startswith("growing:")
    assert "in 30 days" in lines[-1]


@pytest.mark.parametrize(
    ("value", "worry"), [(None, False), (0.1, True), (0.2, False), (0.8, False), (0.9, True)]
)
def test_a_figure_out_of_its_bounds_is_a_worry(value: float | None, worry: bool) -> None:
    assert Figure("x", value, "share", "a share", under=0.2, over=0.8).worry is worry
    assert Figure("x", 1, "notes", "so many", 0.5, 10_000).when == "under 0.5 or over 10,000"


def test_figures_have_one_name_each_and_a_meaning_of_one_line() -> None:
    found = figures(Metrics(NOW, DEFAULT_POLICY, str.isascii))
    assert len({figure.name for figure in found}) == len(found)
    assert all(figure.meaning and "\n" not in figure.meaning for figure in found)


def test_the_policy_and_maintenance_set_the_bounds() -> None:
    policy = replace(DEFAULT_POLICY, max_echo=0.2, active_within=timedelta(days=7))
    assert table(policy=policy, echo=0.3)["echo"].worry
    assert not table(echo=0.6)["echo"].worry
    assert table(echo=0.61)["echo"].worry
    assert "7 days" in table(policy=policy)["activity"].meaning
    assert table()["short"].over is None
    assert table(maintained=True)["short"].over == DEFAULT_POLICY.max_short_notes
