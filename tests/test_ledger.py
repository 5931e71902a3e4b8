"""The ledger counts what happened, from any thread, and keeps no content."""

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.judgement import ChatReply
from amem_integrations.ledger import Ledger, Usage

CALVIN, HOBBES = ("calvin",), ("org", "hobbes")


def reply(
    tokens_in: int | None = 10, tokens_out: int | None = 2, seconds: float = 0.5
) -> ChatReply:
    return ChatReply("secret", None, tokens_in, tokens_out, seconds)


def test_a_call_is_counted_with_its_tokens_and_seconds() -> None:
    ledger = Ledger()
    ledger.model_call(CALVIN, "fuse", reply())
    expected = Usage(calls=1, tokens_in=10, tokens_out=2, seconds=0.5)
    assert ledger.usage() == {"fuse": expected, "total": expected}


def test_a_model_that_reports_no_tokens_is_unmetered() -> None:
    ledger = Ledger()
    ledger.model_call(CALVIN, "fuse", reply(None, None))
    assert ledger.usage()["fuse"] == Usage(calls=1, seconds=0.5, unmetered=1)


def test_a_failed_call_is_a_call_too() -> None:
    ledger = Ledger()
    ledger.model_failure(CALVIN, "link", 1.5)
    assert ledger.usage()["link"] == Usage(calls=1, failures=1, seconds=1.5, unmetered=1)


def test_usage_is_kept_apart_by_namespace_and_step() -> None:
    ledger = Ledger()
    for namespace, step in ((CALVIN, "link"), (CALVIN, "evolve"), (HOBBES, "link")):
        ledger.model_call(namespace, step, reply())
    calls = {
        namespace: {step: usage.calls for step, usage in ledger.usage(namespace).items()}
        for namespace in (CALVIN, HOBBES, None)
    }
    assert calls == {
        CALVIN: {"link": 1, "evolve": 1, "total": 2},
        HOBBES: {"link": 1, "total": 1},
        None: {"link": 2, "evolve": 1, "total": 3},
    }


def test_before_any_call_the_total_is_nothing() -> None:
    assert Ledger().usage() == Ledger().usage(CALVIN) == {"total": Usage()}


def test_events_are_counted_by_name() -> None:
    ledger = Ledger()
    ledger.count("dropped.link.self")
    ledger.count("dropped.link.self", 3)
    ledger.count("commit.redone")
    assert ledger.events() == {"dropped.link.self": 4, "commit.redone": 1}


def test_an_event_that_happened_no_times_is_not_listed() -> None:
    ledger = Ledger()
    ledger.count("dropped.link.self", 0)
    assert ledger.events() == {}


def test_what_was_handed_out_does_not_change() -> None:
    ledger = Ledger()
    ledger.count("one")
    ledger.model_call(CALVIN, "fuse", reply())
    events, usage = ledger.events(), ledger.usage()
    ledger.count("one")
    ledger.model_call(CALVIN, "fuse", reply())
    assert events == {"one": 1}
    assert usage["total"].calls == 1


def test_no_content_is_kept() -> None:
    ledger = Ledger()
    ledger.model_call(CALVIN, "fuse", reply())
    assert "secret" not in repr(vars(ledger))


def test_nothing_is_lost_when_threads_count_at_once() -> None:
    ledger = Ledger()

    def work(worker: int) -> None:
        for _ in range(500):
            ledger.count("event")
            ledger.model_call((f"n{worker % 2}",), f"s{worker % 3}", reply(seconds=0.25))
            ledger.model_failure(CALVIN, "link", 0.25)
            ledger.events(), ledger.usage()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert ledger.events() == {"event": 3000}
    assert ledger.usage()["total"] == Usage(6000, 3000, 30_000, 6000, 1500.0, 3000)


usages = st.builds(Usage, *[st.integers(0, 9)] * 4, st.integers(0, 9).map(float), st.integers(0, 9))


@given(st.lists(usages, max_size=5))
def test_sums_of_usage_do_not_depend_on_the_order(parts: list[Usage]) -> None:
    assert sum(parts, Usage()) == sum(reversed(parts), Usage())
