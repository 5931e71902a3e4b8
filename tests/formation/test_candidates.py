"""Which older notes a new one is compared with, and how near they count as."""

from typing import Any

from amem_integrations.core.engine import Point
from amem_integrations.formation.candidates import cosines_of
from tests.support import chat_model, judgement, open_memory


def offered(texts: list[tuple[str, dict[str, Any]]], **settings: Any) -> list[list[str]]:
    """The candidates' texts that each note was judged with."""
    seen: list[list[str]] = []

    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        seen.append([c["text"] for c in candidates])
        return judgement(text)

    with open_memory(model=chat_model(judge), **settings) as memory:
        for text, about in texts:
            memory.add(text, **about)
    return seen


def test_there_are_never_more_than_asked_for() -> None:
    seen = offered([(f"The redis cache {n}", {}) for n in range(9)], neighbours=3)
    assert [len(texts) for texts in seen] == [0, 1, 2, 3, 3, 3, 3, 3, 3]


def test_the_nearest_are_offered_oldest_first() -> None:
    texts = ["The redis cache eviction", "A violin lesson", "The redis cache", "A redis cache"]
    seen = offered([(text, {}) for text in texts], neighbours=2)[-1]
    assert seen == ["The redis cache eviction", "The redis cache"]


def test_a_note_is_found_by_its_words_when_its_meaning_is_far() -> None:
    def blind(texts: list[str]) -> list[list[float]]:
        return [[1.0, float(len(text) % 7)] for text in texts]

    texts = [f"Minutes of meeting {n}" for n in range(12)]
    seen = offered(
        [(text, {}) for text in ("Zermatt at dawn", *texts, "Zermatt again")],
        embedder=blind,
        neighbours=4,
    )
    assert "Zermatt at dawn" in seen[-1]


def test_the_turn_before_is_among_them_though_it_resembles_nothing() -> None:
    turns = [(f"The redis cache {n}", {"session": "s", "sequence": n}) for n in range(8)]
    turns += [
        ("Lunch?", {"session": "s", "sequence": 8}),
        ("Elsewhere entirely", {"session": "t", "sequence": 8}),
        ("The redis cache is settled", {"session": "s", "sequence": 9}),
    ]
    last = offered(turns, neighbours=2)[-1]
    assert "Lunch?" in last
    assert len(last) == 2


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
    with open_memory(evolve=False, neighbours=count, **settings) as memory:
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


def test_a_hundred_pairs_are_enough_and_fewer_are_not() -> None:
    points = [Point(str(at), {}, [[1.0, float(at)]]) for at in range(15)]
    assert len(cosines_of(points)) == 105
    assert cosines_of(points[:14]) == []
    assert cosines_of([*points[:14], Point("without", {})]) == []
