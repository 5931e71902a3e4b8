"""Following links, with canned answers: the third answer is what the query for links finds."""

from typing import Any

import pytest

from amem_integrations.core.hit import Hit
from amem_integrations.core.io import run
from amem_integrations.recall.search import search
from amem_integrations.recall.signals import RecallOptions
from tests.recall.canned import Canned, texts


def without_text(**settings: float) -> RecallOptions:
    """Options under which what a note's text tells counts nothing, so that links stand out."""
    plain: dict[str, Any] = {"statement": 0.0, "length": 0.0, "damping": 0.5, **settings}
    return RecallOptions(**plain)


def find(canned: Canned, **options: object) -> list[Hit]:
    options.setdefault("options", without_text())
    return run(search(canned.io, "q", namespace=("calvin",), **options))  # pyright: ignore[reportArgumentType]


def by_name(hits: list[Hit]) -> dict[str, Hit]:
    return {hit.note.content: hit for hit in hits}


def by_statistics(canned: Canned, name: str) -> None:
    """Make the links of a note such as statistics propose."""
    for link in canned.engine.points[canned.id(name)].payload["links"]:
        link["kind"] = "shared-words"


@pytest.fixture
def asked(canned: Canned) -> Canned:
    """ "best" is near and stands out; the others are hardly near."""
    for name in ("weak", "poor"):
        canned.add(name)
    canned.answer({"best": 0.9, "weak": 0.12, "poor": 0.1}, {"best": 5.0})
    return canned


def test_a_linked_note_takes_a_place_from_one_it_beats(asked: Canned) -> None:
    """The reference cut linked notes off after the first k."""
    asked.add("linked")
    asked.add("best", links={"linked": 1.0})
    asked.answer({"linked": 0.05})
    hits = find(asked, k=2)
    assert texts(hits) == ["best", "linked"]
    assert hits[1].why.keys() == {"link"}
    assert hits[1].score == pytest.approx(0.5 * hits[0].score)


def test_a_linked_note_that_beats_nothing_is_not_even_read(asked: Canned) -> None:
    asked.add("linked")
    asked.add("best", links={"linked": 1.0})
    asked.answer({"linked": 0.05})
    options = without_text(damping=0.01)
    assert texts(find(asked, k=2, options=options)) == ["best", "weak"]
    assert asked.engine.calls == ["facet", "query", "get", "query"]


def test_links_are_followed_against_their_direction_too(asked: Canned) -> None:
    asked.add("best")
    asked.add("linker", links={"best": 1.0})
    asked.answer({"linker": 0.05})
    hit = by_name(find(asked, k=2))["linker"]
    assert hit.via is not None
    assert (hit.via.source, hit.via.to) == (asked.id("linker"), asked.id("best"))


def test_a_note_that_was_found_anyway_gains_from_a_link_and_keeps_its_own_score(
    asked: Canned,
) -> None:
    asked.add("best", links={"poor": 1.0})
    asked.answer({"poor": 0.1})
    hits = find(asked)
    assert texts(hits) == ["best", "poor", "weak"]
    poor = hits[1]
    assert poor.why.keys() == {"meaning", "link"}
    assert poor.score == pytest.approx(sum(poor.why.values()))
    assert poor.why["link"] == pytest.approx(0.5 * (hits[0].score - poor.why["meaning"]))


def test_a_link_by_statistics_leads_to_what_no_signal_found(asked: Canned) -> None:
    asked.add("linked")
    asked.add("best", links={"linked": 1.0})
    by_statistics(asked, "best")
    asked.answer({"linked": 0.05})
    assert texts(find(asked, k=2)) == ["best", "linked"]


def test_a_link_by_statistics_lifts_nothing_that_the_signals_found(asked: Canned) -> None:
    """Shared words, nearness and order are what the signals have weighed already."""
    asked.add("best", links={"poor": 1.0})
    by_statistics(asked, "best")
    asked.answer({"poor": 0.1})
    hits = find(asked)
    assert texts(hits) == ["best", "weak", "poor"]
    assert hits[2].why.keys() == {"meaning"}


def test_a_link_lifts_the_weaker_note_and_sends_no_echo_back(asked: Canned) -> None:
    asked.add("linked")
    asked.add("best", links={"linked": 1.0})
    asked.answer({"linked": 0.05}, {"best": 0.9})
    assert by_name(find(asked, hops=2))["best"].why.keys() == {"meaning", "words"}


@pytest.mark.parametrize(("weight", "confidence"), [(1.0, 0.1), (0.2, 0.5)])
def test_a_way_that_is_hardly_believed_gives_less_in_proportion(
    asked: Canned, weight: float, confidence: float
) -> None:
    asked.add("linked", confidence=confidence)
    asked.add("best", links={"linked": weight})
    asked.answer({"linked": 0.05})
    hits = by_name(find(asked, options=without_text(min_path_confidence=0.2)))
    linked = hits["linked"]
    assert linked.score == pytest.approx(0.5 * 0.5 * weight * hits["best"].score)
    assert linked.why == {"link": 2 * linked.score, "doubt": -linked.score}


def test_a_way_is_as_doubtful_as_all_of_its_links_together(asked: Canned) -> None:
    asked.add("far", confidence=0.5)
    asked.add("near", links={"far": 0.5})
    asked.add("best", links={"near": 0.5})
    asked.answer({"near": 0.05}, {"far": 0.01})
    hits = by_name(find(asked, hops=2, options=without_text(min_path_confidence=0.25)))
    assert "doubt" not in hits["near"].why
    assert hits["far"].why["doubt"] == pytest.approx(-0.5 * hits["far"].why["link"])


def test_a_doubtful_way_gives_nothing_where_that_is_asked_for(asked: Canned) -> None:
    asked.add("linked", confidence=0.1)
    asked.add("best", links={"linked": 1.0})
    asked.answer({"linked": 0.05})
    assert "linked" not in texts(
        find(asked, options=without_text(min_path_confidence=0.2, drop_weak_paths=True))
    )


def test_of_several_paths_the_best_counts(asked: Canned) -> None:
    asked.add("linked")
    asked.add("best", links={"linked": 0.3})
    asked.engine.answers[0] |= {asked.id("second"): 0.8}
    asked.add("second", links={"linked": 1.0})
    asked.answer({"linked": 0.05})
    linked = by_name(find(asked))["linked"]
    assert linked.via is not None
    assert linked.via.source == asked.id("second")


def test_a_second_hop_starts_from_all_that_the_first_came_to(asked: Canned) -> None:
    asked.add("far")
    asked.add("poor", links={"far": 1.0})
    asked.add("best", links={"poor": 1.0})
    asked.answer({"poor": 0.1}, {"far": 0.01})
    hits = by_name(find(asked, hops=2, options=without_text(follow_best=1)))
    assert hits["poor"].why.keys() == {"meaning", "link"}
    assert hits["far"].score == pytest.approx(0.5 * hits["poor"].score)


def test_one_hop_is_one_hop(asked: Canned) -> None:
    asked.add("far")
    asked.add("near", links={"far": 1.0})
    asked.add("best", links={"near": 1.0})
    asked.answer({"near": 0.05})
    assert "far" not in texts(find(asked, hops=1))


def test_hops_end_where_links_end(asked: Canned) -> None:
    asked.add("best")
    asked.answer({})
    find(asked, hops=1000)
    assert asked.engine.calls == ["facet", "query", "get", "query"]


def test_a_link_to_a_note_that_is_gone_leads_nowhere(asked: Canned) -> None:
    asked.add("best", links={"gone": 1.0})
    asked.answer({})
    assert texts(find(asked)) == ["best", "weak", "poor"]


def test_the_query_for_links_is_bounded_and_ranks_by_the_query_vector(asked: Canned) -> None:
    asked.add("best")
    for i in range(200):
        asked.add(f"spoke{i}", links={"best": 1.0})
    asked.answer({f"spoke{i}": i / 1000 for i in range(200)})
    hits = find(asked, k=100, options=without_text(fan_out=20))
    # One more, as the last of a list that is cut is left out.
    assert asked.engine.queries[-1].limit == 21
    assert asked.engine.queries[-1].vector == [1.0, 0.0]
    assert sum("link" in hit.why for hit in hits) == 20
    assert "spoke199" in texts(hits)
    assert "spoke0" not in texts(hits)


def test_linked_notes_come_with_the_query_and_the_nearest_take_the_places(asked: Canned) -> None:
    spokes = [asked.add(f"spoke{i}") for i in range(20)]
    asked.add("best", links={f"spoke{i}": 1.0 for i in range(20)})
    asked.answer({f"spoke{i}": 1 - i / 1000 for i in range(20)})
    hits = find(asked, k=3)
    assert {hit.note.id for hit in hits[1:]} < {*spokes[:3]}
    assert not asked.engine.read & set(spokes)


def test_linked_notes_that_do_not_meet_the_filter_are_dropped(asked: Canned) -> None:
    """The engine can only approximate a filter on a whole object; the note read decides."""
    for name in ("weak", "poor"):
        asked.add(name, metadata={"team": {"name": ["db"]}})
    asked.add("best", links={"in": 1.0, "out": 1.0}, metadata={"team": {"name": ["db"]}})
    asked.add("in", metadata={"team": {"name": ["db"]}})
    asked.add("out", metadata={"team": {"name": ["ui"]}})
    asked.answer({"in": 0.05, "out": 0.05})
    found = texts(find(asked, filter={"metadata.team": {"name": ["db"]}}))
    assert "in" in found
    assert "out" not in found
