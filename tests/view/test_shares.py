"""Bars: where each begins and how long it is, and its signal."""

import re
from pathlib import Path

import pytest

from amem_integrations import Hit, Note
from amem_integrations.recall.signals import SHARES, SIGNALS
from amem_integrations.view.templating import shares_of

DOCUMENTED = Path(__file__).parents[2] / "cookbook" / "docs" / "view.md"


def hit(note: Note, **why: float) -> Hit:
    return Hit(note, sum(why.values()), why)


def test_all_hits_share_one_scale(note: Note) -> None:
    first, second = shares_of([hit(note, meaning=2.0), hit(note, meaning=0.5, words=1.0)])
    assert [(each.signal, each.start, each.width) for each in first] == [("meaning", 0, 100)]
    assert [(each.signal, each.width) for each in second] == [("words", 50), ("meaning", 25)]


def test_what_takes_from_a_score_stands_on_the_other_side_of_nothing(note: Note) -> None:
    ((gain, loss),) = shares_of([hit(note, meaning=3.0, superseded=-1.0)])
    assert (gain.start, gain.width) == (25, 75)
    assert (loss.signal, loss.start, loss.width) == ("superseded", 0, 25)


def test_what_cannot_be_seen_has_no_bar(note: Note) -> None:
    assert [each.signal for each in shares_of([hit(note, meaning=1.0, answer=0.001)])[0]] == [
        "meaning"
    ]


@pytest.mark.parametrize("why", [{}, {"meaning": 0.0}])
def test_a_hit_without_shares_has_no_bars(note: Note, why: dict[str, float]) -> None:
    assert shares_of([hit(note, **why)]) == [[]]


def test_the_documentation_names_every_signal() -> None:
    named = re.findall(r"^\| `(\w+)` \| ", DOCUMENTED.read_text("utf-8"), re.M)
    assert set(named) >= {*SIGNALS, *SHARES}
