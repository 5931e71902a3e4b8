"""The note graph as data, and that it is drawn as the data says."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.note import CONTRADICTS, Link, Note, make_note
from amem_integrations.core.status import Tier
from amem_integrations.errors import InvalidInputError
from amem_integrations.plots import graph_data, note_graph
from amem_integrations.plots.graph import draw_graph
from amem_integrations.plots.groups import OTHERS
from tests.plots.conftest import CONTENTS

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def note(name: str, *, tags: tuple[str, ...] = (), minutes: int = 0) -> Note:
    made = make_note(name, namespace="a", now=NOW + timedelta(minutes=minutes), key=name)
    return replace(made, tags=tags)


def linked(source: Note, *targets: tuple[Note, float], kind: str = "related") -> Note:
    links = (Link(source.id, to.id, "why", NOW, kind, weight) for to, weight in targets)
    return replace(source, links=(*source.links, *links))


def two_pairs() -> list[Note]:
    a, c, e = note("a", tags=("x",)), note("c", tags=("y",)), note("e")
    return [a, linked(note("b", tags=("x",)), (a, 0.9)), c, linked(note("d"), (c, 0.4)), e]


def test_every_link_between_shown_notes_is_an_edge() -> None:
    notes = two_pairs()
    edges = {(edge.source, edge.to, edge.weight) for edge in graph_data(notes).edges}
    assert edges == {(notes[1].id, notes[0].id, 0.9), (notes[3].id, notes[2].id, 0.4)}
    assert graph_data(notes[1:2]).edges == ()


def test_clusters_are_linked_notes_named_after_their_commonest_tag() -> None:
    groups = {node.content: node.group for node in graph_data(two_pairs()).nodes}
    assert groups["a"] == groups["b"]
    assert groups["c"] == groups["d"]
    assert groups["a"].endswith(": x")
    assert groups["c"].endswith(": y")
    assert groups["e"] == OTHERS


def test_a_group_is_the_most_common_tag_or_the_tier() -> None:
    notes = [note("a", tags=("rare", "common")), note("b", tags=("common",)), note("c")]
    data = graph_data(notes, by="tag")
    assert {node.content: node.group for node in data.nodes} == {
        "a": "common",
        "b": "common",
        "c": "no tag",
    }
    assert data.groups == ("common", "no tag")
    tiers = graph_data([note("a"), replace(note("b"), tier=Tier.LONG)], by="tier")
    assert set(tiers.groups) == {"short", "long"}


def test_groups_beyond_the_palette_are_others() -> None:
    data = graph_data([note(f"n{i}", tags=(f"t{i}",)) for i in range(12)], by="tag")
    assert len(data.groups) == 8
    assert data.groups[-1] == OTHERS
    assert {node.group for node in data.nodes} == set(data.groups)


def test_of_too_many_notes_the_best_linked_are_shown() -> None:
    data = graph_data(two_pairs(), limit=2)
    assert {node.content for node in data.nodes} == {"a", "b"}
    assert data.total == 5


def test_a_graph_shows_each_note_once(memory: AgenticMemory) -> None:
    picture = note_graph(memory, "cache")
    hovers = [
        text
        for trace in picture.figure.data
        if trace.legendgroup == "notes"
        for text in trace.hovertext
    ]
    assert len(hovers) == len(CONTENTS)
    assert sum("LRU policy" in text.partition("context")[0] for text in hovers) == 1


def test_a_heavier_link_is_drawn_wider_and_a_contradiction_dashed() -> None:
    a = note("a")
    against = linked(note("d"), (a, 0.9), kind=CONTRADICTS)
    data = graph_data([a, linked(note("b"), (a, 0.2)), linked(note("c"), (a, 0.95)), against])
    lines = [trace for trace in draw_graph(data, "", "").data if trace.mode == "lines"]
    assert [trace.name for trace in lines] == [
        "0.00–0.25",
        "0.75–1.00",
        "0.75–1.00, contradicts",
    ]
    assert lines[0].line.width < lines[1].line.width
    assert [trace.line.dash for trace in lines] == ["solid", "solid", "dash"]


def test_a_few_notes_without_a_link_stand_far_enough_apart_to_be_named() -> None:
    drawn = draw_graph(graph_data([*two_pairs(), note("f"), note("g")]), "", "")
    named = {label for trace in drawn.data for label in trace.text or () if label}
    assert {"e", "f", "g"} <= named


def test_a_capped_graph_says_so(memory: AgenticMemory) -> None:
    picture = note_graph(memory, "cache", limit=2)
    assert len(picture.rows) == 2
    assert picture.remarks == ("2 of 4 notes are shown: the best linked. `limit` sets how many.",)


@pytest.mark.parametrize(("namespace", "count"), [("nobody", 0), ("one", 1), ("two", 2)])
def test_a_namespace_of_hardly_any_notes_has_a_graph(
    memory: AgenticMemory, namespace: str, count: int
) -> None:
    picture = note_graph(memory, namespace)
    assert len(picture.data.nodes) == count
    assert "<html" in picture.html()


def test_what_cannot_be_drawn_is_refused(memory: AgenticMemory) -> None:
    with pytest.raises(InvalidInputError, match="limit"):
        note_graph(memory, "cache", limit=0)
    with pytest.raises(InvalidInputError, match="'colour'"):
        note_graph(memory, "cache", by="colour")  # type: ignore[arg-type]
