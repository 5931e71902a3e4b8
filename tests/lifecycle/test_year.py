"""A simulated year: what a memory that lives by use keeps, believes, finds, and archives.

An analyst says what contradicts what. The year is compared with the same year in a memory whose
lifecycle is off. It takes some seconds, as a year is long.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note, Policy, Status
from amem_integrations.core.status import Tier
from tests.lifecycle import year as story
from tests.lifecycle.days import Days
from tests.lifecycle.year import CORRECTED, HOME, STABLE, Year
from tests.support import chat_model, open_memory

# Small, so that a year of a small team reaches both.
POLICY = Policy(max_short_notes=20, max_notes=50, min_link_weight=0.05, quarantine=True)
SETTLED_BEFORE = 8
"""Sessions from the end; what nobody came back to before then is to be aside."""


@dataclass
class Lived:
    memory: AgenticMemory
    year: Year
    off: AgenticMemory

    def note(self, id: str) -> Note:
        """The note itself, also where another took its place."""
        return next(n for n in self.memory.recent(namespace=HOME, limit=500) if n.id == id)

    def ranks(self, name: str, **how: Any) -> list[str]:
        """Of what is found for a corrected fact, best first: which of its values each states."""
        question, old, new = CORRECTED[name]
        hits = self.memory.search(question, namespace=HOME, k=20, **how)
        known = dict.fromkeys(old, "old") | dict.fromkeys(new, "new")
        return [known[hit.note.content] for hit in hits if hit.note.content in known]


@pytest.fixture(scope="module")
def lived() -> Iterator[Lived]:
    with ExitStack() as opened:
        memories: list[AgenticMemory] = []
        years: list[Year] = []
        for lifecycle in (POLICY, False):
            days, model = Days(), chat_model(story.analyst, model_name="year-analyst")
            memory = open_memory(lifecycle=lifecycle, clock=days, model=model, neighbours=12)
            opened.enter_context(memory)
            years.append(story.live(memory, days, lifecycle=lifecycle is not False))
            memories.append(memory)
        yield Lived(memories[0], years[0], memories[1])


@pytest.mark.parametrize("name", STABLE)
def test_facts_repeated_across_sessions_reach_the_long_tier(lived: Lived, name: str) -> None:
    note = lived.memory.get(lived.year.stable[name][0], namespace=HOME)
    assert note is not None
    assert (note.content, note.tier) == (STABLE[name][1], Tier.LONG)


def test_one_off_noise_is_archived(lived: Lived) -> None:
    a_session = len(lived.year.noise) // story.SESSIONS
    noise = [lived.note(id) for id in lived.year.noise[: -SETTLED_BEFORE * a_session]]
    assert {note.status for note in noise} == {Status.ARCHIVED}


@pytest.mark.parametrize("name", CORRECTED)
def test_a_corrected_fact_outranks_the_old_one_from_its_date_on(lived: Lived, name: str) -> None:
    now = lived.ranks(name)
    assert now[0] == "new"
    on_its_day = lived.ranks(name, at=lived.year.corrected_at[name])
    assert on_its_day[0] == "new"
    assert "old" in on_its_day


@pytest.mark.parametrize("name", CORRECTED)
def test_the_old_one_is_found_first_for_earlier_times(lived: Lived, name: str) -> None:
    question, old, _ = CORRECTED[name]
    before = lived.year.corrected_at[name] - timedelta(days=1)
    [hit] = lived.memory.search(question, namespace=HOME, k=1, at=before)
    assert hit.note.content in old
    assert "outdated" not in hit.why


def test_a_note_that_is_contradicted_in_use_is_audited_and_not_deleted(lived: Lived) -> None:
    [audit] = lived.memory.lifecycle.audits(HOME)
    assert (audit.note.id, audit.note.content) == (lived.year.wrong, story.WRONG)
    assert "3 conflicting uses" in audit.reason
    assert not story.found(lived.memory, story.ASKED_OF_WRONG, [story.WRONG])
    assert story.found(lived.memory, story.ASKED_OF_WRONG, [story.RIGHT])


def test_the_namespace_stays_under_its_cap(lived: Lived) -> None:
    assert POLICY.max_notes is not None
    assert lived.year.most <= POLICY.max_notes
    notes = lived.memory.recent(namespace=HOME, limit=500)
    shown = [note for note in notes if note.status is Status.FORMED]
    assert POLICY.max_short_notes is not None
    assert sum(note.tier is Tier.SHORT for note in shown) <= POLICY.max_short_notes


def test_nothing_was_deleted(lived: Lived) -> None:
    assert lived.memory.count(HOME) == lived.off.count(HOME)
    assert lived.memory.admin.check() == []


def test_recall_is_better_on_corrected_facts_and_no_worse_elsewhere(lived: Lived) -> None:
    on, off = lived.memory, lived.off
    assert story.recall_on_corrected(on) > story.recall_on_corrected(off)
    assert story.recall_elsewhere(on) >= story.recall_elsewhere(off)
    assert story.recall_on_corrected(on) == 1.0
