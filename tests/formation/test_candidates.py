"""Which notes a new one is held against."""

from typing import Any

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


def test_the_first_note_has_none() -> None:
    assert offered([("The redis cache", {})]) == [[]]


def test_there_are_never_more_than_asked_for() -> None:
    seen = offered([(f"The redis cache {n}", {}) for n in range(9)], neighbours=3)
    assert [len(texts) for texts in seen] == [0, 1, 2, 3, 3, 3, 3, 3, 3]


def test_the_nearest_come_first() -> None:
    texts = ["The violin lesson", "A kayak trip", "The redis cache", "The redis cache eviction"]
    assert offered([(text, {}) for text in texts])[-1][0] == "The redis cache"


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


def test_other_namespaces_offer_nothing() -> None:
    seen = offered([("The redis cache", {"namespace": "a"}), ("The redis cache", {})])
    assert seen[-1] == []
