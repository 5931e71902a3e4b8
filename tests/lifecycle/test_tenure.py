"""What occasions, revisions, use and time make of a note's tier and of a link's weight."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amem_integrations.core.note import (
    CONTRADICTS,
    Link,
    Note,
    Revision,
    Status,
    make_note,
    note_id,
)
from amem_integrations.core.status import Life, Tier
from amem_integrations.lifecycle.audits import audit_due
from amem_integrations.lifecycle.co_use import co_use_weight, divergence
from amem_integrations.lifecycle.confidence import weight_now
from amem_integrations.lifecycle.policy import DEFAULT_POLICY as POLICY
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.tenure import (
    came_up,
    is_new_occasion,
    is_worn_out,
    may_move,
    occasion,
    tier_of,
    used,
    used_link,
)
from tests.lifecycle.days import PRUNING
from tests.lifecycle.days import START as NOW

DAY = timedelta(days=1)
ONE, OTHER = note_id(("a",), "one"), note_id(("a",), "other")


def note(tier: Tier = Tier.SHORT, **life: object) -> Note:
    made = make_note("The cache holds 512 entries.", namespace="a", now=NOW - 100 * DAY)
    return replace(made, tier=tier, life=replace(Life(), **life), status=Status.FORMED)


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


def test_without_a_session_a_day_is_one_occasion() -> None:
    morning, evening = NOW, NOW + timedelta(hours=9)
    assert occasion(None, morning) == occasion(None, evening) != occasion(None, NOW + DAY)


@pytest.mark.parametrize(
    ("turn", "known", "is_new"),
    [(59, 10, False), (60, 10, True), (None, 10, False), (10, None, False), (-3, -5, False)],
)
def test_turns_far_apart_in_an_only_session_are_occasions_of_their_own(
    turn: int | None, known: int | None, is_new: bool
) -> None:
    assert is_new_occasion(occasion("s", NOW, turn), [occasion("s", NOW, known)], 50) == is_new


@pytest.mark.parametrize(
    ("one", "other"),
    [("standup #7", "standup #8"), ("a #", "a"), ("a # #1", "a #1"), ("a #" + "9" * 5000, "a #1")],
)
def test_sessions_named_like_a_turn_are_occasions_of_their_own(one: str, other: str) -> None:
    first, second = occasion(one, NOW), occasion(other, NOW)
    assert is_new_occasion(first, [second], 50)
    assert is_new_occasion(second, [first], 50)
    assert not is_new_occasion(first, [occasion(one, NOW, 3), second], 50)


def test_a_life_keeps_as_much_as_a_policy_asks_for() -> None:
    patient = Policy(occasions_to_mid=12, audit_after_in_a_row=9, audit_after=9)
    life = Life()
    for day in range(12):
        life = used(life, "used", f"s{day}", NOW + day * DAY, patient)
    assert tier_of(note(occasions=life.occasions), (), NOW, patient) is Tier.MID
    for day in range(9):
        life = used(life, "conflict", f"s{day}", NOW + day * DAY, patient)
    assert audit_due(replace(note(), life=life), NOW, patient) == "9 conflicting uses in a row"


def test_a_conflicting_use_confirms_nothing_and_a_clean_one_ends_the_run() -> None:
    life = used(Life(), "conflict", "monday", NOW, POLICY)
    assert (life.conflicting, life.conflicts, life.used_at) == (1, (NOW,), NOW)
    assert (life.occasions, life.confirmations) == ((), 0)
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

MID, LONG, SHORT = Tier.MID, Tier.LONG, Tier.SHORT
DAYS_AGO = {days: NOW - days * DAY for days in (0, 29, 30, 40, 90)}


@pytest.mark.parametrize(
    ("before", "revisions", "after"),
    [
        (note(occasions=("a", "b")), (), SHORT),
        (note(occasions=("a", "b", "c")), (), MID),
        (note(MID, tiered_at=DAYS_AGO[29]), (), MID),
        (note(MID, tiered_at=DAYS_AGO[30]), (), LONG),
        # Still being revised, or contradicted.
        (note(MID, tiered_at=DAYS_AGO[40]), (3,), LONG),
        (note(MID, tiered_at=DAYS_AGO[40]), (3, 9), MID),
        (replace(note(MID, tiered_at=DAYS_AGO[40]), contested_by=(OTHER,)), (), MID),
        # Revised three times within thirty days.
        (note(LONG, tiered_at=DAYS_AGO[90]), (1, 2, 29), MID),
        (note(LONG, tiered_at=DAYS_AGO[90]), (1, 2, 31), LONG),
        (note(MID, tiered_at=DAYS_AGO[90]), (1, 2, 29), SHORT),
        # The same revisions cost one tier only, and keep it from rising at once.
        (note(MID, tiered_at=DAYS_AGO[0]), (1, 2, 3), MID),
        (note(occasions=("a", "b", "c"), tiered_at=DAYS_AGO[0]), (1, 2, 3), SHORT),
    ],
)
def test_the_tier_of_a_note(before: Note, revisions: tuple[int, ...], after: Tier) -> None:
    assert tier_of(before, history(*revisions), NOW, POLICY) is after


def test_upkeep_does_not_count_as_revising_a_note() -> None:
    long = note(LONG, tiered_at=DAYS_AGO[90])
    assert tier_of(long, history(1, 2, 3, kind="pruned"), NOW, POLICY) is LONG


@settings(max_examples=100)
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


# -- links -----------------------------------------------------------------------------------


def link(weight: float = 0.5, kind: str = "related") -> Link:
    return Link(ONE, OTHER, "both on caching", NOW, kind, weight)


def test_a_link_halves_in_ninety_days_without_use() -> None:
    assert weight_now(link(0.8), NOW + 90 * DAY, POLICY) == pytest.approx(0.4)
    used = used_link(link(), "used", NOW + 90 * DAY, POLICY)
    assert used.weight == pytest.approx(0.25 + 0.1 * 0.75)
    assert weight_now(used, NOW + 180 * DAY, POLICY) == pytest.approx(used.weight / 2)


@pytest.mark.parametrize(("outcome", "weight"), [("used", 0.55), ("conflict", 0.35)])
def test_a_use_gains_a_tenth_of_what_is_lacking_and_a_conflict_takes_three_tenths(
    outcome: str, weight: float
) -> None:
    after = used_link(link(0.5), outcome, NOW, POLICY)  # type: ignore[arg-type]
    assert after.weight == pytest.approx(weight)


def test_a_link_is_worn_out_where_the_policy_says_so_and_a_contradiction_never() -> None:
    assert not is_worn_out(link(0.05), NOW, PRUNING)
    assert is_worn_out(link(0.05), NOW + DAY, PRUNING)
    assert not is_worn_out(link(0.05), NOW + 9000 * DAY, POLICY)
    assert not is_worn_out(link(0.9, CONTRADICTS), NOW + 9000 * DAY, PRUNING)
    assert weight_now(link(0.9, CONTRADICTS), NOW + 9000 * DAY, POLICY) == 0.9


@settings(max_examples=50)
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


@pytest.mark.parametrize(
    ("queries", "expected"),
    [
        ([[1.0, 0.0], [2.0, 0.0]], 0),
        ([[1.0, 0.0], [0.0, 3.0]], 1),
        ([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 2 / 3),
        ([], 0),
        ([[1.0, 0.0]], 0),
        ([[0.0, 0.0], [1.0, 0.0]], 0),
    ],
)
def test_how_far_questions_diverge(queries: list[list[float]], expected: float) -> None:
    assert divergence(queries) == pytest.approx(expected)


def test_a_co_use_link_is_as_strong_as_sessions_and_questions_make_it() -> None:
    assert co_use_weight(3, []) == pytest.approx(0.5)
    assert co_use_weight(12, [[1.0, 0.0], [1.0, 0.0]]) == pytest.approx(1.0)
    assert co_use_weight(6, [[1.0, 0.0], [-1.0, 0.0]]) == 0.0
