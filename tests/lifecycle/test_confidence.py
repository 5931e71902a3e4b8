"""How far a note is believed, worked by hand."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from amem_integrations.core.note import Note, make_note
from amem_integrations.core.status import Life, Tier
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle.confidence import base, confidence, explain, source_of
from amem_integrations.lifecycle.policy import Policy

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def note(speaker: str | None = None, **changes: object) -> Note:
    return replace(make_note("x", namespace="a", now=NOW, speaker=speaker), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("speaker", "source", "expected"),
    [
        (None, None, None),
        ("Calvin", None, "user"),
        ("assistant", None, "assistant"),
        ("tool", None, "tool"),
        ("Calvin", "import", "import"),
    ],
)
def test_a_source_is_as_was_said_or_by_who_speaks(
    speaker: str | None, source: str | None, expected: str | None
) -> None:
    assert source_of(note(speaker, source=source)) == expected


def test_what_a_user_said_just_now_is_believed_by_two_thirds() -> None:
    assert base(note("Calvin")) == pytest.approx(0.4 * 0.9 + 0.3 * 0 + 0.3 * 1)


def test_two_that_say_the_same_and_one_that_contradicts() -> None:
    known = note("Calvin", life=Life(supports=2), contested_by=("b",))
    assert base(known) == pytest.approx(0.4 * 0.9 + 0.3 * 0.75 + 0.3 * 0.5)


def test_after_its_half_life_half_of_what_is_above_the_floor_is_gone() -> None:
    short = note("Calvin")
    assert confidence(short, NOW) == pytest.approx(0.66)
    assert confidence(short, NOW + timedelta(days=7)) == pytest.approx(0.1 + 0.56 / 2)
    long = replace(short, tier=Tier.LONG)
    assert confidence(long, NOW + timedelta(days=730)) == pytest.approx(0.1 + 0.56 / 2)


def test_confirmations_slow_the_decay_up_to_five_of_them() -> None:
    def after(days: int, confirmations: int) -> float:
        life = Life(confirmations=confirmations, confirmed_at=NOW)
        return confidence(note("Calvin", life=life), NOW + timedelta(days=days))

    assert after(14, 1) == pytest.approx(0.1 + 0.56 / 2)
    assert after(42, 5) == pytest.approx(after(42, 50)) == pytest.approx(0.1 + 0.56 / 2)


def test_a_note_is_never_believed_more_for_being_asked_about_before_it_was_said() -> None:
    assert confidence(note("Calvin"), NOW - timedelta(days=9)) == pytest.approx(0.66)


def test_an_explanation_says_how_the_value_came_about() -> None:
    text = str(explain(note("Calvin"), NOW + timedelta(days=7)))
    assert "confidence 0.38" in text
    assert "source: user" in text
    assert "7.0 days" in text


@pytest.mark.parametrize(
    "wrong",
    [
        *({"path": wrong} for wrong in (2.0, "x", float("nan"), None)),
        *({"most_short": wrong} for wrong in (0, 1.5, "x", None)),
        *({"most_notes": -1}, {"confirmations": -1}, {"unsettled": 0}, {"drop": "no"}),
        *({"sources": {}}, {"sources": None}, {"sources": {**Policy().sources, None: 2}}),
        *({"half_lives": {}}, {"half_lives": dict.fromkeys(Tier, timedelta(0))}),
        {"half_lives": dict.fromkeys(Tier, 7)},
        *({"link_half_life": wrong} for wrong in (90, timedelta(0), timedelta(days=-1))),
        *({"idle": 60}, {"due": 3600}, {"within": timedelta(days=-1)}),
    ],
    ids=repr,
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        Policy(**wrong)  # type: ignore[arg-type]
