"""The background worker looks after notes where there is a policy, and lives through failures."""

from collections.abc import Iterator

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.io import run
from amem_integrations.errors import StoreWriteError
from amem_integrations.formation.pipeline import take
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from tests.lifecycle.days import Days
from tests.support import again, io_of, open_memory, wiring_of


@pytest.fixture(scope="module")
def days() -> Days:
    return Days()


@pytest.fixture(scope="module")
def memory(days: Days) -> Iterator[AgenticMemory]:
    with open_memory(clock=days, formation="background") as memory:
        yield memory


def test_the_worker_counts_uses(memory: AgenticMemory, days: Days) -> None:
    note = memory.add("The cache holds 512 entries.")
    assert memory.flush(20)
    memory.lifecycle.feedback(note)
    days += 1
    memory.add("The violin lesson is on Tuesday.")
    assert memory.flush(20)
    assert again(memory, note).life.clean == 1


def test_an_idle_worker_wakes_for_maintenance(memory: AgenticMemory, days: Days) -> None:
    assert memory.flush(20)
    batch = run(take(wiring_of(memory), io_of(memory)))
    assert batch.notes == []
    assert batch.due is not None
    assert 0 < batch.due <= DEFAULT_POLICY.maintain_every.total_seconds()


def test_without_a_policy_nothing_wakes_it() -> None:
    with open_memory(formation="off", lifecycle=False) as memory:
        assert run(take(wiring_of(memory), io_of(memory))).due is None


def test_maintenance_that_fails_is_counted_and_tried_later(
    memory: AgenticMemory, days: Days, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise StoreWriteError("The disk is full.")

    monkeypatch.setattr("amem_integrations.memory.build.maintain_if_due", full)
    assert (
        run(take(wiring_of(memory), io_of(memory))).due
        == DEFAULT_POLICY.maintain_every.total_seconds()
    )
    assert memory.admin.health()["maintain.failed"] >= 1
