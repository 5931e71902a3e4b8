"""Archiving, merging and restoring in any order, each undone in turn, give back equal notes."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from amem_integrations import AgenticMemory, Note, Status
from amem_integrations.core.status import NEW
from amem_integrations.lifecycle.consolidation import Consolidation
from tests.support import chat_model, open_memory

FACT = "The redis cache holds 512 entries."
_runs = count()

Undo = Callable[[], object]


@pytest.fixture(scope="module")
def memory() -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model()) as opened:
        yield opened


def own(memory: AgenticMemory, note: Note) -> Note:
    """The note itself, not what it was merged into."""
    return next(each for each in memory.recent(namespace=note.namespace) if each.id == note.id)


def standing(note: Note) -> Note:
    """What undoing has to give back: all but versions, times of writing and counters."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return replace(note, version=0, revision=None, updated_at=moment, life=NEW)


def archive(memory: AgenticMemory, note: Note) -> Undo | None:
    if own(memory, note).status is not Status.FORMED:
        return None
    memory.lifecycle.archive(note)
    return lambda: memory.lifecycle.restore(note)


def restore(memory: AgenticMemory, note: Note) -> Undo | None:
    if own(memory, note).status is not Status.ARCHIVED:
        return None
    memory.lifecycle.restore(note)
    return lambda: memory.revert(note)


def merge(memory: AgenticMemory, note: Note) -> Undo | None:
    plan = memory.lifecycle.consolidate(note.namespace, similarity=0.1)
    done = memory.lifecycle.apply(
        Consolidation(plan.namespace, merges=plan.merges, versions=plan.versions)
    )
    if not done:
        return None

    def undo() -> None:
        for each in done.merges:
            for merged in each.merged:
                memory.lifecycle.restore(merged, namespace=note.namespace)
            version = plan.versions[each.into]
            history = memory.history(each.into, namespace=note.namespace)
            if any(revision.version > version for revision in history):
                memory.revert(each.into, namespace=note.namespace, to_version=version)

    return undo


@settings(
    max_examples=6,
    deadline=None,
    # Opened once: an example takes a namespace, and needs nothing else that is new.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate],
)
@given(
    st.lists(
        st.tuples(st.sampled_from((archive, merge, restore)), st.integers(0, 2)),
        min_size=1,
        max_size=5,
    )
)
def test_whatever_was_done_is_undone_by_undoing_it_in_turn(
    memory: AgenticMemory,
    steps: list[tuple[Callable[[AgenticMemory, Note], Undo | None], int]],
) -> None:
    home = f"run-{next(_runs)}"
    notes = [
        memory.add(FACT, namespace=home, key="one"),
        memory.add(FACT, namespace=home, key="two"),
        memory.add("Memcached instead of redis", namespace=home),
    ]
    before = [standing(own(memory, note)) for note in notes]
    undos = [undo for step, place in steps if (undo := step(memory, notes[place]))]
    assert memory.admin.check() == []
    for undo in reversed(undos):
        undo()
    assert [standing(own(memory, note)) for note in notes] == before
    assert memory.admin.check() == []
