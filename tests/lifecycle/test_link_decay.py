"""What use and time do to a link."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amem_integrations.core.note import CONTRADICTS, Link, note_id
from amem_integrations.lifecycle.co_use import co_use_weight, divergence
from amem_integrations.lifecycle.policy import DEFAULT_POLICY as POLICY
from amem_integrations.lifecycle.tenure import is_worn_out, used_link, weight_now
from tests.lifecycle.days import START as NOW

DAY = timedelta(days=1)
ONE, OTHER = note_id(("a",), "one"), note_id(("a",), "other")


def link(weight: float = 0.5, kind: str = "related") -> Link:
    return Link(ONE, OTHER, "both on caching", NOW, kind, weight)


def test_a_link_halves_in_ninety_idle_days() -> None:
    assert weight_now(link(0.8), NOW + 90 * DAY, POLICY) == pytest.approx(0.4)


def test_a_link_that_was_used_is_idle_from_then_on() -> None:
    used = used_link(link(), "used", NOW + 90 * DAY, POLICY)
    assert used.weight == pytest.approx(0.25 + 0.1 * 0.75)
    assert weight_now(used, NOW + 180 * DAY, POLICY) == pytest.approx(used.weight / 2)


def test_being_used_together_gains_a_tenth_of_what_is_lacking() -> None:
    assert used_link(link(0.5), "used", NOW, POLICY).weight == pytest.approx(0.55)


def test_a_conflict_takes_three_tenths() -> None:
    assert used_link(link(0.5), "conflict", NOW, POLICY).weight == pytest.approx(0.35)


def test_a_link_is_worn_out_under_a_twentieth() -> None:
    assert not is_worn_out(link(0.05), NOW, POLICY)
    assert is_worn_out(link(0.05), NOW + DAY, POLICY)


def test_that_one_note_contradicts_another_does_not_wear_off() -> None:
    lasting = link(0.9, CONTRADICTS)
    assert weight_now(lasting, NOW + 9000 * DAY, POLICY) == 0.9
    assert not is_worn_out(lasting, NOW + 9000 * DAY, POLICY)


@settings(max_examples=100)
@given(
    st.floats(0.001, 1),
    st.lists(st.tuples(st.sampled_from(["used", "conflict"]), st.integers(0, 5000))),
)
def test_a_weight_stays_one_whatever_happens(weight: float, reports: list[tuple[str, int]]) -> None:
    living, now = link(weight), NOW
    for outcome, days in reports:
        now += days * DAY
        before = weight_now(living, now, POLICY)
        living = used_link(living, outcome, now, POLICY)  # type: ignore[arg-type]
        assert 0 < living.weight <= 1
        assert (living.weight >= before) == (outcome == "used") or living.weight < 1e-5


def test_questions_of_one_matter_do_not_diverge() -> None:
    assert divergence([[1.0, 0.0], [2.0, 0.0]]) == pytest.approx(0.0)
    assert divergence([[1.0, 0.0], [0.0, 3.0]]) == pytest.approx(1.0)
    assert divergence([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]) == pytest.approx(2 / 3)


def test_what_was_asked_does_not_count_where_it_is_not_known() -> None:
    assert divergence([]) == divergence([[1.0, 0.0]]) == divergence([[0.0, 0.0], [1.0, 0.0]]) == 0


def test_a_bridge_is_as_strong_as_sessions_and_questions_make_it() -> None:
    assert co_use_weight(3, []) == pytest.approx(0.5)
    assert co_use_weight(12, [[1.0, 0.0], [1.0, 0.0]]) == pytest.approx(1.0)
    assert co_use_weight(6, [[1.0, 0.0], [-1.0, 0.0]]) == 0.0
