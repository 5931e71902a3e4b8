"""Links held against what belongs together."""

from datetime import UTC, datetime

import pytest

from amem_integrations.cli.demo import matters, messages
from amem_integrations.core.note import Link, Note, make_note, note_id
from amem_integrations.evaluation.links import Matter, score_links

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
MATTERS = [Matter("cells", ("a", "c", "d"), ("b",)), Matter("dinner", ("b", "e"))]


def talk(*links: tuple[str, str, float] | tuple[str, str, float, str]) -> list[Note]:
    """The turns a to e, with links between them."""
    ids = {key: note_id(("talk",), key) for key in "abcde"}
    made: dict[str, list[Link]] = {}
    for source, to, weight, *kind in links:
        named = kind[0] if kind else "same-matter"
        link = Link(ids[source], ids[to], "why", NOW, named, weight)
        made.setdefault(source, []).append(link)
    return [
        make_note(
            f"Turn {key}", namespace="talk", now=NOW, key=key, session="s", sequence=at
        ).evolve(links=tuple(made.get(key, ())))
        for at, key in enumerate("abcde")
    ]


def test_a_link_within_a_matter_is_true_and_any_other_false() -> None:
    scores = score_links(talk(("c", "a", 0.8), ("e", "a", 0.4), ("e", "b", 0.6)), MATTERS)
    assert (scores.links, scores.true) == (3, 2)
    assert scores.precision == pytest.approx(2 / 3)
    assert (scores.weight_true, scores.weight_false) == (pytest.approx(0.7), 0.4)
    assert [(each.source, each.to, each.reason) for each in scores.false] == [("e", "a", "why")]


def test_a_matter_is_found_where_a_turn_that_takes_it_up_is_linked_to_an_earlier_one() -> None:
    # c and d take up the cells, e the dinner; b may do the former, and nobody asks for it.
    scores = score_links(talk(("c", "a", 0.8), ("e", "b", 0.6)), MATTERS)
    assert (scores.expected, scores.found) == (3, 2)
    assert scores.recall == pytest.approx(2 / 3)
    assert scores.f1 == pytest.approx(0.8)


def test_to_follow_the_turn_before_is_never_false_and_leads_to_the_matter() -> None:
    scores = score_links(talk(("d", "c", 0.5, "sequence"), ("e", "d", 0.5, "sequence")), MATTERS)
    assert (scores.links, scores.found, scores.false) == (0, 1, ())
    assert (scores.precision, scores.weight_true, scores.weight_false) == (0.0, None, None)
    # What is said to follow and does not is judged.
    scores = score_links(talk(("e", "a", 0.5, "sequence")), MATTERS)
    assert (scores.links, scores.true, scores.f1) == (1, 0, 0.0)


def test_the_labels_of_the_demonstration_name_its_messages_in_order() -> None:
    order = [message["key"] for message in messages()]
    for matter in matters():
        assert set(matter.members) <= set(order), matter.name
        for keys in (matter.turns, matter.also):
            assert sorted(keys, key=order.index) == list(keys), matter.name
        assert len(matter.turns) > 1
        assert not set(matter.turns) & set(matter.also)
