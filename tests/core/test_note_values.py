"""What may become of a note, and its parts as values; proposed text made fit to keep."""

import dataclasses
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amem_integrations.core.hit import Hit
from amem_integrations.core.note import (
    TRANSITIONS,
    Change,
    Link,
    Note,
    Revision,
    Status,
    clean_terms,
    clean_text,
    make_note,
)
from amem_integrations.core.values import MAX_TERM_CHARS
from amem_integrations.errors import InvalidInputError

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def made(content: str = "ok", **fields: Any) -> Note:
    return make_note(content, **{"namespace": "calvin", "now": NOW, **fields})


def link(**fields: Any) -> Link:
    return Link(**{"source": "a", "to": "b", "reason": "both", "created_at": NOW, **fields})


# -- status ----------------------------------------------------------------------------------


@pytest.mark.parametrize("start", Status)
def test_from_every_status_a_note_can_still_be_formed(start: Status) -> None:
    reached = {start}
    while more := {target for each in reached for target in TRANSITIONS[each]} - reached:
        reached |= more
    assert Status.FORMED in reached


@pytest.mark.parametrize("start", Status)
@pytest.mark.parametrize("target", Status)
def test_a_note_takes_the_status_that_the_table_allows(start: Status, target: Status) -> None:
    note = dataclasses.replace(made(), status=start)
    if target in TRANSITIONS[start] or target is start:
        assert note.evolve(status=target).status is target
    else:
        with pytest.raises(InvalidInputError, match=f"A {start} note cannot become {target}"):
            note.evolve(status=target)


def test_a_status_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="cannot become baked"):
        made().evolve(status="baked")


def test_a_new_note_is_raw_and_at_its_first_version() -> None:
    note = made()
    assert (note.status, note.version, note.attempts, note.revision) == (Status.RAW, 1, 0, None)


# -- values ----------------------------------------------------------------------------------


def values() -> list[Any]:
    revision = Revision(2, "formed", "a", NOW, "free", {"tags": Change([], ["x"])}, ("b",), "so")
    note = made(metadata={"a": [1]}).evolve(revision=revision, links=(link(),))
    return [link(), Change([1], [2]), revision, note, Hit(note, 0.5, {"meaning": 0.5}, link())]


def test_notes_links_revisions_and_hits_can_be_members_of_sets() -> None:
    members = [value for value in values() if not isinstance(value, Change)]
    assert set(members) == set(values()[:1] + values()[2:])


def test_links_are_told_apart_by_who_made_them() -> None:
    own, other = link(source="a", to="b"), link(source="c", to="a")
    note = dataclasses.replace(made(), id="a", links=(other, own))
    assert note.outgoing == (own,)
    assert note.incoming == (other,)


def test_a_link_has_another_end_seen_from_either_side() -> None:
    assert (link().other("a"), link().other("b")) == ("b", "a")


def test_a_link_to_itself_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="itself"):
        link(to="a")


@pytest.mark.parametrize("weight", [0.0, -0.5, 1.0000001, math.nan, math.inf, -math.inf])
def test_a_weight_outside_of_its_bounds_is_refused(weight: float) -> None:
    with pytest.raises(InvalidInputError, match="weight"):
        link(weight=weight)


def test_a_hit_shows_its_score_its_text_and_why() -> None:
    shown = str(Hit(made("The cache is full"), 0.75, {"meaning": 0.5, "link": 0.25}))
    assert shown == "0.750  The cache is full  [meaning 0.50, link 0.25]"


# -- what analysts propose -------------------------------------------------------------------

any_text = st.text(st.characters(exclude_categories=()), max_size=40)
any_terms = st.lists(any_text | st.sampled_from(["Cache", "cache", "ß", "SS", 1, None, ["x"]]))


@given(any_text, st.integers(0, 20))
def test_cleaned_text_is_one_bounded_line_that_can_be_stored(text: str, limit: int) -> None:
    clean = clean_text(text, limit)
    assert len(clean) <= limit
    assert len(clean.splitlines()) <= 1
    assert clean == clean.strip()
    assert "\x00" not in clean
    assert clean.encode().decode() == clean


@pytest.mark.parametrize("text", ["\u200b", " \u200d\u2060 ", "\ufeff\n\u00ad", "\x1b\x07"])
def test_text_with_nothing_to_see_is_cleaned_to_nothing(text: str) -> None:
    assert clean_text(text, 40) == ""
    assert clean_terms([text, "x"], 2) == ("x",)


@given(any_terms, st.integers(0, 6))
@example(["a", "b"], 0)
def test_cleaned_terms_are_few_short_and_different(terms: list[object], limit: int) -> None:
    clean = clean_terms(terms, limit)
    assert len(clean) <= limit
    assert all(term and len(term) <= MAX_TERM_CHARS for term in clean)
    assert len({term.casefold() for term in clean}) == len(clean)


def test_terms_keep_their_order_and_the_first_spelling() -> None:
    assert clean_terms(["LRU", " cache ", "lru", "", 7, "Cache", "b"], 9) == ("LRU", "cache", "b")
