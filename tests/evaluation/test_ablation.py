"""Options of recall by name: set, switched off, refused."""

import pytest

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.ablation import switches, with_settings, without
from amem_integrations.recall.signals import DEFAULT_OPTIONS, RecallOptions


def test_signals_are_the_options_that_may_be_zero() -> None:
    found = switches(DEFAULT_OPTIONS)
    assert {"meaning", "words", "damping"} <= set(found)
    assert not {"followed", "fan_out"} & set(found)


@pytest.mark.parametrize("name", switches(DEFAULT_OPTIONS))
def test_every_signal_can_be_switched_off(name: str) -> None:
    off = getattr(without(DEFAULT_OPTIONS, name), name)
    # Of a note that ceased to hold, or only asks, all of its score is left.
    assert off == (1 if name in ("outdated", "contested", "audited", "question") else 0)


def test_a_signal_that_is_off_is_no_switch() -> None:
    options = RecallOptions(damping=0)
    assert "damping" not in switches(options)
    with pytest.raises(InvalidInputError, match=r"no signal 'damping' to switch off"):
        without(options, "damping")


def test_the_last_way_of_finding_anything_cannot_be_switched_off() -> None:
    assert "meaning" not in switches(RecallOptions(words=0))


def test_settings_are_read_as_what_the_option_is() -> None:
    options = with_settings(DEFAULT_OPTIONS, ["meaning=.25", "damping=1", "fan_out = 8"])
    assert (options.meaning, options.damping, options.fan_out) == (0.25, 1.0, 8)
    assert isinstance(options.damping, float)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("damping", r"'damping' sets nothing; write name=value"),
        ("colour=1", r"'colour=1' sets nothing.*meaning, asked, words"),
        ("damping=much", r"damping is of type float; got 'much'"),
        ("fan_out=2.5", r"fan_out is of type int; got '2.5'"),
        ("damping=2", r"damping lies in \[0, 1\]"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(setting: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        with_settings(DEFAULT_OPTIONS, [setting])
