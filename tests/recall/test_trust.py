"""Of notes that fit a question alike, those from a better source come first."""

from dataclasses import replace
from datetime import UTC, datetime
from math import fsum

import pytest

from amem_integrations.core.note import Hit, Note, make_note
from amem_integrations.recall.options import DEFAULT_OPTIONS
from amem_integrations.recall.trust import only_asks, trusted

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def hit(content: str, score: float, source: str | None = None) -> Hit:
    note = make_note(content, namespace="n", now=NOW, source=source)
    return Hit(note, score, {"meaning": score})


def sources(note: Note) -> float:
    return 0.9 if note.source == "user" else 0.3


PLANTED, TOLD = hit("The cache holds 9 entries.", 2.0), hit("It holds 512.", 1.0, "user")


def test_what_a_better_source_says_comes_before_what_fits_better() -> None:
    found = trusted([PLANTED, TOLD], sources, DEFAULT_OPTIONS)
    assert [each.note for each in found] == [TOLD.note, PLANTED.note]
    assert found[1].why["source"] == pytest.approx(-2.0 * 2 / 3)
    assert found[1].score == fsum(found[1].why.values())


def test_nothing_changes_where_all_are_of_one_kind() -> None:
    hits = [PLANTED, replace(PLANTED, score=1.0)]
    assert trusted(hits, sources, DEFAULT_OPTIONS) == hits
    assert trusted([], sources, DEFAULT_OPTIONS) == []


def test_a_note_that_only_asks_makes_way_for_one_that_states_something() -> None:
    asking = hit("How many entries does the cache hold?", 1.5, "user")
    found = trusted([asking, TOLD], sources, DEFAULT_OPTIONS)
    assert [each.note for each in found] == [TOLD.note, asking.note]
    assert found[1].why == {"meaning": 1.5, "asking": -0.75}
    assert trusted([asking], sources, replace(DEFAULT_OPTIONS, asking=1.0)) == [asking]


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("How many?", True),
        ("Really? And when? ", True),
        ("多少？", True),
        ("It is 512. Or is it?", False),
        ("Is it? It is", False),
        ("It is 512.", False),
    ],
)
def test_only_asking_is_told_from_stating(text: str, asks: bool) -> None:
    assert only_asks(text) is asks
