"""Which occasions there are, and what they make of a note's tier."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amem_integrations.core.note import Note, Revision, Status, make_note, note_id
from amem_integrations.core.status import Life, Tier
from amem_integrations.lifecycle.audits import audit_due
from amem_integrations.lifecycle.policy import DEFAULT_POLICY as POLICY
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.tenure import (
    came_up,
    is_new_occasion,
    may_move,
    occasion,
    tier_of,
    used,
)
from tests.lifecycle.days import START as NOW

DAY = timedelta(days=1)
OTHER = note_id(("a",), "other")


def note(tier: Tier = Tier.SHORT, **life: object) -> Note:
    made = make_note("The cache holds 512 entries.", namespace="a", now=NOW - 100 * DAY)
    lived = replace(Life(), **life)
    return replace(made, tier=tier, life=lived, status=Status.FORMED)


def history(*days_ago: float, kind: str = "evolved") -> list[Revision]:
    return [
        Revision(number + 2, kind, OTHER, NOW - days * DAY, "tests")
        for number, days in enumerate(days_ago)
    ]


# -- occasions -------------------------------------------------------------------------------


def test_a_session_is_one_occasion() -> None:
    life = Life()
    for hour in range(5):
        life = came_up(life, "monday", NOW + timedelta(hours=hour), POLICY)
    assert (life.occasions, life.confirmations, life.confirmed_at) == (("monday",), 1, NOW)


def test_what_has_no_session_is_of_its_day() -> None:
    morning, evening = NOW, NOW + timedelta(hours=9)
    assert occasion(None, morning) == occasion(None, evening) != occasion(None, NOW + DAY)


def test_turns_far_apart_in_an_only_session_are_occasions_of_their_own() -> None:
    known = [occasion("s", NOW, 10)]
    assert not is_new_occasion(occasion("s", NOW, 59), known, 50)
    assert is_new_occasion(occasion("s", NOW, 60), known, 50)


def test_an_only_session_is_one_occasion_where_no_turn_is_known() -> None:
    assert not is_new_occasion(occasion("s", NOW), [occasion("s", NOW, 10)], 50)


def test_a_session_may_be_called_anything() -> None:
    assert is_new_occasion("ticket #7", ["ticket #8"], 1)
    assert is_new_occasion("ticket #seven", ["ticket #eight"], 50)


@pytest.mark.parametrize(
    ("one", "other"),
    [("standup #7", "standup #8"), ("a #", "a"), ("a # #1", "a #1"), ("a #" + "9" * 5000, "a #1")],
)
def test_sessions_called_like_a_turn_are_occasions_of_their_own(one: str, other: str) -> None:
    first, second = occasion(one, NOW), occasion(other, NOW)
    assert is_new_occasion(first, [second], 50)
    assert is_new_occasion(second, [first], 50)
    assert not is_new_occasion(first, [occasion(one, NOW, 3), second], 50)
    assert not is_new_occasion(first, [first], 50)


def test_as_much_is_kept_as_a_policy_asks_for() -> None:
    patient = Policy(occasions=12, in_a_row=9, repeated=9)
    life = Life()
    for day in range(12):
        life = used(life, "used", f"s{day}", NOW + day * DAY, patient)
    assert tier_of(note(occasions=life.occasions), (), NOW, patient) is Tier.MID
    for day in range(9):
        life = used(life, "conflict", f"s{day}", NOW + day * DAY, patient)
    assert audit_due(life, NOW, patient) == "9 conflicting uses in a row"


def test_turns_before_the_first_are_turns() -> None:
    assert not is_new_occasion(occasion("s", NOW, -3), [occasion("s", NOW, -5)], 50)


def test_a_conflicting_use_confirms_nothing() -> None:
    life = used(Life(), "conflict", "monday", NOW, POLICY)
    assert (life.conflicting, life.conflicts, life.used_at) == (1, (NOW,), NOW)
    assert (life.occasions, life.confirmations) == ((), 0)


def test_a_clean_use_ends_a_run_of_conflicting_ones() -> None:
    life = used(Life(), "conflict", "monday", NOW, POLICY)
    life = used(life, "used", "tuesday", NOW + DAY, POLICY)
    assert (life.clean, life.conflicting, life.conflicts) == (1, 1, ())


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(["used", "conflict"]), st.sampled_from("abcdefghijkl"))))
def test_a_life_stays_small_and_adds_up(reports: list[tuple[str, str]]) -> None:
    life = Life()
    for number, (outcome, session) in enumerate(reports):
        life = used(life, outcome, session, NOW + number * DAY, POLICY)  # type: ignore[arg-type]
    assert life.clean + life.conflicting == len(reports)
    assert len(life.occasions) <= 8
    assert len(life.conflicts) <= 5
    assert life.confirmations <= life.clean


# -- tiers -----------------------------------------------------------------------------------


def test_three_occasions_make_a_short_note_mid() -> None:
    assert tier_of(note(occasions=("a", "b")), [], NOW, POLICY) is Tier.SHORT
    assert tier_of(note(occasions=("a", "b", "c")), [], NOW, POLICY) is Tier.MID


@pytest.mark.parametrize(("days", "tier"), [(29, Tier.MID), (30, Tier.LONG)])
def test_thirty_days_make_a_mid_note_long(days: int, tier: Tier) -> None:
    mid = note(Tier.MID, tiered_at=NOW - days * DAY)
    assert tier_of(mid, [], NOW, POLICY) is tier


@pytest.mark.parametrize(("revisions", "tier"), [((3,), Tier.LONG), ((3, 9), Tier.MID)])
def test_a_note_that_is_still_revised_does_not_become_long(
    revisions: tuple[int, ...], tier: Tier
) -> None:
    mid = note(Tier.MID, tiered_at=NOW - 40 * DAY)
    assert tier_of(mid, history(*revisions), NOW, POLICY) is tier


def test_a_contested_note_does_not_become_long() -> None:
    mid = replace(note(Tier.MID, tiered_at=NOW - 40 * DAY), contested_by=(OTHER,))
    assert tier_of(mid, [], NOW, POLICY) is Tier.MID


@pytest.mark.parametrize(("before", "after"), [(Tier.LONG, Tier.MID), (Tier.MID, Tier.SHORT)])
def test_three_revisions_in_thirty_days_cost_a_tier(before: Tier, after: Tier) -> None:
    revised = note(before, tiered_at=NOW - 90 * DAY)
    assert tier_of(revised, history(1, 2, 29), NOW, POLICY) is after
    assert tier_of(revised, history(1, 2, 31), NOW, POLICY) is before


def test_what_cost_one_tier_does_not_cost_another() -> None:
    fallen = note(Tier.MID, tiered_at=NOW)
    assert tier_of(fallen, history(1, 2, 3), NOW + DAY, POLICY) is Tier.MID


def test_a_note_that_fell_for_its_revisions_does_not_rise_at_once() -> None:
    fallen = note(occasions=("a", "b", "c"), tiered_at=NOW)
    assert tier_of(fallen, history(1, 2, 3), NOW + DAY, POLICY) is Tier.SHORT


def test_moving_pruning_and_bridging_a_note_do_not_count_as_revising_it() -> None:
    long = note(Tier.LONG, tiered_at=NOW - 90 * DAY)
    assert tier_of(long, history(1, 2, 3, kind="pruned"), NOW, POLICY) is Tier.LONG


@settings(max_examples=200)
@given(
    st.sampled_from(Tier),
    st.integers(0, 4),
    st.integers(0, 90),
    st.lists(st.integers(0, 60), max_size=5),
    st.booleans(),
)
def test_a_note_that_may_not_move_would_stay(
    tier: Tier, occasions: int, since: int, revised: list[int], contested: bool
) -> None:
    kept = note(tier, occasions=tuple("abcd"[:occasions]), tiered_at=NOW - since * DAY)
    chain = history(*sorted(revised, reverse=True))
    kept = replace(
        kept,
        revision=chain[-1] if chain else None,
        contested_by=(OTHER,) if contested else (),
    )
    if not may_move(kept, NOW, POLICY):
        assert tier_of(kept, chain, NOW, POLICY) is tier
