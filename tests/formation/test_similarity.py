"""A model's links begin with its strength times how unusual their nearness is here."""

from typing import Any

from amem_integrations.core.engine import Point
from amem_integrations.formation.candidates import cosines_of, percentiles
from amem_integrations.formation.state import RunContext
from tests.support import chat_model, judgement, open_memory

WORDS = ["violin", "harbour", "granite", "lantern", "saffron", "walnut", "glacier", "velvet"]
WORDS += ["copper", "meadow", "orchid", "thunder", "pebble", "marble", "willow"]


def links_all(kind: str = "same-matter") -> Any:
    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        proposed = [
            {"to": c["n"], "reason": "so it seems", "kind": kind, "strength": 0.8}
            for c in candidates
        ]
        return judgement(text, links=proposed)

    return judge


def weights(count: int, **settings: Any) -> dict[str, float]:
    """What the links of the last note begin with, by what it is linked to, among so many."""
    with open_memory(evolve=False, neighbours=count, lifecycle=True, **settings) as memory:
        texts = ["the redis cache of the gateway", *(f"{word} {word}s" for word in WORDS)]
        notes = {memory.add(text).id: text for text in texts[:count]}
        note = memory.add("the redis cache of the gateway again")
        return {notes[link.to]: link.weight for link in note.outgoing}


def test_a_link_to_what_is_near_keeps_its_strength_and_one_to_anything_else_does_not() -> None:
    found = weights(16, model=chat_model(links_all()))
    assert found.pop("the redis cache of the gateway") >= 0.79
    assert len(found) > 5
    assert max(found.values()) < 0.79
    assert min(found.values()) <= 0.4


def test_among_few_notes_nothing_tells_what_is_usual() -> None:
    assert set(weights(8, model=chat_model(links_all())).values()) == {0.8}


def test_a_contradiction_weighs_what_it_is_said_to_weigh() -> None:
    found = weights(16, model=chat_model(links_all("contradicts")))
    assert set(found.values()) == {0.8}


def test_no_other_note_means_no_question() -> None:
    with open_memory() as memory:
        note = memory.add("alone")
        assert memory.perform(lambda wiring, io: percentiles(io, note, [], RunContext())) == {}


def test_a_hundred_pairs_are_enough_and_fewer_are_not() -> None:
    points = [Point(str(at), {}, [[1.0, float(at)]]) for at in range(15)]
    assert len(cosines_of(points)) == 105
    assert cosines_of(points[:14]) == []
    assert cosines_of([*points[:14], Point("without", {})]) == []
