"""The ledger counts what happened, from any thread, and keeps no content."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.core.analysis import ChatReply, ChatRequest, Message
from amem_integrations.core.usage import Ledger, Usage, UsageReport, report
from amem_integrations.core.values import estimate_tokens

CALVIN, HOBBES = ("calvin",), ("org", "hobbes")
NOON = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)


def asked(step: str = "fuse", *, again: bool = False) -> ChatRequest:
    return ChatRequest(step, [Message("user", "a question of five words")], {}, again)


def reply(
    tokens_in: int | None = 10, tokens_out: int | None = 2, seconds: float = 0.5
) -> ChatReply:
    return ChatReply("secret", None, tokens_in, tokens_out, seconds)


def used(ledger: Ledger, namespace: tuple[str, ...] | None = None) -> UsageReport:
    return report(r.entries for r in ledger.records() if namespace in (None, r.namespace))


def answered(
    ledger: Ledger,
    step: str = "fuse",
    namespace: tuple[str, ...] = CALVIN,
    *,
    reply: ChatReply = reply(),  # noqa: B008 - frozen
) -> None:
    ledger.account(namespace, "fused").answered(asked(step), reply)


def test_a_call_is_counted_with_its_tokens_and_seconds() -> None:
    ledger = Ledger()
    answered(ledger)
    expected = Usage(calls=1, tokens_in=10, tokens_out=2, seconds=0.5)
    assert used(ledger) == UsageReport(expected, {"fuse": expected}, {"fused": expected})


def test_tokens_that_the_model_does_not_report_are_estimated_and_marked() -> None:
    ledger = Ledger()
    answered(ledger, reply=reply(None, None))
    total = used(ledger).total
    assert total.tokens_in == estimate_tokens("a question of five words")
    assert total.tokens_out == estimate_tokens("secret")
    assert total.estimated == total.tokens_in + total.tokens_out


def test_a_report_of_no_tokens_at_all_is_not_believed() -> None:
    ledger = Ledger()
    answered(ledger, reply=reply(0, 0))
    total = used(ledger).total
    assert total.estimated == total.tokens_in + total.tokens_out > 0


def test_only_what_was_not_reported_is_estimated() -> None:
    ledger = Ledger()
    answered(ledger, reply=reply(10, None))
    total = used(ledger).total
    assert (total.tokens_in, total.estimated) == (10, total.tokens_out)


def test_an_answer_without_text_is_estimated_by_its_object() -> None:
    ledger = Ledger()
    answered(ledger, reply=ChatReply("", {"keywords": ["redis"]}))
    assert used(ledger).total.tokens_out == estimate_tokens('{"keywords": ["redis"]}')


@pytest.mark.parametrize("read", [True, False])
def test_a_failed_call_is_a_call_whose_question_counts_if_it_was_read(read: bool) -> None:
    ledger = Ledger()
    ledger.account(CALVIN, "staged").failed(asked("link"), 1.5, read=read)
    tokens = estimate_tokens("a question of five words") if read else 0
    expected = Usage(calls=1, failures=1, tokens_in=tokens, estimated=tokens, seconds=1.5)
    assert used(ledger).by_step == {"link": expected}


@pytest.mark.parametrize(("question", "formation"), [(True, False), (False, True), (True, True)])
def test_a_question_that_was_put_before_is_one_retry(question: bool, formation: bool) -> None:
    ledger = Ledger()
    ledger.account(CALVIN, "fused", again=formation).answered(asked(again=question), reply())
    assert used(ledger).total.retries == 1


def test_usage_is_kept_apart_by_namespace_step_and_mode() -> None:
    ledger = Ledger()
    calls = [(CALVIN, "link", "staged"), (CALVIN, "fuse", "fused"), (HOBBES, "link", "staged")]
    for namespace, step, mode in calls:
        ledger.account(namespace, mode).answered(asked(step), reply())
    assert {step: usage.calls for step, usage in used(ledger, CALVIN).by_step.items()} == {
        "link": 1,
        "fuse": 1,
    }
    assert {mode: usage.calls for mode, usage in used(ledger).by_mode.items()} == {
        "staged": 2,
        "fused": 1,
    }
    assert used(ledger, HOBBES).total.calls == 1


def test_one_question_for_a_batch_counts_as_batched_in_any_memory() -> None:
    ledger = Ledger()
    ledger.account(CALVIN, "staged").answered(asked("batch"), reply())
    assert list(used(ledger).by_mode) == ["batched"]


def test_calls_are_entered_in_the_hour_in_which_they_ended() -> None:
    times = iter([NOON, NOON + timedelta(minutes=29), NOON + timedelta(minutes=31)])
    ledger = Ledger(lambda: next(times))
    for _ in range(3):
        answered(ledger)
    assert {record.hour: record.calls for record in ledger.records()} == {
        NOON.replace(minute=0): 2,
        NOON.replace(hour=13, minute=0): 1,
    }


# -- forgetting ---------------------------------------------------------------------------------


def test_what_a_forgotten_namespace_used_is_forgotten() -> None:
    ledger = Ledger()
    answered(ledger)
    answered(ledger, namespace=HOBBES)
    ledger.forget(CALVIN)
    assert [record.namespace for record in ledger.records()] == [HOBBES]


def test_a_call_that_was_under_way_does_not_bring_a_forgotten_namespace_back() -> None:
    ledger = Ledger()
    account = ledger.account(CALVIN, "fused")
    ledger.forget(CALVIN)
    account.answered(asked(), reply())
    account.failed(asked(), 1.0, read=True)
    assert ledger.records() == []


# -- what the store has -------------------------------------------------------------------------


def test_what_was_saved_is_not_saved_again() -> None:
    ledger = Ledger(lambda: NOON)
    answered(ledger)
    (record,) = ledger.unsaved()
    assert ledger.saved(record)
    assert ledger.unsaved() == []
    answered(ledger)
    (record,) = ledger.unsaved()
    assert record.calls == 2


def test_a_saved_hour_that_is_over_takes_no_memory() -> None:
    now = NOON
    ledger = Ledger(lambda: now)
    answered(ledger)
    now += timedelta(hours=1)
    (record,) = ledger.unsaved()
    ledger.saved(record)
    assert ledger.records() == []


def test_an_hour_that_is_over_stays_until_all_of_it_is_saved() -> None:
    now = NOON
    ledger = Ledger(lambda: now)
    answered(ledger)
    (record,) = ledger.unsaved()
    answered(ledger)
    now += timedelta(hours=1)
    ledger.saved(record)
    assert [record.calls for record in ledger.unsaved()] == [2]


def test_saving_what_was_forgotten_meanwhile_is_told() -> None:
    ledger = Ledger()
    answered(ledger)
    (record,) = ledger.unsaved()
    ledger.forget(CALVIN)
    assert not ledger.saved(record)


def test_what_was_erased_in_the_store_no_longer_counts_but_later_calls_do() -> None:
    ledger = Ledger(lambda: NOON)
    answered(ledger)
    ledger.saved(ledger.unsaved()[0])
    answered(ledger, "link")
    (record,) = ledger.unsaved()
    for _ in range(2):  # two savers may notice the same
        ledger.erased(record)
    assert list(used(ledger).by_step) == ["link"]


def test_saving_is_due_once_in_so_many_calls() -> None:
    ledger = Ledger()
    due: list[bool] = []
    for _ in range(6):
        answered(ledger)
        due.append(ledger.due(3))
    assert due == [False, False, True, False, False, True]


# -- events, and what holds for both ------------------------------------------------------------


def test_events_are_counted_by_name() -> None:
    ledger = Ledger()
    ledger.count("dropped.link.self")
    ledger.count("dropped.link.self", 3)
    ledger.count("commit.redone")
    assert ledger.events() == {"dropped.link.self": 4, "commit.redone": 1}


def test_no_content_is_kept() -> None:
    ledger = Ledger()
    answered(ledger, reply=reply(None, None))
    assert "secret" not in repr(vars(ledger))


def test_nothing_is_lost_when_threads_count_at_once() -> None:
    ledger = Ledger()

    def work(worker: int) -> None:
        for _ in range(500):
            ledger.count("event")
            answered(ledger, f"s{worker % 3}", (f"n{worker % 2}",), reply=reply(seconds=0.25))
            ledger.account(CALVIN, "fused").failed(asked("link"), 0.25, read=False)
            ledger.events(), used(ledger)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert ledger.events() == {"event": 3000}
    total = Usage(6000, 3000, tokens_in=30_000, tokens_out=6000, seconds=1500.0)
    assert used(ledger).total == total


usages = st.builds(Usage, *[st.integers(0, 9)] * 6, st.integers(0, 9).map(float))


@given(usages, usages)
def test_what_was_added_can_be_taken_off(one: Usage, other: Usage) -> None:
    assert one + other - other == one
