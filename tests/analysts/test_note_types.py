"""Telling what kind of note a text is."""

import pytest

from amem_integrations.analysts.note_types import NOTE_TYPES, note_type_of


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("What happens when somebody pulls the plug?", "question"),
        ("Could the hotel be near the water? I run every morning.", "question"),
        ("外壳颜色定了吗？Marta想要苔藓绿。", "question"),
        ("电芯什么时候到呢", "question"),
        ("I looked it up: the contract says 120.", "correction"),
        ("我说错了，是一百二十个。", "correction"),
        ("Decided: SQLite on the gateway.", "decision"),
        ("Then we take the Ningyuan cells.", "decision"),
        ("定了，哑光的苔藓绿。", "decision"),
        ("I'm vegetarian, and I love it spicy.", "preference"),
        ("我一吃花生就浑身起疹子。", "preference"),
        ("Bad news from the climate chamber.", "problem"),
        ("网关又坏了。", "problem"),
        ("I'll ask Leipzig for 15 April.", "plan"),
        ("那我今天就给宁远下单。", "plan"),
    ],
)
def test_a_clear_cue_names_the_kind(text: str, kind: str) -> None:
    assert note_type_of(text) == kind
    assert kind in NOTE_TYPES


@pytest.mark.parametrize(
    "text",
    [
        "The botanical garden is in Leipzig.",
        "盖子防水没问题，泡了半小时。",
        "ok",
        "人民币，不算什么。",
        "",
    ],
)
def test_without_a_clear_cue_no_kind_is_claimed(text: str) -> None:
    assert note_type_of(text) is None
