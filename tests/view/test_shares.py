"""Bars: where each begins and how long it is, and what it is called."""

import re
from pathlib import Path

import pytest

from amem_integrations import Hit, Note
from amem_integrations.recall.options import SHARES, SIGNALS
from amem_integrations.view.shares import WORDS, shares

DOCUMENTED = Path(__file__).parents[2] / "cookbook" / "docs" / "view.md"


def hit(note: Note, **why: float) -> Hit:
    return Hit(note, sum(why.values()), why)


def test_all_hits_share_one_scale(note: Note) -> None:
    first, second = shares([hit(note, dense=2.0), hit(note, dense=0.5, sparse=1.0)])
    assert [(each.words, each.start, each.width) for each in first] == [("meaning", 0, 100)]
    assert [(each.words, each.width) for each in second] == [("words", 50), ("meaning", 25)]


def test_what_takes_from_a_score_stands_on_the_other_side_of_nothing(note: Note) -> None:
    ((gain, loss),) = shares([hit(note, dense=3.0, superseded=-1.0)])
    assert (gain.start, gain.width) == (25, 75)
    assert (loss.words, loss.start, loss.width) == ("holds no longer", 0, 25)


def test_a_signal_without_words_is_called_by_its_name(note: Note) -> None:
    assert shares([hit(note, novel=1.0)])[0][0].words == "novel"


def test_what_cannot_be_seen_has_no_bar(note: Note) -> None:
    assert [each.signal for each in shares([hit(note, dense=1.0, answer=0.001)])[0]] == ["dense"]


@pytest.mark.parametrize("why", [{}, {"dense": 0.0}])
def test_a_hit_without_shares_has_no_bars(note: Note, why: dict[str, float]) -> None:
    assert shares([hit(note, **why)]) == [[]]


def test_every_signal_of_recall_has_words() -> None:
    assert WORDS.keys() >= {*SIGNALS, *SHARES}


def test_the_documentation_has_the_words_of_every_signal() -> None:
    rows = re.findall(r"^\| ([^|`]+) \| `(\w+)` \| [^|]+ \|$", DOCUMENTED.read_text("utf-8"), re.M)
    assert {name: words for words, name in rows} == WORDS
